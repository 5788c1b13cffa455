"""What fields mean, beside what they say: behind them in trees, below hexdumps, only where it is wanted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kdbg
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.protocol.grammars import records
from kdbg.protocol.grammars.payloads import payload
from kdbg.protocol.wire import Array, Int8, Int32, Nullable, String, Struct
from kdbg.protocol.wire.language.types import At
from kdbg.protocol.wire.nodes import WireStruct
from kdbg.protocol.wire.readings.layout import structure
from kdbg.views.render.meanings import named
from kdbg.views.render.style import Look
from kdbg.views.render.tree.tree import Tree
from kdbg.views.render.views import view

CAPTURES = Path(__file__).parents[2] / "captures"
DECLARED = Struct(
    "plain" / Int8 * 'a {brace}, a "quote" and a \\ in it',
    "silent" / Int8,
    "items" / Array("name" / String * "what it is called.", "size" / Int32) * "one line\nand another",
    "inner" / Struct("word" / Nullable(String) * "deep down") * "a structure",
    "numbers" / Array(Int8) * "some numbers",
)
VALUE = {"plain": 1, "silent": 2, "items": [{"name": "x", "size": 3}], "inner": {"word": None}, "numbers": [1, 2]}
TREE = """\
head
├── plain  1  # a {brace}, a "quote" and a \\\\ in it
├── silent  2
├── items  1 element  # one line\\nand another
│   └── [0]
│       ├── name  "x"  # what it is called
│       └── size  3
├── inner  # a structure
│   └── word  null  # deep down
└── numbers  [1, 2]  # some numbers
"""


def draw(look: Look) -> str:
    tree = Tree(look, {})
    tree.struct(DECLARED.structure(At(0, False)))(VALUE, "head", "")
    return tree.take()


def shown(exchange: Exchange, format: str, *, meanings: bool = True) -> str:
    text = view(format).exchange(Look(meanings=meanings), {})(exchange)
    return text if isinstance(text, str) else text.decode()


def first(capture: str, api: str) -> Exchange:
    return next(iter(kdbg.read(CAPTURES / capture, api=api)))


def about(name: str, struct: WireStruct | None) -> str:
    """What a grammar says of one of its fields."""
    assert struct is not None
    (found,) = (field.about for field in struct.members if field.name == name)
    assert found
    return found


def legend(text: str) -> dict[str, str]:
    """Name -> meaning of the lines below hexdumps, each on one line."""
    found = re.findall(r"(?m)^([a-z_.\[\]]+) +(\S.*(?:\n +\S.*)*)", text)
    return {
        name: re.sub(r"\n +", " ", meaning) for name, meaning in found if name not in ("client", "request", "response")
    }


class TestTree:
    def test_the_meaning_stands_behind_the_field(self) -> None:
        assert draw(Look(meanings=True)) == TREE

    def test_it_is_dimmed(self) -> None:
        look = Look(colors="STANDARD", meanings=True)
        assert look.paint("dim", "  # some numbers") in draw(look)

    def test_not_where_nobody_wants_it(self) -> None:
        assert "#" not in draw(Look())
        assert draw(Look()).splitlines()[4] == '│   └── [0]  name "x"  size 3'

    def test_of_a_structure_that_was_read_in_part(self) -> None:
        tree = Tree(Look(meanings=True), {})
        tree.struct(DECLARED.structure(At(0, False)))({"silent": 1, "items": []}, "head", "")
        assert tree.take() == "head\n├── silent  1\n└── items  empty  # one line\\nand another\n"

    def test_records_and_messages_too(self) -> None:
        text = shown(first("first-contact.pcap", "Produce"), "tree")
        record = structure(records.record_format.records)
        assert f'key    "ada"  # {about("key", record)}\n' in text
        assert f'"source" = "web"  # {about("headers", record)}\n' in text
        text = shown(first("old-versions.pcap", "Produce"), "tree")
        message = records.record_format.messages[0]
        assert text.count(f"  # {about('value', message)}\n") == text.count("  message\n") == 3

    @pytest.mark.parametrize("capture", ["first-contact.pcap", "old-versions.pcap", "group-rebalance.pcap"])
    def test_the_rest_is_as_without(self, capture: str) -> None:
        for exchange in kdbg.read(CAPTURES / capture):
            plain, told = (shown(exchange, "tree", meanings=wanted) for wanted in (False, True))
            words = re.sub(r"(?m)  # .*$", "", told).replace("\n", " ")
            missing = set(plain.split()) - set(words.split())
            assert not missing


class TestHexdump:
    def test_every_field_once_though_it_occurs_often(self) -> None:
        text = shown(first("first-contact.pcap", "ApiVersions"), "hex")
        assert text.count("\ncorrelation_id ") == 2, "of the request and of the response"
        assert legend(text)["error_code"] == "what went wrong, 0 if nothing did"
        without = shown(first("first-contact.pcap", "ApiVersions"), "hex", meanings=False)
        assert not legend(without)
        assert set(without.splitlines()) <= set(text.splitlines())

    def test_fields_of_batches(self) -> None:
        told = legend(shown(first("first-contact.pcap", "Produce"), "hex"))
        assert told["crc"] == about("crc", records.record_format.batch)
        assert told["timestamp_delta"] == about("timestamp_delta", structure(records.record_format.records))

    def test_fields_of_messages(self) -> None:
        told = legend(shown(first("old-versions.pcap", "Produce"), "hex"))
        assert told["crc"] == about("crc", records.record_format.messages[0])
        assert told["message_size"] == "bytes of the message after it"
        assert "batch_length" not in told

    def test_fields_of_payloads(self) -> None:
        told = legend(shown(first("group-rebalance.pcap", "JoinGroup"), "hex"))
        subscription = payload("ConsumerProtocolSubscription").framed(3)
        assert told["rack_id"] == about("rack_id", subscription), "in the subscription of a member alone"


def test_a_name_is_the_shortest_end_of_a_path_that_says_which() -> None:
    assert named([("a[].name", "x"), ("b[].name", "y"), ("c.size", "z"), ("d.size", "z"), ("e", "")]) == [
        ("a[].name", "x"),
        ("b[].name", "y"),
        ("size", "z"),
    ]
    assert named([("one.name", "x"), ("name", "y")]) == [("one.name", "x"), ("name", "y")]
