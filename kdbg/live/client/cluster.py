"""A cluster as a client sees it: requests sent to the broker they belong to, in a version that it speaks.

Where an answer or a broken connection shows that what is known of the brokers is out of date, they are asked again,
and the request is sent once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self, cast
from uuid import UUID

from ...errors import CannotConnect, ClientError, Closed, NoTopicId, NotServed, TimedOut, WrongAnswer
from ...exchanges.engine.names import Learner
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.guide_names import guide_names
from ...exchanges.messages.known import Known
from ...protocol import grammars
from ...protocol.grammars.errors import describe
from ...protocol.wire import Api
from . import routes
from .bodies import by_id, filled, fitting, unnamed, waits
from .connection import Connection, Seen, Tap
from .pool import Pool, Trace
from .settings import Address, Settings, addresses, show

PRODUCE, FIND_COORDINATOR, DESCRIBE_CLUSTER = 0, 10, 60
CONTROLLERS = 2
"""DescribeCluster's endpoint_type that asks for the controllers (KIP-919), in version 1 and later."""
TOPIC_IDS_SINCE = 12
"""The first version of Metadata that brokers answer by id (KIP-516)."""
OFTEN, LISTED = (60, 55, 32, 19, 20), 5
"""What people ask controllers for: DescribeCluster, DescribeQuorum, DescribeConfigs, CreateTopics, DeleteTopics."""
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 0)
"""Seconds before a request is sent again, after each attempt; after the last it is not."""
Body = Mapping[str, Any] | Callable[[int], Mapping[str, Any]]
"""A request's body: one whose fields each version picks for itself, or what it is at a version, exactly."""


class Cluster:
    """An async context manager. `trace` is told of every step, `seen` of every exchange, `tap` of all bytes, `note` of
    what everybody should know: that a broker is too old to be asked for its versions.

    `direct` sends everything to the first bootstrap broker that can be reached, whatever happens. `fallback` takes a
    broker that keeps silent when it is asked for its versions for an old one, of version 0; else that is an error.
    `topic_ids` is what metadata told of topics by name, `topics` the name of every id that any message told.
    """

    def __init__(
        self, bootstrap: str, settings: Settings, *, direct: bool = False, fallback: bool = False,
        trace: Trace = lambda text: None, note: Trace = lambda text: None, seen: Seen | None = None,
        tap: Tap | None = None,
    ) -> None:  # fmt: skip
        self.bootstrap: list[Address] = addresses(bootstrap)
        self.settings = settings
        self.direct = direct
        self.trace = trace
        self.note = note
        self.brokers: dict[int, Address] = {}
        self.leaders: dict[tuple[Any, int], int] = {}
        self.partitions: dict[Any, list[int]] = {}
        self.topic_ids: dict[str, UUID] = {}
        self.topics: dict[UUID, str] = Known.nothing().topics
        self.controller: int | None = None
        self.coordinators: dict[tuple[str, str], Address] = {}
        learner = Learner(self.topics)

        def heard(exchange: Exchange) -> None:
            learner.learn_from(exchange)
            if seen is not None:
                seen(exchange)

        self.pool: Pool = Pool(
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
                if not pause or version is not None or error.address in hung_up or self.direct:
                    raise
                if isinstance(error, CannotConnect) and not self.brokers:
                    raise  # none could be reached at all
                if isinstance(error, Closed):
                    hung_up.add(error.address)
                    self.note(f"{error.address}: {error.problem}; sending {wanted.name} again")
                self.trace(f"{error}; requesting metadata again")
                failed = error.address
                self.bootstrap.sort(key=lambda broker: show(broker) == failed)
            else:
                code = routes.curable(exchange)
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
            return await self._answer(await self.pool.connect(address), api, version, written, timeout)
        connection = await self.pool.asked(address)
        told = connection.versions or {}
        version = routes.choose(api, told, versions)
        if not routes.spoken(told, api, version):
            supported = api.name + (" v{} to v{}".format(*told[api.key]) if api.key in told else "")
            does = "supports" if api.key in told else "does not support"
            self.pool.note_once(f"broker {show(address)} {does} {supported}; sending v{version} anyway")
        written = await self.fit(api, version, body)
        try:
            return await self._answer(connection, api, version, written, timeout)
        except Closed as error:
            if told:
                raise
            remedy = (f"{error.remedy}; " if error.remedy else "") + "use --version N to send another version than "
            raise Closed(error.address, error.problem, f"{remedy}{version}") from None

    async def _answer(
        self, connection: Connection, api: Api, version: int, written: dict[str, Any], timeout: float | None
    ) -> Exchange:
        self.trace(f"{api.name} v{version} to {show(connection.address)}")
        limit = (timeout or self.settings.timeout) + waits(api, written)
        try:
            return await connection.answer(connection.send(api, version, written), timeout=limit)
        except TimedOut as error:
            allowed = written.get("timeout_ms")
            if not isinstance(allowed, int) or allowed < limit * 1000:
                raise
            remedy = f"use --timeout {allowed / 1000 + 5:g}; timeout_ms of the request allows {allowed:,} ms"
            raise TimedOut(error.address, error.problem, remedy) from None

    async def fit(self, api: Api, version: int, body: Body) -> dict[str, Any]:
        """Return the body as this version wants it: filled in, and topics by id where it has no place for names."""
        if version not in api.versions:
            return dict(body(version) if callable(body) else body)
        said = body(version) if callable(body) else guide_names(api, "request", version).body(body)
        written = filled(api, version, said if callable(body) else fitting(api, version, said))
        grammar = api.at("request", version)
        for name in unnamed(grammar, written):
            for pause in PAUSES:  # a new topic takes a moment to have an id
                if name not in self.topic_ids:
                    await self.refresh(name, create=api.key == PRODUCE)
                if name in self.topic_ids or not pause:
                    break
                self.trace(f"topic {name!r} has no known id; requesting metadata again")
                await asyncio.sleep(pause)
            if name not in self.topic_ids:
                problem = f"{api.name} v{version} requires topic ids, and the brokers report none for topic {name!r}"
                remedy = "check that the topic exists, or use an older --version"
                raise NoTopicId(show(await self.any()), problem, remedy)
        return by_id(grammar, written, self.topic_ids)  # type: ignore[no-any-return]

    async def address_for(self, api: Api, body: Body, version: int | None = None, *, offered: bool = True) -> Address:
        """Return the address of the broker that this request belongs to.

        With `offered`, where that broker does not offer the API, it is that of a bootstrap broker that does, if any.
        """
        shown = self._shown(api, body, version)
        where = routes.Route("any") if self.direct else routes.route(api, shown)
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
        if self.direct or api.key not in routes.LEADER:
            return False
        leaders = {self._leading(topic, partition) for topic, partition in routes.partitions_of(api, shown)}
        return len(leaders - {None}) > 1

    async def belonging(self, where: routes.Route, *, create: bool = False) -> Address:
        """Return the address of the broker that a route leads to; `create` lets brokers create its topic."""
        if where.kind == "leader":
            if where.subject not in self.leaders:
                await self.refresh(where.subject[0], create=create)
            return self._leading(*where.subject) or await self.any()
        if where.kind in routes.KEY_TYPES:
            return await self.coordinator(where.kind, where.subject)
        if where.kind == "controller":
            return await self._controller_address()
        if where.kind == "broker":
            if where.subject not in self.brokers:
                await self.refresh()
            return self.brokers.get(where.subject) or await self.any()
        return await self.any()

    def forget(self) -> None:
        """Forget what may be out of date."""
        self.leaders.clear()
        self.coordinators.clear()
        self.controller = None

    def _leading(self, topic: Any, partition: int) -> Address | None:
        """Return the leader of a partition, None where it is not known."""
        node = self.leaders.get((topic, partition))
        return self.brokers.get(node) if node is not None else None

    async def any(self) -> Address:
        """Return the address of a broker with an open connection, or of the first that answers.

        The bootstrap brokers are tried first, then all known ones. Where none answers, `fallback` takes the first that
        kept silent; else this raises the error of the only one tried, or `CannotConnect` for several.
        """
        for connection in self.pool.connections.values():
            if connection.open_:
                return connection.address
        failed: list[ClientError] = []
        silent: list[Address] = []
        known = [] if self.direct else list(self.brokers.values())
        for address in dict.fromkeys(self.bootstrap + known):
            try:
                await self.pool.connect(address)
                if len(self.bootstrap) > 1 and not self.direct:
                    await self.pool.asked(address, must_answer=True)  # to be connected is no answer yet
            except (CannotConnect, TimedOut, Closed, WrongAnswer) as error:
                failed.append(error)
                silent += [address] if isinstance(error, TimedOut) else []
                if len(self.bootstrap) > 1:
                    self.trace(f"{error}; trying the next broker")
            else:
                return address
        if silent and self.pool.fallback:
            self.pool.spare(silent[0])
            return silent[0]
        if len(failed) == 1:
            raise failed[0]
        problem = f"no broker is reachable (last error: {failed[-1].problem})"
        raise CannotConnect(", ".join(map(show, self.bootstrap)), problem, failed[-1].remedy)

    async def versions(self, address: Address) -> routes.Versions:
        """Return what a broker understands: API key -> (lowest, highest). Empty for brokers before 0.10."""
        return (await self.pool.asked(address)).versions or {}

    async def serving(self, api: Api, address: Address) -> Address:
        """Return this address, or where a listener there does not offer the API, that of a bootstrap broker that does.

        Raise `NotServed` for the listener of a controller where there is none. A broker that does not offer the API is
        left to say so itself.
        """
        told = await self.versions(address)
        if routes.serves(told, api):
            return address
        for other in self.bootstrap if not self.direct else ():
            with suppress(CannotConnect, TimedOut, Closed, WrongAnswer):
                if other != address and routes.serves(await self.versions(other), api):
                    self.trace(f"broker {show(address)} does not support {api.name}, broker {show(other)} does")
                    return other
        if not routes.is_controller(told):
            return address
        first = [key for key in OFTEN if key in told]
        names = [grammars.name_of(key) or f"API {key}" for key in [*first, *sorted(told.keys() - set(first))]]
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        listed = f"{', '.join(names[:LISTED])}{more} (kdbg send api-versions)"
        problem = f"this is a controller listener, which does not support {api.name}; it supports {listed}"
        raise NotServed(show(address), problem, "use a broker's listener, or --direct --version N to send it anyway")

    async def _ask(self, address: Address, api: Api, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of the answer to a request of the client's own, of which each version takes its fields."""
        connection = await self.pool.asked(address)
        version = routes.choose(api, connection.versions or {})
        return await connection.ask(api, version, fitting(api, version, body))

    async def _controller_address(self) -> Address:
        """Return the address of the active controller, that of any broker where none is named.

        Brokers name it in their metadata, listeners of controllers in DescribeCluster (KIP-919), with all the others.
        """
        api = grammars.by_key(DESCRIBE_CLUSTER)
        if self.controller is None:
            asked = await self.any()
            told = await self.versions(asked)
            if not routes.is_controller(told):
                await self.refresh()
            elif routes.serves(told, api):
                self.trace(f"requesting the controllers from broker {show(asked)}")
                described = await self._ask(asked, api, {"endpoint_type": CONTROLLERS})
                for node in described.get("brokers") or ():
                    self.brokers[node["broker_id"]] = (node["host"], node["port"])
                self.controller = described.get("controller_id")
        return (self.brokers.get(self.controller) if self.controller is not None else None) or await self.any()

    async def coordinator(self, kind: str, name: str) -> Address:
        """Return the address of a coordinator; `kind` is one of KEY_TYPES, `name` the key of that kind.

        If it is not known yet, FindCoordinator is sent; the broker asked is returned where it names none.
        """
        if (kind, name) in self.coordinators:
            return self.coordinators[kind, name]
        api = grammars.by_key(FIND_COORDINATOR)
        asked = await self.serving(api, await self.any())
        body = {"key": name, "key_type": routes.KEY_TYPES[kind], "coordinator_keys": [name]}
        self.trace(f"requesting the coordinator of {kind} {name!r} from broker {show(asked)}")
        answer = await self._ask(asked, api, body)
        found = (answer.get("coordinators") or [answer])[0]
        if found.get("error_code") or not found.get("host"):
            return asked  # it will answer with the error, which says it better
        address = self.coordinators[kind, name] = (found["host"], found["port"])
        self.trace(f"the coordinator is broker {show(address)}")
        return address

    async def refresh(self, topic: Any = None, *, create: bool = False) -> None:
        """Ask for the metadata of a topic, or of the cluster alone.

        `create` lets a broker that makes topics by itself make this one; before Metadata v4 nothing keeps it from that.
        """
        asked = await self.serving(grammars.by_key(routes.METADATA), await self.any())
        if not isinstance(topic, UUID) or await self._knows_ids(asked):
            await self._describe(asked, [topic] if topic else [], create=create)

    async def learn_topics(self, exchange: Exchange) -> None:
        """Ask for the names of the topics that an exchange tells by id alone, where the broker can be asked."""
        found: dict[UUID, None] = {}
        for rows, _, _ in exchange.outlines():
            found |= dict.fromkeys(topic for topic, *_ in rows if isinstance(topic, UUID) and topic.int)
        unknown = [topic for topic in found if topic not in self.topics]
        try:
            if unknown and await self._knows_ids(asked := await self.any()):
                await self._describe(asked, unknown)
        except ClientError as error:
            self.trace(f"topic names are unknown: {error}")

    async def _knows_ids(self, broker: Address) -> bool:
        """Return whether a broker can be asked for topics by their ids."""
        api = grammars.by_key(routes.METADATA)
        known = await self.versions(broker)
        return routes.serves(known, api) and routes.choose(api, known) >= TOPIC_IDS_SINCE

    async def _describe(self, asked: Address, topics: list[Any], *, create: bool = False) -> None:
        """Ask a broker for the metadata of topics, each a name or an id, and remember it."""
        self.trace(f"requesting metadata from broker {show(asked)}")
        named = [{"name": one} if isinstance(one, str) else {"topic_id": one, "name": None} for one in topics]
        body = {"topics": named, "allow_auto_topic_creation": create}
        metadata = await self._ask(asked, grammars.by_key(routes.METADATA), body)
        for broker in metadata.get("brokers") or ():
            self.brokers[broker["node_id"]] = (broker["host"], broker["port"])
        self.controller = metadata.get("controller_id", self.controller)
        for topic in metadata.get("topics") or ():
            partitions = topic.get("partitions") or ()
            topic_id = topic.get("topic_id")
            if topic.get("name") and topic_id is not None and topic_id.int:
                self.topic_ids[topic["name"]] = topic_id
            for name in filter(None, (topic.get("name"), topic_id)):
                self.partitions[name] = sorted(p["partition_index"] for p in partitions)
                for partition in partitions:
                    self.leaders[name, partition["partition_index"]] = partition["leader_id"]
