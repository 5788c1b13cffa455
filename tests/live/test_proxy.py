"""The proxy over real sockets: what peers do to connections, and what a real client makes of it."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import random
import resource
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

import kdbg
from kdbg.live.client.mock import mock_cluster
from kdbg.live.client.settings import Settings
from kdbg.live.embedded import RunningProxy
from kdbg.live.listeners import Listening, turns
from kdbg.live.proxy import Proxy

CONNECTIONS = 1000
PATIENCE = 20.0


class Peer:
    """Listens in a thread; `answer` is called with each connection, in a thread of its own."""

    def __init__(self, answer: object) -> None:
        self._answer = answer
        self._server = socket.create_server(("127.0.0.1", 0), backlog=CONNECTIONS)
        self.address = "{}:{}".format(*self._server.getsockname()[:2])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._server.accept()
                sock.settimeout(PATIENCE)
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with sock, suppress(OSError):
            self._answer(sock)  # type: ignore[operator]

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # without it, `accept` keeps the port and takes one more connection
        self._server.close()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def before(stack: ExitStack, answer: object, **given: object) -> RunningProxy:
    peer = stack.enter_context(closing(Peer(answer)))
    return stack.enter_context(kdbg.proxy(peer.address, **given))  # type: ignore[arg-type]


def connect(proxy: RunningProxy) -> socket.socket:
    host, _, port = proxy.address.rpartition(":")
    sock = socket.create_connection((host, int(port)))
    sock.settimeout(PATIENCE)
    return sock


def read_all(sock: socket.socket) -> bytes:
    parts = []
    while part := sock.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def echo(sock: socket.socket) -> None:
    while data := sock.recv(1 << 16):
        sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)


def framed(seed: int, count: int) -> bytes:
    made = random.Random(seed)
    parts = [made.randbytes(made.choice([0, 1, 10, 1000, 70_000])) for _ in range(count)]
    return b"".join(len(part).to_bytes(4) + part for part in parts)


GARBAGE = {
    "frames": framed(1, 40),
    "TLS": bytes.fromhex("16030100f8010000f40303") + os.urandom(4000),
    "HTTP": b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n" * 50,
    "zeros": bytes(100_000),
    "three bytes": b"\0\0\0",
    "nothing": b"",
    "ones": b"\xff" * 5000,
    "a frame that does not end": b"\0\x01\0\0" + bytes(100),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_no_byte_is_lost_or_changed_in_either_direction(stack: ExitStack, kind: str) -> None:
    sent = GARBAGE[kind]
    sock = stack.enter_context(connect(before(stack, echo)))
    writer = threading.Thread(target=lambda: (sock.sendall(sent), sock.shutdown(socket.SHUT_WR)))
    writer.start()
    assert read_all(sock) == sent
    writer.join()


def test_a_peer_that_is_done_writing_still_gets_its_answer(stack: ExitStack) -> None:
    def answer(sock: socket.socket) -> None:
        digest = hashlib.sha256(read_all(sock)).hexdigest()
        sock.sendall(digest.encode())

    sent = framed(2, 30)
    sock = stack.enter_context(connect(before(stack, answer)))
    sock.sendall(sent)
    sock.shutdown(socket.SHUT_WR)
    assert read_all(sock).decode() == hashlib.sha256(sent).hexdigest()


def test_a_peer_that_stops_reading_stops_the_other_and_nothing_is_lost(stack: ExitStack) -> None:
    go, total = threading.Event(), 48 << 20

    def answer(sock: socket.socket) -> None:
        go.wait(PATIENCE)
        sock.sendall(hashlib.sha256(read_all(sock)).digest())

    proxy = before(stack, answer)
    sock = stack.enter_context(connect(proxy))
    sock.setblocking(False)
    data, sent = framed(3, 400), 0
    data = (data * (total // len(data) + 1))[:total]
    with suppress(BlockingIOError):
        for _ in range(1000):
            sent += sock.send(data[sent : sent + (1 << 20)])
            threading.Event().wait(0.005)
    assert sent < total // 2, "the proxy took all of it"
    go.set()
    sock.settimeout(PATIENCE)
    sock.sendall(data[sent:])
    sock.shutdown(socket.SHUT_WR)
    assert read_all(sock) == hashlib.sha256(data).digest()


def test_frames_longer_than_a_queue_go_on_though_nothing_is_answered(stack: ExitStack) -> None:
    """Held whole for a fault that may concern them: what is read no further meanwhile must be read on afterwards."""
    header = {"correlation_id": 1, "client_id": "me"}
    part = {"index": 0, "records": [{"magic": 2, "records": [{"key": None, "value": "x" * (2 << 20)}]}]}
    body = {"acks": 0, "topic_data": [{"name": "orders", "partition_data": [part]}]}
    request = kdbg.encode(body, api="Produce", version=7, direction="request", header=header)
    sent = (len(request).to_bytes(4) + request) * 8

    def answer(sock: socket.socket) -> None:
        sock.sendall(hashlib.sha256(read_all(sock)).digest())

    sock = stack.enter_context(connect(before(stack, answer, faults=["Produce topic=other: close"])))
    sock.sendall(sent)
    sock.shutdown(socket.SHUT_WR)
    assert read_all(sock) == hashlib.sha256(sent).digest()


def test_a_reset_of_one_end_is_a_reset_of_the_other(stack: ExitStack) -> None:
    def answer(sock: socket.socket) -> None:
        sock.recv(10)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    sock = stack.enter_context(connect(before(stack, answer)))
    sock.sendall(b"\0\0\0\2ab")
    with pytest.raises(ConnectionResetError):
        while sock.recv(100):
            pass


def test_others_go_on_while_peers_break_off_stand_still_and_talk_nonsense(stack: ExitStack) -> None:
    proxy = before(stack, echo)
    begun, over = threading.Barrier(5), threading.Event()
    right = list[bool]()

    def steady(seed: int) -> None:
        data = framed(seed, 20)
        with connect(proxy) as sock:
            begun.wait()
            rounds = 0
            while rounds < 3 or not over.is_set():
                writer = threading.Thread(target=sock.sendall, args=(data,))
                writer.start()
                got = bytearray()
                while len(got) < len(data):
                    got += sock.recv(1 << 16)
                writer.join()
                right.append(hashlib.sha256(got).digest() == hashlib.sha256(data).digest())
                rounds += 1

    steadies = [threading.Thread(target=steady, args=(seed,)) for seed in range(4)]
    for each in steadies:
        each.start()
    begun.wait()
    standing = []
    for number in range(60):
        sock = connect(proxy)
        kind = number % 4
        if kind == 0:  # breaks off amid a frame
            sock.sendall(b"\0\0\x10\0" + bytes(100))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
        elif kind == 1:  # reads nothing of what comes back
            sock.setblocking(False)
            with suppress(BlockingIOError):
                sock.send(framed(number, 40))
            standing.append(sock)
        else:
            sock.sendall([GARBAGE["HTTP"], GARBAGE["TLS"]][kind - 2])
            sock.close()
    over.set()
    for each in steadies:
        each.join(PATIENCE)
        assert not each.is_alive()
    assert right
    assert all(right)
    for sock in standing:
        sock.close()
    nothing_is_left(proxy)


def nothing_is_left(proxy: RunningProxy) -> None:
    """Wait until the proxy has no sessions and no tasks any more."""
    assert isinstance(proxy._server, Proxy)
    for _ in range(int(PATIENCE * 20)):
        if not proxy._server._sessions and not proxy._server._tasks:
            return
        threading.Event().wait(0.05)
    raise AssertionError(f"left: {proxy._server._sessions}, {proxy._server._tasks}")


def test_a_broker_that_is_killed_breaks_its_connections_off_and_the_proxy_goes_on(stack: ExitStack) -> None:
    code = ("import socket\ns = socket.create_server(('127.0.0.1', 0))\nprint(s.getsockname()[1], flush=True)\n"
            "kept = []\nwhile True: kept.append(s.accept())")  # fmt: skip
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        proxy = stack.enter_context(kdbg.proxy(f"127.0.0.1:{broker.stdout.readline().strip()}"))
        socks = [stack.enter_context(connect(proxy)) for _ in range(20)]
        for sock in socks:
            sock.sendall(framed(1, 5))
        broker.kill()
        broker.wait()
    for sock in socks:
        with suppress(ConnectionError):
            assert sock.recv(1) == b""
        sock.close()  # a broker that had read all ends its side alone
    late = stack.enter_context(connect(proxy))
    with suppress(ConnectionError):
        assert late.recv(1) == b""
    late.close()
    nothing_is_left(proxy)


def test_a_proxy_that_is_killed_leaves_nobody_waiting(stack: ExitStack) -> None:
    begun, ended, sent = threading.Event(), threading.Event(), framed(1, 5)

    def answer(sock: socket.socket) -> None:
        assert sent.startswith(sock.recv(1 << 10))
        begun.set()
        with suppress(OSError):
            read_all(sock)
        ended.set()

    there = stack.enter_context(closing(Peer(answer)))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "kdbg", "proxy", "-b", there.address, "-l", f"127.0.0.1:{port}", "--no-decode"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = process.stderr.readline()
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            sock.settimeout(PATIENCE)
            sock.sendall(sent)
            assert begun.wait(PATIENCE)
        finally:
            process.kill()
            process.communicate()
    assert said == f"kdbg: listening on 127.0.0.1:{port} for broker {there.address}\n"
    with suppress(ConnectionError):
        assert sock.recv(1) == b""
    assert ended.wait(PATIENCE)


def test_a_broker_that_is_not_there_is_said_and_the_client_hung_up_on(stack: ExitStack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = "{}:{}".format(*gone.getsockname()[:2])
    proxy = stack.enter_context(kdbg.proxy(address))
    sock = stack.enter_context(connect(proxy))
    with suppress(ConnectionError):
        assert sock.recv(10) == b""
    assert any(f"{address} is not reachable" in line for line in proxy.said)


def descriptors() -> int:
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_thousand_connections_at_once_and_nothing_is_left_behind(stack: ExitStack) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 5 * CONNECTIONS:
        pytest.skip(f"this system lets a process open {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
        writer.close()
        await writer.wait_closed()

    async def one(address: str, number: int) -> bool:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        sent = framed(number, 3)
        writer.write(sent)
        writer.write_eof()
        got = await reader.read(-1)
        writer.close()
        await writer.wait_closed()
        return got == sent

    async def run() -> list[bool]:
        server = await asyncio.start_server(peer, "127.0.0.1", 0, backlog=CONNECTIONS)
        with kdbg.proxy("{}:{}".format(*server.sockets[0].getsockname()[:2])) as proxy:
            found = await asyncio.gather(*(one(proxy.address, number) for number in range(CONNECTIONS)))
            assert isinstance(proxy._server, Proxy)
            for _ in range(200):
                if not proxy._server._sessions:
                    break
                await asyncio.sleep(0.05)
            assert not proxy._server._sessions
            assert len(proxy._server._tasks) == 0
        server.close()
        await server.wait_closed()
        while len(asyncio.all_tasks()) > 1:  # peers that are still hanging up
            await asyncio.sleep(0.01)
        return found

    files = descriptors()
    assert asyncio.run(run()) == [True] * CONNECTIONS
    for _ in range(200):  # clients that other tests left behind may just try to connect
        if descriptors() <= files:
            break
        time.sleep(0.05)
    assert descriptors() <= files
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_closing_ends_what_is_open(stack: ExitStack) -> None:
    proxy = before(stack, echo)
    sock = stack.enter_context(connect(proxy))
    sock.sendall(b"\0\0\0\1a")
    assert sock.recv(5) == b"\0\0\0\1a"
    proxy.close()
    with suppress(ConnectionError):
        assert sock.recv(5) == b""
    with pytest.raises(OSError, match="refused"):
        connect(proxy)


# Real clients


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    pytest.importorskip("confluent_kafka")
    with mock_cluster("mock:3") as brokers:
        yield brokers


def produced(address: str, count: int, **settings: object) -> list[str]:
    """What librdkafka says of each of so many records."""
    from confluent_kafka import KafkaError, Producer

    results: list[str] = []

    def told(error: KafkaError | None, message: object) -> None:
        results.append(error.name() if error is not None else "ok")

    producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "retries": 0, "log_level": 0, **settings})
    for i in range(count):
        producer.produce("orders", key=str(i), value=b"x" * 100, on_delivery=told)
    producer.flush(PATIENCE)
    return results


def test_a_client_of_a_whole_cluster_stays_inside(cluster: str) -> None:
    from confluent_kafka import Consumer

    with kdbg.proxy(cluster.partition(",")[0]) as proxy:
        assert produced(proxy.address, 300) == ["ok"] * 300
        consumer = Consumer({"bootstrap.servers": proxy.address, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        got = 0
        while got < 300:
            found = consumer.consume(100, PATIENCE)
            assert found, f"{got} records came"
            got += len(found)
        consumer.close()
    exchanges = proxy.exchanges()
    requests = [one.request for one in exchanges if one.api is not None and one.api.name == "Produce"]
    rows = [row for request in requests if request is not None for row in (request.outline() or ((), (), ()))[0]]
    assert sum(records or 0 for *_, records in rows) == 300
    brokers = {one.peers.broker for one in exchanges}
    assert len(brokers) > 1
    assert {f"{host}:{port}" for host, port in brokers} <= set(cluster.split(","))


@pytest.mark.parametrize(
    ("rule", "results", "settings"),
    [
        ("Produce: error MESSAGE_TOO_LARGE", {"MSG_SIZE_TOO_LARGE"}, {}),
        ("Produce topic=orders: error TOPIC_AUTHORIZATION_FAILED", {"TOPIC_AUTHORIZATION_FAILED"}, {}),
        ("Produce topic=other: error TOPIC_AUTHORIZATION_FAILED", {"ok"}, {}),
        ("Produce: close", {"_TRANSPORT"}, {}),
        ("Produce: drop response", {"_MSG_TIMED_OUT"}, {"message.timeout.ms": 5000}),
        ("Produce: delay 9s", {"_MSG_TIMED_OUT"}, {"message.timeout.ms": 5000}),
        ("Produce: set responses[].partition_responses[].error_code=NOT_ENOUGH_REPLICAS", {"NOT_ENOUGH_REPLICAS"}, {}),
        ("Metadata: set topics[].error_code=TOPIC_AUTHORIZATION_FAILED", {"TOPIC_AUTHORIZATION_FAILED"}, {}),
    ],
)
def test_a_client_gets_the_error_that_a_fault_makes(
    cluster: str, rule: str, results: set[str], settings: dict[str, object], kdbg_proxy: type[RunningProxy]
) -> None:
    proxy = kdbg_proxy(cluster, faults=[rule])  # type: ignore[call-arg, arg-type]
    found = set(produced(proxy.address, 3, **settings))
    assert found & results, found
    assert bool(proxy.applied) == (results != {"ok"})


@pytest.mark.parametrize("passed", range(8))
def test_a_client_that_connects_as_the_proxy_closes_leaves_nothing_open(passed: int) -> None:
    async def run() -> None:
        proxy = Proxy(Listening(), Settings())
        [address] = proxy.listen([("127.0.0.1", 1)])
        await turns()
        with socket.create_connection(address):
            for _ in range(passed):  # from not accepted yet to a session
                await asyncio.sleep(0)
            await proxy.close()

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(run())
        gc.collect()
    assert not [one for one in said if issubclass(one.category, ResourceWarning)]
