"""Record sets that are cut or damaged: a finding, the rest as far as it goes, and everything written back."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.errors import BadValue, Truncated
from kdbg.protocol.grammars.records import record_format
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.annotate import Inspection, inspect
from kdbg.protocol.wire.readings.compiled import COMPILED
from kdbg.protocol.wire.records import RecordsNode
from kdbg.protocol.wire.records.compression import compress
from kdbg.protocol.wire.records.sets import APPEND_TIME, decode

from ...cases import for_each
from .recordsets import (
    COMPACT,
    FETCHED,
    GZIP,
    KEY_AND_VALUE,
    LZ4,
    PRODUCED,
    SNAPPY,
    TWO_RECORDS,
    ZSTD,
    explained,
    kinds,
    new_batch,
    old_message,
    packed,
    parsed,
    sized,
)


def test_whoever_reads_without_spans_is_told_where_the_wrong_checksum_stands() -> None:
    sound = new_batch(TWO_RECORDS, 2)
    with pytest.raises(BadValue) as caught:
        decode(sound + new_batch(TWO_RECORDS, 2, crc=5), record_format, COMPILED, cut=False)
    assert (caught.value.path, caught.value.start) == ("crc", len(sound) + 17)


class TestCut:
    """A broker cuts a fetched set where its limit is reached; a produced one must be whole."""

    whole = old_message(1, 0, KEY_AND_VALUE) + new_batch(TWO_RECORDS, 2)

    @for_each("end", [1, 11, 16, 17, 30, 60, 71])
    def test_the_last_entry_of_a_fetched_set_may_be_cut(self, end: int) -> None:
        data = self.whole + new_batch(TWO_RECORDS, 2)[:end]
        value = parsed(data)
        assert [*value[2]] == ["partial"]
        assert value[2]["partial"] == new_batch(TWO_RECORDS, 2)[:end]
        assert packed(value) == data

    @for_each("end", [1, 11, 16, 17, 30, 60, 71])
    def test_a_produced_set_that_is_cut_is_told(self, end: int) -> None:
        data = self.whole + new_batch(TWO_RECORDS, 2)[:end]
        inspection = explained(data, PRODUCED)
        assert kinds(inspection) == ["malformed-record-set"]
        (finding,) = inspection.findings
        assert finding.text == "the record set ends in the middle of a batch"
        assert (finding.start, finding.length) == (len(self.whole) + 4, end)
        assert inspection.value[2]["partial"] == data[len(self.whole) :]
        with pytest.raises(BadValue):
            PRODUCED.parse(sized(data))

    @pytest.mark.parametrize("node", [FETCHED, PRODUCED, COMPACT])
    def test_a_message_that_ends_inside_its_set_is_truncated(self, node: RecordsNode) -> None:
        """Not the set was cut but the message: its length says so."""
        data = build(node, [*parsed(self.whole)])
        for end in range(len(data)):
            inspection = inspect(node, data[:end])
            assert kinds(inspection) == ["truncated"], end
            assert isinstance(inspection.broken, Truncated)
            with pytest.raises(Truncated):
                node.parse(data[:end])
        assert [entry["magic"] for entry in inspection.value[:1]] == [1], "what was whole is kept"

    def test_a_cut_compressed_set_inside_a_message_is_told(self) -> None:
        value = compress(GZIP, old_message(0, 1, KEY_AND_VALUE) + old_message(0, 2, KEY_AND_VALUE)[:-1])
        data = old_message(0, 2, "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex(), attributes=GZIP)
        inspection = explained(data)
        assert kinds(inspection) == ["malformed-record-set"]
        assert [*inspection.value[0]["records"][1]] == ["partial"]
        assert packed(inspection.value) == data


def damaged(damage: Callable[[bytearray], None], data: bytes) -> bytes:
    out = bytearray(data)
    damage(out)
    return bytes(out)


class TestDamaged:
    """A finding, the value as far as it goes, and the neighbours unharmed."""

    def neighbours(self, middle: bytes) -> Inspection:
        """The middle one of three entries, and what became of it; the outer two must be whole."""
        data = old_message(0, 1, KEY_AND_VALUE) + middle + new_batch(TWO_RECORDS, 2)
        inspection = explained(data)
        assert [inspection.value[i]["magic"] for i in (0, 2)] == [0, 2]
        assert len(inspection.value[2]["records"]) == 2
        assert packed(inspection.value) == data
        return inspection

    def test_a_wrong_checksum_of_a_batch(self) -> None:
        inspection = self.neighbours(new_batch(TWO_RECORDS, 2, crc=0xDEADBEEF))
        (finding,) = inspection.findings
        assert (finding.kind, finding.path, finding.start, finding.length) == (
            "crc-mismatch",
            "[1].crc",
            29 + 4 + 17,
            4,
        )
        assert finding.text.startswith("batch: stored CRC-32C 0xdeadbeef, computed 0x")
        assert [record["value"] for record in inspection.value[1]["records"]] == [b"vv", None]

    @pytest.mark.parametrize("magic", [0, 1])
    def test_a_wrong_checksum_of_a_message(self, magic: int) -> None:
        data = damaged(
            lambda out: out.__setitem__(slice(12, 16), b"\xde\xad\xbe\xef"), old_message(magic, 9, KEY_AND_VALUE)
        )
        inspection = self.neighbours(data)
        assert kinds(inspection) == ["crc-mismatch"]
        assert inspection.findings[0].text.startswith("message: stored CRC-32 0xdeadbeef, computed 0x")
        assert inspection.value[1]["value"] == b"vv"

    def test_a_wrong_checksum_inside_a_wrapper(self) -> None:
        inner = damaged(lambda out: out.__setitem__(-1, 0), old_message(1, 0, KEY_AND_VALUE))
        value = compress(GZIP, inner)
        data = old_message(1, 5, "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex(), attributes=GZIP)
        inspection = self.neighbours(data)
        assert kinds(inspection) == ["crc-mismatch"]
        assert inspection.findings[0].start is None, "its place is in bytes that the message does not have"
        assert inspection.value[1]["records"][0]["value"] == b"v\x00"

    @pytest.mark.parametrize("magic", [0, 1])
    def test_a_message_inside_a_wrapper_that_runs_into_the_next_one(self, magic: int) -> None:
        inner = old_message(magic, 0, "00000001 6b 00000009 7676") + old_message(magic, 1, KEY_AND_VALUE)
        value = compress(GZIP, inner)
        wrapper = "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex()
        inspection = self.neighbours(old_message(magic, 5, wrapper, attributes=GZIP))
        assert kinds(inspection) == ["malformed-record-set"]
        first, second = inspection.value[1]["records"]
        assert (first, second["value"]) == ({"raw": inner[: len(inner) // 2]}, b"vv")

    @pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
    def test_compressed_records_that_do_not_decompress(self, codec: int) -> None:
        inside = compress(codec, bytes.fromhex(TWO_RECORDS) * 9)
        inspection = self.neighbours(new_batch(inside[: len(inside) // 2].hex(), 2, attributes=codec))
        (finding,) = inspection.findings
        assert (finding.kind, finding.path) == ("decompression-failed", "[1].compressed_records")
        assert "records" not in inspection.value[1]
        assert inspection.value[1]["compressed_records"] == inside[: len(inside) // 2]

    @pytest.mark.parametrize("codec", [5, 6, 7])
    def test_codecs_that_there_are_not(self, codec: int) -> None:
        inspection = self.neighbours(new_batch("00ff", 2, attributes=codec))
        assert kinds(inspection) == ["decompression-failed"]
        assert f"unknown compression codec {codec}" in inspection.findings[0].text

    def test_a_wrapper_that_does_not_decompress(self) -> None:
        inspection = self.neighbours(old_message(1, 5, "ffffffff 00000002 beef", attributes=GZIP))
        assert kinds(inspection) == ["decompression-failed"]
        assert inspection.value[1]["value"] == b"\xbe\xef"

    def test_a_wrong_lz4_checksum_from_magic_1_on(self) -> None:
        value = compress(LZ4, old_message(1, 0, KEY_AND_VALUE), magic=0)
        data = old_message(1, 0, "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex(), attributes=LZ4)
        inspection = self.neighbours(data)
        assert [str(finding) for finding in inspection.findings] == [
            "decompression-failed: lz4: the frame header's checksum is wrong"
        ]

    @pytest.mark.parametrize(
        ("records", "count"),
        [
            (TWO_RECORDS, 3),  # one is missing
            (TWO_RECORDS, 1),  # one too many
            ("14" + TWO_RECORDS[2:], 2),  # a length that its record does not fill
            ("ff", 1),
            ("", 2**31 - 1),
        ],
    )
    def test_records_that_do_not_fit_their_batch_stay_bytes(self, records: str, count: int) -> None:
        inspection = self.neighbours(new_batch(records, count))
        assert kinds(inspection) == ["malformed-record-set"]
        assert inspection.value[1]["raw_records"] == bytes.fromhex(records)
        assert "records" not in inspection.value[1]

    def test_a_message_that_does_not_fill_its_size_stays_bytes(self) -> None:
        data = old_message(0, 1, KEY_AND_VALUE + "00")
        inspection = self.neighbours(data)
        assert kinds(inspection) == ["malformed-record-set"]
        assert inspection.value[1] == {"raw": data}

    @pytest.mark.parametrize("junk", [bytes(30), b"\xff" * 30, bytes(16) + b"\x03" + bytes(60)])
    def test_bytes_that_are_no_entry_end_the_set(self, junk: bytes) -> None:
        data = new_batch(TWO_RECORDS, 2) + junk
        inspection = explained(data)
        assert kinds(inspection) == ["malformed-record-set"]
        assert inspection.findings[0].text == "not a record batch or message"
        assert inspection.value[1] == {"raw": junk}
        assert packed(inspection.value) == data


@st.composite
def odd_records(draw: st.DrawFn) -> bytes:
    """The records of a batch or the messages of a set, with a few bytes changed; or just any bytes."""
    message = old_message(draw(st.integers(0, 1)), draw(st.integers(0, 3)), KEY_AND_VALUE)
    out = bytearray(draw(st.sampled_from([bytes.fromhex(TWO_RECORDS), message, message * 2]) | st.binary(max_size=60)))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(out)))
        out[place : place + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(out)


@given(st.lists(st.tuples(odd_records(), st.integers(0, 7), st.integers(0, 3), st.integers(0, 0x3F)), max_size=4))
def test_batches_with_any_bytes_behind_a_right_checksum_are_explained_and_kept(
    made: list[tuple[bytes, int, int, int]],
) -> None:
    """Behind a wrong checksum nothing else would be looked at twice: here only the contents are odd."""
    data = b""
    for records, codec, count, attributes in made:
        inside = compress(codec, records) if codec <= ZSTD else records
        data += new_batch(inside.hex(), count, attributes=attributes & ~7 | codec)
    inspection = explained(data)
    if "non-minimal-varint" not in kinds(inspection):
        assert packed(inspection.value) == data


@given(odd_records(), st.integers(0, 1), st.integers(0, 3), st.booleans(), st.integers(-1, 5))
def test_messages_with_any_bytes_behind_a_right_checksum_are_explained_and_kept(
    inside: bytes, magic: int, codec: int, broker_time: bool, offset: int
) -> None:
    value = compress(codec, inside, magic=magic)
    attributes = codec | (APPEND_TIME if broker_time else 0)
    data = old_message(magic, offset, f"ffffffff {len(value):08x} {value.hex()}", attributes=attributes)
    assert packed(explained(data).value) == data
