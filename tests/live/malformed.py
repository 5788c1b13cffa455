"""Requests with one mistake each, as bytes made by hand, and what real brokers do with them.

`tests/brokers/test_mock.py` sends each to Kafka 4.4 and 3.9, `tests/live/test_rejections.py` to the mock.
"""

# ruff: noqa: E501
from __future__ import annotations

import gzip
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from fastcrc.crc32 import iscsi as crc32c

import kdbg

PRODUCE, FETCH, METADATA, FIND, JOIN, VERSIONS = 0, 1, 3, 10, 11, 18
TOPIC = "rides"
TIME = 1_790_000_000_000
CLOSED, SILENT = "closed", "silent"
"""What a broker does that sends no response: it closes the connection, or it waits for more."""


def varint(value: int) -> bytes:
    """An unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def zigzag(value: int) -> bytes:
    return varint((value << 1 ^ value >> 63) & 0xFFFF_FFFF_FFFF_FFFF)


def record(
    place: int = 0, *, number: Callable[[int], bytes] = zigzag, longer: int = 0, key: bytes | None = None,
    key_longer: int = 0, time: int = 0, headers: bytes = b"\0",
) -> bytes:  # fmt: skip
    """A record of a batch; `longer`: how much its length is too large, `number` how its numbers are written."""
    keyed = number(-1) if key is None else number(len(key) + key_longer) + key
    body = b"\0" + number(time) + number(place) + keyed + number(5) + b"hello" + headers
    return number(len(body) + longer) + body


def batch(
    records: bytes | None = None, *, count: int = 2, last: int | None = None, base: int = 0, attributes: int = 0,
    crc: Callable[[bytes, bytes], int] = lambda rest, before: crc32c(rest), length: int = 0, magic: int = 2,
    producer: int = -1, epoch: int = -1, sequence: int = -1, time: int = TIME, most: int | None = None,
) -> bytes:  # fmt: skip
    """A batch of two records; what is given is wrong. `length` is how much the batch length is too large."""
    data = record(0) + record(1) if records is None else records
    highest = count - 1 if last is None else last
    rest = (
        struct.pack(
            ">hiqqqhii", attributes, highest, time, time if most is None else most, producer, epoch, sequence, count
        )
        + data
    )
    before = struct.pack(">ib", -1, magic)
    body = before + struct.pack(">I", crc(rest, before) & 0xFFFFFFFF) + rest
    return struct.pack(">qi", base, len(body) + length) + body


def message_set(magic: int = 1) -> bytes:
    """A message set, as batches were before Kafka 0.11."""
    body = (
        struct.pack(">bb", magic, 0)
        + (struct.pack(">q", TIME) if magic else b"")
        + struct.pack(">ii", -1, 5)
        + b"hello"
    )
    return struct.pack(">qi", 0, len(body) + 4) + struct.pack(">I", zlib.crc32(body)) + body


def header(key: int, version: int, *, flexible: bool = True, tags: bytes = b"\0") -> bytes:
    client = b"mistaken"
    return struct.pack(">hhih", key, version, 7, len(client)) + client + (tags if flexible else b"")


def framed(data: bytes, longer: int = 0) -> bytes:
    return struct.pack(">i", len(data) + longer) + data


def produce(
    records: bytes | None, *, acks: int = -1, version: int = 9, topic: bytes = TOPIC.encode(), partition: int = 0,
    counts: tuple[int, int] = (1, 1), longer: int = 0, name_longer: int = 0, tail: bytes = b"\0", end: bytes = b"", transaction: bytes = b"\0",
) -> bytes:  # fmt: skip
    """A Produce request, from version 9 on flexible; `longer`: how much the length of its records is too large."""
    if version < 9:
        data = b"" if version < 3 else struct.pack(">h", -1)
        data += struct.pack(">hi", acks, 5000) + struct.pack(">ih", counts[0], len(topic)) + topic
        data += struct.pack(">ii", counts[1], partition)
        data += struct.pack(">i", -1) if records is None else struct.pack(">i", len(records) + longer) + records
        return framed(header(PRODUCE, version, flexible=False) + data + end)
    data = transaction + struct.pack(">hi", acks, 5000) + varint(counts[0] + 1)
    data += varint(len(topic) + 1 + name_longer) + topic + varint(counts[1] + 1) + struct.pack(">i", partition)
    data += (b"\0" if records is None else varint(len(records) + 1 + longer) + records) + b"\0\0" + tail
    return framed(header(PRODUCE, version) + data + end)


def metadata(names: bytes, *, version: int = 4, tail: bytes = b"\1") -> bytes:
    return framed(header(METADATA, version, flexible=version >= 9) + names + tail)


def text(value: bytes) -> bytes:
    return struct.pack(">h", len(value)) + value


NAMED = struct.pack(">i", 1) + text(TOPIC.encode())
COMPACT = varint(2) + varint(len(TOPIC) + 1) + TOPIC.encode() + b"\0"


def join(protocols: bytes, *, group: bytes = b"mistaken", session: int = 30_000) -> bytes:
    body = text(group) + struct.pack(">ii", session, 60_000) + text(b"") + text(b"consumer") + protocols
    return framed(header(JOIN, 2, flexible=False) + body)


RANGE = struct.pack(">i", 1) + text(b"range") + struct.pack(">i", 0)


class Mistake(NamedTuple):
    """A request, and what Kafka 4.4 does with it: responds with an error code, or `CLOSED` or `SILENT`."""

    name: str
    end: int | str
    data: bytes


def unsigned(value: int) -> bytes:
    """A number without the zigzag that records want."""
    return varint(value & 0xFFFFFFFF)


def packed(records: bytes) -> bytes:
    return gzip.compress(records, mtime=0)


MISTAKES = [
    Mistake("sound", 0, produce(batch())),
    Mistake("sound-gzip", 0, produce(batch(packed(record(0) + record(1)), attributes=1))),
    Mistake("crc-wrong", 2, produce(batch(crc=lambda rest, before: crc32c(rest) ^ 1))),
    Mistake("crc-of-gzip", 2, produce(batch(crc=lambda rest, before: zlib.crc32(rest)))),
    Mistake("crc-from-leader-epoch", 2, produce(batch(crc=lambda rest, before: crc32c(before + rest)))),
    Mistake("crc-zero", 2, produce(batch(crc=lambda rest, before: 0))),
    Mistake("crc-wrong-v3", 2, produce(batch(crc=lambda rest, before: crc32c(rest) ^ 1), version=3)),
    Mistake("batch-length+12", 87, produce(batch(length=12))),
    Mistake("batch-length+1", 87, produce(batch(length=1))),
    Mistake("batch-length-1", 2, produce(batch(length=-1))),
    Mistake("batch-length-0", 2, produce(batch(length=-1000))),
    Mistake("count+1", 87, produce(batch(record(0) + record(1), count=3, last=1))),
    Mistake("count+1-last+1", 87, produce(batch(record(0) + record(1), count=3))),
    Mistake("count-1", 87, produce(batch(record(0) + record(1), count=1, last=1))),
    Mistake("count-1-last-1", 87, produce(batch(record(0) + record(1), count=1))),
    Mistake("count-0", 87, produce(batch(record(0) + record(1), count=0, last=1))),
    Mistake("count-negative", 87, produce(batch(record(0) + record(1), count=-1, last=1))),
    Mistake("no-records", 87, produce(batch(b"", count=0, last=0))),
    Mistake("no-records-last--1", 87, produce(batch(b"", count=0))),
    Mistake("last-is-count", 87, produce(batch(last=2))),
    Mistake("last-0", 87, produce(batch(last=0))),
    Mistake("last--1", 87, produce(batch(last=-1))),
    Mistake("base-offset-5", 87, produce(batch(base=5))),
    Mistake("base-offset--1", 87, produce(batch(base=-1))),
    Mistake("offset-deltas-equal", 0, produce(batch(record(0) + record(0)))),
    Mistake("offset-deltas-from-1", 87, produce(batch(record(1) + record(2), last=2))),
    Mistake("offset-deltas-from-1-last-1", 0, produce(batch(record(1) + record(2)))),
    Mistake("offset-deltas-gap", 87, produce(batch(record(0) + record(2), last=2))),
    Mistake("offset-deltas-reversed", 0, produce(batch(record(1) + record(0)))),
    Mistake("record-length+1", 87, produce(batch(record(0) + record(1, longer=1)))),
    Mistake("record-length+1-first", 87, produce(batch(record(0, longer=1) + record(1)))),
    Mistake("record-length-1", 87, produce(batch(record(0) + record(1, longer=-1)))),
    Mistake("key-length+1", 87, produce(batch(record(0) + record(1, key=b"k", key_longer=1)))),
    Mistake("not-zigzag", 87, produce(batch(record(0, number=unsigned) + record(1, number=unsigned)))),
    Mistake("length-not-zigzag", 87, produce(batch(record(0) + varint(len(record(1)) - 1) + record(1)[1:]))),
    Mistake("headers-missing", 87, produce(batch(record(0, headers=b"") + record(1, headers=b"")))),
    Mistake("headers-negative", 87, produce(batch(record(0, headers=b"\1") + record(1)))),
    Mistake("codec-gzip-undeclared", 87, produce(batch(packed(record(0) + record(1))))),
    Mistake("codec-gzip-declared", -1, produce(batch(attributes=1))),
    Mistake("codec-snappy-declared", -1, produce(batch(packed(record(0) + record(1)), attributes=2))),
    Mistake("codec-lz4-declared", -1, produce(batch(packed(record(0) + record(1)), attributes=3))),
    Mistake("codec-zstd-declared", -1, produce(batch(packed(record(0) + record(1)), attributes=4))),
    Mistake("codec-7", -1, produce(batch(attributes=7))),
    Mistake("codec-5", -1, produce(batch(attributes=5))),
    Mistake("gzip-count+1", 87, produce(batch(packed(record(0) + record(1)), attributes=1, count=3, last=1))),
    Mistake("gzip-count-1", 87, produce(batch(packed(record(0) + record(1)), attributes=1, count=1, last=0))),
    Mistake("gzip-last+1", 87, produce(batch(packed(record(0) + record(1)), attributes=1, last=2))),
    Mistake("gzip-record-length+1", 0, produce(batch(packed(record(0) + record(1, longer=1)), attributes=1))),
    Mistake("gzip-deltas-equal", -1, produce(batch(packed(record(0) + record(0)), attributes=1))),
    Mistake("gzip-deltas-from-1", 87, produce(batch(packed(record(1) + record(2)), attributes=1, last=2))),
    Mistake("gzip-record-length+1-first", 0, produce(batch(packed(record(0, longer=1) + record(1)), attributes=1))),
    Mistake("gzip-record-length-1", 0, produce(batch(packed(record(0) + record(1, longer=-1)), attributes=1))),
    Mistake("gzip-record-length+9", 0, produce(batch(packed(record(0) + record(1, longer=9)), attributes=1))),
    Mistake("gzip-key-length+1", 87, produce(batch(packed(record(0) + record(1, key=b"k", key_longer=1)), attributes=1))),
    Mistake("gzip-not-zigzag", 87, produce(batch(packed(record(0, number=unsigned) + record(1, number=unsigned)), attributes=1))),
    Mistake("gzip-length-not-zigzag", 87, produce(batch(packed(record(0) + varint(len(record(1)) - 1) + record(1)[1:]), attributes=1))),
    Mistake("gzip-deltas-from-1-last-1", -1, produce(batch(packed(record(1) + record(2)), attributes=1))),
    Mistake("gzip-deltas-reversed", -1, produce(batch(packed(record(1) + record(0)), attributes=1))),
    Mistake("gzip-tail", 87, produce(batch(packed(record(0) + record(1) + b"abc"), attributes=1))),
    Mistake("gzip-cut", -1, produce(batch(packed(record(0) + record(1))[:-12], attributes=1))),
    Mistake("gzip-crc", 2, produce(batch(packed(record(0) + record(1)), attributes=1, crc=lambda rest, before: 7))),
    Mistake("gzip-headers-missing", 87, produce(batch(packed(record(0, headers=b"") + record(1, headers=b"")), attributes=1))),
    Mistake("gzip-base-offset", 87, produce(batch(packed(record(0) + record(1)), attributes=1, base=4))),
    Mistake("records-tail-inside", 87, produce(batch(record(0) + record(1) + b"abc"))),
    Mistake("key-length--2", 87, produce(batch(record(0) + b"\x18\0\0\2\3\x0ahello\0"))),
    Mistake("headers-huge", 87, produce(batch(record(0) + record(1, headers=zigzag(1 << 20))))),
    Mistake("header-key-null", 87, produce(batch(record(0) + record(1, headers=zigzag(1) + zigzag(-1) + zigzag(0))))),
    Mistake("delta-not-zigzag", 0, produce(batch(record(0) + record(1).replace(b"\0\2\1", b"\0\1\1", 1)))),
    Mistake("zstd-in-v3", 76, produce(batch(packed(record(0)), attributes=4), version=3)),
    Mistake("too-large", 10, produce(batch(zigzag(6 + 3 + 2_000_000) + b"\0\0\0\1" + zigzag(2_000_000) + bytes(2_000_000) + b"\0", count=1))),
    Mistake("sound-v3", 0, produce(batch(), version=3)),
    Mistake("sound-v8", 0, produce(batch(), version=8)),
    Mistake("crc-wrong-v8", 2, produce(batch(crc=lambda rest, before: 1), version=8)),
    Mistake("gzip-transactional", 53, produce(batch(packed(record(0) + record(1)), attributes=0x11))),
    Mistake("producer-sequence-low", 87, produce(batch(producer=4712, epoch=0, sequence=-5))),
    Mistake("message-set", 87, produce(message_set())),
    Mistake("message-set-0", 87, produce(message_set(0))),
    Mistake("message-set-v3", 87, produce(message_set(), version=3)),
    Mistake("magic-3", 2, produce(batch(magic=3))),
    Mistake("magic-1-of-batch", 87, produce(batch(magic=1))),
    Mistake("magic--1", 2, produce(batch(magic=-1))),
    Mistake("control", 87, produce(batch(attributes=0x20))),
    Mistake("transactional", 53, produce(batch(attributes=0x10))),
    Mistake("log-append-time", 0, produce(batch(attributes=0x08))),
    Mistake("unused-attribute", 0, produce(batch(attributes=0x80))),
    Mistake("delete-horizon", 0, produce(batch(attributes=0x40))),
    Mistake("producer-without-sequence", 87, produce(batch(producer=4711, epoch=0))),
    Mistake("producer-without-epoch", 0, produce(batch(producer=4711, sequence=0))),
    Mistake("sequence-without-producer", 0, produce(batch(epoch=0, sequence=0))),
    Mistake("producer-sequence", 0, produce(batch(producer=4711, epoch=0, sequence=0))),
    Mistake("time-negative", 0, produce(batch(time=-5))),
    Mistake("time--1", 0, produce(batch(time=-1))),
    Mistake("time-in-seconds", 0, produce(batch(time=TIME // 1000))),
    Mistake("time-in-microseconds", 32, produce(batch(time=TIME * 1000))),
    Mistake("max-time-low", 0, produce(batch(most=0))),
    Mistake("records-null", SILENT, produce(None)),
    Mistake("records-null-v3", SILENT, produce(None, version=3)),
    Mistake("records-empty", 87, produce(b"")),
    Mistake("records-garbage", 2, produce(b"hello world, this is no batch of records, is it? no. at all" * 2)),
    Mistake("records-short", 87, produce(batch()[:40])),
    Mistake("records-cut", 87, produce(batch()[:-3])),
    Mistake("records-tail", 0, produce(batch() + b"\0\0\0")),
    Mistake("two-batches", 87, produce(batch() + batch())),
    Mistake("second-batch-crc", 87, produce(batch() + batch(crc=lambda rest, before: 1))),
    Mistake("two-partitions-one-wrong", 2, framed(header(PRODUCE, 9) + b"\0" + struct.pack(">hi", -1, 5000) + varint(2) + varint(len(TOPIC) + 1) + TOPIC.encode() + varint(3)
        + struct.pack(">i", 0) + varint(len(batch()) + 1) + batch() + b"\0" + struct.pack(">i", 1) + varint(len(batch()) + 1) + batch(crc=lambda rest, before: 3) + b"\0" + b"\0\0")),
    Mistake("acks-2", 21, produce(batch(), acks=2)),
    Mistake("acks--2", 21, produce(batch(), acks=-2)),
    Mistake("acks-1", 0, produce(batch(), acks=1)),
    Mistake("acks-0", SILENT, produce(batch(), acks=0)),
    Mistake("acks-0-crc", CLOSED, produce(batch(crc=lambda rest, before: 0), acks=0)),
    Mistake("acks-0-length", CLOSED, produce(batch(length=12), acks=0)),
    Mistake("acks-0-topic", CLOSED, produce(batch(), topic=b"no-such-one", partition=7, acks=0)),
    Mistake("acks-2-v3", 21, produce(batch(), acks=2, version=3)),
    Mistake("partition-77", 3, produce(batch(), partition=77)),
    Mistake("partition--1", 3, produce(batch(), partition=-1)),
    Mistake("topic-null", CLOSED, produce(batch(), topic=b"", name_longer=-1)),
    Mistake("topic-empty", 3, produce(batch(), topic=b"")),
    Mistake("topic-length-1", CLOSED, produce(batch(), name_longer=-1)),
    Mistake("topic-length+1", CLOSED, produce(batch(), name_longer=1)),
    Mistake("topics+1", CLOSED, produce(batch(), counts=(2, 1))),
    Mistake("topics-0", 0, framed(header(PRODUCE, 9) + struct.pack(">bhi", 0, -1, 5000) + b"\1\0")),
    Mistake("topics-null", CLOSED, framed(header(PRODUCE, 9) + struct.pack(">bhi", 0, -1, 5000) + b"\0\0")),
    Mistake("topics-null-v3", CLOSED, framed(header(PRODUCE, 3, flexible=False) + struct.pack(">hhii", -1, -1, 5000, -1))),
    Mistake("partitions-0", 0, framed(header(PRODUCE, 9) + struct.pack(">bhi", 0, -1, 5000) + COMPACT[:-1] + b"\1\0\0")),
    Mistake("partitions-null", CLOSED, framed(header(PRODUCE, 9) + struct.pack(">bhi", 0, -1, 5000) + COMPACT[:-1] + b"\0\0\0")),
    Mistake("partitions+1", CLOSED, produce(batch(), counts=(1, 2))),
    Mistake("records-length+1", CLOSED, produce(batch(), longer=1)),
    Mistake("records-length-1", 87, produce(batch(), longer=-1)),
    Mistake("tags-missing", CLOSED, produce(batch(), tail=b"")),
    Mistake("tags-many", CLOSED, produce(batch(), tail=b"\5")),
    Mistake("trailing", 0, produce(batch(), end=b"\0\0\0")),
    Mistake("trailing-v3", 0, produce(batch(), version=3, end=b"\0\0\0")),
    Mistake("transactional-id-without", 0, produce(batch(), transaction=varint(3) + b"tx")),
    Mistake("produce-v2", CLOSED, produce(message_set(), version=2)),
    Mistake("produce-v2-batch", CLOSED, produce(batch(), version=2)),
    Mistake("produce-v99", CLOSED, produce(batch(), version=99)),
    Mistake("produce-v-1", CLOSED, produce(batch(), version=-1)),
    Mistake("body-of-v3-in-v9", CLOSED, framed(header(PRODUCE, 9) + produce(batch(), version=3)[4 + 18:])),
    Mistake("body-of-v9-in-v3", CLOSED, framed(header(PRODUCE, 3, flexible=False) + produce(batch())[4 + 19:])),
    Mistake("metadata-v99", CLOSED, metadata(COMPACT, version=99, tail=b"\0\0\0")),
    Mistake("metadata-v4-trailing", 0, metadata(NAMED, tail=b"\1\0\0")),
    Mistake("metadata-v4-cut", CLOSED, metadata(NAMED, tail=b"")),
    Mistake("metadata-v4-count+1", CLOSED, metadata(struct.pack(">i", 2) + NAMED[4:])),
    Mistake("metadata-v4-count-huge", CLOSED, metadata(struct.pack(">i", 1 << 30) + NAMED[4:])),
    Mistake("metadata-v4-count--2", 0, metadata(struct.pack(">i", -2) + NAMED[4:])),
    Mistake("metadata-v4-name-null", CLOSED, metadata(struct.pack(">ih", 1, -1))),
    Mistake("metadata-v4-name-length--2", CLOSED, metadata(struct.pack(">ih", 1, -2))),
    Mistake("metadata-v4-not-utf8", 17, metadata(struct.pack(">i", 1) + text(b"\xff\xfe\xfd"))),
    Mistake("metadata-v4-boolean-2", 0, metadata(NAMED, tail=b"\2")),
    Mistake("metadata-v9-header-without-tags", CLOSED, framed(header(METADATA, 9, tags=b"") + COMPACT + b"\0\0\0\0")),
    Mistake("metadata-v4-header-with-tags", 0, framed(header(METADATA, 4) + NAMED + b"\0")),
    Mistake("metadata-v9-length-no+1", CLOSED, metadata(varint(2) + varint(len(TOPIC)) + TOPIC.encode() + b"\0", version=9, tail=b"\0\0\0\0")),
    Mistake("metadata-v9-count-no+1", CLOSED, metadata(varint(1) + COMPACT[1:], version=9, tail=b"\0\0\0\0")),
    Mistake("metadata-v9-tag-twice", 0, metadata(COMPACT, version=9, tail=b"\0\0\0\2\x64\0\x64\0")),
    Mistake("metadata-v9-tag-order", 0, metadata(COMPACT, version=9, tail=b"\0\0\0\2\x65\0\x64\0")),
    Mistake("metadata-v9-tag-unknown", 0, metadata(COMPACT, version=9, tail=b"\0\0\0\1\x64\0")),
    Mistake("metadata-v9-int16-length", 0, metadata(struct.pack(">i", 1) + text(TOPIC.encode()) + b"\0", version=9, tail=b"\0\0\0\0")),
    Mistake("versions-v99", 35, framed(header(VERSIONS, 99) + varint(2) + b"x" + varint(2) + b"1\0")),
    Mistake("versions-v3-no-name", 42, framed(header(VERSIONS, 3) + b"\1\1\0")),
    Mistake("versions-v3-cut", CLOSED, framed(header(VERSIONS, 3) + varint(2) + b"x")),
    Mistake("versions-v0-trailing", 0, framed(header(VERSIONS, 0, flexible=False) + b"\0\0")),
    Mistake("versions-v-1", 35, framed(header(VERSIONS, -1, flexible=False))),
    Mistake("unknown-api", CLOSED, framed(header(999, 0, flexible=False) + bytes(8))),
    Mistake("negative-api", CLOSED, framed(header(-1, 0, flexible=False) + bytes(8))),
    Mistake("size-negative", CLOSED, struct.pack(">i", -1) + metadata(NAMED)[4:]),
    Mistake("size-0", CLOSED, struct.pack(">i", 0) + metadata(NAMED)),
    Mistake("size-4", CLOSED, struct.pack(">i", 4) + metadata(NAMED)[4:8]),
    Mistake("size-little-endian", CLOSED, struct.pack("<i", len(metadata(NAMED)) - 4) + metadata(NAMED)[4:]),
    Mistake("size-of-itself-too", SILENT, struct.pack(">i", len(metadata(NAMED))) + metadata(NAMED)[4:]),
    Mistake("size-missing", SILENT, metadata(NAMED)[4:]),
    Mistake("size-1", CLOSED, struct.pack(">i", len(metadata(NAMED)) - 5) + metadata(NAMED)[4:]),
    Mistake("client-id-null", 0, framed(struct.pack(">hhih", METADATA, 4, 7, -1) + NAMED + b"\1")),
    Mistake("client-id-length--2", 0, framed(struct.pack(">hhih", METADATA, 4, 7, -2) + NAMED + b"\1")),
    Mistake("client-id-length-huge", CLOSED, framed(struct.pack(">hhih", METADATA, 4, 7, 30000) + NAMED + b"\1")),
    Mistake("header-little-endian", CLOSED, framed(struct.pack("<hhih", METADATA, 4, 7, 0) + NAMED + b"\1")),
    Mistake("join-no-protocols", 23, join(struct.pack(">i", 0))),
    Mistake("join-no-group", 24, join(RANGE, group=b"")),
    Mistake("join-short-session", 26, join(RANGE, session=1)),
    Mistake("join-long-session", 26, join(RANGE, session=1 << 30)),
    Mistake("join-cut", CLOSED, join(RANGE[:-2])),
    Mistake("join-count+1", CLOSED, join(struct.pack(">i", 2) + RANGE[4:])),
    Mistake("fetch-cut", CLOSED, framed(header(FETCH, 4, flexible=False) + bytes(9))),
    Mistake("fetch-count+1", CLOSED, framed(header(FETCH, 4, flexible=False) + struct.pack(">iiiib", -1, 100, 1, 1 << 20, 0) + struct.pack(">i", 2) + text(TOPIC.encode()) + struct.pack(">iiqi", 1, 0, 0, 1 << 20))),
    Mistake("metadata-name-slash", 17, metadata(struct.pack(">i", 1) + text(b"a/b"), tail=b"\0")),
    Mistake("metadata-name-long", 17, metadata(struct.pack(">i", 1) + text(b"a" * 250), tail=b"\0")),
    Mistake("metadata-name-dot", 17, metadata(struct.pack(">i", 1) + text(b"."), tail=b"\0")),
    Mistake("metadata-name-empty", 17, metadata(struct.pack(">i", 1) + text(b""), tail=b"\0")),
    Mistake("versions-v3-odd-name", 42, framed(header(VERSIONS, 3) + varint(9) + b"my kafka" + varint(2) + b"1\0")),
    Mistake("versions-v3-no-version", 42, framed(header(VERSIONS, 3) + varint(2) + b"x" + b"\1\0")),
    Mistake("versions-v3-null-name", CLOSED, framed(header(VERSIONS, 3) + b"\0\1\0")),
    Mistake("find-key-type-9", 42, framed(header(FIND, 2, flexible=False) + text(b"g") + b"\x09")),
    Mistake("http", CLOSED, b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n"),
    Mistake("tls", CLOSED, b"\x16\x03\x01\x02\x00" + bytes(600)),
]  # fmt: skip
OLDER: Final[dict[str, int | str]] = {
    "time-in-microseconds": 0,
    "gzip-length-not-zigzag": 0,
    "produce-v2": 0,
    "produce-v2-batch": 0,
}
"""What Kafka 3.9 does, where that is something else."""
VALID: Final = frozenset(
    {
        "sound",
        "sound-gzip",
        "sound-v3",
        "sound-v8",
        "acks-1",
        "acks-0",
        "log-append-time",
        "delete-horizon",
        "producer-without-epoch",
        "sequence-without-producer",
        "producer-sequence",
        "time-negative",
        "time--1",
        "time-in-seconds",
        "max-time-low",
        "unused-attribute",
        "topics-0",
        "partitions-0",
        "transactional-id-without",
        "client-id-null",
        "metadata-v9-tag-unknown",
        # what the mock cannot know to be a mistake: another capture has that topic, or that version
        "acks-0-topic",
        "partition-77",
        "partition--1",
        "topic-empty",
        "metadata-name-slash",
        "metadata-name-long",
        "metadata-name-dot",
        "metadata-name-empty",
        "versions-v99",
        "versions-v-1",
    }
)
"""Requests that are not listed in `mock.problems`: brokers take them, or respond without calling them a mistake."""

PROBLEMS = """
base-offset-5 | P topic rides, partition 0: the base offset of the batch is 5, expected 0; R INVALID_RECORD
offset-deltas-equal | P topic rides, partition 0: the offset deltas of the records are 0, 0, expected 0, 1; a broker accepts it
zstd-in-v3 | P topic rides, partition 0: Produce v3 does not support zstd; R UNSUPPORTED_COMPRESSION_TYPE
too-large | P topic rides, partition 0: the batch has 2,000,074 bytes; message.max.bytes is 1,048,588; R MESSAGE_TOO_LARGE
no-records | P topic rides, partition 0: the batch has no records; R INVALID_RECORD
last-0 | P topic rides, partition 0: the last offset delta of the batch is 0, expected 1; R INVALID_RECORD
gzip-transactional | P a batch belongs to a transaction, and the request has no transactional_id; R TRANSACTIONAL_ID_AUTHORIZATION_FAILED
producer-without-sequence | P topic rides, partition 0: the batch has a producer id and no base sequence; R INVALID_RECORD
message-set-v3 | P topic rides, partition 0: the records are a message set of magic 1, expected record batches (magic 2); R INVALID_RECORD
control | P topic rides, partition 0: the batch is a control batch, which only brokers write; R INVALID_RECORD
time-in-microseconds | P topic rides, partition 0: a record has timestamp 1790000000000000, more than an hour ahead; expected milliseconds since 1970; R INVALID_TIMESTAMP
records-null | P topic rides, partition 0: the records of a produced partition are null; a broker sends no response
records-empty | P topic rides, partition 0: the records of a produced partition are empty; R INVALID_RECORD
records-tail | P topic rides, partition 0: the record set ends in the middle of a batch; a broker accepts it
second-batch-crc | P topic rides, partition 0: a partition has 2 batches, expected 1; R INVALID_RECORD
two-partitions-one-wrong | P topic rides, partition 1: batch: stored CRC-32C 0x00000003, computed 0x4ae4bc20; R CORRUPT_MESSAGE
acks-2 | P acks is 2, expected -1, 0 or 1; R INVALID_REQUIRED_ACKS
topic-length-1 | P the compact length of topic_data[0].name lacks its + 1: 5, expected 6; a broker closes the connection
gzip-cut | P topic rides, partition 0: gzip: the compressed stream is cut short; R UNKNOWN_SERVER_ERROR
produce-v99 | P the broker does not support the API, or its version; a broker closes the connection
produce-v-1 | these bytes are not a request: 00 00 00 84 00 00 ff ff 00 00 00 07 00 08 6d 69 …; a broker closes the connection
size-4 | these bytes are not a request: 00 00 00 04 00 03 00 04; a broker closes the connection
tags-many | P tagged_fields: UNSIGNED_VARINT needs 1 byte, only 0 left (byte 131 of the frame, 0x0083); a broker closes the connection
metadata-v4-boolean-2 | Metadata v4 (C): allow_auto_topic_creation: BOOLEAN must be 0 or 1, found 2; a broker accepts it
client-id-length--2 | Metadata v4 (correlation id 7): client_id: NULLABLE_STRING has the invalid length -2 (byte 12 of the frame, 0x000c); a broker accepts it
join-no-protocols | JoinGroup v2 (C): the member offers no protocol; R INCONSISTENT_GROUP_PROTOCOL
join-no-group | JoinGroup v2 (C): group_id is empty; R INVALID_GROUP_ID
join-short-session | JoinGroup v2 (C): session_timeout_ms is 1, expected 6000 to 1800000; R INVALID_SESSION_TIMEOUT
versions-v3-odd-name | ApiVersions v3 (C): client_software_name is 'my kafka', expected letters, digits, - and .; R INVALID_REQUEST
versions-v3-no-version | ApiVersions v3 (C): client_software_version is '', expected letters, digits, - and .; R INVALID_REQUEST
find-key-type-9 | FindCoordinator v2 (C): key_type is 9, expected 0, 1 or 2; R INVALID_REQUEST
"""
"""Lines of `problems` by the names of mistakes. P is Produce in the version that is sent, C the client and its request,
R a response of the broker."""


def sent(address: tuple[str, int], data: bytes, timeout: float) -> bytes | str:
    """Send bytes to a broker; return its response without the size, or what it does that sends none."""
    with socket.create_connection(address, timeout=timeout) as sock:
        try:
            sock.sendall(data)
            found = b""
            while len(found) < 4 or len(found) < 4 + int.from_bytes(found[:4]):
                piece = sock.recv(1 << 16)
                if not piece:
                    return CLOSED
                found += piece
        except TimeoutError:
            return SILENT
        except ConnectionError:
            return CLOSED
        return found[4:]


def end_of(data: bytes, response: bytes | str) -> int | str:
    """Return what became of a request: the first error code of its response that is not 0, or what came instead."""
    if isinstance(response, str):
        return response
    key, version = struct.unpack_from(">hh", data, 4)
    version = 0 if key == VERSIONS and not 0 <= version <= 4 else version  # as KIP-511 has it
    body = kdbg.decode(response, api=key, version=version, direction="response").body
    return next((code for code in _codes(body) if code), 0)


def _codes(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        yield from (code for name, code in value.items() if name == "error_code")
        for inner in value.values():
            yield from _codes(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _codes(item)
