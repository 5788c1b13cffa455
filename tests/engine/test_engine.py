"""Packets in, exchanges out, whatever the packets hold; and what is remembered on the way."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdbg.capture import Packet, open_capture
from kdbg.exchanges.engine import conversation as release_queue
from kdbg.exchanges.engine import engine as room
from kdbg.exchanges.engine.classifier import Classifier, HeldSide
from kdbg.exchanges.engine.conversation import Conversation
from kdbg.exchanges.engine.direction import HOLD
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.engine.framing import Framer
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.protocol.wire.readings import outline

from .playbook import Lost, Playbook, flow, request, response, told

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"
KRAFT = UUID(int=1)
ORDERS = UUID(int=0xABC)


def test_receive_gives_what_a_packet_proved() -> None:
    session = Engine()
    playbook = Playbook(session=session) >> request(5) << response(5)
    assert playbook.handed_out == [], "bytes may still be taken from the response"
    playbook >> request(6) << response(6)
    assert [told(exchange) for exchange in playbook.handed_out] == ["5><"]
    assert [told(exchange) for exchange in session.close()] == ["6><"]
    assert session.count == 2


@pytest.mark.parametrize(("later", "expected"), [(HOLD, []), (HOLD + 1, ["5><"])])
def test_an_exchange_is_held_no_longer_than_stated(later: int, expected: list[str]) -> None:
    """Whatever packet it is that comes so much later."""
    session = Engine()
    playbook = Playbook(session=session) >> request(5) << response(5)
    completed = playbook.number * 1000
    assert [told(one) for one in session.receive((99, completed + later, flow(40000), 9, 9, 2, b"", 0))] == expected


def test_idle_hands_out_what_is_complete() -> None:
    session = Engine()
    playbook = Playbook(session=session) >> request(5) >> request(6) << response(5) + response(6)[:-1]
    assert [told(exchange) for exchange in session.idle()] == ["5><"]
    assert session.idle() == []
    playbook << response(6)[-1:]
    assert playbook.seen == ["6><"]


def test_only_so_many_exchanges_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Engine()
    silent = Playbook(path=flow(40001), session=session) >> request(5) << response(5)
    busy = Playbook(path=flow(40002), session=session)
    monkeypatch.setattr(release_queue, "MOST", 10)
    for n in range(9):
        busy >> request(n) << response(n)
    assert silent.handed_out == busy.handed_out == []
    busy >> request(9) << response(9)
    assert [exchange.peers.client[1] for exchange in busy.handed_out] == [40001] + [40002] * 9


def test_only_so_many_bytes_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Engine()
    monkeypatch.setattr(release_queue, "MOST_BYTES", 2 * len(response(5)))
    books = [Playbook(path=flow(40000 + n), session=session) >> request(5) << response(5) for n in range(4)]
    assert [len(book.handed_out) for book in books] == [0, 0, 1, 1]


def test_what_receive_gave_is_the_callers() -> None:
    session = Engine()
    idle = session.receive((1, 0, flow(), 0, 0, 2, b"", 0))
    Playbook(session=session) >> request(5) << response(5)
    assert idle == []


def packets_of(playbook: Callable[[Playbook], Any]) -> list[Packet]:
    """What a playbook sends."""
    packets: list[Packet] = []

    class Tape(Engine):
        def receive(self, packet: Packet) -> list[Any]:
            packets.append(packet)
            return []

    playbook(Playbook(session=Tape()))
    return packets


def test_run_gives_all_of_it_as_it_comes() -> None:
    packets = packets_of(lambda book: book >> request(5) << response(5) >> request(6))
    taken = 0

    def live() -> Any:
        nonlocal taken
        for packet in packets:
            taken += 1
            yield [packet]
            yield []

    exchanges = Engine().run(live())
    assert told(next(exchanges)) == "5><"
    assert taken == len(packets) - 1
    assert [told(exchange) for exchange in exchanges] == ["6>"]


@pytest.mark.parametrize("port", [51514, 9092])
@pytest.mark.parametrize("path", [flow(51514, 9092), flow(9092, 51514)], ids=["client first", "broker first"])
def test_either_end_may_have_the_port(port: int, path: bytes) -> None:
    playbook = Playbook(path=path, session=Engine(ports=[port])) >> request(5) << response(5)
    assert playbook.seen == ["5><"]


@pytest.mark.parametrize("client", [0, 1])
def test_whoever_watches_is_told_of_connections_and_which_end_is_the_client(client: int) -> None:
    said: list[tuple[int, int | None]] = []
    session = Engine(watch=lambda connection, which: said.append((connection.number, which)))
    talk, other = (Playbook(syn=False, path=flow(*ends), session=session) for ends in ((51514, 9092), (51515, 9093)))
    talk.send(not client, request(5)).send(bool(client), response(5))
    session.idle()
    other >> b"\x16\x03\x01\x02\0" << request(6)
    assert said == [(1, None), (1, client), (2, None)]


def test_ports_narrow_to_connections_with_one_of_them() -> None:
    session = Engine(ports=[9092, 9093])
    for n, port in enumerate([9092, 9093, 9094]):
        book = Playbook(path=flow(40000 + n, port), session=session)
        book >> request(n) << response(n)
        assert book.seen == ([f"{n}><"] if port != 9094 else [])
    assert (session.connections, session.other_connections, session.close()) == (2, 0, [])


def test_connections_are_numbered_as_they_appear() -> None:
    session = Engine()
    books = [Playbook(path=flow(40000 + n), session=session) for n in range(3)]
    for n in (2, 0, 1):
        books[n] >> request(n) << response(n)
        assert books[n].seen == [f"{n}><"]
    assert [book.exchanges[0].peers.number for book in books] == [1, 2, 3]
    assert [book.exchanges[0].number for book in books] == [2, 3, 1]


def test_ended_connections_leave_nothing_behind() -> None:
    session = Engine()
    Playbook(session=session) >> request(5) << response(5) >> Lost(9) >> b"rubbish" << Lost(9) << b"rubbish"
    session.close()
    assert {finding.kind for _, finding in session.findings} == {"tcp-gap", "undecoded-bytes"}
    assert session.budget.left == room.Budget().left


Alive = Callable[..., list[object]]


@pytest.fixture
def alive() -> Iterator[Alive]:
    """The objects of some classes that came up in the test and live, though no garbage collector ran.

    One that had to find them would go over all connections.
    """
    gc.collect()
    gc.disable()
    # The objects themselves, not their ids: a freed object's id passes to a new one, which would seem to be old.
    before = gc.get_objects()
    old = {id(each) for each in before}
    yield lambda *kinds: [each for each in gc.get_objects() if isinstance(each, kinds) and id(each) not in old]
    gc.enable()


def test_what_was_held_while_a_connection_was_unknown_is_freed_at_once(alive: Alive) -> None:
    session = Engine()
    for n, first in enumerate((request(5), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\xff" * 70_000)):
        Playbook(path=flow(40000 + n), session=session) >> first
    assert (session.connections, session.other_connections) == (1, 2)
    assert alive(Classifier, HeldSide) == []


def test_a_conversation_that_is_over_is_freed_at_once(alive: Alive) -> None:
    session = Engine()
    book = Playbook(session=session) >> request(5) << response(5) >> request(6) << response(6)[:9]
    assert len(alive(Conversation, Framer)) == 3
    assert book.close() == ["5><", "6><"]
    book.handed_out.clear()
    assert alive(Conversation, Framer, Exchange) == []


def test_a_silent_connection_does_not_hold_on_to_its_last_exchange(alive: Alive) -> None:
    session = Engine()
    book = Playbook(session=session) >> request(5) << response(5)
    assert [told(exchange) for exchange in session.idle()] == ["5><"]
    assert alive(Exchange) == []
    assert session.connections == 1
    assert book.path


# Topic names


def metadata(version: int, *topics: tuple[str | None, UUID]) -> Playbook:
    rows = [{"name": name, "topic_id": topic_id} if version >= 10 else {"name": name} for name, topic_id in topics]
    return Playbook() >> request(5, 3, version, topics=None) << response(5, 3, version, topics=rows)


def learnt(book: Playbook) -> dict[UUID, str]:
    """What the traffic told: the log of KRaft has an id that is always known."""
    assert book.close()
    return {topic: name for topic, name in book.session.topic_names.items() if topic != KRAFT}


@pytest.mark.parametrize("version", [10, 12, 13])
def test_names_are_learnt_from_metadata(version: int) -> None:
    book = metadata(version, ("orders", ORDERS), ("payments", UUID(int=3)))
    assert learnt(book) == {ORDERS: "orders", UUID(int=3): "payments"}


def test_names_are_learnt_from_create_topics() -> None:
    book = (
        Playbook() >> request(5, 19, 7, topics=[]) << response(5, 19, 7, topics=[{"name": "new", "topic_id": ORDERS}])
    )
    assert learnt(book) == {ORDERS: "new"}


def test_names_are_learnt_from_describe_topic_partitions() -> None:
    book = (
        Playbook() >> request(5, 75, 0, topics=[]) << response(5, 75, 0, topics=[{"name": "new", "topic_id": ORDERS}])
    )
    assert learnt(book) == {ORDERS: "new"}


def test_names_are_learnt_from_whatever_has_both() -> None:
    members = [{"assignment": {"topic_partitions": [{"topic_id": ORDERS, "topic_name": "orders"}]}}]
    book = Playbook() >> request(5, 69, 1) << response(5, 69, 1, groups=[{"members": members}])
    assert learnt(book) == {ORDERS: "orders"}
    states = [{"topic_name": "old", "topic_id": ORDERS}]
    book = Playbook() >> request(5, "LeaderAndIsr", 7, topic_states=states) << response(5, "LeaderAndIsr", 7)
    assert learnt(book) == {ORDERS: "old"}, "a request tells as well"


def test_no_id_names_no_topic() -> None:
    assert learnt(metadata(12, ("orders", UUID(int=0)), (None, ORDERS))) == {}
    assert learnt(metadata(9, ("orders", ORDERS))) == {}


def test_an_id_keeps_the_name_that_it_had_first() -> None:
    book = metadata(12, ("orders", ORDERS))
    book >> request(6, 3, 12, topics=None) << response(6, 3, 12, topics=[{"name": "again", "topic_id": ORDERS}])
    assert learnt(book) == {ORDERS: "orders"}


def test_only_so_many_names_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "MOST", 3)
    book = metadata(12, *((f"t{n}", UUID(int=n + 2)) for n in range(5)))
    book.close()
    assert len(book.session.topic_names) == 3, "that of the log of KRaft among them"


def test_a_broken_response_teaches_what_it_still_says() -> None:
    rows = [{"name": f"t{n}", "topic_id": UUID(int=n + 2)} for n in range(5)]
    cut = response(5, 3, 12, topics=rows)
    book = Playbook() >> request(5, 3, 12, topics=None) << cut[:-60] << Lost(60) >> request(6) << response(6)
    book.close()
    assert book.session.topic_names[UUID(int=2)] == "t0"


# Whatever the packets hold


def small_captures() -> list[Path]:
    names = ["rdkafka-basic.pcap", "rdkafka-oldversions.pcap", "kafka-python.pcap", "rdkafka-sasl.pcap", "errors.pcap"]
    return [CAPTURES / name for name in [*names, "rdkafka-kip848.pcap", "segmented-mtu1500.pcap", "rdkafka-txn.pcap"]]


def packets(path: Path) -> list[Packet]:
    if not path.exists():
        pytest.skip(f"{path} is absent")
    with open_capture(path) as capture:
        return list(capture)


def harm(packets: list[Packet], rng: random.Random) -> list[Packet]:
    """Packets lost, doubled, out of order, cut short, with bytes changed, put in and taken out."""
    out: list[Packet] = []
    for packet in packets:
        number, time, path, seq, ack, flags, payload, length = packet
        roll = rng.random()
        if roll < 0.03:
            continue
        if roll < 0.05:
            payload = payload[: rng.randint(0, len(payload))]
        elif roll < 0.15 and payload:
            changed = bytearray(payload)
            for _ in range(rng.randint(1, 4)):
                changed[rng.randrange(len(changed))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            payload = bytes(changed)
        elif roll < 0.18:
            payload = payload[: len(payload) // 2] + rng.randbytes(rng.randint(0, 50)) + payload[len(payload) // 2 :]
            length = len(payload)
        elif roll < 0.19:
            seq = (seq + rng.choice([-5, 5, 1 << 20, 1 << 31])) & 0xFFFFFFFF
        elif roll < 0.20:
            flags = rng.randrange(256)
        out.append((number, time, path, seq, ack, flags, payload, length))
        if roll > 0.97:
            out.append(out[-1])
        if roll > 0.98 and len(out) > 3:
            other = rng.randrange(max(0, len(out) - 10), len(out))
            out[-1], out[other] = out[other], out[-1]
    return out


@settings(max_examples=40)
@given(which=st.sampled_from(small_captures()), seed=st.integers(0, 2**32))
def test_damaged_captures_never_raise(which: Path, seed: int) -> None:
    rng = random.Random(seed)
    whole = packets(which)
    start = rng.randrange(len(whole))
    session = Engine()
    everything = Filters(topic="no such", errors=True, group="no such")
    for exchange in session.run([harm(whole[start : start + 120], rng)]):
        exchange.all_findings()
        exchange.outlines()
        [check(exchange) for check in everything.checks(session.topic_names)]
        assert exchange.request is not None or exchange.response is not None
        assert exchange.latency is None or isinstance(exchange.latency, int)


@given(st.binary(max_size=2000), st.lists(st.integers(0, 1999), max_size=5), st.booleans(), st.booleans())
def test_any_bytes_at_all(data: bytes, cuts: list[int], syn: bool, asked: bool) -> None:
    playbook = Playbook(syn=syn)
    if asked:
        playbook >> request(1) >> request(2) << response(1)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for n, (start, end) in enumerate(pairwise(places)):
        playbook.send(bool(n % 2), data[start:end])
    playbook.close()
    for exchange in playbook.exchanges:
        exchange.all_findings()


FRAMES = st.builds(
    lambda size, key, version, number, rest: (
        size.to_bytes(4, "big") + key.to_bytes(2, "big") + version.to_bytes(2, "big") + number.to_bytes(4, "big") + rest
    ),
    st.integers(0, 60), st.integers(0, 93), st.integers(0, 18), st.integers(0, 5), st.binary(max_size=60),
)  # fmt: skip


@settings(max_examples=100)
@given(st.lists(st.tuples(st.booleans(), FRAMES), max_size=12))
def test_frames_of_rubbish(frames: list[tuple[bool, bytes]]) -> None:
    """Headers that may well be, bodies that are not."""
    playbook = Playbook()
    for forth, frame in frames:
        playbook.send(forth, frame)
    playbook.close()
    for exchange in playbook.exchanges:
        exchange.all_findings()
        exchange.outlines()
