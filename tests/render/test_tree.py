"""Trees: guides, names, values with their meanings; whole, in part, and with things that no grammar names."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.exchanges.messages.message import read
from kdbg.protocol import grammars
from kdbg.protocol.wire import Int16, Int32, String
from kdbg.protocol.wire.language import Direction
from kdbg.protocol.wire.language.types import Array, At, Nullable, Struct
from kdbg.protocol.wire.nodes import WireStruct
from kdbg.views.render.style import Look
from kdbg.views.render.tree.tree import Tree

from ..cases import for_each

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
ZERO = uuid.UUID(int=0)
PIPE, TERMINAL = Look(), Look(width=80, full=False)


def draw(api: str, version: int, direction: Direction, body: dict[str, Any], look: Look = PIPE) -> str:
    """The tree of a message that went over the wire."""
    data = kdbg.encode(body, api=api, version=version, direction=direction)
    return drawn(api, version, direction, data, look)


def drawn(api: str, version: int, direction: Direction, data: bytes, look: Look = PIPE) -> str:
    message = read(grammars.api(api), version, direction, data, header=False)
    tree = Tree(look, {})
    tree.struct(message.grammar)(message.body, "body", "")
    return tree.take()


def test_a_request_line_by_line() -> None:
    topics = [{"topic_id": ZERO, "name": "orders"}, {"topic_id": ZERO, "name": None}]
    assert draw("Metadata", 12, "request", {"topics": topics}) == (
        "body\n"
        "├── topics  2 elements\n"
        '│   ├── [0]  topic_id 00000000-0000-0000-0000-000000000000  name "orders"\n'
        "│   └── [1]  topic_id 00000000-0000-0000-0000-000000000000  name null\n"
        "├── allow_auto_topic_creation  true\n"
        "└── include_topic_authorized_operations  false\n"
    )


def test_nothing_null_and_nested() -> None:
    assert draw("Metadata", 1, "request", {"topics": None}) == "body\n└── topics  null\n"
    assert draw("Metadata", 1, "request", {"topics": []}) == "body\n└── topics  empty\n"
    assert draw("ApiVersions", 0, "request", {}) == "body\n"
    assert draw("ListGroups", 3, "response", {"groups": [{"group_id": "g", "protocol_type": ""}]}) == (
        "body\n├── throttle_time_ms  0 ms\n├── error_code  0  NONE\n└── groups  1 element\n"
        '    └── [0]  group_id "g"  protocol_type ""\n'
    )


def test_structures_that_may_be_null() -> None:
    grammar = Struct("cursor" / Nullable(Struct("name" / String, "index" / Int32)), "end" / Int16).structure(
        At(0, True)
    )
    tree = Tree(Look(), {})
    for value in ({"cursor": None, "end": 1}, {"cursor": {"name": "t", "index": 5}, "end": 1}):
        tree.struct(grammar)(value, "x", "")
    assert (
        tree.take()
        == 'x\n├── cursor  null\n└── end  1\nx\n├── cursor\n│   ├── name  "t"\n│   └── index  5\n└── end  1\n'
    )


def test_every_combination_of_plain_and_nested_fields_is_drawn_in_order() -> None:
    """The compiled functions join neighbouring plain fields; none may be lost or glued to another."""
    inner = Array("a" / Int16, "b" / Int16, "c" / Int16, "d" / Int16)
    for pattern in range(32):
        fields = [f"f{place}" / (inner if pattern >> place & 1 else Int32) for place in range(5)]
        grammar = Struct(*fields).structure(At(0, False))
        item = {"a": 1, "b": 2, "c": 3, "d": 4}
        value = {f"f{place}": [item] if pattern >> place & 1 else place for place in range(5)}
        tree = Tree(Look(), {})
        tree.struct(grammar)(value, "x", "")
        lines = tree.take().splitlines()
        names = [re.sub(r"^[├└]── ", "", line).split()[0] for line in lines if re.match(r"[├└]", line)]
        assert names == [f"f{place}" for place in range(5)]
        assert len(lines) == 6 + 5 * pattern.bit_count()
        assert "" not in lines


class TestWhatNoGrammarPromises:
    def test_tagged_fields_known_and_unknown(self) -> None:
        body = {"cluster_id": "c", "replica_id": 1, "tagged_fields": {9: b"\1\2", 12: b""}}
        text = draw("Fetch", 12, "request", body)
        assert (
            '├── cluster_id  "c"\n└── tagged_fields\n    ├── tag 9  2 bytes  01 02\n    └── tag 12  0 bytes\n' in text
        )

    def test_tags_inside_elements_take_lines_of_their_own(self) -> None:
        topics = [{"topic_id": ZERO, "name": "a", "tagged_fields": {1: b"x"}}]
        assert (
            '    └── [0]\n        ├── topic_id  00000000-0000-0000-0000-000000000000\n        ├── name  "a"\n'
            "        └── tagged_fields\n            └── tag 1  1 byte  78\n"
        ) in draw("Metadata", 12, "request", {"topics": topics}).replace("│   ", "    ")

    @pytest.mark.parametrize("version", [1, 9, 12])
    def test_a_message_cut_anywhere_shows_the_fields_before_the_cut(self, version: int) -> None:
        body = {
            "brokers": [{"node_id": 1, "host": "h", "port": 9092}],
            "topics": [{"name": "t", "partitions": [{"leader_id": 1, "replica_nodes": [1, 2]}]}],
        }
        data = kdbg.encode(body, api="Metadata", version=version, direction="response")
        whole = drawn("Metadata", version, "response", data).splitlines()
        seen = 0
        for cut in range(len(data)):
            lines = drawn("Metadata", version, "response", data[:cut]).splitlines()
            names = [name_of(line) for line in lines]
            assert names == [name_of(line) for line in whole][: len(names)]
            assert len(lines) >= seen
            seen = len(lines)

    def test_null_where_none_may_be_and_text_that_is_none(self) -> None:
        assert drawn("Metadata", 1, "request", b"\0\0\0\2\xff\xff\0\1\xff") == (
            'body\n└── topics  2 elements\n    ├── [0]  name null\n    └── [1]  name "\\xff"\n'
        )


def name_of(line: str) -> str:
    return re.sub(r"^[│├└─ ]*", "", line).split()[0]


class TestShortened:
    def test_long_arrays_say_how_much_is_left_out(self) -> None:
        topics = [{"name": f"t{number}"} for number in range(2_000)]
        text = draw("Metadata", 1, "request", {"topics": topics}, TERMINAL)
        assert text.startswith("body\n└── topics  2,000 elements\n")
        assert text.endswith('    ├── [11]  name "t11"\n    └── … 1,988 more\n')
        assert draw("Metadata", 1, "request", {"topics": topics}).count("\n") == 2_002

    def test_exactly_as_many_as_fit_are_all_shown(self) -> None:
        topics = [{"name": "t"}] * TERMINAL.max_items
        assert "more" not in draw("Metadata", 1, "request", {"topics": topics}, TERMINAL)

    def test_arrays_of_numbers_and_long_strings(self) -> None:
        topic = {"name": "x" * 100, "partitions": [{"replica_nodes": list(range(1500))}]}
        text = draw("Metadata", 1, "response", {"topics": [topic]}, TERMINAL)
        assert 'name  "' + "x" * 56 + '"… 44 more characters' in text
        assert "replica_nodes  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … 1,488 more]" in text

    def test_bytes(self) -> None:
        text = draw("SyncGroup", 3, "response", {"assignment": bytes(5000)}, TERMINAL)
        assert "assignment  5000 bytes  " + "00 " * 18 + "00… 4,981 more" in text


def test_a_topic_id_stands_beside_its_name() -> None:
    known = uuid.UUID(int=77)
    grammar = grammars.api("Fetch").at("request", 13)
    tree = Tree(Look(), {known: "orders"})
    tree.struct(grammar)(grammar.default() | {"topics": [{"topic_id": known, "partitions": []}]}, "x", "")
    assert f'{known}  "orders"' in tree.take()


def test_colour_changes_no_letter() -> None:
    for exchange in kdbg.read(CAPTURES / "transactions.pcap", limit=30):
        for message in exchange.messages():
            plain, coloured = (text_of(message.grammar, message.body, look) for look in (Look(), Look("STANDARD")))
            assert plain != coloured or not message.body
            assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def text_of(grammar: WireStruct, body: dict[str, Any], look: Look) -> str:
    tree = Tree(look, {})
    tree.struct(grammar)(body, "x", "")
    return tree.take()


@for_each("key", list(grammars.ENTRIES))
def test_every_api_in_every_version_draws_its_defaults(key: int) -> None:
    """A line a field, in the order of the grammar."""
    api = grammars.by_key(key)
    tree = Tree(Look(), {})
    for direction in ("request", "response"):
        for version in api.versions:
            grammar = api.at(direction, version)
            tree.struct(grammar)(grammar.default(), "x", "")
            lines = tree.take().splitlines()
            assert [name_of(line) for line in lines[1:] if line[0] in "├└"] == [field.name for field in grammar.fields]
