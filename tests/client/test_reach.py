"""The way to a broker: names that are looked up, and addresses that are tried in turn."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kdbg.errors import CannotConnect, InputError, TimedOut
from kdbg.live.client.reach import look_up, reach
from kdbg.live.client.settings import Address, Settings, Tls

from .servers import HOST, Peer, dead_port, in_loop, server

QUICK = Settings(timeout=0.2)


def knows(monkeypatch: pytest.MonkeyPatch, *addresses: Address) -> None:
    """Let every name have these addresses."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Name servers that keep silent, until the test is over."""
    over = threading.Event()

    def wait(*_: Any, **__: Any) -> list[Any]:
        over.wait(20)
        return []

    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", wait)
        yield
    over.set()


@in_loop
async def test_a_transport() -> None:
    async with server(Peer.silence) as address:
        transport = await reach(address, QUICK, asyncio.Protocol())
        assert transport.get_extra_info("peername") == address
        transport.abort()
        await asyncio.sleep(0)


@in_loop
async def test_the_addresses_of_a_host_are_tried_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    async with server(Peer.silence) as address:
        with monkeypatch.context() as patched:
            knows(patched, (HOST, dead_port()), (HOST, dead_port()), address)
            transport = await reach(("broker.example", 9092), QUICK, asyncio.Protocol())
        assert transport.get_extra_info("peername") == address
        transport.abort()
        await asyncio.sleep(0)


@in_loop
async def test_a_host_none_of_whose_addresses_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is given once; and the name, not the addresses, as the user knows it."""
    with monkeypatch.context() as patched:
        knows(patched, (HOST, dead_port()), (HOST, dead_port()))
        with pytest.raises(CannotConnect) as caught:
            await reach(("broker.example", 9092), QUICK, asyncio.Protocol())
    wanted = "broker.example:9092: connection refused; check that the broker is running and listening there"
    assert str(caught.value) == wanted


@in_loop
async def test_a_host_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", fail)
        with pytest.raises(CannotConnect, match=r"cannot resolve the host name \(name or service not known\)"):
            await reach(("broker.example", 9092), QUICK, asyncio.Protocol())


def test_name_servers_that_keep_silent(stuck: None) -> None:
    """Neither the connection nor the end of the program waits for them."""

    async def main() -> None:
        with pytest.raises(TimedOut, match=r"no connection within 0.2 s"):
            await reach(("broker.example", 9092), QUICK, asyncio.Protocol())

    asyncio.run(main())
    assert any(thread.daemon and thread.is_alive() for thread in threading.enumerate())


@in_loop
async def test_an_authority_that_cannot_be_read_is_said_before_anything_is_sent() -> None:
    with pytest.raises(InputError, match=r"/no/such\.pem: no CA certificates"):
        await reach((HOST, dead_port()), Settings(tls=Tls(ca="/no/such.pem")), asyncio.Protocol())


@in_loop
async def test_an_address_of_a_link_keeps_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1", 9092, 0, 7))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert await look_up(("fe80::1%eth7", 9092)) == [("fe80::1%7", 9092)]
