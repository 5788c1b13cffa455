"""Many connections: who opened them, when they end, and when the same ports are a new one."""

from __future__ import annotations

import pytest

from kdbg.capture.packet import ACK, FIN, RST, SYN
from kdbg.streams.tcp.stream import PATIENCE
from kdbg.streams.tcp.table import SHUFFLED

from .desk import BACK, BROKER, CLIENT, DATA, FLOW, Desk


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
    assert connection.handshake
    assert (connection.packets, connection.bytes) == (8, 9)
    assert (connection.start, connection.last_time) == (1000, 8000)
    assert (connection.first_packet, connection.last_packet) == (1, 8)
    assert connection.ended


def test_a_syn_ack_alone_tells_both_ends_and_both_starts(desk: Desk) -> None:
    desk(BACK, SYN | ACK, 500, ack=101)
    desk(FLOW, DATA, 104, b"second", 501)
    desk(FLOW, DATA, 101, b"1st", 501)
    (connection,) = desk.connections
    assert (connection.initiator, connection.handshake) == (CLIENT, True)
    assert desk.events == [([b"1st", b"second"], [])]


@pytest.mark.parametrize(("flow", "side"), [(FLOW, 0), (BACK, 1)])
def test_without_a_handshake_the_lower_port_is_taken_for_the_listening_end(desk: Desk, flow: bytes, side: int) -> None:
    desk(flow, DATA, 7, b"amid")
    desk.table.settle()
    (connection,) = desk.connections
    assert (connection.initiator, connection.acceptor) == (CLIENT, BROKER)
    assert not connection.handshake
    assert desk.events[0][side] == [b"amid"]


def test_between_ephemeral_ports_who_speaks_first_is_the_initiator(desk: Desk) -> None:
    flow = FLOW[:8] + (40_000).to_bytes(2, "big") + (50_000).to_bytes(2, "big")
    desk(flow, DATA, 7, b"x")
    assert desk.connections[0].initiator == ("10.0.0.1", 40_000)


@pytest.mark.parametrize(("port", "listening"), [(32_767, True), (32_768, False)])
def test_a_lower_port_listens_unless_it_is_ephemeral(desk: Desk, port: int, listening: bool) -> None:
    flow = FLOW[:8] + port.to_bytes(2, "big") + (50_000).to_bytes(2, "big")
    desk(flow, DATA, 7, b"x")
    assert (desk.connections[0].acceptor == ("10.0.0.1", port)) is listening


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


@pytest.mark.parametrize("last", [RST, RST | ACK, FIN | ACK])
def test_connections_that_all_begin_with_the_numbers_that_a_program_makes_up(desk: Desk, last: int) -> None:
    for number in range(100):
        desk.handshake(0, 0)
        desk(FLOW, DATA, 1, b"ask", 1)
        desk(BACK, DATA, 1, b"yes", 4)
        desk(FLOW, last, 4, ack=4)
        if last == FIN | ACK:
            desk(BACK, FIN | ACK, 4, ack=5)
        assert len(desk.connections) == number + 1
    desk.table.close()
    assert desk.events == [([b"ask"], [b"yes"])] * 100


def test_a_connection_with_another_number_at_its_acceptor_begins_with_its_syn(desk: Desk) -> None:
    client = 3_000_000_000
    desk.handshake(client, 2_000_000_000)
    desk(FLOW, RST, client + 1)
    desk.handshake(client, 2_500_000_000)
    desk(FLOW, DATA, client + 1, b"new", 2_500_000_001)
    assert [connection.first_packet for connection in desk.connections] == [1, 5]
    assert desk.events[1] == ([b"new"], [])


@pytest.mark.parametrize("made_up", [True, False])
def test_late_copies_begin_no_connection(desk: Desk, made_up: bool) -> None:
    client, broker = (100, 500) if made_up else (3_000_000_000, 2_000_000_000)
    for late in (SYN, SYN | ACK, SYN):
        desk.handshake(client, broker)
        desk(FLOW, DATA, client + 1, b"ask", broker + 1)
        desk(FLOW, FIN | ACK, client + 4, ack=broker + 1)
        desk(BACK, FIN | ACK, broker + 1, ack=client + 5)
        desk(FLOW if late == SYN else BACK, late, client if late == SYN else broker, ack=client + 1)
        desk(FLOW, DATA, client + 1, b"ask", broker + 1)
        client, broker = client + (1 << 17), broker + (1 << 17)
    assert [one[0] for one in desk.events] == [[b"ask"]] * 3


def test_the_last_packets_of_a_connection_are_not_believed_after_the_next_syn(desk: Desk) -> None:
    desk.handshake(100, 500)
    desk(FLOW, DATA, 101, b"old", 501)
    desk.handshake(100_000, 600_000)
    for flow, seq in ((FLOW, 104), (BACK, 501)):
        desk(flow, FIN | ACK, seq)
        desk(flow, RST, seq)
    silence(desk, ended=True)
    desk(FLOW, DATA, 100_001, b"new", 600_001)
    assert desk.events[1] == ([b"new"], [])


def test_a_handshake_shuffled_behind_its_own_end_is_of_the_same_connection(desk: Desk) -> None:
    desk(FLOW, DATA, 101, b"ask", 501)
    desk(FLOW, FIN | ACK, 104, ack=501)
    desk(BACK, FIN | ACK, 501, ack=105)
    desk(FLOW, SYN, 100)
    desk(BACK, SYN | ACK, 500, ack=101)
    assert desk.events == [([b"ask"], [])]


def test_a_copy_of_a_whole_connection_is_no_other_one(desk: Desk) -> None:
    """As in two captures that were merged, one clock being late."""
    for _ in range(2):
        desk.handshake(3_000_000_000, 2_000_000_000)
        desk(FLOW, DATA, 3_000_000_001, b"ask", 2_000_000_001)
        desk(FLOW, RST, 3_000_000_004)
    assert desk.events == [([b"ask"], [])]


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


@pytest.mark.parametrize(("behind", "connections"), [(5, 1), (1 << 20, 1), ((1 << 20) + 1, 2)])
def test_a_syn_of_bytes_before_the_first_seen_is_believed_within_a_mebibyte(
    desk: Desk, behind: int, connections: int
) -> None:
    desk(FLOW, DATA, 101 + behind, b"second", 501)
    desk(FLOW, SYN, 100)
    assert len(desk.connections) == connections


@pytest.mark.parametrize(("packets", "connections"), [(64, 1), (65, 2)])
def test_a_syn_is_late_by_64_packets_at_most(desk: Desk, packets: int, connections: int) -> None:
    for seq in range(201, 201 + packets):
        desk(FLOW, DATA, seq, b"x", 501)
    desk(FLOW, SYN, 100)
    assert len(desk.connections) == connections


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
    silence(desk)
    desk(FLOW, DATA, 101, b"late", 501)
    assert desk.events[0] == ([4, b"held"], [])
    assert desk.ends[0] == (1, 1)


def silence(desk: Desk, *, ended: bool = False) -> None:
    """As many packets of another connection as a reset is waited for."""
    other = FLOW[:8] + (40_000).to_bytes(2, "big") + FLOW[-2:]
    desk.handshake(flow=other)
    for n in range(SHUFFLED - 3):
        assert desk.ends[0] == (int(ended), int(ended))
        desk(other, DATA, 101 + n, b"x", 501)


def test_what_was_under_way_when_the_other_end_reset_the_connection_is_there(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, DATA, 101, b"ask", 501)
    desk(FLOW, RST | ACK, 104, ack=501)
    for n in range(2 * SHUFFLED):
        desk(BACK, DATA, 501 + n, b"x", 104)
        desk(FLOW, RST, 104)
    assert desk.ends == [(0, 0)]
    assert desk.sides[0][1].bytes == b"x" * 2 * SHUFFLED
    desk.table.close()
    assert desk.ends == [(1, 1)]


def test_ports_that_are_used_anew_end_what_was_reset(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, RST, 101)
    desk.handshake(9000, 8000)
    assert desk.ends == [(1, 1), (0, 0)]


def test_data_waits_for_its_beginning_for_some_packets_of_the_capture(desk: Desk) -> None:
    desk(FLOW, DATA, 105, b"second", 501)
    desk(BACK, DATA, 501, b"answer", 111)
    desk(FLOW, DATA, 101, b"1st.", 501)
    assert desk.events == [([], [])]
    silence(desk)
    assert desk.events[0] == ([b"1st.", b"second"], [b"answer"])


def test_a_handshake_behind_the_data_tells_where_it_begins(desk: Desk) -> None:
    desk(BACK, DATA, 501, b"answer", 104)
    desk(FLOW, DATA, 101, b"ask", 501)
    desk(BACK, SYN | ACK, 500, ack=101)
    assert desk.events == [([b"ask"], [b"answer"])]
    assert desk.connections[0].handshake


def test_an_answer_waits_for_what_it_acknowledges(desk: Desk) -> None:
    told = list[str]()
    desk.handshake()
    for name, side in zip(("ask", "answer"), desk.sides[0], strict=True):
        side.data = lambda *_, name=name: told.append(name)  # type: ignore[method-assign]
    desk(BACK, DATA, 501, b"answer", 104)
    assert told == []
    desk(FLOW, DATA, 101, b"ask", 501)
    assert told == ["ask", "answer"]


def test_an_answer_to_what_was_lost_does_not_wait_for_ever(desk: Desk) -> None:
    desk.handshake()
    desk(BACK, DATA, 501, b"answer", 104)
    silence(desk)
    desk(BACK, DATA, 507, b"another", 104)
    assert desk.events[0] == ([], [b"answer", b"another"])


def test_a_refused_connection_ends(desk: Desk) -> None:
    desk(FLOW, SYN, 100)
    desk(BACK, RST | ACK, 0, ack=101)
    desk.table.close()
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


def test_a_reset_behind_lost_bytes_is_believed(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, DATA, 101, b"ask", 501)
    desk(BACK, RST | ACK, 70_501, ack=104)
    silence(desk)
    assert desk.ends[0] == (1, 1)


def test_a_table_that_was_closed_begins_anew(desk: Desk) -> None:
    desk.handshake()
    desk.table.close()
    desk(FLOW, DATA, 101, b"more", 501)
    assert [connection.handshake for connection in desk.connections] == [True, False]


def test_closing_the_table_ends_every_connection_once(desk: Desk) -> None:
    desk.handshake()
    desk(FLOW, DATA, 103, b"held", 501)
    desk.handshake(flow=FLOW[:8] + (40_000).to_bytes(2, "big") + FLOW[-2:])
    desk.table.close()
    desk.table.close()
    assert desk.events == [([2, b"held"], []), ([], [])]
    assert desk.ends == [(1, 1), (1, 1)]
    assert desk.sides[0][0].ends == [(4000, 4)]
