"""The slow reading without spans tells the same of a message as with them, whether its parts are familiar or not."""

from __future__ import annotations

import gc
import random
import struct
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.exchanges.messages.message import grammar_of, header_grammar
from kdbg.protocol.grammars.records import FetchedRecords, Records
from kdbg.protocol.wire.language.types import At
from kdbg.protocol.wire.nodes import INT16, INT32, Field, Length, Node, WireArray, WireStruct, build
from kdbg.protocol.wire.readings import inspection
from kdbg.protocol.wire.readings.annotate import Inspection, inspect
from kdbg.protocol.wire.readings.inspection import sound_part

from ...cases import by_day, for_each

CAPTURES = sorted((Path(__file__).parents[3] / "captures").glob("*.pcap*"))
MESSAGES, DAMAGES = 12, 6
"""How many messages of a kind are taken from a capture, and how often each is damaged."""
PAIRS = WireArray("ARRAY", Length(INT32, 0), WireStruct((Field("a", INT16), Field("b", INT16)), None), nullable=False)


@pytest.fixture(params=[0, 1 << 60], ids=["familiar", "unknown"])
def often(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All parts are familiar, or none ever will be."""
    monkeypatch.setattr(inspection, "OFTEN", request.param)


def told(found: Inspection) -> tuple[Any, ...]:
    """What an inspection says besides its spans, and the buffers that these count in; of the order of fields too."""
    return repr((found.header, found.value)), found.findings, repr(found.broken), found.end, found.unexplained


def assert_same(node: Node, data: bytes, header: Node | None = None) -> None:
    with_spans, without = (inspect(node, data, header=header, spans=spans) for spans in (True, False))
    assert told(without) == told(with_spans)
    assert without.spans == []


def damaged(data: bytes, dice: random.Random) -> Iterator[bytes]:
    """The bytes with a bit flipped, with a piece cut off, with a byte more, and with a byte in between."""
    for _ in range(DAMAGES if data else 0):
        at = dice.randrange(len(data))
        yield data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]
        yield data[: dice.randrange(len(data))]
        yield data[:at] + b"\x01" + data[at:]
    yield data + b"\0"


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("capture", by_day(CAPTURES, 4), ids=lambda path: path.name)
def test_of_captured_messages(capture: Path) -> None:
    dice, seen = random.Random(3), dict[Any, int]()
    with kdbg.read(capture) as reading:
        halves = [half for one in reading for half in (one.request, one.response) if half and half.api]
    for half in halves:
        assert half.api is not None
        kind = half.api, half.version, half.direction
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] > MESSAGES or len(half.data) > 50_000:
            continue
        header = None if half.api.headerless else header_grammar(*kind)
        for data in (half.data, *damaged(half.data, dice)):
            assert_same(grammar_of(*kind), data, header)


BATCH: dict[str, Any] = {
    "base_offset": 5, "partition_leader_epoch": 0, "magic": 2, "attributes": 0, "last_offset_delta": 2,
    "base_timestamp": 1000, "max_timestamp": 1005, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1,
    "records": [
        {"offset": 5 + i, "timestamp": 1000 + i, "attributes": 0, "key": b"k", "value": b"value",
         "headers": [{"key": "one", "value": b"1"}, {"key": "two", "value": None}]}
        for i in range(3)
    ],
}  # fmt: skip


@pytest.mark.usefixtures("often")
@for_each("node", [Records.at(At(0, False)), FetchedRecords.at(At(0, True))], ids=["whole", "cut"])
@for_each("attributes", [0, 1, 8, 32], ids=["plain", "gzip", "append time", "control"])
def test_of_batches_with_any_byte_wrong(node: Node, attributes: int) -> None:
    data = build(node, [BATCH, BATCH | {"attributes": attributes}])
    for at in by_day(range(len(data)), 3):
        for byte in (data[at] ^ 0xFF, data[at] + 1 & 0xFF, data[at] ^ 0x80):
            assert_same(node, data[:at] + bytes([byte]) + data[at + 1 :])
        assert_same(node, data[:at])


def test_a_part_is_read_at_once_when_it_was_asked_for_often() -> None:
    node = WireStruct((Field("number", INT32),), None)
    data = struct.pack(">i", 7)
    assert [sound_part(node, data, 0, 4) for _ in range(inspection.OFTEN)] == [None] * inspection.OFTEN
    assert sound_part(node, data, 0, 4) == ({"number": 7}, 4)
    assert sound_part(node, data, 0, 3) is None
    assert sound_part(node, data[:3], 0, 3) is None


@pytest.mark.usefixtures("often")
def test_one_odd_item_among_many() -> None:
    data = build(PAIRS, [{"a": i, "b": -i} for i in range(50)])
    for end in range(len(data)):
        assert_same(PAIRS, data[:end])


def test_a_batch_that_may_be_cut_off_is_not_unexplained() -> None:
    """Not more so beside a batch that is odd than without one."""
    node = FetchedRecords.at(At(0, False))
    whole = bytearray(build(node, [BATCH, BATCH])[4:])
    whole[-1] ^= 1
    cut = bytes(whole) + bytes(whole[:30])
    found = inspect(node, struct.pack(">i", len(cut)) + cut)
    assert [finding.kind for finding in found.findings] == ["crc-mismatch"]
    assert [*found.value[2]] == ["partial"]
    assert found.unexplained == 0


def test_what_is_told_of_a_broken_message_is_freed_without_the_garbage_collector() -> None:
    gc.disable()
    try:
        found = inspect(PAIRS, bytes.fromhex("00000002 0001"))
        assert found.broken is not None
        alive = weakref.ref(found)
        del found
        assert alive() is None
    finally:
        gc.enable()
