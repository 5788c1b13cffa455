"""Record sets of every magic: read, explained, written back to the byte.

kafka-python is the second opinion: what it writes kdbg reads, what kdbg writes it reads.
"""

from __future__ import annotations

import struct
import warnings
from typing import Any

import google_crc32c
import pytest

from kdbg.errors import BadLength, BuildError
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.compiled import reader
from kdbg.protocol.wire.records.compression import compress
from kdbg.protocol.wire.records.sets import APPEND_TIME, CONTROL, MAX_NESTING, TRANSACTIONAL, entries

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
)


class TestByHand:
    def test_a_message_of_magic_0(self) -> None:
        data = old_message(0, 7, KEY_AND_VALUE)
        crc = struct.unpack(">i", data[12:16])[0]
        assert parsed(data) == [
            {"offset": 7, "message_size": 17, "crc": crc, "magic": 0, "attributes": 0, "key": b"k", "value": b"vv"}
        ]

    def test_a_message_of_magic_1_has_a_time(self) -> None:
        (message,) = parsed(old_message(1, 7, "ffffffff ffffffff"))
        assert (message["magic"], message["timestamp"]) == (1, 0x15D6FABC000)
        assert (message["key"], message["value"]) == (None, None)

    def test_a_batch_of_magic_2(self) -> None:
        (batch,) = parsed(new_batch(TWO_RECORDS, 2))
        records = batch.pop("records")
        assert records == [
            {"offset": 100, "timestamp": 1000, "attributes": 0, "key": b"k", "value": b"vv", "headers": []},
            {"offset": 101, "timestamp": 1005, "attributes": 0, "key": None, "value": None,
             "headers": [{"key": "h", "value": b"hi"}, {"key": "j", "value": None}]},
        ]  # fmt: skip
        crc = batch.pop("crc")
        assert crc == google_crc32c.value(new_batch(TWO_RECORDS, 2)[21:])
        assert batch == {
            "base_offset": 100, "batch_length": 49 + 25, "partition_leader_epoch": 2, "magic": 2, "attributes": 0,
            "last_offset_delta": 1, "base_timestamp": 1000, "max_timestamp": 1005, "producer_id": -1,
            "producer_epoch": -1, "base_sequence": -1, "records_count": 2,
        }  # fmt: skip

    def test_every_magic_may_follow_every_other(self) -> None:
        parts = [old_message(0, 0, KEY_AND_VALUE), new_batch(TWO_RECORDS, 2), old_message(1, 200, KEY_AND_VALUE)]
        value = parsed(b"".join(parts))
        assert [entry["magic"] for entry in value] == [0, 2, 1]
        assert packed(value) == b"".join(parts)

    def test_an_empty_set_and_a_null_one(self) -> None:
        assert parsed(b"") == []
        assert FETCHED.parse(bytes.fromhex("ffffffff")) is None
        assert reader(FETCHED)(bytes.fromhex("ffffffff"), 0) == (None, 4)
        assert reader(COMPACT)(b"\x00", 0) == (None, 1)
        assert build(COMPACT, []) == b"\x01"
        with pytest.raises(BadLength, match="must not be null"):
            PRODUCED.parse(bytes.fromhex("ffffffff"))
        with pytest.raises(BuildError) as caught:
            build(PRODUCED, None, "records")
        assert str(caught.value) == "records: null, but RECORDS must not be null"

    def test_the_spans_name_every_part(self) -> None:
        paths = [span.path for span in explained(new_batch(TWO_RECORDS, 2)).spans]
        assert paths[:3] == ["", "[0].base_offset", "[0].batch_length"]
        record = "[0].records[1]"
        plain = [f"{record}.{name}" for name in ("attributes", "timestamp_delta", "offset_delta", "key", "value")]
        headers = [f"{record}.headers[{i}].{name}" for i in (0, 1) for name in ("key", "value")]
        assert paths[-11:] == [f"{record}.length", *plain, f"{record}.headers", *headers]


class TestCompressed:
    @pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
    def test_a_compressed_batch_keeps_its_bytes_and_has_its_records(self, codec: int) -> None:
        inside = compress(codec, bytes.fromhex(TWO_RECORDS))
        data = new_batch(inside.hex(), 2, attributes=codec)
        (batch,) = parsed(data)
        assert batch["compressed_records"] == inside
        assert [record["offset"] for record in batch["records"]] == [100, 101]
        assert packed([batch]) == data

    @for_each("codec", [GZIP, SNAPPY, LZ4])
    @for_each("magic", [0, 1])
    def test_messages_inside_a_message(self, magic: int, codec: int) -> None:
        offsets = (40, 41, 42) if magic == 0 else (0, 1, 2)
        inner = b"".join(old_message(magic, offset, KEY_AND_VALUE) for offset in offsets)
        value = compress(codec, inner, magic=magic)
        data = old_message(magic, 42, "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex(), attributes=codec)
        (wrapper,) = parsed(data)
        assert wrapper["value"] == value
        assert [message["offset"] for message in wrapper["records"]] == [40, 41, 42]
        assert packed([wrapper]) == data

    def test_the_decompressed_bytes_are_a_buffer_of_their_own(self) -> None:
        plain = bytes.fromhex(TWO_RECORDS)
        data = new_batch(compress(GZIP, plain).hex(), 2, attributes=GZIP)
        inspection = explained(data)
        assert [buffer.name for buffer in inspection.buffers] == ["", "[0].records"]
        assert inspection.buffers[1].data == plain
        assert inspection.spans[-1].buffer == 1
        assert [span.type for span in inspection.spans if span.buffer == 0][-1] == "COMPRESSED"

    def test_wrappers_may_be_nested_but_not_for_ever(self) -> None:
        data = old_message(0, 5, KEY_AND_VALUE)
        for depth in range(1, MAX_NESTING + 2):
            value = compress(GZIP, data)
            data = old_message(0, 5, "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex(), attributes=GZIP)
            inspection = explained(data)
            if depth <= MAX_NESTING:
                assert inspection.findings == []
                assert packed(inspection.value) == data
            else:
                assert kinds(inspection) == ["decompression-failed"]
                assert "nested more than 4 deep" in inspection.findings[0].text
                assert len(inspection.buffers) == MAX_NESTING + 1

    def test_a_batch_inside_a_message_is_no_message(self) -> None:
        value = compress(GZIP, new_batch(TWO_RECORDS, 2))
        data = old_message(1, 5, "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex(), attributes=GZIP)
        inspection = explained(data)
        assert kinds(inspection) == ["malformed-record-set"]
        assert inspection.value[0]["records"] == [{"raw": new_batch(TWO_RECORDS, 2)}]
        assert packed(inspection.value) == data

    def test_a_compressed_message_without_a_value_is_read(self) -> None:
        (message,) = parsed(old_message(0, 5, "ffffffff ffffffff", attributes=GZIP))
        assert message["value"] is None
        assert "records" not in message

    @pytest.mark.parametrize("broken", [True, False])
    def test_lz4_in_magic_0_may_have_the_broken_checksum(self, broken: bool) -> None:
        """Kafka before 0.10 hashed the magic number as well (KAFKA-3160)."""
        inner = old_message(0, 1, KEY_AND_VALUE)
        value = compress(LZ4, inner, magic=0 if broken else 1)
        assert (compress(LZ4, inner, magic=0) == compress(LZ4, inner, magic=1)) is False
        data = old_message(0, 1, "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex(), attributes=LZ4)
        (wrapper,) = parsed(data)
        assert wrapper["records"][0]["value"] == b"vv"
        assert packed([wrapper]) == data


class TestOffsetsAndTimes:
    """Relative ones become absolute when they are read, and relative again when they are written."""

    def wrapper(self, wrapped: tuple[int, ...], offset: int, attributes: int = GZIP) -> bytes:
        value = compress(GZIP, b"".join(old_message(1, inner, KEY_AND_VALUE) for inner in wrapped))
        return old_message(
            1, offset, "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex(), attributes=attributes
        )

    @pytest.mark.parametrize(
        ("inside", "offset", "absolute"),
        [
            ((0, 1, 2), 12, [10, 11, 12]),
            ((0, 2, 5), 105, [100, 102, 105]),  # compacted: some are missing
            ((3, 5), 105, [103, 105]),  # the first ones are missing
            ((0, 1, 2), 0, [0, 1, 2]),  # a producer that was told no offset
            ((0,), 9, [9]),
        ],
    )
    def test_inner_offsets_count_back_from_the_wrappers(self, inside: Any, offset: int, absolute: list[int]) -> None:
        data = self.wrapper(inside, offset)
        (wrapper,) = parsed(data)
        assert [message["offset"] for message in wrapper["records"]] == absolute
        assert packed([wrapper]) == data

    def test_with_append_time_the_brokers_clock_counts(self) -> None:
        data = self.wrapper((0, 1), 9, GZIP | APPEND_TIME)
        (wrapper,) = parsed(data)
        wrapper_time = wrapper["timestamp"]
        assert [message["timestamp"] for message in wrapper["records"]] == [wrapper_time] * 2
        assert packed([wrapper]) == data

    def test_a_batch_with_append_time_keeps_the_producers_deltas_beside_it(self) -> None:
        data = new_batch(TWO_RECORDS, 2, attributes=APPEND_TIME)
        (batch,) = parsed(data)
        assert [(r["timestamp"], r["timestamp_delta"]) for r in batch["records"]] == [(1005, 0), (1005, 5)]
        assert packed([batch]) == data

    def test_control_records_say_what_they_are(self) -> None:
        """A key of two INT16: a version and a type (KIP-98)."""
        abort, commit, odd = "14 00 00 00 08 00000000 00 00", "14 00 00 02 08 00000001 00 00", "0c 00 00 04 00 00 00"
        data = new_batch(abort + commit + odd, 3, attributes=CONTROL | TRANSACTIONAL)
        (batch,) = parsed(data)
        assert [record["control"] for record in batch["records"]] == ["ABORT", "COMMIT", "UNKNOWN_-1"]
        assert packed([batch]) == data


class TestWalk:
    def test_entries_are_stepped_over_by_their_lengths_alone(self) -> None:
        data = old_message(0, 0, KEY_AND_VALUE) + new_batch("ffff", 9) + b"\x00"
        found = list(entries(b"\xaa" * 3 + data, 3, len(data) + 3, FETCHED.format))
        assert [(entry.magic, entry.partial) for entry in found] == [(0, False), (2, False), (None, True)]
        assert found[0].start == 3
        assert [entry.end for entry in found[:-1]] == [entry.start for entry in found[1:]]

    def test_what_the_format_says_of_itself(self) -> None:
        assert (FETCHED.format.crc_at, FETCHED.format.header_size) == (17, 61)


@pytest.fixture(scope="module")
def memory_records() -> Any:
    """kafka-python's record sets; its import warns of its own affairs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from kafka.record import memory_records as module  # type: ignore[import-untyped]
    return module


SAMPLES = [(1_600_000_000_000, b"k", b"v"), (1_600_000_000_007, None, b"w" * 300), (1_600_000_000_003, b"", None)]
WRITTEN = [(magic, codec) for magic in (0, 1, 2) for codec in (0, GZIP, SNAPPY, LZ4)] + [(2, ZSTD)]


@pytest.mark.parametrize(("magic", "codec"), WRITTEN)
class TestSecondOpinion:
    def test_what_kafka_python_writes_is_read(self, magic: int, codec: int, memory_records: Any) -> None:
        builder = memory_records.MemoryRecordsBuilder(magic=magic, compression_type=codec, batch_size=1 << 20)
        for time, key, value in SAMPLES:
            builder.append(timestamp=time, key=key, value=value, headers=[("h", b"x")] if magic == 2 else [])
        builder.close()
        data = bytes(builder.buffer())
        entries_ = parsed(data)
        found = [one for entry in entries_ for one in entry.get("records", [entry])]
        assert [(one["key"], one["value"]) for one in found] == [(key, value) for _, key, value in SAMPLES]
        assert [one.get("timestamp") for one in found] == [time if magic else None for time, _, _ in SAMPLES]
        assert [one["offset"] for one in found] == [0, 1, 2]
        assert packed(entries_) == data

    def test_what_is_written_kafka_python_reads(self, magic: int, codec: int, memory_records: Any) -> None:
        timed = [{"key": key, "value": value} | ({"timestamp": t} if magic else {}) for t, key, value in SAMPLES]
        if magic == 2:
            value: Any = [{"attributes": codec, "base_offset": 5, "records": timed}]
        elif codec:
            inner = [record | {"offset": 5 + i} for i, record in enumerate(timed)]
            value = [{"magic": magic, "attributes": codec, "offset": 7, "records": inner}]
        else:
            value = [record | {"magic": magic, "offset": 5 + i} for i, record in enumerate(timed)]
        read = memory_records.MemoryRecords(packed(value))
        found = []
        while (batch := read.next_batch()) is not None:
            assert batch.validate_crc()
            found += [(record.offset, record.key, record.value) for record in batch]
        assert found == [(5 + i, key, value) for i, (_, key, value) in enumerate(SAMPLES)]
