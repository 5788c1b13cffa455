"""Record sets of every magic: read, explained, written back to the byte; damaged ones as far as they go.

kafka-python is the second opinion: what it writes kdbg reads, what kdbg writes it reads.
"""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdbg
from kdbg.errors import BadLength, BadValue, BuildError, Truncated, WireError
from kdbg.grammars.records import FetchedRecords, Records
from kdbg.wire.compiled import UNREADABLE, reader
from kdbg.wire.compression import compress
from kdbg.wire.nodes import build
from kdbg.wire.recordset import APPEND_TIME, CONTROL, MAX_NESTING, TRANSACTIONAL, entries
from kdbg.wire.recordsnode import RecordsNode
from kdbg.wire.spans import Inspection, inspect
from kdbg.wire.types import At

FETCHED = FetchedRecords.at(At(0, False), nullable=True)
PRODUCED = Records.at(At(0, False))
COMPACT = FetchedRecords.at(At(0, True), nullable=True)
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
CODEC_NAMES = {0: None, GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}


def sized(data: bytes) -> bytes:
    """A record set behind its length."""
    return struct.pack(">i", len(data)) + data


def packed(value: Any, node: RecordsNode = FETCHED) -> bytes:
    """The record set itself, without its length."""
    return build(node, value)[4:]


def explained(data: bytes, node: RecordsNode = FETCHED) -> Inspection:
    """The slow reading of a record set, its spans checked; the fast one must agree or refuse."""
    inspection = inspect(node, sized(data))
    ends = [0] * len(inspection.buffers)
    for span in inspection.spans:
        assert span.start == ends[span.buffer], span
        ends[span.buffer] = span.end
    assert ends == [len(buffer.data) for buffer in inspection.buffers]
    try:
        fast = reader(node)(sized(data), 0)
    except UNREADABLE:
        assert inspection.findings
    else:
        assert not inspection.findings
        assert fast == (inspection.value, len(data) + 4)
        assert repr(node.parse(sized(data))) == repr(inspection.value)
    return inspection


def parsed(data: bytes, node: RecordsNode = FETCHED) -> Any:
    """The value of a clean record set."""
    inspection = explained(data, node)
    assert inspection.findings == []
    return inspection.value


def kinds(inspection: Inspection) -> list[str]:
    return [finding.kind for finding in inspection.findings]


def old_message(magic: int, offset: int, body: str, *, attributes: int = 0) -> bytes:
    """A message by hand; `body` is key and value with their lengths, in hexadecimal."""
    stamp = bytes.fromhex("0000015d6fabc000") if magic else b""
    inside = bytes([magic, attributes]) + stamp + bytes.fromhex(body)
    return struct.pack(">qiI", offset, len(inside) + 4, zlib.crc32(inside)) + inside


def new_batch(records: str, count: int, **changed: Any) -> bytes:
    """A batch by hand, from the attributes on checked; `records` in hexadecimal."""
    fields = {"base_offset": 100, "leader_epoch": 2, "attributes": 0, "last_offset_delta": count - 1,
              "base_timestamp": 1000, "max_timestamp": 1005} | changed  # fmt: skip
    checked = struct.pack(
        ">hiqqqhii", fields["attributes"], fields["last_offset_delta"], fields["base_timestamp"],
        fields["max_timestamp"], -1, -1, -1, count,
    ) + bytes.fromhex(records)  # fmt: skip
    crc = fields.get("crc", google_crc32c.value(checked))
    behind = struct.pack(">ibI", fields["leader_epoch"], 2, crc) + checked
    return struct.pack(">qi", fields["base_offset"], len(behind)) + behind


KEY_AND_VALUE = "00000001 6b 00000002 7676"
TWO_RECORDS = "12 00 00 00 02 6b 04 7676 001c 00 0a 02 01 01 04 02 68 04 6869 02 6a 01"
"""k -> vv; and, five milliseconds and one offset later, null -> null with the headers h = hi and j = null."""


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
        with pytest.raises(BuildError, match="must not be null"):
            build(PRODUCED, None, "records")

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

    @pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4])
    @pytest.mark.parametrize("magic", [0, 1])
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
                assert kinds(inspection) == ["compression"]
                assert "nested more than 4 deep" in inspection.findings[0].text
                assert len(inspection.buffers) == MAX_NESTING + 1

    def test_a_batch_inside_a_message_is_no_message(self) -> None:
        value = compress(GZIP, new_batch(TWO_RECORDS, 2))
        data = old_message(1, 5, "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex(), attributes=GZIP)
        inspection = explained(data)
        assert kinds(inspection) == ["record-set"]
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


class TestCut:
    """A broker cuts a fetched set where its limit is reached; a produced one must be whole."""

    whole = old_message(1, 0, KEY_AND_VALUE) + new_batch(TWO_RECORDS, 2)

    @pytest.mark.parametrize("end", [1, 11, 16, 17, 30, 60, 71])
    def test_the_last_entry_of_a_fetched_set_may_be_cut(self, end: int) -> None:
        data = self.whole + new_batch(TWO_RECORDS, 2)[:end]
        value = parsed(data)
        assert [*value[2]] == ["partial"]
        assert value[2]["partial"] == new_batch(TWO_RECORDS, 2)[:end]
        assert packed(value) == data

    @pytest.mark.parametrize("end", [1, 11, 16, 17, 30, 60, 71])
    def test_a_produced_set_that_is_cut_is_told(self, end: int) -> None:
        data = self.whole + new_batch(TWO_RECORDS, 2)[:end]
        inspection = explained(data, PRODUCED)
        assert kinds(inspection) == ["record-set"]
        (finding,) = inspection.findings
        assert finding.text == "the record set ends inside a batch"
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
        assert kinds(inspection) == ["record-set"]
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
        assert (finding.kind, finding.path, finding.start, finding.length) == ("crc", "[1].crc", 29 + 4 + 17, 4)
        assert finding.text.startswith("the batch says CRC-32C 0xdeadbeef, its bytes give 0x")
        assert [record["value"] for record in inspection.value[1]["records"]] == [b"vv", None]

    @pytest.mark.parametrize("magic", [0, 1])
    def test_a_wrong_checksum_of_a_message(self, magic: int) -> None:
        data = damaged(
            lambda out: out.__setitem__(slice(12, 16), b"\xde\xad\xbe\xef"), old_message(magic, 9, KEY_AND_VALUE)
        )
        inspection = self.neighbours(data)
        assert kinds(inspection) == ["crc"]
        assert inspection.findings[0].text.startswith("the message says CRC-32 0xdeadbeef, its bytes give 0x")
        assert inspection.value[1]["value"] == b"vv"

    def test_a_wrong_checksum_inside_a_wrapper(self) -> None:
        inner = damaged(lambda out: out.__setitem__(-1, 0), old_message(1, 0, KEY_AND_VALUE))
        value = compress(GZIP, inner)
        data = old_message(1, 5, "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex(), attributes=GZIP)
        inspection = self.neighbours(data)
        assert kinds(inspection) == ["crc"]
        assert inspection.findings[0].start is None, "its place is in bytes that the message does not have"
        assert inspection.value[1]["records"][0]["value"] == b"v\x00"

    @pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
    def test_compressed_records_that_do_not_decompress(self, codec: int) -> None:
        inside = compress(codec, bytes.fromhex(TWO_RECORDS) * 9)
        inspection = self.neighbours(new_batch(inside[: len(inside) // 2].hex(), 2, attributes=codec))
        (finding,) = inspection.findings
        assert (finding.kind, finding.path) == ("compression", "[1].compressed_records")
        assert "records" not in inspection.value[1]
        assert inspection.value[1]["compressed_records"] == inside[: len(inside) // 2]

    @pytest.mark.parametrize("codec", [5, 6, 7])
    def test_codecs_that_there_are_not(self, codec: int) -> None:
        inspection = self.neighbours(new_batch("00ff", 2, attributes=codec))
        assert kinds(inspection) == ["compression"]
        assert f"no codec has the number {codec}" in inspection.findings[0].text

    def test_a_wrapper_that_does_not_decompress(self) -> None:
        inspection = self.neighbours(old_message(1, 5, "ffffffff 00000002 beef", attributes=GZIP))
        assert kinds(inspection) == ["compression"]
        assert inspection.value[1]["value"] == b"\xbe\xef"

    def test_a_wrong_lz4_checksum_from_magic_1_on(self) -> None:
        value = compress(LZ4, old_message(1, 0, KEY_AND_VALUE), magic=0)
        data = old_message(1, 0, "ffffffff" + struct.pack(">i", len(value)).hex() + value.hex(), attributes=LZ4)
        inspection = self.neighbours(data)
        assert [str(finding) for finding in inspection.findings] == [
            "compression: lz4: the frame header's checksum is wrong"
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
        assert kinds(inspection) == ["record-set"]
        assert inspection.value[1]["raw_records"] == bytes.fromhex(records)
        assert "records" not in inspection.value[1]

    def test_a_message_that_does_not_fill_its_size_stays_bytes(self) -> None:
        data = old_message(0, 1, KEY_AND_VALUE + "00")
        inspection = self.neighbours(data)
        assert kinds(inspection) == ["record-set"]
        assert inspection.value[1] == {"raw": data}

    @pytest.mark.parametrize("junk", [bytes(30), b"\xff" * 30, bytes(16) + b"\x03" + bytes(60)])
    def test_bytes_that_are_no_entry_end_the_set(self, junk: bytes) -> None:
        data = new_batch(TWO_RECORDS, 2) + junk
        inspection = explained(data)
        assert kinds(inspection) == ["record-set"]
        assert inspection.findings[0].text == "neither a batch nor a message"
        assert inspection.value[1] == {"raw": junk}
        assert packed(inspection.value) == data


class TestWalk:
    def test_entries_are_stepped_over_by_their_lengths_alone(self) -> None:
        data = old_message(0, 0, KEY_AND_VALUE) + new_batch("ffff", 9) + b"\x00"
        found = list(entries(b"\xaa" * 3 + data, 3, len(data) + 3, FETCHED.format))
        assert [(entry.magic, entry.partial) for entry in found] == [(0, False), (2, False), (None, True)]
        assert found[0].start == 3
        assert [entry.end for entry in found[:-1]] == [entry.start for entry in found[1:]]

    def test_what_the_format_says_of_itself(self) -> None:
        assert (FETCHED.format.crc_at, FETCHED.format.header_size) == (17, 61)


class TestUserMade:
    """Bodies written by people: almost everything may be left out."""

    def encoded(self, records: Any, version: int = 3) -> bytes:
        body = {"acks": 1, "timeout_ms": 1, "topic_data": [{"name": "t", "partition_data": [{"records": records}]}]}
        return kdbg.encode(body, api="Produce", version=version, direction="request")

    def decoded(self, records: Any, version: int = 3) -> Any:
        data = self.encoded(records, version)
        message = kdbg.decode(data, api="Produce", version=version, direction="request", header=False)
        assert message.findings == ()
        assert kdbg.encode(message.body, api="Produce", version=version, direction="request") == data
        return message.body["topic_data"][0]["partition_data"][0]["records"]

    def test_a_value_is_enough(self) -> None:
        (batch,) = self.decoded([{"records": [{"value": "v"}]}])
        assert batch["records"] == [
            {"offset": 0, "timestamp": -1, "attributes": 0, "key": None, "value": b"v", "headers": []}
        ]
        assert (batch["producer_id"], batch["base_sequence"], batch["records_count"]) == (-1, -1, 1)
        assert batch["last_offset_delta"] == 0

    def test_nothing_is_enough(self) -> None:
        (batch,) = self.decoded([{"records": []}])
        assert (batch["records"], batch["records_count"]) == ([], 0)
        assert self.decoded([]) == []
        assert self.decoded(None) is None

    def test_offsets_and_times_are_filled_in(self) -> None:
        (batch,) = self.decoded([{"records": [{"timestamp": 1000}, {"timestamp": 900}, {"timestamp": 1200}]}])
        assert (batch["base_timestamp"], batch["max_timestamp"], batch["last_offset_delta"]) == (1000, 1200, 2)
        assert [record["offset"] for record in batch["records"]] == [0, 1, 2]
        assert [record["timestamp"] for record in batch["records"]] == [1000, 900, 1200]

    @pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
    def test_a_codec_in_the_attributes_compresses(self, codec: int) -> None:
        (batch,) = self.decoded([{"attributes": codec, "records": [{"value": "v" * 999}]}])
        assert batch["records"][0]["value"] == b"v" * 999
        assert len(batch["compressed_records"]) < 200

    def test_base64_is_taken(self) -> None:
        headers = [{"key": "h", "value": {"base64": "AP8="}}]
        (batch,) = self.decoded([{"records": [{"key": {"base64": "AP8="}, "headers": headers}]}])
        assert batch["records"][0]["key"] == batch["records"][0]["headers"][0]["value"] == b"\x00\xff"

    @pytest.mark.parametrize("magic", [0, 1])
    def test_messages_of_old(self, magic: int) -> None:
        (message,) = self.decoded([{"magic": magic, "value": "v"}], version=0)
        assert (message["offset"], message["key"], message["value"]) == (0, None, b"v")
        assert message.get("timestamp", -1) == -1

    @pytest.mark.parametrize("magic", [0, 1])
    def test_messages_inside_a_message_need_no_magic_and_no_offset(self, magic: int) -> None:
        inner = [{"value": "a"}, {"value": "b"}]
        (wrapper,) = self.decoded([{"magic": magic, "attributes": GZIP, "records": inner}], version=0)
        assert [message["value"] for message in wrapper["records"]] == [b"a", b"b"]
        assert [message["offset"] for message in wrapper["records"]] == [0, 1]
        assert {message["magic"] for message in wrapper["records"]} == {magic}

    def test_offsets_inside_a_message_may_be_absolute(self) -> None:
        inner = [{"value": "a", "offset": 7}, {"value": "b", "offset": 9}]
        (wrapper,) = self.decoded([{"magic": 1, "offset": 9, "attributes": GZIP, "records": inner}], version=0)
        assert [message["offset"] for message in wrapper["records"]] == [7, 9]

    def test_bytes_may_be_given_as_they_are(self) -> None:
        data = new_batch(TWO_RECORDS, 2)
        assert self.decoded(data) == parsed(data)
        with pytest.raises(WireError):
            kdbg.decode(self.encoded(b"junk"), api="Produce", version=3, direction="request", header=False)

    def test_a_wrong_checksum_is_written_as_given(self) -> None:
        data = self.encoded([{"crc": 5, "records": [{"value": "v"}]}])
        with pytest.raises(WireError) as caught:
            kdbg.decode(data, api="Produce", version=3, direction="request", header=False)
        assert caught.value.kind == "crc"

    @pytest.mark.parametrize(
        ("records", "path"),
        [
            ([5], "[0]"), (["text"], "[0]"), ([{"records": 5}], "[0].records"), ([{"records": "ab"}], "[0].records"),
            ([{"records": [5]}], "[0].records[0]"), ([{"records": [{"vale": 1}]}], "[0].records[0].vale"),
            ([{"records": [{"value": 5}]}], "[0].records[0].value"), ([{"offset": 5}], "[0].offset"),
            ([{"records": [{"offset": "x"}]}], "[0].records[0].offset"),
            ([{"records": [{"offset": 2**40}]}], "[0].records[0].offset_delta"),
            ([{"records": [{"timestamp": "now"}]}], "[0].records[0].timestamp"),
            ([{"records": [{"headers": 5}]}], "[0].records[0].headers"),
            ([{"records": [{"headers": [{"key": 5}]}]}], "[0].records[0].headers[0].key"),
            ([{"attributes": "gzip", "records": []}], "[0].attributes"),
            ([{"attributes": 5, "records": []}], "[0].attributes"),
            ([{"attributes": 2**20, "records": []}], "[0].attributes"),
            ([{"base_offset": "x", "records": [{"value": "v"}]}], "[0].base_offset"),
            ([{"base_timestamp": None, "records": [{"timestamp": 1}]}], "[0].base_timestamp"),
            ([{"crc": "x", "records": []}], "[0].crc"), ([{"magic": 2, "nonsense": 1}], "[0].nonsense"),
            ([{"magic": 3, "records": []}], "[0].magic"), ([{"partial": 5}], "[0].partial"), ([{"raw": []}], "[0].raw"),
            ([{"magic": 1, "offset": "x"}], "[0].offset"), ([{"magic": 1, "offset": 2**70}], "[0].offset"),
            ([{"magic": 1, "crc": "x"}], "[0].crc"), ([{"magic": 0, "timestamp": 5}], "[0].timestamp"),
            ([{"magic": 1, "value": 5}], "[0].value"), ([{"magic": 1, "attributes": "x"}], "[0].attributes"),
            ([{"magic": 1, "attributes": 1, "records": 5}], "[0].records"),
            ([{"magic": 1, "attributes": 1, "records": [5]}], "[0].records[0]"),
            ([{"magic": 1, "attributes": 1, "records": [{"value": 5}]}], "[0].records[0].value"),
            ([{"magic": 1, "attributes": 1, "records": [{"offset": "x"}]}], "[0].records[0].offset"),
            ([{"magic": 1, "attributes": 0, "records": []}], "[0].attributes"),
            ([{"magic": 1, "attributes": 6, "records": []}], "[0].attributes"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_written_is_named(self, records: Any, path: str) -> None:
        with pytest.raises(BuildError) as caught:
            self.encoded(records)
        assert caught.value.path.startswith(f"topic_data[0].partition_data[0].records{path}")


class TestEdited:
    """A decoded body that somebody changed: the compressed bytes are kept only while they still say the same."""

    @pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
    def test_changed_records_are_compressed_again(self, codec: int) -> None:
        (batch,) = parsed(new_batch(compress(codec, bytes.fromhex(TWO_RECORDS)).hex(), 2, attributes=codec))
        batch["records"][0]["value"] = b"changed"
        del batch["crc"]
        (again,) = parsed(packed([batch]))
        assert [record["value"] for record in again["records"]] == [b"changed", None]

    @pytest.mark.parametrize("magic", [0, 1])
    def test_changed_messages_are_compressed_again(self, magic: int) -> None:
        inner = [{"value": b"a", "offset": 7}, {"value": b"b", "offset": 9}]
        (wrapper,) = parsed(packed([{"magic": magic, "attributes": GZIP, "offset": 9, "records": inner}]))
        wrapper["records"][0]["value"] = b"changed"
        for message in (wrapper, wrapper["records"][0]):
            del message["crc"]
        (again,) = parsed(packed([wrapper]))
        assert [(m["offset"], m["value"]) for m in again["records"]] == [(7, b"changed"), (9, b"b")]

    def test_records_win_over_compressed_bytes_that_are_none(self) -> None:
        batch = {"attributes": GZIP, "compressed_records": b"junk", "records": [{"value": "v"}]}
        (again,) = parsed(packed([batch]))
        assert again["records"][0]["value"] == b"v"
        wrapper = {"magic": 1, "attributes": GZIP, "value": b"junk", "records": [{"value": "v"}]}
        (again,) = parsed(packed([wrapper]))
        assert again["records"][0]["value"] == b"v"

    def foreign(self, plain: bytes) -> bytes:
        """gzip's level 9 is not what kdbg writes, but it says the same."""
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        data = packer.compress(plain) + packer.flush()
        assert data != compress(GZIP, plain)
        return data

    def test_compressed_records_of_another_writer_are_kept(self) -> None:
        data = new_batch(self.foreign(bytes.fromhex(TWO_RECORDS)).hex(), 2, attributes=GZIP)
        assert packed(parsed(data)) == data

    @pytest.mark.parametrize("magic", [0, 1])
    @pytest.mark.parametrize(
        "inside",
        [
            old_message(0, 3, KEY_AND_VALUE) + old_message(1, 4, KEY_AND_VALUE),
            old_message(1, 3, KEY_AND_VALUE) + new_batch(TWO_RECORDS, 2),
            old_message(1, 3, KEY_AND_VALUE)[:-1] + b"?",  # its checksum is wrong
            old_message(0, 3, KEY_AND_VALUE)[:-1],
            b"no message",
        ],
        ids=["clean", "a batch", "checksum", "cut", "junk"],
    )
    def test_compressed_messages_of_another_writer_are_kept(self, inside: bytes, magic: int) -> None:
        value = self.foreign(inside)
        data = old_message(magic, 9, f"ffffffff {len(value):08x} {value.hex()}", attributes=GZIP)
        assert packed(explained(data).value) == data


RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "timestamp": st.integers(0, 2**41),
            "key": st.none() | st.binary(max_size=9),
            "value": st.none() | st.binary(max_size=200),
            "headers": st.lists(
                st.fixed_dictionaries({"key": st.text(max_size=5), "value": st.none() | st.binary(max_size=5)}),
                max_size=2,
            ),
        }
    ),
    max_size=5,
)


@given(RECORDS, st.sampled_from([0, GZIP, SNAPPY, LZ4, ZSTD]), st.integers(0, 2**60))
def test_any_records_come_back(records: list[Any], codec: int, offset: int) -> None:
    data = packed([{"attributes": codec, "base_offset": offset, "records": records}])
    (batch,) = parsed(data)
    expected = [{"attributes": 0, "offset": offset + i} | record for i, record in enumerate(records)]
    assert batch["records"] == expected
    assert packed([batch]) == data


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
