"""What stands alone is explained by its name: payloads in every version, batches and old sets, records, index files."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import kdbg
from kdbg.errors import UnknownApi
from kdbg.exchanges.guess.structures import names, structure
from kdbg.protocol.grammars.payloads import payloads
from kdbg.protocol.wire.nodes import build

from ..cases import for_each
from ..grammars.subjects import PAYLOADS, Carried, full

NEWEST = {found.payload.name: found for found in PAYLOADS}
OLD = bytes.fromhex("0000000000000000 00000014 e3f7be1c 00 00 ffffffff 00000006") + b"Hello!"


@for_each("subject", PAYLOADS, ids=str)
def test_a_payload_is_read_by_its_name(subject: Carried) -> None:
    data = build(subject.grammar, full(subject))
    (found,) = kdbg.explain(data, api=subject.payload.name, version=subject.version)
    assert (found.message is not None, found.explained, found.end) == (True, len(data), len(data))
    assert found.guesses[0].api.name == subject.payload.name
    assert found.guesses[0].version == subject.version


def test_every_name_has_a_structure_and_no_api_is_hidden() -> None:
    found = list(names())
    assert set(found) > {payload.name for payload in payloads()}
    assert {"RecordBatch", "MessageSet", "Record", "Message", "OffsetIndex", "TimeIndex"} < set(found)
    assert all(structure(name) is not None for name in found)
    assert structure("Metadata") is None


def test_the_bytes_say_the_version_unless_somebody_does() -> None:
    subscription = bytes.fromhex("0001 00000001 0006 6f7264657273 ffffffff 00000000")
    (found,) = kdbg.explain(subscription, api="consumer-protocol-subscription")
    assert (found.guesses[0].version, found.explained) == (1, len(subscription))
    (other,) = kdbg.explain(subscription, api="ConsumerProtocolSubscription", version=0)
    assert (other.guesses[0].version, other.explained) == (0, len(subscription) - 4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--api", "ControlRecordKey", "0000 0001"), "ControlRecordKey v0"),
        (("--api", "message_set", OLD.hex()), "Message set of magic 0"),
        (("--api", "Message", OLD[12:].hex()), "Message of magic 0"),
        (("--api", "offset-index", "00000001 00001000"), "Offset index"),
        (("--api", "GroupMetadataKey", "0002 0003 616263"), '"abc"'),
    ],
)
def test_the_command_takes_the_names(explain: Any, words: tuple[str, ...], said: str) -> None:
    status, text = explain(*words)
    assert (status, "bytes decoded" in text) == (0, True), text
    assert said in text


def test_broken_bytes_are_read_as_far_as_they_go(explain: Any) -> None:
    status, text = explain("--api", "ConsumerProtocolSubscription", "0001 00000001 0006 6f7264")
    assert status == 1
    assert "topics[0]" in text
    assert "3 left" in text


def test_names_that_nothing_has_are_refused_with_those_that_are_near() -> None:
    with pytest.raises(UnknownApi, match=r"did you mean .*OffsetCommitValue"):
        kdbg.explain(b"\0", api="OffsetCommitValues")


def test_the_library_answers_as_the_command_does(explain: Any) -> None:
    """Text around the bytes, several pieces of them, and words that name what they are."""
    message = b"\0\0\0\x16\0\x12\0\x03\0\0\0\1\0\6kafka1\0\2a\2b\0"
    other = message.replace(b"kafka1", b"kafka2")
    text = f"10:00 DEBUG got {message!r} in read\nand then {other!r}\n"
    found = kdbg.explain(text)
    assert [each.guesses[0].api.name for each in found] == ["ApiVersions"] * 2
    for each in found:
        assert each.text().splitlines()[0] in explain(text)[1]
    (cut,) = kdbg.explain(
        "Couldn't parse: <<0,0,0,18, 0,18,0,3, 0,0,0,1, 0,6,107,97,102,107,97,49, 0, ...>> in handle/2"
    )
    assert cut.guesses[0].cut
    assert kdbg.explain(base64.b64encode(OLD).decode())[0].explained == len(OLD)
