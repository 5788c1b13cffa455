"""From an address to an open transport: a name looked up, TCP, then TLS where it is wanted; in plain words why not."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...errors import CannotConnect, TimedOut
from . import tls
from .settings import Address, Settings, show

MakeSocket = Callable[[int], socket.socket]
NO_ADDRESS = "not a valid host and port"


async def reach(
    address: Address, settings: Settings, protocol: asyncio.Protocol, make: MakeSocket = socket.socket
) -> asyncio.Transport:
    """Connect `protocol` to this address and return the transport; `CannotConnect` or `TimedOut` where that fails.

    `make` makes a socket of a family for each attempt; the last one is the transport's.
    """
    secure = tls.context(settings.tls) if settings.tls is not None else None
    plain: asyncio.Transport | None = None
    try:
        async with asyncio.timeout(settings.timeout):
            plain = await _connect(address, protocol, make)
            if secure is None or settings.tls is None:
                return plain
            name = settings.tls.server_name or address[0]
            loop = asyncio.get_running_loop()
            wrapped = await loop.start_tls(plain, protocol, secure, server_hostname=name)
            if wrapped is None:  # it was lost in the very moment
                raise ConnectionResetError
            return wrapped
    except TimeoutError:
        raise _too_slow(address, settings, connected=plain is not None) from None
    except (OSError, ValueError) as error:
        if plain is None:
            raise
        raise tls.refused(address, error) from None


async def _connect(address: Address, protocol: asyncio.Protocol, make: MakeSocket) -> asyncio.Transport:
    """Connect over TCP to the first of the host's addresses that answers; `CannotConnect` where none does."""
    reasons: dict[str, None] = {}
    for found in await look_up(address):
        try:
            return await _connect_to(found, protocol, make)
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            reasons[os.strerror(error.errno).lower() if error.errno else str(error)] = None
    raise CannotConnect(show(address), ", ".join(reasons), "check that the broker is running and listening there")


async def _connect_to(address: Address, protocol: asyncio.Protocol, make: MakeSocket) -> asyncio.Transport:
    """Connect over TCP to one address, which is numeric; `OSError` where that fails."""
    loop = asyncio.get_running_loop()
    sock = make(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
    try:
        sock.setblocking(False)
        await loop.sock_connect(sock, address)
        return (await loop.create_connection(lambda: protocol, sock=sock))[0]
    except BaseException:
        sock.close()
        raise


async def look_up(address: Address) -> list[Address]:
    """Return the host's numeric addresses, each once; `CannotConnect` where there are none.

    A daemon thread asks for them: name servers can keep silent for minutes, and it does not hold up the exit.
    """
    if not (address[0] and 0 < address[1] < 65536):  # brokers may advertise anything
        raise CannotConnect(show(address), NO_ADDRESS)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Address] | Exception] = loop.create_future()

    def tell(found: list[Address] | Exception) -> None:
        if not answer.done():
            answer.set_result(found)

    def look() -> None:
        found: list[Address] | Exception
        try:
            found = [_numeric(entry[4]) for entry in socket.getaddrinfo(*address, type=socket.SOCK_STREAM)]
        except Exception as error:
            found = error
        with suppress(RuntimeError):  # the loop is closed: too late
            loop.call_soon_threadsafe(tell, found)

    threading.Thread(target=look, daemon=True).start()
    found = await answer
    if isinstance(found, Exception):
        raise _unknown(address, found)
    return list(dict.fromkeys(found))


def _numeric(sockaddr: tuple[Any, ...]) -> Address:
    """Return a socket's address as (host, port); a link-local IPv6 host gets its scope id, as in `fe80::1%2`."""
    host, port = sockaddr[:2]
    return (f"{host}%{sockaddr[3]}" if sockaddr[3:] and sockaddr[3] else host), port


def _unknown(address: Address, error: Exception) -> CannotConnect:
    if isinstance(error, OSError):
        text = f"cannot resolve the host name ({(error.strerror or str(error)).lower()})"
        return CannotConnect(show(address), text, "check the host name")
    return CannotConnect(show(address), NO_ADDRESS)  # a label that is too long, say


def _too_slow(address: Address, settings: Settings, *, connected: bool) -> TimedOut:
    limit = f"within {settings.timeout:g} s"
    if connected:
        text = f"connected, but the TLS handshake got no response {limit}"
        return TimedOut(show(address), text, "omit --tls if this is not a TLS listener")
    text = f"no connection {limit}"
    return TimedOut(show(address), text, "check the host, the port and the firewalls")
