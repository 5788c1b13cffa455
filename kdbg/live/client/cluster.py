"""A cluster as a client sees it: requests sent to the broker they belong to, in a version that it speaks.

Where an answer or a broken connection shows that what is known of the brokers is out of date, they are asked again,
and the request is sent once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Self, cast

from ...errors import CannotConnect, ClientError, Closed, NoTopicId, TimedOut
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.guide_names import guide_names
from ...protocol import grammars
from ...protocol.grammars.errors import describe
from ...protocol.wire import Api
from . import failures
from .bodies import by_id, unnamed
from .connection import Connection, Seen, Tap
from .defaults import filled, fitting, waits
from .discovery import Discovery
from .pool import Pool, Trace
from .routes import KEY_TYPES, LEADER, Route, curable, partitions_of, route
from .settings import Address, Settings, addresses, show
from .versions import choose, spoken

PRODUCE = 0
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 0)
"""Seconds before a request is sent again, after each attempt; after the last it is not."""
Body = Mapping[str, Any] | Callable[[int], Mapping[str, Any]]
"""A request's body: one whose fields each version picks for itself, or what it is at a version, exactly."""


def _silent(text: str) -> None:
    """Do nothing: what `trace` and `note` are unless the caller gives others."""


class Cluster(Discovery):
    """An async context manager. `trace` is told of every step, `seen` of every exchange, `tap` of all bytes, `note` of
    what everybody should know: that a broker is too old to be asked for its versions.

    `direct` sends everything to the first bootstrap broker that can be reached, whatever happens. `fallback` takes a
    broker that keeps silent when it is asked for its versions for an old one, of version 0; else that is an error.
    """

    settings: Settings
    note: Trace
    pool: Pool

    def __init__(
        self, bootstrap: str, settings: Settings, *, direct: bool = False, fallback: bool = False,
        trace: Trace = _silent, note: Trace = _silent, seen: Seen | None = None, tap: Tap | None = None,
    ) -> None:  # fmt: skip
        super().__init__(addresses(bootstrap), direct=direct, trace=trace)
        self.settings, self.note = settings, note

        def heard(exchange: Exchange) -> None:
            self.learn_names(exchange)
            if seen is not None:
                seen(exchange)

        self.pool = Pool(
            settings, self.bootstrap, self.topics, trace=trace, note=note, seen=heard, tap=tap, fallback=fallback
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.pool.close()

    async def send(
        self, api: str | int | Api, body: Body | None = None, *, version: int | None = None,
        versions: range | None = None, timeout: float | None = None,
    ) -> Exchange:  # fmt: skip
        """Send a request where it belongs and wait for its answer.

        Without `version`, the highest that both sides know, among `versions` if given. Raises `ClientError`; an error
        code in the answer is no exception: retried where that may help, handed over where it does not.
        """
        wanted = api if isinstance(api, Api) else grammars.api(api)
        hung_up: set[str] = set()
        for pause in PAUSES:
            try:
                exchange = await self._attempt(wanted, body or {}, version, versions, timeout)
            except (Closed, CannotConnect) as error:
                if not pause or version is not None or error.address in hung_up or self._hopeless(error):
                    raise
                if isinstance(error, Closed):
                    hung_up.add(error.address)
                    self.note(f"{error.address}: {error.problem}; sending {wanted.name} again")
                self.trace(f"{error}; requesting metadata again")
                self.mistrust(error.address)
            else:
                code = curable(exchange)
                final = code is None or self.direct or not pause
                if final or self._scattered(wanted, self._shown(wanted, body or {}, version)):
                    return exchange
                self.trace(f"{wanted.name}: {describe(code or 0)}; requesting metadata again")
            self.forget()
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(
        self, api: Api, body: Body, version: int | None, versions: range | None, timeout: float | None
    ) -> Exchange:
        address = await self.address_for(api, body, version, offered=version is None)
        if version is not None:
            written = await self.fit(api, version, body)
            return await self._answer(await self.connect(address), api, version, written, timeout)
        connection = await self.pool.asked(address)
        told = connection.versions
        version = choose(api, told or {}, versions)
        if not spoken(told, api, version):
            self.pool.note_once(failures.all_the_same(connection.address, api, version, told or {}))
        written = await self.fit(api, version, body)
        try:
            return await self._answer(connection, api, version, written, timeout)
        except Closed as error:
            raise error if told else failures.hung_up_on_version(error, version) from None

    async def _answer(
        self, connection: Connection, api: Api, version: int, written: dict[str, Any], timeout: float | None
    ) -> Exchange:
        self.trace(f"{api.name} v{version} to {show(connection.address)}")
        limit = (timeout or self.settings.timeout) + waits(api, written)
        try:
            return await connection.answer(connection.send(api, version, written), timeout=limit)
        except TimedOut as error:
            raise failures.less_than_allowed(error, limit, written) from None

    async def fit(self, api: Api, version: int, body: Body) -> dict[str, Any]:
        """Return the body as this version wants it: filled in, and topics by id where it has no place for names."""
        if version not in api.versions:
            return dict(body(version) if callable(body) else body)
        said = body(version) if callable(body) else guide_names(api, "request", version).body(body)
        written = filled(api, version, said if callable(body) else fitting(api, version, said))
        grammar = api.at("request", version)
        for name in unnamed(grammar, written):
            if not await self._identified(name, create=api.key == PRODUCE):
                problem = f"{api.name} v{version} requires topic ids, and the brokers report none for topic {name!r}"
                raise NoTopicId(
                    show(await self.any()), problem, "check that the topic exists, or use an older --version"
                )
        return by_id(grammar, written, self.topic_ids)  # type: ignore[no-any-return]

    async def _identified(self, name: str, *, create: bool) -> bool:
        """Ask for the id of a topic until it is known, which takes a moment for a new one; return whether it is."""
        for pause in PAUSES:
            if name not in self.topic_ids:
                await self.refresh(name, create=create)
            if name in self.topic_ids or not pause:
                break
            self.trace(f"topic {name!r} has no known id; requesting metadata again")
            await asyncio.sleep(pause)
        return name in self.topic_ids

    async def address_for(self, api: Api, body: Body, version: int | None = None, *, offered: bool = True) -> Address:
        """Return the address of the broker that this request belongs to.

        With `offered`, where that broker does not offer the API, it is that of a bootstrap broker that does, if any.
        """
        shown = self._shown(api, body, version)
        where = Route("any") if self.direct else route(api, shown)
        address = await self.belonging(where, create=api.key == PRODUCE)
        if where.kind == "leader" and self._scattered(api, shown):
            text = f"the partitions have different leaders; sending only to {show(address)}, the leader of the first"
            self.pool.note_once(f"{api.name}: {text}")
        return await self.serving(api, address) if offered else address

    def _shown(self, api: Api, body: Body, version: int | None) -> Mapping[str, Any]:
        """Return the body with today's names for its fields, as routes read it; the newest without `version`."""
        at = version if version is not None else api.versions[-1]
        if callable(body):
            return body(at)
        return body if at not in api.versions else cast(Mapping[str, Any], guide_names(api, "request", at).body(body))

    def _scattered(self, api: Api, shown: Mapping[str, Any]) -> bool:
        """Return whether a request's partitions are known to have several leaders: no broker can serve them all."""
        if self.direct or api.key not in LEADER:
            return False
        leaders = {self.leading(topic, partition) for topic, partition in partitions_of(api, shown)}
        return len(leaders - {None}) > 1

    async def belonging(self, where: Route, *, create: bool = False) -> Address:
        """Return the address of the broker that a route leads to; `create` lets brokers create its topic."""
        if where.kind == "leader":
            return await self.leader(*where.subject, create=create)
        if where.kind in KEY_TYPES:
            return await self.coordinator(where.kind, where.subject)
        if where.kind == "controller":
            return await self.controller_address()
        if where.kind == "broker":
            return await self.broker(where.subject)
        return await self.any()

    def _hopeless(self, error: ClientError) -> bool:
        """Return whether another attempt is pointless: only this broker is wanted, or none could be reached at all."""
        return self.direct or (isinstance(error, CannotConnect) and not self.brokers)
