"""Where clients find kdbg: listening sockets on the ports that were asked for, and what clients are told of them."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address

from ..client.settings import show
from ..errors import InputError
from .addresses import Address

BACKLOG = 1024
TURNS = 5


@dataclass(frozen=True)
class Listening:
    """Where the proxy listens, and what clients are told: `host` and the first `port`; `advertised` is told instead.

    A broker that is met later gets the next port that is free; any, where `port` is 0.
    """

    host: str = "127.0.0.1"
    port: int = 0
    advertised: str = ""
    tls: ssl.SSLContext | None = None


class Ports:
    """Opens one listening socket after the other, each on the next port."""

    def __init__(self, listening: Listening) -> None:
        self._listening, self._port = listening, listening.port

    def bound(self, *, strict: bool) -> socket.socket:
        """Return a listening socket on the next port; on any free one where that is taken, unless `strict`.

        Raise `InputError` where the address cannot be listened on.
        """
        host, wanted = self._listening.host, self._port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        for port in [wanted] if strict or not wanted else [wanted, 0]:
            try:
                sock = socket.create_server((host, port), family=family, backlog=BACKLOG)
            except OSError as error:
                problem = error.strerror or str(error)
                continue
            if self._port:
                self._port += 1
            return sock
        raise InputError(f"{show((host, wanted))} cannot be listened on: {problem}; choose another with --listen")

    def told(self, sock: socket.socket) -> Address:
        """Return the address that clients are told of a socket."""
        host = self._listening.host
        return self._listening.advertised or ("127.0.0.1" if is_everywhere(host) else host), sock.getsockname()[1]


async def stop_listening(servers: Iterable[asyncio.Server]) -> None:
    """Take no more connections; those that were just accepted become the servers' own before these are closed.

    Python's own `close` leaves the socket of such a one open (python/cpython#109564).
    """
    loop = asyncio.get_running_loop()
    for server in servers:
        for sock in server.sockets:
            loop.remove_reader(sock)
    await turns()
    for server in servers:
        server.close()


async def turns() -> None:
    """Let the event loop do what it has at hand, such as closing what was broken off."""
    for _ in range(TURNS):
        await asyncio.sleep(0.001)


def is_everywhere(host: str) -> bool:
    """Return whether a host to listen on is every address of the machine."""
    with suppress(ValueError):
        return ip_address(host).is_unspecified
    return not host


def is_local(host: str) -> bool:
    """Return whether only this machine can connect to a host."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def allow_many_files() -> None:
    """Let this process have as many sockets open as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
