"""The way from packets to the exchanges that are wanted: no more than wanted, and no packet more than that takes."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from kdbg.capture import Packet, open_capture
from kdbg.exchanges.engine.direction import HOLD
from kdbg.exchanges.engine.driver import PAUSE, Drive
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.protocol.wire.readings.outline import NamesThen
from kdbg.views.render.style import Look
from kdbg.views.render.views import view

from ..cases import for_each
from .playbook import Playbook, request, response, told
from .test_engine import packets_of

CAPTURES = sorted((Path(__file__).parents[2] / "captures").glob("*.pcap*"))


def dialogue(count: int) -> list[Packet]:
    def play(book: Playbook) -> None:
        for n in range(count):
            book >> request(n) << response(n)

    return packets_of(play)


def odd(exchange: Exchange) -> bool:
    return exchange.correlation_id % 2 == 1


def test_what_is_not_wanted_is_passed_over_and_still_heard() -> None:
    heard, left_out = list[Exchange](), list[Exchange]()
    drive = Drive(Engine(), [dialogue(5)], lambda: odd, hear=heard.append, leave_out=left_out.append)
    assert [told(exchange) for exchange in drive] == ["1><", "3><"]
    assert [told(exchange) for exchange in heard] == ["0><", "1><", "2><", "3><", "4><"]
    assert [told(exchange) for exchange in left_out] == ["0><", "2><", "4><"]


def test_behind_the_last_that_is_wanted_no_packet_is_taken() -> None:
    packets = iter(dialogue(9))
    drive = Drive(Engine(reads="shallow"), ([packet] for packet in packets), lambda: odd, left=2)
    assert [told(exchange) for exchange in drive] == ["1><", "3><"]
    assert drive.left == 0
    assert len(list(packets)) == 2 * 5


@for_each("format", ["tree", "json"])
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_exchanges_of_a_block_say_what_each_says_alone(capture: Path, format: str) -> None:
    """Later ones may tell names of topic ids that earlier ones of the block did not know, nor show."""
    with open_capture(capture) as opened:
        packets = list(opened)

    def shown(size: int) -> list[str | bytes]:
        engine = Engine()
        render = view(format).exchange(Look(), engine.names_then)
        blocks = (packets[start : start + size] for start in range(0, len(packets), size))
        return [render(exchange) for exchange in Drive(engine, blocks, lambda: None)]

    assert shown(len(packets)) == shown(1)


def test_a_name_is_not_known_before_it_is_told() -> None:
    names = NamesThen(topics := {UUID(int=1): "__cluster_metadata"})
    topics[UUID(int=7)] = "orders"
    names.at(1)
    assert (UUID(int=7) in names, names.get(UUID(int=7)), len(names)) == (False, None, 1)
    with pytest.raises(KeyError):
        names[UUID(int=7)]
    names.at(2)
    assert (UUID(int=7) in names, names[UUID(int=7)], dict(names)) == (True, "orders", topics)
    topics[UUID(int=8)] = "payments"
    names.at(2)
    assert UUID(int=8) not in names


def test_where_none_is_wanted_no_packet_is_taken() -> None:
    packets = iter(dialogue(3))
    assert list(Drive(Engine(), ([packet] for packet in packets), lambda: odd, left=0)) == []
    assert len(list(packets)) == len(dialogue(3))


def test_a_pause_is_as_long_as_an_exchange_is_held_in_seconds() -> None:
    assert round(PAUSE * 1_000_000_000) == HOLD
    assert 0 < PAUSE <= 1
