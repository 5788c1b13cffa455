"""What a proxy says, line by line, and what a program asks of one that runs in its own process."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

import kdbg
from kdbg.errors import InputError
from kdbg.live.client.settings import Settings, Tls, show
from kdbg.live.embedded import LoopThread, Recorded, RunningProxy
from kdbg.live.frames import Load
from kdbg.live.listeners import Listening, Notices
from kdbg.live.proxy import Proxy

from ..client.saslbroker import SaslBroker, good
from ..client.servers import server
from .proxies import answered, asked, broker, read_frame, running
from .test_limits import echo, is_served
from .test_relay import BROKERS, frame, response


def responds(sock: socket.socket) -> None:
    while True:
        number = int.from_bytes(read_frame(sock)[4:8])
        sock.sendall(answered(number, ("kafka", 9092)))


def is_closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionError:
        return True


def test_a_running_proxy_is_asked_what_was_said(kdbg_proxy: Callable[..., RunningProxy]) -> None:
    with broker(responds) as peer:
        proxy = kdbg_proxy(show(peer), faults=["Metadata: delay 1ms"], seed=5)
        host, port = proxy.address.split(":")
        with socket.create_connection((host, int(port)), timeout=20) as sock:
            sock.sendall(asked(1) + asked(2))
            bodies = [kdbg.decode(read_frame(sock), api="Metadata", version=1, direction="response").body
                      for _ in range(2)]  # fmt: skip
        (told,) = {(one["host"], one["port"]) for body in bodies for one in body["brokers"]}
        assert proxy.addresses == {peer: (host, int(port)), ("kafka", 9092): told}
        assert (told[0], proxy.seed) == ("127.0.0.1", 5)
        assert [(one.api, one.correlation_id, one.fault) for one in proxy.applied] == [
            ("Metadata", number, "Metadata: delay 1ms") for number in (1, 2)]  # fmt: skip
        assert [exchange.correlation_id for exchange in proxy.exchanges()] == [1, 2]
        assert proxy.exchanges(api="fetch") == []
        assert proxy.said == [
            f"listening on {proxy.address} for broker {show(peer)}",
            f"listening on {show(told)} for broker kafka:9092",
        ]
        proxy.close()
        proxy.close()
        assert proxy.capture.startswith(b"\x4d\x3c\xb2\xa1")
        kept = kdbg_proxy(show(peer), keep_addresses=True)
        host, port = kept.address.split(":")
        with socket.create_connection((host, int(port)), timeout=20) as sock:
            sock.sendall(asked(1))
            body = kdbg.decode(read_frame(sock), api="Metadata", version=1, direction="response").body
        assert [(one["host"], one["port"]) for one in body["brokers"]] == [("kafka", 9092)]
    with pytest.raises(InputError, match="unknown action"):
        kdbg.proxy("x:1", faults=["Fetch: dance"])
    kept.close()
    with kdbg.proxy("x:1"):
        assert "kdbg proxy" in {each.name for each in threading.enumerate()}
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="cannot listen on"):
        kdbg.proxy("x:1", listen=taken.getsockname()).start()
    assert "kdbg proxy" not in {each.name for each in threading.enumerate()}


def test_what_goes_wrong_is_a_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = free.getsockname()[:2]
    with running(nobody) as stage:
        with stage.connect() as sock:
            assert is_closed(sock)
        stage.wait(lambda: len(stage.said) == 2)
        assert stage.said[1].startswith(f"broker {show(nobody)} is not reachable: ")
        assert "no response in time" not in stage.said[1]
        stage.wait_until_empty()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        peer = silent.getsockname()[:2]
        with running(peer, settings=Settings(timeout=0.05, tls=Tls())) as stage:
            with stage.connect() as sock:
                assert is_closed(sock)
            stage.wait(lambda: len(stage.said) == 2)
            assert stage.said[1] == f"broker {show(peer)} is not reachable: no response in time"
    assert Settings().timeout == 10.0


def test_a_response_that_cannot_be_rewritten_is_said_once() -> None:
    broken = frame(response("Metadata", 1, 1, brokers=BROKERS, controller_id=0, topics=[])[4:-6])

    def answer(sock: socket.socket) -> None:
        read_frame(sock)
        sock.sendall(broken)
        sock.recv(1)

    with broker(answer) as peer, running(peer) as stage:
        for count in (1, 2):
            with stage.connect() as sock:
                sock.sendall(asked(1))
                assert frame(read_frame(sock)) == broken
            stage.wait(lambda count=count: stage.proxy.unread == count)
        stage.wait_until_empty()
        assert len(stage.said) == 2
        assert stage.said[1] == (
            "a response could not be decoded; its broker addresses are unchanged, and clients may bypass the proxy"
        )


def test_that_memory_is_short_is_said_with_the_number_of_messages() -> None:
    with broker(echo) as peer, running(peer) as stage:
        load = stage.proxy._load
        assert isinstance(load, Load)
        for messages in (1, 1, 1):
            load.lose(messages)
            if messages == load.lost - 1:
                stage.proxy._shortage = Notices(stage.said.append)  # a second has passed
        text = "memory limit reached: {} forwarded without faults or holds; raise --max-memory"
        assert stage.said[1:] == [text.format("1 message"), text.format("3 messages")], "one line a second"


def test_connections_are_numbered_and_counted() -> None:
    with broker(echo) as peer, running(peer) as stage:
        socks = [stage.connect() for _ in range(3)]
        assert all(map(is_served, socks))
        assert stage.proxy.connections == 3
        numbers = sorted(session.peers.number for session in stage.proxy._sessions)
        assert numbers == [1, 2, 3]
        assert {session.peers.broker for session in stage.proxy._sessions} == {peer}
        assert {session.peers.client for session in stage.proxy._sessions} == {sock.getsockname() for sock in socks}
        for sock in socks:
            sock.close()
        stage.wait_until_empty()
        assert stage.proxy.connections == 3


def test_a_proxy_that_closes_connects_to_nobody_any_more() -> None:
    """A broker that is silent has a minute; closing does not wait for it, and leaves it alone."""
    settings = Settings(timeout=60, tls=Tls())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(20)
        with running(silent.getsockname()[:2], settings=settings) as stage, stage.connect() as sock:
            accepted, _ = silent.accept()
            accepted.settimeout(20)
        with accepted:
            while accepted.recv(1000):  # its hello, and the end
                pass
        assert len(stage.said) == 1
        assert not sock.fileno() >= 0
        assert not stage.proxy._tasks


def test_several_brokers_have_an_address_each_on_any_port_that_is_free() -> None:
    with kdbg.proxy("a:1,b:2") as one, kdbg.proxy("a:1") as other:
        first, second = one.address.split(",")
        assert len({first, second, other.address}) == 3
        assert {show(address) for address in one.addresses.values()} == {first, second}
        assert set(one.addresses) == {("a", 1), ("b", 2)}
        for address in (first, second, other.address):
            host, _, port = address.partition(":")
            socket.create_connection((host, int(port)), timeout=20).close()


def test_a_broker_that_is_named_is_known_by_its_address_once_it_is_there() -> None:
    with broker(echo) as (_, port), running(("localhost", port)) as stage, stage.connect() as sock:
        assert is_served(sock)
        assert [session.peers.broker for session in stage.proxy._sessions] == [("127.0.0.1", port)]


def test_a_proxy_authenticates_and_its_clients_do_not() -> None:
    recorded = Recorded()

    async def work() -> None:
        async with server(SaslBroker()) as peer:
            proxy = Proxy(Listening(), Settings(sasl=good("PLAIN")), taps=(recorded,))
            (address,) = proxy.listen([peer])
            reader, writer = await asyncio.open_connection(*address)
            for number in (1, 2):
                writer.write(asked(number))
                size = int.from_bytes(await reader.readexactly(4))
                assert (await reader.readexactly(size))[:4] == number.to_bytes(4)
            writer.close()
            await proxy.close()

    asyncio.run(work())
    found = [(one.api.name, one.correlation_id, one.response is None) for one in recorded.exchanges() if one.api]
    assert found == [("Metadata", 1, False), ("Metadata", 2, False)]


def test_a_thread_runs_coroutines_and_ends_with_what_it_is_at() -> None:
    thread, over = LoopThread("of a test"), list[Any]()

    async def lasts() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            over.append(1)

    async def begin() -> int:
        over.append(asyncio.get_running_loop().create_task(lasts()))
        await asyncio.sleep(0)
        return 7

    async def fail() -> None:
        raise KeyError("x")

    thread.start()
    assert thread.do(begin()) == 7
    assert {each.name for each in threading.enumerate()} >= {"of a test"}
    with pytest.raises(KeyError):
        thread.do(fail())
    thread.close()
    assert over[1:] == [1]
    assert "of a test" not in {each.name for each in threading.enumerate()}
    thread.close()
