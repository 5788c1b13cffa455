"""Every kind of finding there is: made, seen in the views, counted, and weighed for the exit status."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kdbg.exchanges.messages.mistakes import MOST
from kdbg.protocol.findings import Finding, Kind
from kdbg.ui.cli import run

from .traffic import Talk, client_hello, framed, pcap


def metadata(body: bytes, version: int = 1) -> Talk:
    """A Metadata request with this body."""
    return Talk().ask_bytes("Metadata", version, body).answer()


def produce(entry: dict[str, Any]) -> Talk:
    """A Produce request of one batch, or of what stands for one."""
    partition = {"index": 0, "records": [entry]}
    return Talk().ask("Produce", 3, acks=1, topic_data=[{"name": "t", "partition_data": [partition]}]).answer()


def joins(metadata: bytes) -> Talk:
    """A JoinGroup request of a consumer with this subscription."""
    protocols = [{"name": "range", "metadata": metadata}]
    return Talk().ask("JoinGroup", 5, protocol_type="consumer", protocols=protocols).answer()


def good() -> Talk:
    return Talk().ask("Metadata", 1).answer()


def begun_before(talk: Talk) -> Talk:
    """A connection that the capture did not see open."""
    talk.segments = talk.segments[2:]
    return talk


def too_large(talk: Talk, size: int = (100 << 20) + 1) -> Talk:
    """A Produce request of so many bytes, on which the broker hangs up before it has read it."""
    return talk.send(struct.pack(">ihhih", size, 0, 3, 99, 4) + b"kdbg" + b"\xff\xff\0\1" + bytes(2000)).end()


def wrong_each_time(times: int) -> Talk:
    """Metadata requests that are too long, each with other bytes behind the message."""
    talk = Talk()
    for number in range(times):
        talk.ask_bytes("Metadata", 1, b"\0\0\0\0\7" + bytes([number])).answer()
    return talk


BROKER = {"node_id": 1, "host": "kafka-1", "port": 9092}


def too_many_records(count: int) -> Talk:
    """A Produce with a batch of so many empty records, compressed to next to nothing."""
    record = bytes([12, 0, 0, 0, 1, 1, 0])
    batch = {"attributes": 4, "records_count": count, "last_offset_delta": count - 1, "raw_records": record * count}
    topics = [{"name": "orders", "partition_data": [{"index": 0, "records": [batch]}]}]
    return good().ask("Produce", 7, acks=-1, timeout_ms=1000, topic_data=topics)


MADE: dict[str, Callable[[], Talk]] = {
    "tcp-gap": lambda: good().lose(100).ask("Metadata", 1).answer(),
    "undecoded-bytes": lambda: (
        good().send(b"\xde\xad\xbe\xef" * 30).ask("Metadata", 1).answer().ask("Metadata", 1).answer()
    ),
    "truncated": lambda: metadata(b"\0\0\0\1\0\6order"),
    "trailing-bytes": lambda: metadata(b"\0\0\0\0\1\2"),
    "invalid-length": lambda: metadata(b"\xff\xff\xff\xf9"),
    "invalid-value": lambda: metadata(b"\xff" * 11, 9),
    "unexpected-null": lambda: metadata(b"\0\0\0\1\xff\xff"),
    "invalid-utf8": lambda: metadata(b"\0\0\0\1\0\1\xff"),
    "non-minimal-varint": lambda: metadata(b"\x81\0\0\0\0\0", 9),
    "reserved-bits": lambda: produce({"magic": 2, "attributes": 0x80, "records": [{"value": b"x"}]}),
    "unknown-api": lambda: good().ask_bytes(31_999, 0, b"what"),
    "unknown-version": lambda: good().ask_bytes(3, 99, b"what"),
    "unknown-tag": lambda: metadata(b"\1\0\0\0\1\x63\1x", 9),
    "tag-order": lambda: metadata(b"\1\0\0\0\2\x63\1x\x62\1y", 9),
    "crc-mismatch": lambda: produce({"magic": 2, "crc": 1, "records": [{"value": b"x"}]}),
    "decompression-failed": lambda: produce(
        {"magic": 2, "attributes": 1, "records_count": 1, "compressed_records": b"no gzip"}
    ),
    "malformed-record-set": lambda: produce({"raw": b"\xff" * 30}),
    "malformed-payload": lambda: joins(b"\0\1"),
    "known-variant": lambda: Talk().ask("ApiVersions", 3).answer_bytes(bytes(6)),
    "known-quirk": lambda: Talk().ask("ApiVersions", 3).answer_bytes(b"\0\x23" + bytes(4)),
    "encoding-mistake": lambda: (
        Talk()
        .ask("SaslHandshake", 0, mechanism="PLAIN")
        .answer()
        .ask("SaslAuthenticate", 1, auth_bytes=b"\0a\0b")
        .answer()
    ),
    "search-limit": lambda: wrong_each_time(MOST + 1),
    "midstream": lambda: begun_before(Talk().reply(b"\xff" * 40).ask("Metadata", 1).answer(brokers=[BROKER])),
    "request-too-large": lambda: too_large(good()),
    "no-response": lambda: good().ask("Metadata", 1),
    "unsolicited-response": lambda: good().reply(framed(struct.pack(">iih", 77, 1, 27))),
    "not-kafka": lambda: (
        Talk().send(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n").reply(b"HTTP/1.1 200 OK\r\n\r\n").end()
    ),
    "connection-refused": lambda: Talk.in_vain(0, refused=1),
    "connection-timeout": lambda: Talk.in_vain(0, 1000, 3000),
    "not-decrypted": lambda: Talk().send(client_hello("kafka.example")).end(),
    "damaged-capture": good,
    "memory-limit": lambda: too_many_records(900_000),
}
ON_STDERR = {"not-kafka", "not-decrypted", "damaged-capture"}
"""Kinds that belong to no exchange."""
IN_VAIN = {"connection-refused", "connection-timeout"}
"""Kinds of connections without an exchange, below trees and hexdumps."""
OF_FILES = {"out-of-order"}
OF_THE_PROXY = {"injected-fault"}
"""Kinds that no traffic has: tests/cli/test_segments.py makes them."""
BESIDE_ERRORS = {"search-limit"}
"""Kinds that no message has without an error."""
DEEP = {"decompression-failed", "malformed-payload", "memory-limit"}
"""Kinds that a summary, which looks neither inside batches nor payloads, cannot know of."""

COUNTED = {"no-response": " 1 missing response "}
"""What the closing line has for a kind that it does not name."""


def test_every_kind_is_made_here_and_has_a_sentence() -> None:
    assert MADE.keys() | OF_FILES | OF_THE_PROXY == set(Kind)
    assert all(kind.explanation[0].islower() and not kind.explanation.endswith(".") for kind in Kind)
    assert str(Finding(Kind.NO_RESPONSE)) == "no-response: the capture contains no response to this request"


@pytest.mark.parametrize("kind", MADE)
def test_it_is_shown_counted_and_weighed(kind: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(MADE[kind]())[: -1 if kind == "damaged-capture" else None])
    mark = "✗" if Kind(kind).is_error else "!"

    def decode(format: str) -> tuple[str, str]:
        status = run(["decode", str(path), "-f", format])
        out, err = capfdbinary.readouterr()
        if format != "summary" or kind not in DEEP:
            assert status == (Kind(kind).is_error or kind in BESIDE_ERRORS)
            assert COUNTED.get(kind, kind) in err.decode().splitlines()[-1], "the closing line"
        return out.decode(), err.decode()

    tree, said = decode("tree")
    lines, _ = decode("json")
    summary, _ = decode("summary")
    hexdump, _ = decode("hex")
    notes = [note for line in lines.splitlines() for note in json.loads(line)["notes"]]
    if kind in IN_VAIN:
        assert f"{mark} {kind}: " in tree
        assert f"{mark} {kind}: " in hexdump
        assert (notes, lines, summary.count("\n")) == ([], "", 1)
        return
    if kind in ON_STDERR:
        assert said.startswith(f"kdbg: {path}: ")
        assert f"{mark} {kind}" not in tree
        return
    assert f"{mark} {kind}: " in tree
    assert f"{kind}: " in "\n".join(notes)
    assert "^" in hexdump or f"{mark} {kind}: " in hexdump
    assert f"{mark} {kind}" in summary or "✗ UNSUPPORTED_VERSION" in summary or kind in DEEP
    assert tree.count(f"{mark} {kind}: ") == sum(note.startswith(f"{kind}: ") for note in notes)
