"""Many connections: who opened them, when they end, when the same ports are a new one, and that memory is bounded."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdbg.capture import open_capture
from kdbg.capture.packet import ACK, FIN, PSH, RST, SYN, Packet, reverse
from kdbg.tcp import Connection, Receiver, Table
from kdbg.tcp.stream import PATIENCE

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"
CLIENT, BROKER = ("10.0.0.1", 51514), ("10.0.0.2", 9092)
FLOW = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + (51514).to_bytes(2, "big") + (9092).to_bytes(2, "big")
BACK = reverse(FLOW)
DATA = PSH | ACK


class Side:
    """A receiver that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[bytes | int] = []
        self.ends: list[tuple[int, int]] = []

    def data(self, payload: bytes, time: int, number: int) -> None:
        assert not self.ends
        self.events.append(payload)

    def gap(self, length: int, time: int, number: int) -> None:
        assert not self.ends
        self.events.append(length)

    def end(self, time: int, number: int) -> None:
        self.ends.append((time, number))

    @property
    def bytes(self) -> bytes:
        return b"".join(event for event in self.events if isinstance(event, bytes))


class Desk:
    """A table that keeps every connection, and makes packets with numbers and times."""

    def __init__(self, **limits: int) -> None:
        self.connections: list[Connection] = []
        self.sides: list[tuple[Side, Side]] = []
        self.table = Table(self.accept, **limits)
        self.number = 0

    def accept(self, connection: Connection) -> tuple[Receiver, Receiver]:
        self.connections.append(connection)
        self.sides.append((Side(), Side()))
        return self.sides[-1]

    def __call__(self, flow: bytes, flags: int, seq: int = 0, payload: bytes = b"", ack: int = 0) -> None:
        self.number += 1
        self.table.receive((self.number, self.number * 1000, flow, seq, ack, flags, payload, len(payload)))

    def handshake(self, client: int = 100, broker: int = 500, flow: bytes = FLOW) -> None:
        self(flow, SYN, client)
        self(reverse(flow), SYN | ACK, broker, ack=client + 1)
        self(flow, ACK, client + 1, ack=broker + 1)

    @property
    def events(self) -> list[tuple[list[bytes | int], list[bytes | int]]]:
        return [(sent.events, answered.events) for sent, answered in self.sides]

    @property
    def ends(self) -> list[tuple[int, int]]:
        return [(len(sent.ends), len(answered.ends)) for sent, answered in self.sides]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_connection_from_syn_to_fin(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, DATA, 101, b"ask", 501)
    desk(BACK, DATA, 501, b"answer", 104)
    desk(FLOW, FIN | ACK, 104, ack=507)
    desk(BACK, FIN | ACK, 507, ack=105)
    desk(FLOW, ACK, 105, ack=508)
    assert desk.events == [([b"ask"], [b"answer"])]
    assert desk.sides[0][0].ends == [(6000, 6)]
    assert desk.sides[0][1].ends == [(7000, 7)]
    (connection,) = desk.connections
    assert (connection.number, connection.initiator, connection.acceptor) == (1, CLIENT, BROKER)
    assert (connection.handshake, connection.opened_by) == (True, "syn")
    assert (connection.packets, connection.bytes) == (8, 9)
    assert (connection.start, connection.last_time) == (1000, 8000)
    assert (connection.first_packet, connection.last_packet) == (1, 8)
    assert connection.ended


def test_a_syn_ack_alone_tells_both_ends_and_both_starts(desk: Desk) -> None:
    desk(BACK, SYN | ACK, 500, ack=101)
    desk(FLOW, DATA, 104, b"second", 501)
    desk(FLOW, DATA, 101, b"1st", 501)
    (connection,) = desk.connections
    assert (connection.initiator, connection.handshake, connection.opened_by) == (CLIENT, True, "syn-ack")
    assert desk.events == [([b"1st", b"second"], [])]


@pytest.mark.parametrize(("flow", "side"), [(FLOW, 0), (BACK, 1)])
def test_without_a_handshake_the_lower_port_is_taken_for_the_listening_end(desk: Desk, flow: bytes, side: int) -> None:
    desk(flow, DATA, 7, b"amid")
    (connection,) = desk.connections
    assert (connection.initiator, connection.acceptor) == (CLIENT, BROKER)
    assert (connection.handshake, connection.opened_by) == (False, "data")
    assert desk.events[0][side] == [b"amid"]


def test_between_ephemeral_ports_who_speaks_first_is_the_initiator(desk: Desk) -> None:
    flow = FLOW[:8] + (40_000).to_bytes(2, "big") + (50_000).to_bytes(2, "big")
    desk(flow, DATA, 7, b"x")
    assert desk.connections[0].initiator == ("10.0.0.1", 40_000)


@pytest.mark.parametrize("flags", [ACK, RST, RST | ACK, FIN | ACK])
def test_a_bare_packet_of_an_unknown_flow_opens_nothing(desk: Desk, flags: int) -> None:
    desk(FLOW, flags, 7)
    desk.table.close()
    assert desk.connections == []


def test_a_reset_with_a_reason_opens_nothing(desk: Desk) -> None:
    desk(FLOW, RST, 7, b"no such service")
    assert desk.connections == []


def test_a_syn_sent_again_is_the_same_connection(desk: Desk) -> None:
    desk(FLOW, SYN, 100)
    desk(FLOW, SYN, 100)
    desk(BACK, SYN | ACK, 500, ack=101)
    desk(BACK, SYN | ACK, 500, ack=101)
    desk(FLOW, DATA, 101, b"a", 501)
    desk(FLOW, SYN, 100)
    desk(FLOW, DATA, 102, b"b", 501)
    assert desk.events == [([b"a", b"b"], [])]


def test_another_syn_on_the_same_ports_is_another_connection(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, DATA, 101, b"old", 501)
    desk(FLOW, DATA, 110, b"held", 501)
    desk.handshake(9000, 8000)
    desk(FLOW, DATA, 9001, b"new", 8001)
    desk(BACK, DATA, 8001, b"yes", 9004)
    assert desk.events == [([b"old", 6, b"held"], []), ([b"new"], [b"yes"])]
    assert desk.ends == [(1, 1), (0, 0)]
    assert [connection.number for connection in desk.connections] == [1, 2]


def test_another_syn_after_a_finished_connection(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, FIN | ACK, 101, ack=501)
    desk(BACK, FIN | ACK, 501, ack=102)
    desk(FLOW, SYN, 100)
    assert len(desk.connections) == 1  # the old SYN, late
    desk.handshake(102, 502)
    assert len(desk.connections) == 2
    assert desk.ends == [(1, 1), (0, 0)]


def test_the_ports_used_anew_from_the_other_end(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, RST, 101)
    desk(BACK, SYN, 7000)
    assert [connection.initiator for connection in desk.connections] == [CLIENT, BROKER]


def test_a_refused_connections_ports_used_anew_from_the_other_end(desk: Desk) -> None:
    desk(FLOW, SYN, 100)
    desk(BACK, RST | ACK, 0, ack=101)
    desk(BACK, SYN, 7000)
    assert [connection.initiator for connection in desk.connections] == [CLIENT, BROKER]


def test_another_syn_soon_and_near_the_first_is_another_connection_all_the_same(desk: Desk) -> None:
    desk.handshake(client=100)
    desk.handshake(client=90)
    assert len(desk.connections) == 2


def test_a_syn_ack_of_another_connection_whose_syn_was_lost(desk: Desk) -> None:
    desk.handshake()
    desk(BACK, SYN | ACK, 9500, ack=9101)
    desk(FLOW, DATA, 9101, b"new", 9501)
    assert [connection.initiator for connection in desk.connections] == [CLIENT, CLIENT]
    assert desk.events[1] == ([b"new"], [])


def test_a_syn_shuffled_behind_the_data_is_the_same_connection(desk: Desk) -> None:
    desk(FLOW, DATA, 101, b"first", 501)
    desk(FLOW, SYN, 100)
    desk(BACK, SYN | ACK, 500, ack=101)
    desk(FLOW, DATA, 106, b"second", 501)
    assert desk.events == [([b"first", b"second"], [])]
    assert desk.connections[0].handshake


def test_a_syn_long_after_data_without_one_is_another_connection(desk: Desk) -> None:
    for seq in range(101, 201):
        desk(FLOW, DATA, seq, b"x", 501)
    desk(FLOW, SYN, 50)
    assert len(desk.connections) == 2


def test_both_ends_may_open_at_once(desk: Desk) -> None:
    desk(FLOW, SYN, 100)
    desk(BACK, SYN, 500)
    desk(FLOW, SYN | ACK, 100, ack=501)
    desk(BACK, SYN | ACK, 500, ack=101)
    desk(FLOW, DATA, 101, b"a", 501)
    desk(BACK, DATA, 501, b"b", 102)
    assert desk.events == [([b"a"], [b"b"])]


def test_data_in_the_syn_is_data(desk: Desk) -> None:
    desk(FLOW, SYN, 100, b"fast")
    desk(BACK, SYN | ACK, 500, b"open", 105)
    desk(FLOW, DATA, 105, b"er", 505)
    assert desk.events == [([b"fast", b"er"], [b"open"])]
    assert len(desk.connections) == 1


def test_a_reset_ends_both_directions(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, DATA, 105, b"held", 501)
    desk(BACK, RST | ACK, 501, ack=101)
    desk(FLOW, DATA, 101, b"late", 501)
    assert desk.events == [([4, b"held"], [])]
    assert desk.ends == [(1, 1)]


def test_a_refused_connection_ends(desk: Desk) -> None:
    desk(FLOW, SYN, 100)
    desk(BACK, RST | ACK, 0, ack=101)
    assert desk.ends == [(1, 1)]


def test_a_stray_reset_of_an_earlier_connection_is_not_believed(desk: Desk) -> None:
    desk.handshake()
    desk(BACK, RST, 2_000_000_000)
    desk(FLOW, DATA, 101, b"alive", 501)
    assert desk.events == [([b"alive"], [])]
    assert desk.ends == [(0, 0)]


def test_late_packets_of_an_ended_connection_are_swallowed(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, DATA | FIN, 101, b"bye", 501)
    desk(BACK, FIN | ACK, 501, ack=105)
    desk(FLOW, DATA | FIN, 101, b"bye", 501)
    desk(BACK, FIN | ACK, 501, ack=105)
    desk(FLOW, ACK, 105, ack=502)
    desk.table.close()
    assert desk.events == [([b"bye"], [])]
    assert desk.ends == [(1, 1)]


def test_an_acknowledged_hole_is_given_up_after_some_packets_of_the_connection(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, DATA, 111, b"after", 501)
    desk(BACK, ACK, 501, ack=116)
    for turn in range(PATIENCE - 1):
        desk(BACK, DATA, 501 + turn, b"x", 116)
    assert desk.events[0][0] == []
    desk(FLOW, ACK, 116, ack=501 + PATIENCE)
    assert desk.events[0][0] == [10, b"after"]


def test_packets_of_other_connections_do_not_count_as_waiting(desk: Desk) -> None:
    other = FLOW[:8] + (40_000).to_bytes(2, "big") + FLOW[-2:]
    desk.handshake()
    desk.handshake(flow=other)
    desk(FLOW, DATA, 111, b"after", 501)
    desk(BACK, ACK, 501, ack=116)
    for turn in range(3 * PATIENCE):
        desk(other, DATA, 101 + turn, b"x", 501)
    assert desk.events[0][0] == []


def test_the_number_in_a_packet_without_ack_flag_acknowledges_nothing(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, DATA, 111, b"after", 501)
    desk(BACK, 0, 501, ack=116)
    for turn in range(3 * PATIENCE):
        desk(BACK, DATA, 501 + turn, b"x", 101)
    assert desk.events[0][0] == []


def test_closing_the_table_ends_every_connection_once(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, DATA, 103, b"held", 501)
    desk.handshake(flow=FLOW[:8] + (40_000).to_bytes(2, "big") + FLOW[-2:])
    desk.table.close()
    desk.table.close()
    assert desk.events == [([2, b"held"], []), ([], [])]
    assert desk.ends == [(1, 1), (1, 1)]
    assert desk.sides[0][0].ends == [(4000, 4)]


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

    table = Table(accept)
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


def ports(count: int) -> Iterator[bytes]:
    return (FLOW[:8] + (20_000 + n).to_bytes(2, "big") + FLOW[-2:] for n in range(count))


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


def test_memory_is_flat_however_many_connections_come() -> None:
    def accept(_: Connection) -> tuple[Receiver, Receiver]:
        return Side(), Side()

    table = Table(accept, connections=64)
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


# Real captures


def streams(name: str, change: Callable[[list[Packet]], list[Packet]] = list) -> dict[object, tuple[Side, Side]]:
    path = CAPTURES / name
    if not path.exists():
        pytest.skip(f"{path} is not here: these tests read the captures of ../shared")
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
