"""The mistakes of programs, each made in a valid message: independent of the finder, by the spans of the fields."""

from __future__ import annotations

import gzip
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from fastcrc.crc32 import iscsi

import kdbg
from kdbg.exchanges.messages.message import explain, header_grammar
from kdbg.protocol import grammars
from kdbg.protocol.wire.nodes import Fixed, Sized, Varint, WireArray, WireStruct
from kdbg.protocol.wire.readings.inspection import Span
from kdbg.protocol.wire.readings.measure import end_of

from .messages import Sample, batch, message_set, plain, records, uvarint, with_records


class Made(NamedTuple):
    """A message with a mistake: the kinds that name it, the message, its size as written, the bytes as they should be.

    `size` None: the size is missing.
    """

    kinds: frozenset[str]
    sample: Sample
    frame: bytes
    size: bytes | None
    right: bytes

    @property
    def data(self) -> bytes:
        return (self.size or b"") + self.frame


Maker = Callable[[random.Random, Sample], Made | None]
ANY: dict[str, Maker] = {}
"""What makes a mistake in any message, by its name."""
BATCH: dict[str, Callable[[random.Random], tuple[bytes, bytes]]] = {}
"""What makes (a batch with a mistake, the batch as it should be), by the mistake's name."""
NAMES: dict[str, frozenset[str]] = {}
"""The kinds that name each mistake, by its name."""


def mistake(name: str, *kinds: str) -> Callable[[Maker], Maker]:
    def add(maker: Maker) -> Maker:
        ANY[name], NAMES[name] = maker, frozenset(kinds or (name,))
        return maker

    return add


def made(name: str, sample: Sample, frame: bytes, size: int | None = None) -> Made:
    written = struct.pack(">i", len(frame) if size is None else size)
    return Made(NAMES[name], sample, frame, written, sample.sized)


def fields(sample: Sample) -> list[Span]:
    """The spans of the body outside of tagged fields and record sets."""
    spans = explain(sample.api, sample.version, sample.direction, sample.frame)[1].spans
    start = end_of(header_grammar(sample.api, sample.version, sample.direction), sample.frame, 0)
    tagged = any(one.role == "tag" for one in spans)
    return [] if tagged else [one for one in spans if one.buffer == 0 and one.start >= start]


def body_at(sample: Sample) -> int:
    return end_of(header_grammar(sample.api, sample.version, sample.direction), sample.frame, 0)


class Place(NamedTuple):
    """A length or count: where, how many bytes it takes, its value (-1: null), its width (0: compact)."""

    start: int
    end: int
    value: int
    width: int
    array: bool
    nullable: bool


def places(sample: Sample) -> Iterator[Place]:
    for one in fields(sample):
        node = one.node
        if not isinstance(node, (Sized, WireArray)):
            continue
        number = node.length.number
        array = isinstance(node, WireArray)
        value = -1 if one.value is None else one.value if array else len(sample.frame[one.start : one.end])
        if isinstance(number, Fixed):
            width = number.size
            if not array and one.value is not None:
                value -= width
        elif isinstance(number, Varint) and node.length.bias == 1:
            width = 0
            if not array and one.value is not None:
                value = one.end - _uvarint_end(sample.frame, one.start)
        else:
            continue
        end = one.start + width if width else _uvarint_end(sample.frame, one.start)
        yield Place(one.start, end, value, width, array, node.nullable)


def _uvarint_end(data: bytes, at: int) -> int:
    while data[at] > 0x7F:
        at += 1
    return at + 1


def replaced(sample: Sample, start: int, end: int, data: bytes) -> bytes:
    return sample.frame[:start] + data + sample.frame[end:]


def one_of(chance: random.Random, found: list[Place]) -> Place | None:
    return chance.choice(found) if found else None


def relength(name: str, chance: random.Random, sample: Sample, wanted: Callable[[Place], bool],
             write: Callable[[Place], bytes]) -> Made | None:  # fmt: skip
    place = one_of(chance, [one for one in places(sample) if wanted(one)])
    return made(name, sample, replaced(sample, place.start, place.end, write(place))) if place else None


@mistake("compact length without + 1", "compact-length-without-one")
def _(chance: random.Random, sample: Sample) -> Made | None:
    return relength("compact length without + 1", chance, sample, lambda one: not one.width and one.value > 0,
                    lambda one: uvarint(one.value))  # fmt: skip


@mistake("all compact lengths without + 1", "compact-length-without-one")
def _(chance: random.Random, sample: Sample) -> Made | None:
    return everywhere("all compact lengths without + 1", sample, lambda one: not one.width,
                      lambda one: uvarint(max(one.value, 0)))  # fmt: skip


@mistake("all compact string lengths without + 1", "compact-length-without-one")
def _(chance: random.Random, sample: Sample) -> Made | None:
    return everywhere("all compact string lengths without + 1", sample,
                      lambda one: not one.width and not one.array,
                      lambda one: uvarint(max(one.value, 0)))  # fmt: skip


def everywhere(
    name: str, sample: Sample, wanted: Callable[[Place], bool], write: Callable[[Place], bytes]
) -> Made | None:
    frame, found = sample.frame, [one for one in places(sample) if wanted(one)]
    for one in reversed(found):
        frame = frame[: one.start] + write(one) + frame[one.end :]
    return made(name, sample, frame) if found else None


@mistake("length too high or low", "wrong-length", "compact-length-without-one")
def _(chance: random.Random, sample: Sample) -> Made | None:
    by = chance.choice([-1, 1])
    return relength("length too high or low", chance, sample,
                    lambda one: not one.array and one.value > 0 and (bool(one.width) or by > 0),
                    lambda one: number(one, one.value + by))  # fmt: skip


@mistake("count too high or low", "wrong-count", "compact-length-without-one")
def _(chance: random.Random, sample: Sample) -> Made | None:
    by = chance.choice([-1, 1])
    return relength("count too high or low", chance, sample,
                    lambda one: one.array and one.value > 0 and (bool(one.width) or by > 0),
                    lambda one: number(one, one.value + by))  # fmt: skip


def number(one: Place, value: int, order: str = ">") -> bytes:
    if not one.width:
        return uvarint(value + 1)
    return struct.pack(order + {2: "h", 4: "i"}[one.width], value)


@mistake("INT16 length where compact is expected", "int16-length")
def _(chance: random.Random, sample: Sample) -> Made | None:
    return relength("INT16 length where compact is expected", chance, sample,
                    lambda one: not one.width and not one.array and 0 < one.value < 30_000,
                    lambda one: struct.pack(">h", one.value))  # fmt: skip


@mistake("INT16 lengths where compact ones are expected", "int16-length")
def _(chance: random.Random, sample: Sample) -> Made | None:
    return everywhere("INT16 lengths where compact ones are expected", sample,
                      lambda one: not one.width and not one.array and one.value < 30_000,
                      lambda one: struct.pack(">h", one.value))  # fmt: skip


@mistake("INT32 length where compact is expected", "int32-length")
def _(chance: random.Random, sample: Sample) -> Made | None:
    return relength("INT32 length where compact is expected", chance, sample,
                    lambda one: not one.width and one.value >= 0,
                    lambda one: struct.pack(">i", one.value))  # fmt: skip


@mistake("INT32 counts where compact ones are expected", "int32-length")
def _(chance: random.Random, sample: Sample) -> Made | None:
    return everywhere("INT32 counts where compact ones are expected", sample,
                      lambda one: not one.width and one.array, lambda one: struct.pack(">i", one.value))  # fmt: skip


@mistake("compact length where INT16 or INT32 is expected", "compact-length")
def _(chance: random.Random, sample: Sample) -> Made | None:
    return relength("compact length where INT16 or INT32 is expected", chance, sample,
                    lambda one: bool(one.width) and one.value > 0, lambda one: uvarint(one.value + 1))  # fmt: skip


@mistake("compact lengths where INT16 or INT32 are expected", "compact-length")
def _(chance: random.Random, sample: Sample) -> Made | None:
    return everywhere("compact lengths where INT16 or INT32 are expected", sample,
                      lambda one: bool(one.width), lambda one: uvarint(one.value + 1))  # fmt: skip


def tags(sample: Sample) -> list[Span]:
    found = [one for one in fields(sample) if one.type == "TAGGED_FIELDS" and one.role == "size" and one.value == 0]
    return [one for one in found if isinstance(one.node, WireStruct)]


@mistake("tagged fields missing", "missing-tagged-fields")
def _(chance: random.Random, sample: Sample) -> Made | None:
    found = tags(sample)
    if not found:
        return None
    one = chance.choice(found)
    return made("tagged fields missing", sample, replaced(sample, one.start, one.end, b""))


@mistake("all tagged fields of the body missing", "missing-tagged-fields")
def _(chance: random.Random, sample: Sample) -> Made | None:
    found, frame = tags(sample), sample.frame
    for one in reversed(found):
        frame = frame[: one.start] + frame[one.end :]
    return made("all tagged fields of the body missing", sample, frame) if found else None


@mistake("tagged fields twice", "surplus-tagged-fields")
def _(chance: random.Random, sample: Sample) -> Made | None:
    found = tags(sample)
    if not found:
        return None
    one = chance.choice(found)
    return made("tagged fields twice", sample, replaced(sample, one.start, one.end, b"\0\0"))


@mistake("header without tagged fields", "missing-header-tags")
def _(chance: random.Random, sample: Sample) -> Made | None:
    at = body_at(sample)
    if header_grammar(sample.api, sample.version, sample.direction).tags is None or sample.frame[at - 1]:
        return None
    return made("header without tagged fields", sample, replaced(sample, at - 1, at, b""))


@mistake("header with tagged fields", "unexpected-header-tags")
def _(chance: random.Random, sample: Sample) -> Made | None:
    if header_grammar(sample.api, sample.version, sample.direction).tags is not None:
        return None
    at = body_at(sample)
    return made("header with tagged fields", sample, replaced(sample, at, at, b"\0"))


@mistake("client id as COMPACT_STRING", "compact-client-id")
def _(chance: random.Random, sample: Sample) -> Made | None:
    if sample.direction == "response" or len(sample.frame) < 11 or not 0 < sample.frame[9] < 100 or sample.frame[8]:
        return None
    frame = replaced(sample, 8, 10, uvarint(sample.frame[9] + 1))
    return made("client id as COMPACT_STRING", sample, frame)


@mistake("client id as COMPACT_STRING, no body", "compact-client-id-without-body")
def _(chance: random.Random, sample: Sample) -> Made | None:
    flexible = sample.version >= sample.api.flexible
    if sample.direction == "response" or not flexible or not 2 < sample.frame[9] < 100 or sample.frame[8]:
        return None
    name = sample.frame[10 : 10 + sample.frame[9]]
    front, behind = chance.choice([b"\0", b""]), chance.choice([b"\0", b""])
    frame = sample.frame[:8] + front + uvarint(len(name) + 1) + name + behind
    return made("client id as COMPACT_STRING, no body", sample, frame)


@mistake("body of another version", "other-version-body")
def _(chance: random.Random, sample: Sample) -> Made | None:
    """The value is encoded in another version, from the fields that it knows."""
    others = [one for one in sample.api.versions if one != sample.version]
    if not others or not sample.api.reads(sample.direction, sample.version):
        return None
    near = sorted(others, key=lambda one: abs(one - sample.version))[:4]
    version = chance.choice(near)
    body = kdbg.decode(sample.frame, api=sample.api.key, version=sample.version, direction=sample.direction).body
    try:
        other = kdbg.encode(_known(body, sample.api.at(sample.direction, version)), api=sample.api.key,
                            version=version, direction=sample.direction)  # fmt: skip
    except kdbg.BuildError:
        return None
    frame = sample.frame[: body_at(sample)] + other
    return made("body of another version", sample, frame) if frame != sample.frame else None


def _known(value: object, node: object) -> object:
    """The value without what a node of another version has no field for."""
    if isinstance(node, WireStruct) and isinstance(value, dict):
        return {one.name: _known(value[one.name], one.node) for one in node.fields if one.name in value}
    if isinstance(node, WireArray) and isinstance(value, list):
        return [_known(one, node.item) for one in value]
    return value


@mistake("little-endian size", "little-endian-size")
def _(chance: random.Random, sample: Sample) -> Made | None:
    right = struct.pack("<i", len(sample.frame))
    return Made(NAMES["little-endian size"], sample, sample.frame, right, sample.sized)


@mistake("little-endian header", "little-endian-header")
def _(chance: random.Random, sample: Sample) -> Made | None:
    if sample.direction == "response" or len(sample.frame) < 14 or sample.frame[8]:
        return None
    key, version, number_, length = struct.unpack_from(">hhih", sample.frame)
    frame = struct.pack("<hhih", key, version, number_, length) + sample.frame[10:]
    size = struct.pack("<i", len(frame))
    return Made(NAMES["little-endian header"], sample, frame, size, sample.sized)


@mistake("little-endian length", "little-endian-length")
def _(chance: random.Random, sample: Sample) -> Made | None:
    return relength("little-endian length", chance, sample, lambda one: bool(one.width) and one.value > 0,
                    lambda one: number(one, one.value, "<"))  # fmt: skip


INTEGERS = ("timeout_ms", "session_timeout_ms", "rebalance_timeout_ms", "max_wait_ms", "partition", "partition_index",
            "index", "port", "node_id", "broker_id", "leader_id", "timestamp", "error_code", "acks", "generation_id",
            "leader_epoch", "current_leader_epoch", "num_partitions", "replication_factor")  # fmt: skip


@mistake("little-endian integer", "little-endian-integer")
def _(chance: random.Random, sample: Sample) -> Made | None:
    found = [
        one for one in fields(sample)
        if isinstance(one.node, Fixed) and one.node.size > 1 and one.path.rpartition(".")[2] in INTEGERS
        and isinstance(one.value, int) and one.value > 0
    ]  # fmt: skip
    if not found:
        return None
    one = chance.choice(found)
    data = sample.frame[one.start : one.end][::-1]
    return made("little-endian integer", sample, replaced(sample, one.start, one.end, data))


@mistake("size that counts itself", "size-counts-itself")
def _(chance: random.Random, sample: Sample) -> Made | None:
    return made("size that counts itself", sample, sample.frame, len(sample.frame) + 4)


@mistake("null where none is allowed", "null-not-allowed")
def _(chance: random.Random, sample: Sample) -> Made | None:
    place = one_of(chance, [one for one in places(sample) if not one.nullable and one.value == 0])
    if place is None:
        return None
    return made("null where none is allowed", sample, replaced(sample, place.start, place.end, number(place, -1)))


@mistake("acks that nothing uses", "unused-value")
def _(chance: random.Random, sample: Sample) -> Made | None:
    found = [one for one in fields(sample) if one.path == "acks"] if sample.direction == "request" else []
    if not found or sample.api.key:
        return None
    (one,) = found
    value = struct.pack(">h", chance.choice([2, 3, -2, 7]))
    return made("acks that nothing uses", sample, replaced(sample, one.start, one.end, value))


# Mistakes in record batches


def in_batch(name: str, *kinds: str) -> Callable[[Callable[[random.Random], tuple[bytes, bytes]]], object]:
    def add(maker: Callable[[random.Random], tuple[bytes, bytes]]) -> object:
        BATCH[name], NAMES[name] = maker, frozenset(kinds)
        return maker

    return add


def twice(
    chance: random.Random, wrong: dict[str, object], right: dict[str, object] | None = None
) -> tuple[bytes, bytes]:
    """One batch with each of the two sets of arguments."""
    seed = chance.random()
    return batch(random.Random(seed), **wrong), batch(random.Random(seed), **(right or {}))  # type: ignore[arg-type]


@in_batch("batch length", "wrong-batch-length")
def _(chance: random.Random) -> tuple[bytes, bytes]:
    return twice(chance, {"length": chance.choice([12, -1, 1, 4, 8, -49])})


@in_batch("record count", "wrong-record-count")
def _(chance: random.Random) -> tuple[bytes, bytes]:
    rows, delta = records(chance)
    count = len(rows) + chance.choice([-1, 1] if len(rows) > 1 else [1])
    return twice(chance, {"rows": rows, "delta": delta, "count": count}, {"rows": rows, "delta": delta})


@in_batch("last offset delta", "wrong-last-offset-delta")
def _(chance: random.Random) -> tuple[bytes, bytes]:
    rows, delta = records(chance)
    last = chance.choice([len(rows), len(rows), 0 if len(rows) > 1 else 1])
    return twice(chance, {"rows": rows, "delta": delta, "last": last}, {"rows": rows, "delta": delta})


@in_batch("base offset", "wrong-base-offset")
def _(chance: random.Random) -> tuple[bytes, bytes]:
    return twice(chance, {"base": chance.choice([1, 5, 1000, 123_456])})


@in_batch("record length", "wrong-record-length")
def _(chance: random.Random) -> tuple[bytes, bytes]:
    rows, delta = records(chance)
    at, by = chance.randrange(len(rows)), chance.choice([-1, 1, 1])
    wrong = list(rows)
    length = _uvarint_end(rows[at], 0)
    wrong[at] = uvarint((len(rows[at]) - length + by) << 1) + rows[at][length:]
    return twice(chance, {"rows": wrong, "delta": delta}, {"rows": rows, "delta": delta})


@in_batch("no zigzag", "missing-zigzag")
def _(chance: random.Random) -> tuple[bytes, bytes]:
    seed = chance.random()
    (rows, delta), (right, _) = records(random.Random(seed), plain), records(random.Random(seed))
    return twice(chance, {"rows": rows, "delta": delta}, {"rows": right, "delta": delta})


RANGES: dict[str, Callable[[bytes, bytes], int]] = {
    "whole batch with 0 as CRC": lambda front, rest: iscsi(front + bytes(4) + rest),
    "from the magic": lambda front, rest: iscsi(front[16:] + bytes(4) + rest),
    "from the leader epoch": lambda front, rest: iscsi(front[12:] + bytes(4) + rest),
    "after the attributes": lambda front, rest: iscsi(rest[2:]),
    "the records alone": lambda front, rest: iscsi(rest[40:]),
}
CRCS: dict[str, Callable[[bytes, bytes], int]] = {
    "CRC-32": lambda front, rest: zlib.crc32(rest),
    "little-endian": lambda front, rest: int.from_bytes(iscsi(rest).to_bytes(4, "little"), "big"),
    "none": lambda front, rest: 0,
    "CRC-32 without the last xor": lambda front, rest: iscsi(rest) ^ 0xFFFFFFFF,
}


@in_batch("CRC over the wrong range", "wrong-crc-range")
def _(chance: random.Random) -> tuple[bytes, bytes]:
    return twice(chance, {"crc": chance.choice(list(RANGES.values()))})


@in_batch("CRC of the wrong kind", "wrong-crc-kind")
def _(chance: random.Random) -> tuple[bytes, bytes]:
    return twice(chance, {"crc": chance.choice(list(CRCS.values()))})


@in_batch("codec not declared", "undeclared-codec")
def _(chance: random.Random) -> tuple[bytes, bytes]:
    from kdbg.protocol.wire.records.compression import compress

    codec = chance.choice([1, 2, 3, 4])
    pack = gzip.compress if codec == 1 else lambda data: compress(codec, data)
    return twice(chance, {"pack": pack}, {"pack": pack, "attributes": codec})


@in_batch("message set where a batch is expected", "message-set")
def _(chance: random.Random) -> tuple[bytes, bytes]:
    return message_set(chance, chance.randrange(2)), b""


FETCHED = {"batch length", "record count", "record length", "no zigzag", "CRC over the wrong range",
           "CRC of the wrong kind", "codec not declared"}  # fmt: skip
"""Mistakes that are mistakes in Fetch responses, too."""


def in_records(name: str, chance: random.Random) -> Made:
    """A Produce request or Fetch response with a mistake in its batch."""
    produce, fetch = grammars.api("Produce"), grammars.api("Fetch")
    api = fetch if name in FETCHED and chance.random() < 0.4 else produce
    version = chance.choice([one for one in api.versions if one >= (3 if api is produce else 4)])
    wrong, right = BATCH[name](chance)
    seed = chance.random()
    sample = with_records(random.Random(seed), api, version, wrong)
    whole = with_records(random.Random(seed), api, version, right)
    return made(name, whole, sample.frame)._replace(right=whole.sized if right else b"")


def cases(name: str, samples: list[Sample], seed: int, count: int) -> list[Made]:
    """`count` messages with the mistake, of as many APIs and versions as the samples have."""
    chance, found, seen = random.Random(f"{name} {seed}"), [], set[str]()
    if name in BATCH:
        return [in_records(name, chance) for _ in range(count)]
    for fresh in (True, False):
        for sample in chance.sample(samples, len(samples)):
            if len(found) == count:
                return found
            if fresh and str(sample) in seen:
                continue
            one = ANY[name](chance, sample)
            if one is not None and one.data != one.right:
                found.append(one)
                seen.add(str(sample))
    return found
