"""Captures whose packets a snap length cut behind the correlation id: every exchange is there, with its header."""

from __future__ import annotations

import io
from pathlib import Path

from kdbg.capture import open_capture
from kdbg.capture.packet import Packet
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import Exchange

from ..cases import for_each
from ..traffic import Talk, pcap

CAPTURES = Path(__file__).parents[2] / "captures"
LEAST = 12
"""Bytes of a frame's size, API key, version and correlation id."""


def cut(packet: Packet, most: int) -> Packet:
    """The packet as a snap length leaves it that keeps so many bytes of its data."""
    *front, payload, length = packet
    return (*front, payload[:most], length)  # type: ignore[return-value]


def exchanges(path: Path, most: int) -> list[Exchange]:
    with open_capture(path) as capture:
        return [*Engine().run([cut(packet, most) for packet in block] for block in capture.blocks())]


def headers(found: list[Exchange]) -> set[tuple[object, ...]]:
    return {(one.peers, one.api, one.version, one.correlation_id) for one in found}


@for_each("most", [*range(LEAST, 25), 40])
@for_each("name", ["first-contact.pcap", "errors.pcap", "group-rebalance.pcap"])
def test_no_exchange_is_lost_and_none_is_invented(name: str, most: int) -> None:
    path = CAPTURES / name
    whole, found = exchanges(path, 1 << 16), exchanges(path, most)
    assert headers(found) == headers(whole)
    sizes = {(one.peers, one.correlation_id, one.api): one.size for one in whole}
    assert all(one.size == sizes[one.peers, one.correlation_id, one.api] for one in found)
    ids = {(one.peers, one.correlation_id): one.client_id for one in whole}
    assert all(one.client_id in (None, ids[one.peers, one.correlation_id]) for one in found)
    kinds = {finding.kind for one in found for finding in one.all_findings()}
    assert "trailing-bytes" not in kinds, "more bytes are missing than are left over"


def test_a_client_id_that_was_heard_whole_is_known_where_it_is_cut() -> None:
    first = Talk(client_id="kdbg").ask("Metadata", 1).answer().ask("Metadata", 1).answer()
    with open_capture(io.BytesIO(pcap(first))) as capture:
        packets = [packet for block in capture.blocks() for packet in block]
    packets = [*packets[:4], *(cut(packet, 16) for packet in packets[4:])]
    found = [*Engine().run([packets])]
    assert [(one.client_id, one.correlation_id) for one in found] == [("kdbg", 1), ("kdbg", 2)]


def test_bytes_that_are_no_request_are_not_taken_for_one() -> None:
    """Another protocol's first packets, cut as well: no key and version stands where they would."""
    talk = Talk().send(b"\x00\x00\x00\x60" + b"\x7f" * 96).reply(b"\x00\x00\x00\x60" + b"\x7f" * 96).end()
    with open_capture(io.BytesIO(pcap(talk))) as capture:
        assert not [*Engine().run([cut(packet, 16) for packet in block] for block in capture.blocks())]
