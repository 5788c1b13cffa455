"""Valid messages to make mistakes in: those of captures, those of public clients' test suites, and generated ones."""

from __future__ import annotations

import json
import random
import struct
import uuid
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from fastcrc.crc32 import iscsi

import kdbg
from kdbg.exchanges.messages.message import header_grammar
from kdbg.protocol import grammars
from kdbg.protocol.grammars.errors import ERRORS
from kdbg.protocol.wire import Api
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.nodes import Fixed, Node, NullableStruct, Sized, UuidNode, Varint, WireArray, WireStruct
from kdbg.protocol.wire.records import RecordsNode

from .. import facts
from ..conftest import SHARED

LONGEST = 3000
WORDS = ["orders", "payments", "user-events", "clicks.v2", "audit_log", "inventory", "billing", "shop", "worker-7"]
CLIENTS = ["mylib", "kafka-python-2.0", "my-app-producer-1", "rdkafka", "sarama", "billing-consumer", "console"]


class Sample(NamedTuple):
    """A valid message from its header on."""

    api: Api
    version: int
    direction: Direction
    frame: bytes

    @property
    def flexible(self) -> bool:
        return self.version >= self.api.flexible

    @property
    def sized(self) -> bytes:
        return struct.pack(">i", len(self.frame)) + self.frame

    def __str__(self) -> str:
        return f"{self.api.name}-{self.direction}-v{self.version}"


@cache
def captured() -> tuple[Sample, ...]:
    """Messages of the captures that come along."""
    rows = (row for row in facts.rows("vectors") if row["class"] == "ok" and row["form"] != "body")
    return tuple(_rows(rows))


@cache
def public() -> tuple[Sample, ...]:
    """Messages of public clients' test suites; none where these are absent. Bodies alone get a header."""
    path = SHARED / "cases" / "public-vectors.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return tuple(_rows(row for row in rows if row["class"] == "ok" and row["canonical"]))


@cache
def recorded() -> tuple[Sample, ...]:
    """Messages that other clients and brokers sent, one of each API, version and direction; none without the files."""
    found = dict[str, Sample]()
    for path in (*sorted((SHARED / "captures").glob("*.pcap")), *sorted((SHARED / "incidents2").glob("*.pcap.gz"))):
        for exchange in kdbg.read(path):
            for half in (exchange.request, exchange.response):
                known = half is not None and half.api is not None and not half.api.headerless
                if known and not exchange.findings and 12 < len(half.data) < LONGEST:
                    one = Sample(half.api, half.version, half.direction, bytes(half.data))
                    if str(one) not in found and _is_canonical(one):
                        found[str(one)] = one
    return tuple(found.values())


def _is_canonical(one: Sample) -> bool:
    """Whether the message is what its value is encoded to: librdkafka's mock cluster, for one, writes others."""
    try:
        decoded = kdbg.decode(one.frame, api=one.api.key, version=one.version, direction=one.direction)
        body = kdbg.encode(decoded.body, api=one.api.key, version=one.version, direction=one.direction)
    except kdbg.KdbgError:
        return False
    return not decoded.findings and one.frame.endswith(body) and len(body) < len(one.frame)


def _rows(rows: Iterator[Any]) -> Iterator[Sample]:
    for row in rows:
        api, version, direction = grammars.api(row["api_key"]), row["version"], row["direction"]
        if "frame_hex" in row:
            frame = bytes.fromhex(row["frame_hex"])[4:]
        else:
            frame = header(random.Random(row["body_hex"]), api, version, direction) + bytes.fromhex(row["body_hex"])
        if 12 < len(frame) < LONGEST and not api.headerless:
            yield Sample(api, version, direction, frame)


def header(chance: random.Random, api: Api, version: int, direction: Direction) -> bytes:
    kind = header_grammar(api, version, direction)
    names = [field.name for field in kind.fields]
    number = chance.choice([chance.randrange(1, 40), chance.randrange(100, 100_000)])
    data = struct.pack(">i", number)
    if direction == "request":
        client = chance.choice(CLIENTS).encode()
        data = struct.pack(">hh", api.key, version) + data
        data += struct.pack(">h", len(client)) + client if "client_id" in names else b""
    return data + b"\0" * (kind.tags is not None)


class Plausible:
    """Makes values that a peer would write."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def value(self, node: Node, name: str = "", depth: int = 0) -> Any:
        chance = self.chance
        if isinstance(node, NullableStruct):
            return None if chance.random() < 0.4 else self.value(node.struct, name, depth)
        if isinstance(node, WireStruct):
            return {field.name: self.value(field.node, field.name, depth) for field in node.fields}
        if isinstance(node, WireArray):
            if node.nullable and chance.random() < 0.2:
                return None
            most = 3 if depth < 2 else 2
            return [self.value(node.item, name, depth + 1) for _ in range(chance.randint(depth < 1, most))]
        if isinstance(node, (Fixed, Varint)):
            return self.number(node, name)
        if isinstance(node, UuidNode):
            return uuid.UUID(bytes=chance.randbytes(16), version=4)
        if isinstance(node, RecordsNode):
            return batch(chance)
        if isinstance(node, Sized):
            return self.text(node, name)
        return b""

    def number(self, node: Fixed | Varint, name: str) -> Any:
        chance, kind, code = self.chance, getattr(node, "kind", ""), getattr(node, "code", "i")
        if isinstance(node, Fixed) and node.boolean:
            return chance.random() < 0.5
        if code == "d":
            return chance.choice([0.0, 1.5, 1024.0])
        if kind == "error":
            return chance.choice([0, 0, 0, chance.choice([one for one in ERRORS if one > 0])])
        if kind in ("enum", "api") and node.names:  # type: ignore[union-attr]
            return chance.choice(list(node.names))  # type: ignore[union-attr]
        if kind == "bits":
            return 0
        if kind == "timestamp" or "timestamp" in name:
            return chance.randrange(1_600_000_000_000, 1_750_000_000_000)
        if name == "acks":
            return chance.choice([-1, 0, 1])
        if name == "port":
            return chance.choice([9092, 9093, 19092, chance.randrange(1024, 65536)])
        if name.endswith("_ms"):
            return chance.choice([0, 500, 3000, 10_000, 30_000, 300_000])
        if code == "q":
            return chance.choice([-1, 0, chance.randrange(1000), chance.randrange(10_000_000)])
        if code == "b":
            return chance.choice([0, 1])
        if "bytes" in name:
            return chance.choice([1, 1_048_576, 52_428_800])
        return chance.choice([0, 1, 2, 3, chance.randrange(100)])

    def text(self, node: Sized, name: str) -> Any:
        chance = self.chance
        if node.nullable and chance.random() < 0.3:
            return None
        if not node.text:
            return chance.randbytes(chance.choice([0, 8, 20, 40]))
        if name == "host":
            return chance.choice(["localhost", "broker-1.example.com", "10.1.2.3", "kafka2"])
        if "message" in name:
            return chance.choice(["", "The request is invalid.", "Unknown topic."])
        if name == "member_id":
            return f"{chance.choice(CLIENTS)}-{uuid.UUID(bytes=chance.randbytes(16), version=4)}"
        return chance.choice(WORDS) + chance.choice(["", "", f"-{chance.randrange(100)}"])


def generated(seed: int, count: int, only: Any = None) -> list[Sample]:
    """Generated messages of APIs, directions and versions taken at random; `only`: those for which it is true."""
    chance, found = random.Random(seed), []
    all_of = [
        (api, version, direction)
        for api in grammars.apis()
        for direction in DIRECTIONS
        for version in api.versions
        if not api.headerless and api.reads(direction, version) and (only is None or only(api, version, direction))
    ]
    while len(found) < count:
        api, version, direction = chance.choice(all_of)
        value = Plausible(chance).value(api.at(direction, version))
        body = kdbg.encode(value, api=api.key, version=version, direction=direction)
        head = header(chance, api, version, direction)
        frame = head + body
        if 12 < len(frame) < LONGEST:
            found.append(Sample(api, version, direction, frame))
    return found


def own_mistakes(sample: Sample) -> frozenset[str]:
    """The kinds of mistakes that a message of a public test suite has of its own: by its values, not by the finder."""
    if sample.api.name != "Produce" or sample.direction != "request":
        return frozenset()
    body = kdbg.decode(sample.frame, api=0, version=sample.version, direction="request").body
    found = set() if body["acks"] in (-1, 0, 1) else {"unused-value"}
    for topic in body["topic_data"]:
        for one in (one for part in topic["partition_data"] for one in part["records"] or []):
            if one.get("magic") == 2 and not one.get("codec") and isinstance(one["records"], list):
                found |= {"wrong-last-offset-delta"} if one["last_offset_delta"] != len(one["records"]) - 1 else set()
                found |= {"wrong-base-offset"} if one["base_offset"] else set()
    return frozenset(found)


# Record batches, built here from the specification alone


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def zigzag(value: int) -> bytes:
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def plain(value: int) -> bytes:
    """A varint without zigzag."""
    return uvarint(value if value >= 0 else value & 0xFFFFFFFF)


def records(chance: random.Random, number: Any = zigzag) -> tuple[list[bytes], int]:
    """Records with their lengths, and the greatest timestamp delta."""
    found, delta = [], 0
    for at in range(chance.randint(1, 4)):
        delta += chance.randrange(0, 40) if at else 0
        key = None if chance.random() < 0.3 else f"k{chance.randrange(10_000)}".encode()
        value = chance.choice([b"hello", b"world", b'{"id": 17, "name": "x"}', chance.randbytes(60)])
        headers = [(b"trace", b"abc")] * (chance.random() < 0.3)
        body = b"\0" + number(delta) + number(at)
        body += number(-1) if key is None else number(len(key)) + key
        body += number(len(value)) + value + number(len(headers))
        body += b"".join(number(len(k)) + k + number(len(v)) + v for k, v in headers)
        found.append(number(len(body)) + body)
    return found, delta


def batch(
    chance: random.Random,
    *,
    rows: list[bytes] | None = None,
    delta: int = 0,
    attributes: int = 0,
    count: int | None = None,
    last: int | None = None,
    base: int = 0,
    length: int = 0,
    crc: Any = None,
    pack: Any = bytes,
) -> bytes:
    """A record batch; `length` is added to its batch length, `crc` takes (front, covered bytes)."""
    if rows is None:
        rows, delta = records(chance)
    time = chance.randrange(1_600_000_000_000, 1_750_000_000_000)
    covered = struct.pack(
        ">hiqqqhii", attributes, len(rows) - 1 if last is None else last, time, time + delta, -1, -1, -1,
        len(rows) if count is None else count,
    ) + pack(b"".join(rows))  # fmt: skip
    front = struct.pack(">qiib", base, len(covered) + 9 + length, -1, 2)
    number = iscsi(covered) if crc is None else crc(front, covered)
    return front + struct.pack(">I", number) + covered


def message_set(chance: random.Random, magic: int) -> bytes:
    out = b""
    for at in range(chance.randint(1, 3)):
        key, value = b"k%d" % at, chance.choice([b"hello", b"world"])
        body = struct.pack(">bb", magic, 0) + (struct.pack(">q", 1_700_000_000_000) if magic else b"")
        body += struct.pack(">i", len(key)) + key + struct.pack(">i", len(value)) + value
        body = struct.pack(">I", zlib.crc32(body)) + body
        out += struct.pack(">qi", at, len(body)) + body
    return out


def with_records(chance: random.Random, api: Api, version: int, data: bytes) -> Sample:
    """A Produce request or Fetch response whose partitions hold these bytes; one partition."""
    direction: Direction = "request" if api.key == 0 else "response"
    made = Plausible(chance).value(api.at(direction, version))
    outer, inner = ("topic_data", "partition_data") if api.key == 0 else ("responses", "partitions")
    while not made[outer] or not made[outer][0][inner]:
        made = Plausible(chance).value(api.at(direction, version))
    del made[outer][1:], made[outer][0][inner][1:]
    made[outer][0][inner][0]["records"] = data
    body = kdbg.encode(made, api=api.key, version=version, direction=direction)
    return Sample(api, version, direction, header(chance, api, version, direction) + body)
