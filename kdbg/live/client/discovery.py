"""What a session has learnt of a cluster: who its brokers are, who leads, coordinates and controls, topics and ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from ...errors import CannotConnect, ClientError, Closed, TimedOut, WrongAnswer
from ...exchanges.engine.names import Learner
from ...exchanges.messages.exchange import Exchange, Known
from ...protocol import grammars
from ...protocol.wire import Api
from . import failures
from .connection import Connection
from .defaults import fitting
from .pool import Pool, Trace
from .routes import KEY_TYPES
from .settings import Address, show
from .versions import Versions, choose, is_controller, serves


def named(topics: Iterable[Any]) -> list[dict[str, Any]]:
    """Return topics, each a name or an id, as a Metadata request names them."""
    return [{"name": topic} if isinstance(topic, str) else {"topic_id": topic, "name": None} for topic in topics]


METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER = 3, 10, 60
CONTROLLERS = 2
"""DescribeCluster's endpoint_type that asks for the controllers (KIP-919), in version 1 and later."""
TOPIC_IDS_SINCE = 12
"""The first version of Metadata that brokers answer by id (KIP-516)."""


class Discovery:
    """Asks brokers where to turn to. `bootstrap` are those that the user named, `direct` keeps to the first of them.

    `topic_ids` is what metadata told of topics by name, `topics` the name of every id that any message told.
    """

    bootstrap: list[Address]
    direct: bool
    trace: Trace

    def __init__(self, bootstrap: list[Address], *, direct: bool, trace: Trace) -> None:
        self.bootstrap, self.direct, self.trace = bootstrap, direct, trace
        self.pool: Pool
        self.brokers: dict[int, Address] = {}
        self.leaders: dict[tuple[Any, int], int] = {}
        self.partitions: dict[Any, list[int]] = {}
        self.topic_ids: dict[str, UUID] = {}
        self.topics: dict[UUID, str] = Known.nothing().topics
        self._learner = Learner(self.topics)
        self.controller: int | None = None
        self.coordinators: dict[tuple[str, str], Address] = {}

    def learn(self, metadata: Mapping[str, Any]) -> None:
        """Remember what a Metadata response told."""
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

    def learn_controllers(self, described: Mapping[str, Any]) -> None:
        """Remember what a controller's answer to DescribeCluster told: the controllers, and which of them is active."""
        for node in described.get("brokers") or ():
            self.brokers[node["broker_id"]] = (node["host"], node["port"])
        self.controller = described.get("controller_id")

    def learn_names(self, exchange: Exchange) -> None:
        """Remember the topics that an exchange names beside their ids, in its records too."""
        self._learner.learn_from(exchange)

    def nameless(self, exchange: Exchange) -> list[UUID]:
        """Return the topic ids in an exchange that nothing has named yet, each once."""
        found: dict[UUID, None] = {}
        for rows, _, _ in exchange.outlines():
            found |= dict.fromkeys(topic for topic, *_ in rows if isinstance(topic, UUID) and topic.int)
        return [topic_id for topic_id in found if topic_id not in self.topics]

    def forget(self) -> None:
        """Forget what may be out of date."""
        self.leaders.clear()
        self.coordinators.clear()
        self.controller = None

    def leading(self, topic: Any, partition: int) -> Address | None:
        """Return the leader of a partition, None where it is not known."""
        node = self.leaders.get((topic, partition))
        return self.brokers.get(node) if node is not None else None

    def controlling(self) -> Address | None:
        """Return the controller, None where it is not known."""
        return self.brokers.get(self.controller) if self.controller is not None else None

    @property
    def connections(self) -> dict[Address, Connection]:
        """The connections there are, by the brokers' addresses."""
        return self.pool.connections

    async def broker(self, node: int) -> Address:
        """Return the address of the broker with this id, that of any broker where the metadata has no such id."""
        if node not in self.brokers:
            await self.refresh()
        return self.brokers.get(node) or await self.any()

    async def any(self) -> Address:
        """Return the address of a broker with an open connection, or of the first that answers.

        The bootstrap brokers are tried first, then all known ones. Where none answers, `fallback` takes the first that
        kept silent; else this raises the error of the only one tried, or `CannotConnect` for several.
        """
        for connection in self.connections.values():
            if connection.open_:
                return connection.address
        failed: list[ClientError] = []
        silent: list[Address] = []
        known = [] if self.direct else list(self.brokers.values())
        for address in dict.fromkeys(self.bootstrap + known):
            try:
                await self.connect(address)
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
        raise failed[0] if len(failed) == 1 else failures.none_answers(self.bootstrap, failed[-1])

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
                    self.trace(f"broker {show(address)} does not support {api.name}, broker {show(other)} does")
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
        """Return the address of a partition's leader, that of any broker where none is known even to new metadata."""
        if (topic, partition) not in self.leaders:
            await self.refresh(topic, create=create)
        return self.leading(topic, partition) or await self.any()

    async def controller_address(self) -> Address:
        """Return the address of the active controller, that of any broker where none is named.

        Brokers name it in their metadata, listeners of controllers in DescribeCluster.
        """
        if self.controller is None:
            asked = await self.any()
            if is_controller(await self.versions(asked)):
                await self._refresh_controllers(asked)
            else:
                await self.refresh()
        return self.controlling() or await self.any()

    async def coordinator(self, kind: str, name: str) -> Address:
        """Return the address of a coordinator; `kind` is one of KEY_TYPES, `name` the key of that kind.

        If it is not known yet, FindCoordinator is sent; the broker asked is returned where it names none.
        """
        known = self.coordinators.get((kind, name))
        if known is not None:
            return known
        api = grammars.by_key(FIND_COORDINATOR)
        asked = await self.serving(api, await self.any())
        body = {"key": name, "key_type": KEY_TYPES[kind], "coordinator_keys": [name]}
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
            self.trace(f"topic names are unknown: {error}")

    async def _knows_ids(self, broker: Address) -> bool:
        """Return whether a broker can be asked for topics by their ids."""
        api = grammars.by_key(METADATA)
        known = await self.versions(broker)
        return serves(known, api) and choose(api, known) >= TOPIC_IDS_SINCE

    async def _describe(self, asked: Address, topics: list[Any], *, create: bool = False) -> None:
        """Ask a broker for the metadata of topics, each a name or an id."""
        self.trace(f"requesting metadata from broker {show(asked)}")
        body = {"topics": named(topics), "allow_auto_topic_creation": create}
        self.learn(await self._ask(asked, grammars.by_key(METADATA), body))

    async def _refresh_controllers(self, asked: Address) -> None:
        """Ask a controller for the others, and which of them is active (KIP-919)."""
        api = grammars.by_key(DESCRIBE_CLUSTER)
        if serves(await self.versions(asked), api):
            self.trace(f"requesting the controllers from broker {show(asked)}")
            self.learn_controllers(await self._ask(asked, api, {"endpoint_type": CONTROLLERS}))

    def mistrust(self, address: str) -> None:
        """Move a broker that failed behind the other bootstrap brokers; `address` is as `show` writes it."""
        self.bootstrap.sort(key=lambda broker: show(broker) == address)
