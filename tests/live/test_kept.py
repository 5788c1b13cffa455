"""What a relay keeps of messages and for how long, at both sides of its bounds; where it listens."""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

import kdbg
from kdbg.budget import MEMORY
from kdbg.errors import InputError
from kdbg.live.actions import duration, expanded, rate
from kdbg.live.client.settings import Settings, is_local
from kdbg.live.embedded import Recorded
from kdbg.live.faults import Faults
from kdbg.live.frames import Decision, FramePiece, Frames, Send
from kdbg.live.holds import Desk, Held
from kdbg.live.listeners import Listener, Listening, Ports, allow_many_files, is_everywhere, open_files
from kdbg.live.proxy import Proxy, broker_endpoint
from kdbg.live.relay import OWN, Relay

from .proxies import broker, running
from .test_holding import PEERS, Person, Table, held_by
from .test_limits import echo
from .test_relay import ANSWER, METADATA, addresses, frame, produce, produced, request, response, taken

MIB = 1 << 20


def size(number: int) -> bytes:
    return struct.pack(">i", number)


# Frames


@pytest.fixture
def memory() -> Iterator[None]:
    limit = MEMORY.limit
    yield
    MEMORY.allow(limit)


@pytest.mark.usefixtures("memory")
def test_the_largest_frame_that_is_a_frame_and_that_is_held() -> None:
    def fed(number: int, limit: int = 1 << 40) -> tuple[bool, bool, int]:
        MEMORY.allow(limit)
        frames = Frames(lambda size, front: Decision.HOLD)
        list(frames.feed(size(number) + b"abc"))
        return frames.lost, frames.holds, frames.waiting

    found = [fed(each) for each in (128 * MIB, 128 * MIB + 1, 64 * MIB, 64 * MIB + 1, -1)]
    assert found == [(False, False, 0), (True, False, 0), (False, True, 7), (False, False, 0), (True, False, 0)]
    assert [fed(each, 160 * MIB)[1] for each in (10 * MIB, 10 * MIB + 1)] == [True, False]


def test_frames_come_out_one_by_one_where_they_are_wanted_so() -> None:
    data = frame(b"") + frame(b"ab") + frame(b"c")
    together, singly = Frames(lambda size, front: Decision.PASS), Frames(lambda size, front: Decision.PASS, singly=True)
    assert list(together.feed(data + size(9))) == [FramePiece(data + size(9))]
    assert list(singly.feed(data + size(9)[:3])) == [
        FramePiece(frame(b"")),
        FramePiece(frame(b"ab")),
        FramePiece(frame(b"c")),
    ]
    assert (singly.waiting, singly.inside, together.inside) == (3, False, True)
    assert list(singly.feed(size(9)[3:] + b"12345")) == [FramePiece(size(9) + b"12345")]
    assert singly.inside
    assert list(singly.feed(b"6789" + frame(b"x") + b"\0")) == [FramePiece(b"6789"), FramePiece(frame(b"x"))]
    assert list(singly.end()) == [FramePiece(b"\0")]
    assert list(singly.end()) == []


def test_a_frame_that_is_let_go_is_passed_on_as_it_comes() -> None:
    frames = Frames(lambda size, front: Decision.HOLD)
    assert list(frames.let_go()) == []
    assert list(frames.feed(size(6) + b"abc")) == []
    assert (frames.holds, frames.inside, frames.waiting) == (True, False, 7)
    assert list(frames.let_go()) == [FramePiece(size(6) + b"abc")]
    assert (frames.holds, frames.inside, frames.waiting) == (False, True, 0)
    assert list(frames.feed(b"def" + frame(b"gh"))) == [FramePiece(b"def"), FramePiece(frame(b"gh"), True)]
    assert not frames.inside


# The relay


def test_a_client_that_is_never_answered_is_followed_for_10000_requests() -> None:
    for count, followed in ((10_000, True), (10_001, False)):
        relay = Relay(addresses().change)
        relay.from_client(METADATA + request("Heartbeat", 0, 2, group_id="g") * (count - 1))
        relay.to_broker.clear()
        relay.from_broker(ANSWER)
        assert (taken(relay.to_client) != ANSWER) is followed


def test_what_is_kept_is_counted_and_let_go() -> None:
    table = Table("Produce: delay request 1s", "Metadata: delay response 1s")
    relay = table.relay
    assert (relay.kept, relay.expects) == (0, False)
    relay.from_client(produce(2) + METADATA + METADATA[:20])
    assert (relay.kept, relay.expects) == (len(produce(2)) - 4 + len(METADATA) - 4 + 20, True)
    relay.to_broker.clear()
    relay.from_broker(produced(2)[:20])
    kept = relay.kept
    assert relay.let_go() >= 2
    assert relay.kept < kept
    plain = Relay(addresses().change)
    plain.from_client(METADATA)
    plain.from_broker(ANSWER[:60])
    assert (plain.kept, plain.let_go(), plain.kept, plain.unread) == (60, 0, 0, 1)
    plain.from_broker(ANSWER[60:])
    assert taken(plain.to_client) == ANSWER
    assert not plain.expects


def test_brokers_of_a_list_are_told_and_of_other_answers_not() -> None:
    listed = list[Any]()
    relay = Relay(addresses().change, listed=listed.append)
    find = {"error_code": 0, "error_message": None, "node_id": 1, "host": "kafka-7", "port": 9092}
    relay.from_client(METADATA + request("FindCoordinator", 1, 2, key="g"))
    relay.from_broker(ANSWER + response("FindCoordinator", 1, 2, **find))
    assert listed == [{("kafka-0", 9092), ("kafka-1", 9092), ("kafka-2", 9092)}]
    assert taken(relay.to_client).endswith(
        response("FindCoordinator", 1, 2, **(find | {"host": "127.0.0.1", "port": 19095})))  # fmt: skip


def test_a_request_of_kdbgs_own_waits_for_the_end_of_the_clients_message() -> None:
    own = list[bytes]()
    relay = Relay(own=own.append, singly=True)
    relay.from_client(produce(2)[:20])
    relay.repeat(METADATA[4:])
    relay.repeat(b"\xff" * 12)
    assert own == []
    relay.from_client(produce(2)[20:])
    number = struct.unpack(">i", own[0][8:12])[0]
    assert (len(own), number, number ^ 0x4B000000, OWN) == (1, 0x4B000001, 1, 0x4B000000)
    assert taken(relay.to_broker) == produce(2) + own[0]
    assert own[0][:8] + own[0][12:] == METADATA[:8] + METADATA[12:]
    relay.from_broker(produced(2) + size(len(ANSWER) - 4) + size(number) + ANSWER[8:])
    sent, mine = relay.to_client
    assert isinstance(sent, Send)
    assert isinstance(mine, Send)
    assert (sent.data, mine.data, len(mine.seen)) == (produced(2), b"", len(ANSWER))


# What is held


def test_what_is_held_is_known_by_its_number_until_it_goes() -> None:
    table = held_by("api == 'Produce'", sides=frozenset({"request"}))
    table.relay.from_client(produce(2) + produce(3))
    assert [held.number for held in table.person.seen] == list(table.desk.held) == [1, 2]
    table.desk.resume(1)
    table.desk.resume(1)
    table.desk.drop(9)
    assert (list(table.desk.held), table.wakes, table.sent()) == ([2], 1, produce(2))
    table.holder.ended()
    assert (list(table.desk.held), table.person.over) == ([], [2])
    assert not table.desk.repeat(PEERS.client, METADATA[4:])
    other = Desk(Person())
    assert (other.filters, other.sides, dict(other.held)) == (None, {"request", "response"}, {})


def test_a_held_message_is_an_exchange_as_far_as_it_can_be_read() -> None:
    ask = Held(1, PEERS, "request", produce(2)[4:], None)
    found = ask.exchange({})
    assert (ask.data, found.api and found.api.name, found.correlation_id, found.peers) == (
        produce(2)[4:], "Produce", 2, PEERS)  # fmt: skip
    assert found.response is None
    wrong = ask.exchange({}, b"\xff" * 20)
    assert wrong.request is not None
    assert (wrong.api, wrong.version, wrong.correlation_id, wrong.request.data) == (None, 0, 0, b"\xff" * 20)
    assert found.request is not None
    for half in (wrong.request, found.request):
        assert (half.first_packet, half.last_packet, half.direction) == (0, 0, "request")
        assert half.first_time == half.last_time > 0
    answer = Held(2, PEERS, "response", produce(2)[4:], produced(2)[4:])
    both = answer.exchange({UUID(int=1): "x"}, produced(2, error_code=6)[4:])
    assert answer.data == produced(2)[4:]
    assert [error.code for error in both.errors] == [6]
    assert both.request is not None


# Rules


def test_times_rates_and_paths_of_rules() -> None:
    times = {"500ms": 0.5, "1.5s": 1.5, "20us": 0.00002, "2m": 120.0, "7": 0.007}
    assert {text: duration(text) for text in times} == pytest.approx(times)
    rates = {"100B/s": 100.0, "1.5kB/s": 1500.0, "2MB/s": 2e6, "1gb/s": 1e9}
    assert {text: rate(text) for text in rates} == rates
    for text in ("", "1h", "-1s", "1.s", "s"):
        with pytest.raises(InputError):
            duration(text)
    for text in ("100", "0B/s", "1TB/s", "kB/s"):
        with pytest.raises(InputError):
            rate(text)
    body = {"a": [{"b": [1, 2]}, {"b": [3]}], "c": 5}
    paths = {
        text: [one.path for one in expanded(text, body)]
        for text in ("a[].b[]=1", "c=1", "a[1].b[]=2", "c[]=1", "d[]=1")
    }
    assert [len(found) for found in paths.values()] == [3, 1, 1, 0, 0]


def test_how_often_a_rule_is_done() -> None:
    faults = Faults(["Produce: drop 3 times 20%", "*: delay 1s 12.5% 1 time", "Fetch: close"])
    assert [(rule.times, rule.chance) for rule in faults.rules] == [(3, 0.2), (1, 0.125), (None, 1.0)]
    assert 0 <= faults.seed < 1 << 32
    assert Faults([], seed=7).seed == 7
    produce_api, fetch, other = (kdbg.protocol.grammars.api(name) for name in ("Produce", "Fetch", "Metadata"))
    assert [[rule.concerns(api) for api in (produce_api, fetch, other, None)] for rule in faults.rules] == [
        [True, False, False, False], [True] * 4, [False, True, False, False]]  # fmt: skip
    assert not Faults(["Produce: drop 0 times"]).concerns(produce_api)


# Where clients find kdbg


def test_what_is_listened_on_and_what_clients_are_told() -> None:
    hosts = {"0.0.0.0": (True, False), "::": (True, False), "": (True, False), "127.0.0.9": (False, True),
             "::1": (False, True), "localhost": (False, True), "10.0.0.1": (False, False),
             "kafka": (False, False)}  # fmt: skip
    assert {host: (is_everywhere(host), is_local(host)) for host in hosts} == hosts
    told = []
    for listening in (
        Listening("0.0.0.0"),
        Listening("127.0.0.1"),
        Listening("::1"),
        Listening("0.0.0.0", 0, "outside"),
    ):
        ports = Ports(listening)
        with ports.bound(("a", 1), strict=True) as sock:
            host, port = ports.advertised(sock)
            told.append(host)
            assert port == sock.getsockname()[1] > 0
    assert told == ["127.0.0.1", "127.0.0.1", "::1", "outside"]
    assert Listening() == Listening("127.0.0.1", 0, "", None)


def test_ports_follow_each_other_and_one_that_is_taken_is_left_out_or_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        ports = Ports(Listening("127.0.0.1", port))
        reason = "Address .*; choose another address with --listen"
        with pytest.raises(InputError, match=f"^cannot listen on 127.0.0.1:{port}: {reason}$"):
            ports.bound(("a", 1), strict=True)
        with ports.bound(("a", 1), strict=False) as sock:
            assert sock.getsockname()[1] != port
    assert ports._port == port + 1


def test_a_listener_takes_what_has_room_and_resets_others() -> None:
    async def work() -> list[Any]:
        took, refused, room = list[socket.socket](), list[int](), [True, True, False]
        server = socket.create_server(("127.0.0.1", 0))
        listener = Listener(server, took.append, lambda: room.pop(0), lambda: refused.append(1))
        socks = [socket.create_connection(server.getsockname()) for _ in range(3)]
        while len(took) + len(refused) < 3:
            await asyncio.sleep(0.001)
        listener.close()
        assert [sock.getblocking() for sock in took] == [False, False]
        with pytest.raises(ConnectionResetError):
            socks[2].recv(1)
        for sock in [*socks, *took]:
            sock.close()
        return [len(took), len(refused), server.fileno()]

    assert asyncio.run(work()) == [2, 1, -1]


def test_as_many_files_as_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = list[Any]()
    monkeypatch.setattr(resource, "setrlimit", lambda *given: limits.append(given))
    for soft, hard in ((10, 20), (20, 20)):
        monkeypatch.setattr(resource, "getrlimit", lambda which, both=(soft, hard): both)
        assert allow_many_files() == 20
    assert limits == [(resource.RLIMIT_NOFILE, (20, 20))]

    def refuse(*given: Any) -> None:
        raise ValueError

    monkeypatch.setattr(resource, "setrlimit", refuse)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (10, 20))
    assert allow_many_files() == 10
    with socket.socket(), socket.socket():
        before = open_files()
        with socket.socket():
            assert open_files() == before + 1
    assert [broker_endpoint((host, 9)) for host in ("10.0.0.1", "::1", "kafka")] == [
        ("10.0.0.1", 9), ("::1", 9), ("0.0.0.0", 9)]  # fmt: skip


# What is told


def test_what_is_recorded_has_its_times() -> None:
    one = Recorded()
    ends = ("127.0.0.1", 5), ("127.0.0.1", 9092)
    one.tap(*ends, True, METADATA, 1_000_000_000, 1)
    one.tap(*ends, False, ANSWER, 1_000_000_500, 1)
    before = one.capture
    one.ended(*ends, 1_000_000_900, 1)
    assert len(one.capture) > len(before), "each end closes"
    (found,) = one.exchanges()
    assert found.request is not None
    assert (found.latency, found.request.first_time, one.exchanges(api="fetch")) == (500, 1_000_000_000, [])


def test_several_are_told_of_the_same() -> None:
    other = Recorded()
    with broker(echo) as peer, running(peer, also=other) as stage:
        with stage.connect() as sock:
            sock.sendall(METADATA)
            sock.recv(1 << 16)
        stage.wait_until_empty()
        assert stage._recorded.capture == other.capture
    assert len(other.exchanges()) == 1


# A proxy


def test_a_broker_that_is_followed_gets_any_port_where_the_next_is_taken() -> None:
    async def work() -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        proxy = Proxy(Listening("127.0.0.1", port), Settings())
        assert proxy.listen([("127.0.0.1", 9)]) == [("127.0.0.1", port)]
        with socket.create_server(("127.0.0.1", 0)) as taken:
            proxy._ports._port = taken.getsockname()[1]
            host, other = proxy.addresses.change("10.0.0.1", 9092)
            assert (host, other not in (taken.getsockname()[1], 9092)) == ("127.0.0.1", True)
            proxy._ports._port = taken.getsockname()[1]
            with pytest.raises(InputError, match="cannot listen on"):
                proxy.listen([("127.0.0.1", 10)])
        await proxy.close()

    asyncio.run(work())


def test_a_request_that_is_sent_by_hand_is_shown_as_the_clients() -> None:
    desk = Desk(Person())
    with broker(echo) as peer, running(peer, desk=desk) as stage, stage.connect() as sock:
        sock.sendall(METADATA)
        stage.wait(lambda: len(stage.exchanges()) == 1)
        sock.recv(1 << 16)
        loop = stage.proxy._listeners[peer]._loop
        loop.call_soon_threadsafe(desk.repeat, sock.getsockname()[:2], METADATA[4:])
        stage.wait(lambda: len(stage.exchanges()) == 2)
        found = stage.exchanges()[1]
        assert found.request is not None
        assert found.request.data[8:] == METADATA[12:]
