"""A cluster as a client sees it: bootstrap, versions, metadata, and requests sent to the broker they belong to.

As the guides' "Partitioning and bootstrapping" says: go through the bootstrap brokers until one answers, keep what the
metadata told, and where an answer or a broken connection shows that it is out of date, ask again and retry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self
from uuid import UUID

from .. import grammars
from ..errors import CannotConnect, ClientError, Closed, NoTopicId, TimedOut, WrongAnswer
from ..grammars.errors import describe
from ..messages.exchange import Exchange
from ..messages.guide_names import guide_names
from ..wire import Api
from . import failures
from .connection import Connection, Seen, Tap
from .defaults import filled, fitting
from .directory import Directory, named
from .pool import Pool, Trace
from .routes import KEY_TYPES, Route, curable, route
from .settings import Address, Settings, addresses, show
from .topics import by_id, unnamed
from .versions import Versions, choose, is_controller, serves

PRODUCE, METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER = 0, 3, 10, 60
CONTROLLERS = 2
"""DescribeCluster's endpoint_type that asks for the controllers (KIP-919), in version 1 and later."""
TOPIC_IDS_SINCE = 12
"""The first version of Metadata that brokers answer by id (KIP-516)."""
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 0)
"""Seconds before a request is sent again, after each attempt; after the last it is not."""
Body = Mapping[str, Any] | Callable[[int], Mapping[str, Any]]
"""A request's body: one whose fields each version picks for itself, or what it is at a version, exactly."""


def _silent(text: str) -> None:
    """Where nobody wants to know."""


class Cluster(Directory):
    """An async context manager. `trace` is told of every step, `seen` of every exchange, `tap` of all bytes, `note` of
    what everybody should know: that a broker is too old to be asked for its versions.

    `direct` sends everything to the first bootstrap broker that can be reached, whatever happens. `fallback` takes a
    broker that keeps silent when it is asked for its versions for an old one, of version 0; else that is an error.
    """

    def __init__(
        self, bootstrap: str, settings: Settings, *, direct: bool = False, fallback: bool = False,
        trace: Trace = _silent, note: Trace = _silent, seen: Seen | None = None, tap: Tap | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.bootstrap, self.settings, self.direct = addresses(bootstrap), settings, direct
        self.trace, self.note = trace, note

        def heard(exchange: Exchange) -> None:
            self.learn_names(exchange)
            if seen is not None:
                seen(exchange)

        self.pool = Pool(settings, self.topics, trace=trace, note=note, seen=heard, tap=tap, fallback=fallback)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.pool.close()

    @property
    def connections(self) -> dict[Address, Connection]:
        """The connections there are, by the brokers' addresses."""
        return self.pool.connections

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
                self.trace(f"{error}; asking for the metadata again")
                self.mistrust(error.address)
            else:
                code = curable(exchange)
                if code is None or self.direct or not pause:
                    return exchange
                self.trace(f"{wanted.name}: {describe(code)}; asking for the metadata again")
            self.forget()
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(
        self, api: Api, body: Body, version: int | None, versions: range | None, timeout: float | None
    ) -> Exchange:
        address = await self.address_for(api, body)
        if version is not None:
            written = await self.fit(api, version, body)
            return await self._answer(await self.connect(address), api, version, written, timeout)
        connection = await self.pool.asked(await self.serving(api, address))
        told = connection.versions
        version = choose(api, told or {}, versions)
        if not serves(told, api):
            self.note(f"{show(connection.address)} does not offer {api.name}; version {version} is sent all the same")
        written = await self.fit(api, version, body)
        try:
            return await self._answer(connection, api, version, written, timeout)
        except Closed as error:
            raise error if told else failures.hung_up_on_version(error, version) from None

    async def _answer(
        self, connection: Connection, api: Api, version: int, written: dict[str, Any], timeout: float | None
    ) -> Exchange:
        self.trace(f"{api.name} v{version} to {show(connection.address)}")
        return await connection.answer(connection.send(api, version, written), timeout=timeout)

    async def fit(self, api: Api, version: int, body: Body) -> dict[str, Any]:
        """Return the body as this version wants it: filled in, and topics by id where it has no place for names."""
        if version not in api.versions:
            return dict(body(version) if callable(body) else body)
        said = body(version) if callable(body) else guide_names(api, "request", version).body(body)
        written = filled(api, version, said if callable(body) else fitting(api, version, said))
        grammar = api.at("request", version)
        for name in unnamed(grammar, written):
            if not await self._identified(name, create=api.key == PRODUCE):
                problem = f"{api.name} v{version} names topics by id, and the brokers tell none for {name!r}"
                raise NoTopicId(
                    show(await self.any()), problem, "see whether the topic exists; an older --version names it"
                )
        return by_id(grammar, written, self.topic_ids)  # type: ignore[no-any-return]

    async def _identified(self, name: str, *, create: bool) -> bool:
        """Whether the id of a topic is known, or becomes known: a new topic has none for a moment."""
        for pause in PAUSES:
            if name not in self.topic_ids:
                await self.refresh(name, create=create)
            if name in self.topic_ids or not pause:
                break
            self.trace(f"no id is known for topic {name!r}; asking again")
            await asyncio.sleep(pause)
        return name in self.topic_ids

    async def address_for(self, api: Api, body: Body) -> Address:
        """The broker that this request belongs to."""
        shown = body(api.versions[-1]) if callable(body) else body
        where = Route("any") if self.direct else route(api, shown)
        if where.kind == "leader":
            return await self.leader(*where.subject, create=api.key == PRODUCE)
        if where.kind in KEY_TYPES:
            return await self.coordinator(where.kind, where.subject)
        if where.kind == "controller":
            return await self.controller_address()
        return await self.any()

    async def any(self) -> Address:
        """A broker that a connection is open to, or the first that answers: of the bootstrap brokers, then of all."""
        for connection in self.connections.values():
            if connection.open_:
                return connection.address
        failures: list[ClientError] = []
        known = [] if self.direct else list(self.brokers.values())
        for address in dict.fromkeys(self.bootstrap + known):
            try:
                await self.connect(address)
                if len(self.bootstrap) > 1 and not self.direct:
                    await self.versions(address)  # to be connected is no answer yet
            except (CannotConnect, TimedOut, Closed, WrongAnswer) as error:
                failures.append(error)
                if len(self.bootstrap) > 1:
                    self.trace(f"{error}; trying the next")
            else:
                return address
        if len(failures) == 1:
            raise failures[0]
        tried = ", ".join(show(address) for address in self.bootstrap)
        raise CannotConnect(
            tried, f"none of these brokers answers (the last: {failures[-1].problem})", failures[-1].remedy
        )

    async def connect(self, address: Address) -> Connection:
        """Return the connection to a broker: the one there is, or a new one, authenticated."""
        return await self.pool.connect(address)

    async def negotiate(self, address: Address, api: Api, within: range | None = None) -> int:
        """Return the version of an API to speak with a broker."""
        return choose(api, await self.versions(address), within)

    async def versions(self, address: Address) -> Versions:
        """Return what a broker understands: API key -> (lowest, highest). Empty for brokers before 0.10."""
        return (await self.pool.asked(address)).versions or {}

    async def serving(self, api: Api, address: Address) -> Address:
        """Return this address, or where a listener there does not offer the API, that of a bootstrap broker that does.

        Raise `NotServed` for the listener of a controller where there is none. A broker that does not offer the API is
        left to say so itself.
        """
        told = await self.versions(address)
        if serves(told, api):
            return address
        for other in self.bootstrap if not self.direct else ():
            with suppress(CannotConnect, TimedOut, Closed, WrongAnswer):
                if other != address and serves(await self.versions(other), api):
                    self.trace(f"{show(address)} does not offer {api.name}, {show(other)} does")
                    return other
        if is_controller(told):
            raise failures.not_served(address, api, told)
        return address

    async def _ask(self, address: Address, api: Api, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of the answer to a request of the client's own, of which each version takes its fields."""
        connection = await self.pool.asked(address)
        version = choose(api, connection.versions or {})
        return await connection.ask(api, version, fitting(api, version, body))

    async def leader(self, topic: Any, partition: int, *, create: bool = False) -> Address:
        """The leader of a partition."""
        if (topic, partition) not in self.leaders:
            await self.refresh(topic, create=create)
        return self.leading(topic, partition) or await self.any()

    async def controller_address(self) -> Address:
        """Return the controller: the one that metadata names or, of controllers' listeners, the active one."""
        if self.controller is None:
            asked = await self.any()
            if is_controller(await self.versions(asked)):
                await self._refresh_controllers(asked)
            else:
                await self.refresh()
        return self.controlling() or await self.any()

    async def coordinator(self, kind: str, name: str) -> Address:
        """The coordinator of a group or of a transactional id."""
        known = self.coordinators.get((kind, name))
        if known is not None:
            return known
        api = grammars.by_key(FIND_COORDINATOR)
        asked = await self.serving(api, await self.any())
        body = {"key": name, "key_type": KEY_TYPES[kind], "coordinator_keys": [name]}
        self.trace(f"asking {show(asked)} for the coordinator of {kind} {name!r}")
        answer = await self._ask(asked, api, body)
        found = (answer.get("coordinators") or [answer])[0]
        if found.get("error_code") or not found.get("host"):
            return asked  # it will answer with the error, which says it better
        address = self.coordinators[kind, name] = (found["host"], found["port"])
        self.trace(f"the coordinator is {show(address)}")
        return address

    async def refresh(self, topic: Any = None, *, create: bool = False) -> None:
        """Ask for the metadata of a topic, or of the cluster alone.

        `create` lets a broker that makes topics by itself make this one; before Metadata v4 nothing keeps it from that.
        """
        asked = await self.serving(grammars.by_key(METADATA), await self.any())
        if not isinstance(topic, UUID) or await self._knows_ids(asked):
            await self._describe(asked, [topic] if topic else [], create=create)

    async def learn_topics(self, exchange: Exchange) -> None:
        """Ask for the names of the topics that an exchange tells by id alone, where the broker can be asked."""
        unknown = self.nameless(exchange)
        try:
            if unknown and await self._knows_ids(asked := await self.any()):
                await self._describe(asked, unknown)
        except ClientError as error:
            self.trace(f"no names for topic ids: {error}")

    async def _knows_ids(self, broker: Address) -> bool:
        """Whether a broker can be asked for topics by their ids."""
        api = grammars.by_key(METADATA)
        known = await self.versions(broker)
        return serves(known, api) and choose(api, known) >= TOPIC_IDS_SINCE

    async def _describe(self, asked: Address, topics: list[Any], *, create: bool = False) -> None:
        """Ask a broker for the metadata of topics, each a name or an id."""
        self.trace(f"asking {show(asked)} for metadata")
        body = {"topics": named(topics), "allow_auto_topic_creation": create}
        self.learn(await self._ask(asked, grammars.by_key(METADATA), body))

    async def _refresh_controllers(self, asked: Address) -> None:
        """Ask a controller for the others, and which of them is active (KIP-919)."""
        api = grammars.by_key(DESCRIBE_CLUSTER)
        if serves(await self.versions(asked), api):
            self.trace(f"asking {show(asked)} for the controllers")
            self.learn_controllers(await self._ask(asked, api, {"endpoint_type": CONTROLLERS}))

    def mistrust(self, address: str) -> None:
        """A broker failed: the others come first now."""
        self.bootstrap.sort(key=lambda broker: show(broker) == address)

    def _hopeless(self, error: ClientError) -> bool:
        """Whether there is nobody else to turn to: no broker at all could be reached, or only this one is wanted."""
        return self.direct or (isinstance(error, CannotConnect) and not self.brokers)
