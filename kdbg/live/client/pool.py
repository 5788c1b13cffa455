"""Connections to brokers, one each: opened when first wanted, authenticated, and asked for the versions they speak.

What a broker says of its versions is valid for the connection that it said it on (the 0.10.1 guide's "Retrieving
Supported API versions"): it stands there, and a new connection is asked anew.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection
from uuid import UUID

from ... import __version__
from ...errors import CannotConnect, Closed, TimedOut
from ...protocol import grammars
from .connection import Connection, Seen, Tap
from .routes import API_VERSIONS
from .sasl import authenticate
from .settings import Address, Settings, check_trust, show

Trace = Callable[[str], None]
ASKED_IN = (3, 0)
"""Every broker since 0.10 answers ApiVersions in one of these, at least with error 35 in version 0 (KIP-511)."""


class Pool:
    """The connections of a session. `named` are the brokers that the user named, `topics` the names of topic ids.

    `fallback`: a broker that keeps silent about its versions is taken for an old one.
    `trace` is told of every step, `note` of what everybody should know, `seen` of every exchange, `tap` of all bytes.
    """

    def __init__(
        self, settings: Settings, named: Collection[Address], topics: dict[UUID, str], *, trace: Trace, note: Trace,
        seen: Seen | None, tap: Tap | None, fallback: bool,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.named = named
        self.topics = topics
        self.fallback = fallback
        self.trace = trace
        self.note = note
        self._seen, self._tap = seen, tap
        self.connections: dict[Address, Connection] = {}
        self._opening: defaultdict[Address, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._asking: defaultdict[Address, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._spared: set[Address] = set()
        self._noted: set[str] = set()
        self._closed = False

    async def close(self) -> None:
        """Hang up on every broker, also on one that is being connected to."""
        self._closed = True
        await asyncio.gather(*(connection.close() for connection in self.connections.values()))
        self.connections.clear()

    async def connect(self, address: Address) -> Connection:
        """Return the connection to a broker: the one there is, or a new one, authenticated."""
        async with self._opening[address]:
            connection = self.connections.get(address)
            if connection is None or not connection.open_:
                if self._closed:
                    raise Closed(show(address), "closed")
                connection = self.connections[address] = await self._open(address)
            if self._closed:  # meanwhile
                await connection.close()
        return connection

    async def asked(self, address: Address, *, must_answer: bool = False) -> Connection:
        """Return the connection to a broker, with the versions that the broker told on it.

        Those are empty for a broker before 0.10, which closes the connection on that request: the next connection does
        without it. With `must_answer`, one that keeps silent is an error, `fallback` or not.
        """
        async with self._asking[address]:
            connection = await self.connect(address)
            if connection.versions is None and not await self._ask(connection, must_answer=must_answer):
                connection = await self.connect(address)
            return connection

    def spare(self, address: Address) -> None:
        """Take a broker that keeps silent for an old one: do not ask it for its versions on the next connection."""
        self.note_once(
            f"broker {show(address)} sends no response to ApiVersions, as some brokers before 0.10; using version 0"
        )
        self._spared.add(address)

    async def _open(self, address: Address) -> Connection:
        """Open a new connection, and authenticate; tell whom credentials go to that the user did not name.

        A broker that closes the connection when it is asked for its versions is connected to once more.
        """
        if address[0] not in {host for host, _ in self.named}:
            if self.settings.only_named:
                problem = "advertised by a broker, but not named by --broker"
                raise CannotConnect(show(address), problem, "add it to --broker, or omit --only-named")
            check_trust(address, self.named, self.settings)
            if self.settings.has_credentials:
                self.note_once(
                    f"sending credentials to {show(address)}, an advertised address; use --only-named to prevent this"
                )
        self.trace(f"connecting to {show(address)}")
        connection, sasl = await self._reach(address), self.settings.sasl
        if sasl is None:
            return connection
        try:
            if not sasl.raw and connection.versions is None and not await self._ask(connection):
                await connection.close()
                connection = await self._reach(address)
            await authenticate(connection, sasl, connection.versions)
        except BaseException:
            await connection.close()
            raise
        self.trace(f"authenticated with {sasl.mechanism.upper()}")
        return connection

    async def _reach(self, address: Address) -> Connection:
        try:
            connection = await Connection.open(
                address, self.settings, seen=self._seen, tap=self._tap, topics=self.topics
            )
        except (CannotConnect, TimedOut) as error:
            if address in self.named:
                raise
            why = "the address is in advertised.listeners of the broker and must be reachable from here"
            raise type(error)(error.address, error.problem, f"use --direct; {why}") from None
        if address in self._spared:
            self._spared.discard(address)
            connection.versions = {}
        return connection

    async def _ask(self, connection: Connection, *, must_answer: bool = False) -> bool:
        """Ask a broker for its versions; False if that ended the connection, and the next one shall do without."""
        where, api = show(connection.address), grammars.by_key(API_VERSIONS)
        software = {"client_software_name": "kdbg", "client_software_version": __version__}
        self.trace(f"requesting the API versions of {where}")
        try:
            told = {}
            for version in ASKED_IN:
                body = await connection.ask(api, version, software if version else {})
                if not body.get("error_code"):
                    told = {one["api_key"]: (one["min_version"], one["max_version"]) for one in body["api_keys"] or ()}
                    break
            connection.versions = told
        except Closed:
            self.note_once(
                f"broker {where} closes the connection after ApiVersions, as brokers before 0.10 do; using version 0"
            )
            self._spared.add(connection.address)
        except TimedOut as error:
            if must_answer or not self.fallback:
                remedy = "use --version N to skip ApiVersions, which brokers before 0.10 may ignore"
                raise TimedOut(error.address, f"ApiVersions: {error.problem}", remedy) from None
            self.spare(connection.address)
        else:
            return True
        return False

    def note_once(self, text: str) -> None:
        """Note what was not noted before."""
        if text not in self._noted:
            self._noted.add(text)
            self.note(text)
