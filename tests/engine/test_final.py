"""A delivered exchange is final: it never changes, and is the same whatever the limit, and however packets come."""

from __future__ import annotations

import io
import random
import re
import struct
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kdbg
from kdbg.capture import Packet, open_capture
from kdbg.exchanges.engine.driver import Drive
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange

from ..cases import by_day, fewer_by_day, for_each
from ..traffic import Talk, pcap
from .damage import FIRST_ID, Damaged, damage, messages
from .playbook import Lost, Playbook, request, response, told
from .test_engine import harm, packets_of

CAPTURES = Path(kdbg.__file__).resolve().parents[1] / "captures"
NAMES = sorted(path.name for path in CAPTURES.glob("*.pcap") if path.stat().st_size < 60_000)
SEEDS = st.integers(0, 2**32)
Shot = tuple[Any, ...]


def half_shot(half: CapturedMessage | None) -> Shot | None:
    """All that a message is, and what is read of it."""
    if half is None:
        return None
    half.forget()  # whoever handed it out may have read it, as far as it wanted
    message = half.message(shallow=True)
    return (
        half.data, half.first_time, half.last_time, half.first_packet, half.last_packet, half.missing, half.version,
        half.api.key if half.api is not None else None, half.known.facts.copy() if half.known is not None else None,
        half.asked.data if half.asked is not None else None,
        (re.sub(r"0x[0-9a-f]+", "", repr(message.body)), tuple(message.findings)) if message is not None else None,
    )  # fmt: skip


def shot(exchange: Exchange) -> Shot:
    """All that an exchange is, as values."""
    api = exchange.api.key if exchange.api is not None else None
    return (
        exchange.number, exchange.peers, api, exchange.version, exchange.correlation_id, exchange.client_id,
        exchange.answered, tuple(exchange.findings), half_shot(exchange.request), half_shot(exchange.response),
    )  # fmt: skip


class Watched:
    """Takes exchanges as they are delivered, and sees at the end that none has changed."""

    def __init__(self) -> None:
        self.taken: list[tuple[Exchange, Shot]] = []

    def take(self, exchanges: Iterable[Exchange]) -> Watched:
        for exchange in exchanges:
            self.taken.append((exchange, shot(exchange)))
        return self

    @property
    def shots(self) -> list[Shot]:
        for exchange, then in self.taken:
            assert shot(exchange) == then, "it changed after it was delivered"
        return [then for _, then in self.taken]


def limited(packets: list[Packet], limit: int, reads: Any) -> list[Shot]:
    """The first exchanges, and then the rest of the packets through the same engine."""
    engine, watched, left = Engine(reads=reads), Watched(), iter(packets)
    watched.take(Drive(engine, ([packet] for packet in left), lambda: lambda exchange: True, left=limit))
    for packet in left:
        engine.receive(packet)
    engine.close()
    return watched.shots


def cut(packets: list[Packet], rng: random.Random) -> Iterator[list[Packet]]:
    """The packets in blocks of any size."""
    place, most = 0, rng.choice([1, 2, 9, 100, 10_000])
    while place < len(packets):
        size = rng.randint(1, most)
        yield packets[place : place + size]
        place += size


def one_by_one(packets: list[Packet], reads: Any) -> list[Shot]:
    engine, watched = Engine(reads=reads), Watched()
    for packet in packets:
        watched.take(engine.receive(packet))
    return watched.take(engine.close()).shots


def in_blocks(packets: list[Packet], rng: random.Random, reads: Any) -> list[Shot]:
    return Watched().take(Engine(reads=reads).run(cut(packets, rng))).shots


def limited_in_blocks(packets: list[Packet], limit: int, rng: random.Random, reads: Any) -> list[Shot]:
    drive = Drive(Engine(reads=reads), cut(packets, rng), lambda: lambda exchange: True, left=limit)
    return Watched().take(drive).shots


def check(packets: list[Packet], seed: int) -> list[Shot]:
    rng = random.Random(seed)
    engine = Engine()
    whole = Watched().take(engine.run([packets])).shots
    assert [number for number, *_ in whole] == list(range(1, len(whole) + 1))
    for reads in (None, "shallow", "whole"):
        limit = rng.randint(1, len(whole) + 1)
        assert limited(packets, limit, reads) == whole[:limit]
        assert one_by_one(packets, reads) == whole
        assert in_blocks(packets, rng, reads) == whole
        assert limited_in_blocks(packets, limit, rng, reads) == whole[:limit]
    return whole


def packets_in(name: str) -> list[Packet]:
    with open_capture(CAPTURES / name) as capture:
        return list(capture)


@for_each("name", by_day(NAMES, 2))
def test_in_every_capture(name: str) -> None:
    check(packets_in(name), 7)


@settings(max_examples=fewer_by_day(30, 4), deadline=None)
@given(st.sampled_from(NAMES), SEEDS)
def test_in_damaged_captures(name: str, seed: int) -> None:
    rng = random.Random(seed)
    packets = packets_in(name)
    start = rng.randrange(len(packets))
    check(harm(packets[start : start + 150], rng), seed)


def damaged_dialogue(rng: random.Random) -> list[Packet]:
    """Requests and responses with lengths that lie, holes and rubbish, cut anywhere, in turn or many at once."""
    both = messages(rng, 16)
    streams = [
        Damaged([request(FIRST_ID + n, api, version, **body) for n, (api, version, body, _) in enumerate(both)]),
        Damaged([response(FIRST_ID + n, api, version, **body) for n, (api, version, _, body) in enumerate(both)]),
    ]
    for stream in streams:
        damage(stream, rng, rng.randint(0, 3))
    queues = [stream.pieces(rng, rng.choice([30, 200, 1448])) for stream in streams]
    together = rng.random() < 0.5

    def play(book: Playbook) -> None:
        while any(queues):
            side = 0 if queues[0] and (together or not queues[1] or rng.random() < 0.6) else 1
            side = side if queues[side] else 1 - side
            piece = queues[side].pop(0)
            book.send(side == 0, Lost(piece) if isinstance(piece, int) else piece)

    return packets_of(play)


@settings(max_examples=fewer_by_day(80, 4), deadline=None)
@given(SEEDS)
def test_in_damaged_dialogues(seed: int) -> None:
    check(damaged_dialogue(random.Random(seed)), seed)


def long_lie(count: int) -> list[Packet]:
    """A response whose length covers half of the next one, which shows only when the rest of that comes."""
    answers = b"".join(response(n) for n in range(count))
    lie = len(response(0)) - 4 + len(response(1)) // 2
    answers = struct.pack(">i", lie) + answers[4:]

    def play(book: Playbook) -> None:
        for n in range(count):
            book >> request(n)
        book << answers[: lie + 4]
        book << answers[lie + 4 :]

    return packets_of(play)


def test_bytes_are_given_back_before_the_exchange_is_delivered() -> None:
    packets = long_lie(70)
    whole = check(packets, 3)
    assert len(whole) == 70
    engine = Engine()
    exchanges = list(engine.run([packets]))
    first = exchanges[0]
    assert first.response is not None
    assert first.response.data == response(0)[4:]
    assert [finding.kind for finding in first.findings] == ["invalid-length"]
    assert [exchange.response.data for exchange in exchanges if exchange.response] == [
        response(n)[4:] for n in range(70)
    ]


def test_times_and_packets_are_those_of_the_bytes_that_are_left() -> None:
    """The bytes that are given back came with another packet."""
    answers = response(0) + response(1) + response(2)
    size = len(response(0))
    answers = struct.pack(">i", size - 4 + 20) + answers[4:]

    def play(book: Playbook) -> None:
        book >> request(0) >> request(1) >> request(2)
        book << answers[:size] << answers[size : size + 20] << answers[size + 20 :]

    packets = packets_of(play)
    first, second, _ = list(Engine().run([packets]))
    last = packets[-1][0]
    assert first.response is not None
    assert second.response is not None
    assert (first.response.first_packet, first.response.last_packet) == (last - 2, last - 2)
    assert (second.response.first_packet, second.response.last_packet) == (last - 1, last)
    assert second.response.first_time == packets[-2][1]


def test_a_frame_is_taken_as_final_after_a_while() -> None:
    """What is behind it comes too late to take bytes from it: somebody may have seen it by then."""
    packets = long_lie(4)
    late = [(n, time + 10**9 if n == packets[-1][0] else time, *rest) for n, time, *rest in packets]
    exchanges = list(Engine().run([late]))  # type: ignore[list-item]
    assert exchanges[0].response is not None
    assert exchanges[0].response.data != response(0)[4:]
    assert check(late, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("reads", ["shallow", "whole"])
def test_what_is_sound_is_handed_out_at_once_where_it_is_read(reads: Any) -> None:
    book = Playbook(session=Engine(reads=reads)) >> request(5) >> request(6) << response(5)
    assert [told(exchange) for exchange in book.handed_out] == ["5><"]
    book << response(6)
    assert [told(exchange) for exchange in book.handed_out] == ["5><", "6><"]


@pytest.mark.parametrize("reads", ["shallow", "whole"])
@pytest.mark.parametrize("side", ["request", "response"])
def test_what_has_bytes_too_many_waits_for_the_next_frame_though_it_is_read(reads: Any, side: str) -> None:
    asked, answered = request(5), response(5)
    if side == "request":
        asked = struct.pack(">i", len(asked)) + asked[4:] + b"?"
    else:
        answered = struct.pack(">i", len(answered)) + answered[4:] + b"?"
    book = Playbook(session=Engine(reads=reads)) >> asked << answered
    assert book.handed_out == []
    book >> request(6) << response(6)
    assert [told(exchange) for exchange in book.handed_out] == ["5><", "6><"]


@pytest.mark.parametrize("reads", [None, "shallow", "whole"])
def test_what_a_pause_has_shown_is_final(reads: Any) -> None:
    """Bytes that come after it show that the length lied, and are not taken from it any more."""
    packets = long_lie(4)
    engine, watched = Engine(reads=reads), Watched()
    for packet in packets[:-1]:
        watched.take(engine.receive(packet))
    watched.take(engine.idle())
    assert [told(exchange) for exchange, _ in watched.taken] == ["0><"]
    watched.take(engine.receive(packets[-1])).take(engine.close())
    assert len(watched.shots) == 4


def with_pauses(packets: list[Packet], rng: random.Random) -> Iterator[list[Packet]]:
    for packet in packets:
        yield [packet]
        if rng.random() < 0.3:
            yield []


@for_each("name", by_day(NAMES, 2))
def test_pauses_change_nothing_in_sound_traffic(name: str) -> None:
    packets = packets_in(name)
    if name in ("segmented-lossy.pcap", "midstream.pcap", "pipelined-acks0.pcap"):
        packets = packets[: len(packets) // 4]
    watched = Watched().take(Engine().run(with_pauses(packets, random.Random(5))))
    assert by_connection(watched.shots) == by_connection(Watched().take(Engine().run([packets])).shots)


def by_connection(shots: list[Shot]) -> dict[int, list[Shot]]:
    """What each connection said; where a capture begins within some, a pause decides which of them is told first."""
    found: dict[int, list[Shot]] = {}
    for _, peers, *rest in shots:
        found.setdefault(peers.number, []).append((peers, *rest))
    return found


def test_a_name_learnt_later_does_not_change_what_was_handed_out() -> None:
    """A fetch by topic id comes before the metadata that names the topic: whenever it is looked at, it has no name."""
    topic_id = uuid.UUID(int=0xABC)
    talk = Talk()
    talk.ask("Fetch", 13, topics=[{"topic_id": topic_id, "partitions": [{"partition": 0}]}]).answer()
    talk.ask("Metadata", 12, topics=[{"name": "orders"}])
    talk.answer(
        topics=[{"error_code": 0, "name": "orders", "topic_id": topic_id, "is_internal": False, "partitions": []}]
    )
    talk.ask("Fetch", 13, topics=[{"topic_id": topic_id, "partitions": [{"partition": 0}]}]).answer().end()
    capture = pcap(talk)
    one_by_one = [(one.to_dict(), one.text()) for one in kdbg.read_capture(io.BytesIO(capture))]
    at_the_end = [(one.to_dict(), one.text()) for one in list(kdbg.read_capture(io.BytesIO(capture)))]
    assert one_by_one == at_the_end
    assert ["orders" in text for _, text in at_the_end] == [False, True, True]
