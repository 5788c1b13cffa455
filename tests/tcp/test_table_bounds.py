"""What a table holds: ignored connections are freed, memory is bounded, and no packet does harm."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdbg.capture import Packet
from kdbg.capture.packet import ACK, FIN, RST, SYN, reverse
from kdbg.streams.tcp.connection import Connection
from kdbg.streams.tcp.stream import MASK, Receiver
from kdbg.streams.tcp.table import ConnectionTable

from .desk import BACK, DATA, FLOW, Desk, Side, ports


def test_an_ignored_connection_delivers_nothing_and_frees_its_receivers(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, DATA, 101, b"a", 501)
    desk(FLOW, DATA, 110, b"held", 501)
    gone = weakref.ref(desk.sides[0][1])
    desk.connections[0].ignore()
    desk(FLOW, DATA, 102, b"b", 501)
    desk(FLOW, FIN | ACK, 114, ack=501)
    desk(BACK, RST, 501)
    desk.table.close()
    assert desk.events == [([b"a"], [])]
    assert desk.ends == [(0, 0)]
    desk.sides.clear()
    gc.collect()
    assert gone() is None


def test_a_connection_may_be_ignored_while_it_is_accepted() -> None:
    side = Side()

    def accept(connection: Connection) -> tuple[Receiver, Receiver]:
        connection.ignore()
        return side, side

    table = ConnectionTable(accept)
    table.receive((1, 1, FLOW, 1, 0, DATA, b"x", 1))
    table.close()
    assert side.events == []
    assert side.ends == []


def test_an_ignored_connections_ports_can_be_used_anew(desk: Desk) -> None:
    desk.handshake()
    desk.connections[0].ignore()
    desk.handshake(9000, 8000)
    desk(FLOW, DATA, 9001, b"new", 8001)
    assert desk.events == [([], []), ([b"new"], [])]


def test_a_full_table_forgets_those_silent_longest() -> None:
    desk = Desk(connections=8)
    for flow in ports(8):
        desk.handshake(flow=flow)
    first, second, third = list(ports(3))
    desk(first, DATA, 101, b"alive", 501)
    desk.handshake()
    assert desk.ends == [(0, 0), (1, 1), (1, 1)] + [(0, 0)] * 6
    desk(first, DATA, 106, b"still", 501)
    assert desk.events[0][0] == [b"alive", b"still"]
    desk(second, DATA, 101, b"again", 501)
    assert desk.connections[-1].number == 10
    assert third not in desk.table._entries


@pytest.mark.parametrize(("room", "forgotten"), [(1, 1), (3, 1), (12, 3)])
def test_a_full_table_forgets_a_quarter_and_one_at_least(room: int, forgotten: int) -> None:
    desk = Desk(connections=room)
    for flow in ports(room + 1):
        desk.handshake(flow=flow)
    assert desk.ends.count((1, 1)) == forgotten


def test_memory_is_flat_however_many_connections_come() -> None:
    def accept(_: Connection) -> tuple[Receiver, Receiver]:
        return Side(), Side()

    table = ConnectionTable(accept, connections=64)
    number, peaks = 0, []
    for round_ in range(4):
        tracemalloc.start()
        for n in range(1000):
            flow = FLOW[:4] + (round_ * 1000 + n).to_bytes(4, "big") + FLOW[8:]
            for seq in (1, 50, 100):
                number += 1
                table.receive((number, number, flow, seq, 0, DATA, b"x" * 20, 20))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(table._entries) <= 128
    assert max(peaks) < 2 * min(peaks)


def test_the_bounds_of_a_stream_are_the_tables_arguments() -> None:
    desk = Desk(segments=2, size=1000)
    desk.handshake()
    for seq in (111, 121, 131):
        desk(FLOW, DATA, seq, b"x" * 5, 501)
    assert desk.events[0][0] == [10, b"x" * 5]


def test_the_same_address_and_port_at_both_ends_does_no_harm(desk: Desk) -> None:
    flow = FLOW[:4] * 2 + FLOW[-2:] * 2
    desk(flow, SYN, 100)
    desk(flow, SYN | ACK, 100, ack=101)
    desk(flow, DATA, 101, b"me", 101)
    desk.table.close()
    assert (1, 1) in desk.ends


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([FLOW, BACK, *ports(3)]),
            st.integers(0, 63),
            st.one_of(st.integers(0, 40), st.integers(0, 0xFFFFFFFF)),
            st.integers(0, 40),
            st.binary(max_size=8),
        ),
        max_size=60,
    )
)
def test_any_packets_raise_nothing_and_every_side_ends_once(
    packets: list[tuple[bytes, int, int, int, bytes]],
) -> None:
    desk = Desk(connections=2, segments=3, size=20)
    for flow, flags, seq, ack, payload in packets:
        desk(flow, flags, seq, payload, ack)
    desk.table.close()
    assert all(ends == (1, 1) for ends in desk.ends)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([FLOW, BACK, *ports(2)]),
            st.sampled_from([DATA, DATA, DATA, ACK, SYN, SYN | ACK, FIN | ACK, RST, 0]),
            st.one_of(st.none(), st.none(), st.integers(-9, 9), st.integers(0, 0xFFFFFFFF)),
            st.binary(max_size=8),
            st.sampled_from([0, 0, 0, 1]),
        ),
        max_size=60,
    )
)
def test_all_at_once_is_one_by_one(drawn: list[tuple[bytes, int, int | None, bytes, int]]) -> None:
    """Packets mostly in order: their bytes, ends and counts are the same behind each of them, however many come."""
    one, all_ = Desk(connections=2, segments=3, size=20), Desk(connections=2, segments=3, size=20)
    packets, due = list[Packet](), dict[bytes, int]()
    for number, (flow, flags, off, payload, cut) in enumerate(drawn, 1):
        expected, length = due.get(flow, 0xFFFFFFF0), len(payload) + cut
        seq = (expected + (off or 0)) & MASK
        due[flow] = (seq + length + bool(flags & (SYN | FIN))) & MASK
        packets.append((number, number * 1000, flow, seq, due.get(reverse(flow), 0xFFFFFFF0), flags, payload, length))
    start = 0
    while start < len(packets):
        some = packets[start : start + 1 + start % 4]
        all_.table.receive_all(some)
        for packet in some:
            one.table.receive(packet)
        assert (all_.events, all_.ends) == (one.events, one.ends)
        assert list(map(state, all_.connections)) == list(map(state, one.connections))
        start += len(some)


def test_the_highest_sequence_number_is_in_order_where_it_is_due() -> None:
    desk = Desk()
    desk.handshake(MASK - 5)
    packets: list[Packet] = [
        (number, number * 1000, FLOW, MASK - 4 + place, 0, DATA, payload, 2)
        for number, (place, payload) in enumerate([(0, b"ab"), (4, b"ef"), (2, b"cd")], 4)
    ]
    seen = []
    for packet in packets:
        desk.table.receive_all([packet])
        seen.append(desk.events[0][0][:])
    assert seen == [[b"ab"], [b"ab"], [b"ab", b"cd", b"ef"]]


def state(connection: Connection) -> list[object]:
    counts = [getattr(connection, name) for name in Connection.__slots__ if name not in {"sent", "answered"}]
    return [*counts, connection.sent.due, connection.answered.due, connection.ended]
