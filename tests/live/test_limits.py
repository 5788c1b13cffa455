"""What the proxy takes of a machine stays within bounds: descriptors and memory."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import kdbg
from kdbg.live.listeners import Address, Notices

from ..cli.calls import CAPTURES
from .proxies import PATIENCE, asked, broker, files, frame, read_frame, running

FILES, CLIENTS = 96, 120
MEMORY, LARGE, MANY = 128 << 20, 4 << 20, 100
"""What kdbg may take, and what clients send: each less than a fault may hold of one, together 400 MiB."""


def echo(sock: socket.socket) -> None:
    while data := sock.recv(1 << 16):
        sock.sendall(data)


def swallow(sock: socket.socket) -> None:
    while sock.recv(1 << 20):
        pass


# Descriptors


def test_a_connection_has_two_descriptors() -> None:
    with broker(echo) as peer, running(peer) as stage:
        before = files()
        socks = [stage.connect() for _ in range(20)]
        for sock in socks:
            sock.sendall(frame(b"a"))
            assert read_frame(sock) == b"a"
        assert files() - before <= 20 * 4  # the client's and the peer's own as well
        for sock in socks:
            sock.close()


class Process:
    """`kdbg proxy` as a process; `lines` are those of its stderr."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)

    def connect(self) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.port))
        sock.settimeout(PATIENCE)
        return sock

    def wait(self, done: Callable[[], object]) -> None:
        for _ in range(int(PATIENCE * 100)):
            if done():
                return
            threading.Event().wait(0.01)
        raise AssertionError(f"waited for nothing; said: {self.lines}")


@contextmanager
def process(peer: Address, *options: str, limit: int | None = None) -> Iterator[Process]:
    with started("proxy", "-b", "{}:{}".format(*peer), "--no-decode", *options, limit=limit) as found:
        yield found


@contextmanager
def started(*words: str, limit: int | None = None) -> Iterator[Process]:
    """A command that listens, once it does."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "kdbg", *words, "-l", f"127.0.0.1:{port}"]
    code = f"import resource, os, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit})); "
    if limit is not None:
        command = [sys.executable, "-c", code + "os.execv(sys.argv[1], sys.argv[1:])", *command]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as found:
        proxy = Process(found, port)
        try:
            proxy.wait(lambda: any(f"127.0.0.1:{port} " in line for line in proxy.lines))
            yield proxy
        finally:
            found.kill()


def is_served(sock: socket.socket) -> bool:
    with suppress(OSError):
        sock.sendall(frame(b"a"))
        return read_frame(sock) == b"a"
    return False


def test_without_descriptors_clients_are_refused_and_served_again_once_others_have_gone() -> None:
    with broker(echo) as peer, process(peer, limit=FILES) as proxy:
        before = files(proxy.process.pid)
        socks = [proxy.connect() for _ in range(CLIENTS)]
        served = sum(map(is_served, socks))
        assert 30 <= served <= FILES // 2
        assert files(proxy.process.pid) < FILES
        for sock in socks:
            sock.close()
        proxy.wait(lambda: files(proxy.process.pid) == before)
        with proxy.connect() as sock:
            assert is_served(sock)
        assert any("connections are closed at once" in line and "ulimit" in line for line in proxy.lines)
        assert len(proxy.lines) < 10


def test_the_mock_refuses_clients_without_descriptors_and_serves_others_once_these_have_gone() -> None:
    def is_answered(sock: socket.socket) -> bool:
        with suppress(OSError):
            sock.sendall(asked(1))
            return len(read_frame(sock)) > 4
        return False

    with started("mock", str(CAPTURES / "first-contact.pcap"), limit=64) as mock:
        before = files(mock.process.pid)
        socks = [mock.connect() for _ in range(CLIENTS)]
        served = sum(map(is_answered, socks))
        assert 20 <= served < 64 - before
        assert files(mock.process.pid) < 64
        for sock in socks:
            sock.close()
        mock.wait(lambda: files(mock.process.pid) == before)
        with mock.connect() as sock:
            assert is_answered(sock)
        assert any("connections are closed at once" in line and "ulimit" in line for line in mock.lines)
        assert len(mock.lines) < 10


def test_where_the_system_has_no_descriptor_left_connections_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else may have taken them: of the same process, where the proxy is a part of a program."""
    monkeypatch.setattr("kdbg.live.listeners.PAUSE", 0.05)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with broker(echo) as peer, running(peer) as stage, ExitStack() as stack:
        sock = stack.enter_context(socket.socket())
        sock.settimeout(PATIENCE)
        os.close(lowest := os.dup(0))
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
            sock.connect(stage.address)
            stage.wait(lambda: any("connections are closed at once" in line for line in stage.said))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert is_served(sock)
        assert sum("connections are closed at once" in line for line in stage.said) == 1


def test_trouble_is_one_line_a_second() -> None:
    now, said = [0.0], list[str]()
    notices = Notices(said.append, lambda: now[0])
    for number in range(1000):
        now[0] = number / 400
        notices.say("refused")
    assert said == ["refused", *["refused (399 more lines suppressed)"] * 2]


# Memory


def peak(pid: int) -> int:
    """The most memory that a process has had, once it takes no more."""
    before, found = 0, 1
    while before < found:
        threading.Event().wait(0.1)
        status = Path(f"/proc/{pid}/status").read_text()
        before, found = found, next(int(line.split()[1]) << 10 for line in status.splitlines() if "VmHWM" in line)
    return found


def large(api: str = "Produce") -> bytes:
    part = {"index": 0, "records": [{"magic": 2, "records": [{"key": None, "value": "x" * (LARGE - 1000)}]}]}
    body = {"acks": 1, "timeout_ms": 1, "topic_data": [{"name": "orders", "partition_data": [part]}]}
    header = {"correlation_id": 1, "client_id": "me"}
    return frame(kdbg.encode(body, api=api, version=7, direction="request", header=header))


@pytest.mark.parametrize("rule", ["Produce: delay request 100ms", "Produce: drop response"])
def test_memory_is_bounded_while_faults_hold_large_requests(rule: str) -> None:
    """In the queue, or as what a response is to be judged by; all of it arrives, most of it without the fault."""
    sent = large()
    whole = threading.Semaphore(0)

    def answer(sock: socket.socket) -> None:
        left = len(sent)
        while left:
            left -= len(sock.recv(1 << 20))
        whole.release()
        swallow(sock)

    def send(proxy: Process, over: threading.Event) -> None:
        with proxy.connect() as sock:
            sock.sendall(sent)
            over.wait(PATIENCE)

    options = "--fault", rule, "--max-memory", str(MEMORY)
    with broker(answer) as peer, process(peer, *options) as proxy:
        over = threading.Event()
        clients = [threading.Thread(target=send, args=(proxy, over)) for _ in range(MANY)]
        for each in clients:
            each.start()
        assert all(whole.acquire(timeout=PATIENCE) for _ in range(MANY))
        assert peak(proxy.process.pid) < MEMORY
        over.set()
        for each in clients:
            each.join(PATIENCE)
        assert any("memory limit reached" in line and "--max-memory" in line for line in proxy.lines)


def test_memory_is_bounded_though_nobody_reads() -> None:
    """Each client has a queue, which may not hold what it may where there are few."""
    over, sent = threading.Event(), large() * 4

    def answer(sock: socket.socket) -> None:
        over.wait(PATIENCE)
        swallow(sock)

    with broker(answer) as peer, process(peer, "--max-memory", str(MEMORY)) as proxy, ExitStack() as stack:
        rests = {stack.enter_context(proxy.connect()): memoryview(sent) for _ in range(2 * MANY)}
        for sock in rests:
            sock.setblocking(False)
        taken = True
        while taken:  # until neither the proxy nor the buffers of the sockets take any more
            taken = False
            threading.Event().wait(0.2)
            for sock, rest in rests.items():
                with suppress(BlockingIOError):
                    while rests[sock]:
                        rests[sock] = rests[sock][sock.send(rests[sock]) :]
                taken |= len(rests[sock]) < len(rest)
        assert peak(proxy.process.pid) < MEMORY
        over.set()


def test_memory_is_bounded_though_brokers_begin_large_responses() -> None:
    """Responses with addresses are kept whole: those of which a broker sends only a part take no more for it."""
    over, begun = threading.Event(), threading.Semaphore(0)

    def answer(sock: socket.socket) -> None:
        read_frame(sock)
        sock.sendall((LARGE).to_bytes(4) + (1).to_bytes(4) + bytes(LARGE - 1000))
        begun.release()
        over.wait(PATIENCE)

    with broker(answer) as peer, process(peer, "--max-memory", str(MEMORY)) as proxy, ExitStack() as stack:
        for _ in range(MANY):
            sock = stack.enter_context(proxy.connect())
            sock.sendall(asked(1))
        assert all(begun.acquire(timeout=PATIENCE) for _ in range(MANY))
        assert peak(proxy.process.pid) < MEMORY
        over.set()
