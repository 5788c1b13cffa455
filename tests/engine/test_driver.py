"""The way from packets to the exchanges that are wanted: no more than wanted, and no packet more than that takes."""

from __future__ import annotations

from kdbg.capture import Packet
from kdbg.engine.driver import PAUSE, Drive
from kdbg.engine.engine import Engine
from kdbg.engine.sides import HOLD
from kdbg.messages.exchange import Exchange
from kdbg.tcp import Connection

from .playbook import Playbook, request, response, told
from .test_engine import packets_of


def dialogue(count: int) -> list[Packet]:
    def play(book: Playbook) -> None:
        for n in range(count):
            book >> request(n) << response(n)

    return packets_of(play)


def odd(exchange: Exchange) -> bool:
    return exchange.correlation_id % 2 == 1


def test_what_is_not_wanted_is_passed_over_and_still_heard() -> None:
    heard: list[tuple[str, bool]] = []
    drive = Drive(Engine(), [dialogue(5)], lambda: odd, hear=lambda one, wanted: heard.append((told(one), wanted)))
    assert [told(exchange) for exchange in drive] == ["1><", "3><"]
    assert heard == [("0><", False), ("1><", True), ("2><", False), ("3><", True), ("4><", False)]


def test_behind_the_last_that_is_wanted_no_packet_is_taken() -> None:
    packets = iter(dialogue(9))
    drive = Drive(Engine(reads="shallow"), ([packet] for packet in packets), lambda: odd, left=2)
    assert [told(exchange) for exchange in drive] == ["1><", "3><"]
    assert drive.left == 0
    assert len(list(packets)) == 2 * 5


def test_an_exchange_is_heard_before_the_packets_behind_it_in_its_block() -> None:
    connections, heard = list[Connection](), list[int]()
    engine = Engine(reads="shallow", watch=lambda connection, client: connections.append(connection))

    def hear(exchange: Exchange, wanted: bool) -> None:
        heard.append(connections[0].packets)

    packets = dialogue(3)
    assert len(list(Drive(engine, [packets], lambda: odd, hear=hear))) == 1
    assert heard == [len(packets) - 4, len(packets) - 2, len(packets)]


def test_where_none_is_wanted_no_packet_is_taken() -> None:
    packets = iter(dialogue(3))
    assert list(Drive(Engine(), ([packet] for packet in packets), lambda: odd, left=0)) == []
    assert len(list(packets)) == len(dialogue(3))


def test_a_pause_is_as_long_as_an_exchange_is_held_in_seconds() -> None:
    assert round(PAUSE * 1_000_000_000) == HOLD
    assert 0 < PAUSE <= 1
