"""A connection is at rest when nothing of it is half done."""

from __future__ import annotations

import io

from kdbg.capture import Packet, open_capture
from kdbg.exchanges.engine.driver import quiescent_at
from kdbg.exchanges.engine.engine import Engine
from kdbg.streams.tcp.connection import Connection
from tests.traffic import Talk, pcap


def rests(talk: Talk) -> list[tuple[int, int] | None]:
    """Where the connection of this dialogue rests, after each of its packets."""
    found: list[Connection] = []
    session = Engine(watch=lambda connection, client: found.append(connection))

    def after(packet: Packet) -> tuple[int, int] | None:
        session.receive(packet)
        return quiescent_at(found[0])

    with open_capture(io.BytesIO(pcap(talk))) as capture:
        return [after(packet) for packet in capture]


def test_between_an_answer_and_the_next_request() -> None:
    talk = Talk(most=20).ask("Metadata", 1, topics=[]).answer(brokers=[])
    client, broker = talk.next
    talk.ask("Metadata", 1, topics=[])
    *before, rest, _, _ = rests(talk)
    assert before == [None] * len(before)
    assert rest == (client, broker)


def test_not_while_a_response_is_due() -> None:
    talk = Talk().ask("Metadata", 1, topics=[]).ask("Metadata", 1, topics=[]).answer(brokers=[])
    assert rests(talk) == [None] * 5
    talk.answer(brokers=[])
    assert rests(talk)[-1] == tuple(talk.next)


def test_not_with_a_hole_nor_before_it_is_known_what_is_spoken() -> None:
    talk = Talk().ask("Metadata", 1, topics=[]).answer(brokers=[]).lose(10).ask("Metadata", 1, topics=[])
    assert rests(talk)[-1] is None
    assert rests(Talk().send(b"SSH-2.0-x\r\n")) == [None] * 3
    assert rests(Talk().ask("SaslHandshake", 0, mechanism="PLAIN").answer(mechanisms=["PLAIN"])) == [None] * 4
