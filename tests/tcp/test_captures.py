"""Real captures: shuffled and repeated ones give the same bytes, lost segments are gaps, no connection is missed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.capture import open_capture
from kdbg.capture.packet import Packet

from .desk import Desk, Side

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"


if not CAPTURES.is_dir():
    pytest.skip(f"{CAPTURES} is absent: these recordings are no part of the project", allow_module_level=True)


def streams(name: str, change: Callable[[list[Packet]], list[Packet]] = list) -> dict[object, tuple[Side, Side]]:
    path = CAPTURES / name
    desk = Desk()
    with open_capture(path) as capture:
        for packet in change(list(capture)):
            desk.table.receive(packet)
    desk.table.close()
    assert all(ends == (1, 1) for ends in desk.ends)
    return {(c.initiator, c.acceptor): pair for c, pair in zip(desk.connections, desk.sides, strict=True)}


def contents(name: str) -> dict[object, tuple[bytes, bytes]]:
    return {key: (sent.bytes, answered.bytes) for key, (sent, answered) in streams(name).items()}


@pytest.mark.parametrize("name", ["reordered-segmented.pcap", "retransmitted-segmented.pcap"])
def test_shuffled_and_repeated_captures_give_the_same_bytes(name: str) -> None:
    assert contents(name) == contents("segmented-mtu1500.pcap")


def test_lost_segments_are_gaps_of_their_size_and_nothing_else_changes() -> None:
    whole, lossy = contents("segmented-mtu1500.pcap"), streams("lossy-segmented.pcap")
    gaps = []
    for key, pair in lossy.items():
        for side, content in zip(pair, whole[key], strict=True):
            place = 0
            for event in side.events:
                if isinstance(event, int):
                    gaps.append(event)
                    place += event
                else:
                    assert content[place : place + len(event)] == event
                    place += len(event)
            assert place == len(content)
    assert gaps == [1448] * 4


def test_every_connection_of_a_capture_is_found() -> None:
    assert len(streams("rdkafka-sasl.pcap")) == 51
    desk = Desk()
    with open_capture(CAPTURES / "kafka-python-reconnect-loop.pcap") as capture:
        for packet in capture:
            desk.table.receive(packet)
    assert len(desk.connections) == 201
    assert sum(connection.packets for connection in desk.connections) == capture.packets
