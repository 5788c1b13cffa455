"""Attribute bits without a meaning: told where they stand, in every format; all else is read all the same."""

from __future__ import annotations

import pytest

import kdbg
from kdbg.exchanges.messages.message import read
from kdbg.protocol import grammars
from kdbg.protocol.findings import Severity
from kdbg.protocol.grammars.records import record_format
from kdbg.protocol.wire import Int8
from kdbg.protocol.wire.readings.compiled import UNREADABLE, reader
from kdbg.views.render.values import attributes

from .recordsets import FETCHED, KEY_AND_VALUE, TWO_RECORDS, explained, new_batch, old_message, packed, sized


def told(data: bytes) -> list[tuple[str, str, str, int | None]]:
    """The findings of a record set: kind, path, text and place, counted behind the set's length."""
    with pytest.raises(UNREADABLE):
        reader(FETCHED)(sized(data), 0)
    inspection = explained(data)
    assert inspection.broken is None
    assert packed(inspection.value) == data
    return [
        (it.kind, it.path, it.text.split(",")[0], None if it.start is None else it.start - 4)
        for it in inspection.findings
    ]


def test_a_message_of_magic_0_has_no_append_time() -> None:
    assert told(old_message(0, 7, KEY_AND_VALUE, attributes=0x08)) == [
        ("reserved-bits", "[0].attributes", "reserved bit 3 is set", 17)
    ]
    assert attributes(0x08, 0) == "8  uncompressed"


@pytest.mark.parametrize(
    ("magic", "number", "text"),
    [
        (0, 0x80, "reserved bit 7 is set"),
        (0, 0x48, "reserved bits 3 and 6 are set"),
        (1, 0x80, "reserved bit 7 is set"),
        (1, 0x70, "reserved bits 4"),
        (1, 0x18, "reserved bit 4 is set"),
    ],
)
def test_bits_of_messages(magic: int, number: int, text: str) -> None:
    data = old_message(0, 7, KEY_AND_VALUE) + old_message(magic, 8, KEY_AND_VALUE, attributes=number)
    second = len(old_message(0, 7, KEY_AND_VALUE))
    assert told(data) == [("reserved-bits", "[1].attributes", text, second + 17)]


@pytest.mark.parametrize(
    ("number", "text"),
    [(0x80, "reserved bit 7 is set"), (0x4100, "reserved bits 8 and 14 are set"), (-0x8000, "reserved bit 15 is set")],
)
def test_bits_of_batches(number: int, text: str) -> None:
    assert told(new_batch(TWO_RECORDS, 2, attributes=number)) == [("reserved-bits", "[0].attributes", text, 21)]


def test_bits_of_a_record() -> None:
    """The first byte of a record, behind its length."""
    data = new_batch(TWO_RECORDS.replace("12 00", "12 01", 1), 2)
    assert told(data) == [("reserved-bits", "[0].records[0].attributes", "reserved bit 0 is set", 62)]


@pytest.mark.parametrize("number", [0x08, 0x40, 0x10, 0x58])
def test_bits_that_have_a_meaning_are_no_finding(number: int) -> None:
    assert explained(new_batch(TWO_RECORDS, 2, attributes=number)).findings == []
    assert explained(old_message(1, 7, KEY_AND_VALUE, attributes=number & 0x08)).findings == []


def test_it_is_a_warning_that_keeps_the_message_whole() -> None:
    """It leaves the exit status 0, and the library does not raise for it."""
    body = {"topic_data": [{"name": "t", "partition_data": [{"records": [{"magic": 2, "attributes": 0x80}]}]}]}
    data = kdbg.encode(body, api="produce", version=3, direction="request")
    message = read(grammars.api("produce"), 3, "request", data, header=False)
    (finding,) = message.findings
    assert (finding.kind, finding.severity) == ("reserved-bits", Severity.WARNING)
    assert finding.path.endswith("records[0].attributes")
    decoded = kdbg.decode(data, api="produce", version=3, direction="request", header=False)
    assert kdbg.encode(decoded.body, api="produce", version=3, direction="request") == data


def test_the_word_of_the_grammars() -> None:
    assert Int8.reserving(0x80).unused == 0x80
    assert Int8.unused == 0
    assert (Int8.reserving(0x80) * "said").unused == 0x80
    assert [fields.fields[2].node.unused for fields in record_format.messages] == [0xF8, 0xF0]
