"""What a capture shows of what an incident's entry says it must: its packets by hand, its exchanges by kdbg."""

from __future__ import annotations

import gzip
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import kdbg

from .incident import Bytes, Evidence, Packets, Shown

LINKS = {1: 14, 101: 0}
"""The link types of captures here, and where the IP header begins."""
FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, "A": 16}


class Packet(NamedTuple):
    """A TCP segment over IPv4."""

    at: float
    source: tuple[str, int]
    target: tuple[str, int]
    flags: int
    window: int
    payload: bytes


def packets(capture: Path) -> Iterator[Packet]:
    """The TCP segments of a little-endian pcap file with microseconds, as tcpdump writes them."""
    data = gzip.decompress(capture.read_bytes())
    magic, link = struct.unpack_from("<I", data)[0], struct.unpack_from("<I", data, 20)[0]
    assert magic == 0xA1B2C3D4, hex(magic)
    at = 24
    while at < len(data):
        seconds, microseconds, size, _ = struct.unpack_from("<4I", data, at)
        frame = data[at + 16 + LINKS[link] : at + 16 + size]
        at += 16 + size
        if frame[0] >> 4 == 4 and frame[9] == socket.IPPROTO_TCP:
            yield _segment(seconds + microseconds / 1e6, frame[: struct.unpack_from(">H", frame, 2)[0]])


def _segment(at: float, frame: bytes) -> Packet:
    start = (frame[0] & 15) * 4
    ports = struct.unpack_from(">HH", frame, start)
    offset, flags, window = struct.unpack_from(">BBH", frame, start + 12)
    ends = (socket.inet_ntoa(frame[12:16]), ports[0]), (socket.inet_ntoa(frame[16:20]), ports[1])
    return Packet(at, *ends, flags, window, frame[start + (offset >> 4) * 4 :])


def missing(capture: Path, evidence: tuple[Evidence, ...]) -> list[Evidence]:
    """The pieces of evidence that a capture does not show."""
    seen = list(packets(capture))
    wanted = {each.where for each in evidence if isinstance(each, Shown)}
    exchanges = {where: list(kdbg.read(capture, where=where or None)) for where in wanted}
    return [each for each in evidence if not _shows(each, seen, exchanges)]


def _shows(wanted: Evidence, seen: list[Packet], exchanges: dict[str, list[Any]]) -> bool:
    if isinstance(wanted, Bytes):
        return any(wanted.data in each.payload for each in seen)
    if isinstance(wanted, Packets):
        return sum(_is_packet(wanted, each) for each in seen) >= wanted.at_least
    return sum(_is_exchange(wanted, each) for each in exchanges[wanted.where]) >= wanted.at_least


def _is_packet(wanted: Packets, packet: Packet) -> bool:
    ends = packet.source, packet.target
    return (
        all(packet.flags & FLAGS[flag] for flag in wanted.flags)
        and (wanted.port is None or wanted.port in (ends[0][1], ends[1][1]))
        and (not wanted.address or wanted.address in (ends[0][0], ends[1][0]))
        and not (wanted.empty_window and (packet.window or packet.flags & FLAGS["R"]))
    )


def _is_exchange(wanted: Shown, exchange: Any) -> bool:
    return (
        exchange.api is not None
        and exchange.api.name == wanted.api
        and (not wanted.error or wanted.error in {error.name for error in exchange.errors})
        and (wanted.version is None or wanted.version == exchange.version)
        and (not wanted.client_id or wanted.client_id == exchange.client_id)
        and not (wanted.unanswered and exchange.response is not None)
        and (exchange.latency_ms or 0.0) >= wanted.slower_than
    )
