"""Captured requests sent to a cluster again: the sockets and the clock of a run, and nothing that knows an API."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...analysis.compare.answers import Judge, ReplayedRequest, Verdict, shared_groups, worth_asking_again
from ...analysis.compare.broker_assigned import NODE
from ...errors import BuildError, ClientError, KdbgError
from ...exchanges.messages.exchange import Exchange
from ...protocol import grammars
from ..client.bodies import waits
from ..client.cluster import Cluster
from ..client.connection import Connection, Tap
from ..client.pool import Pool
from ..client.routes import route
from ..client.settings import Address, Settings
from .plan import Plan, ReplayStep, Sent, Talk, TopicShape, Words, brokers_in, nearest

PAUSE, LONGEST = 0.05, 1.0
"""Seconds before a request is sent again whose answer is not the last word: at first, and at most."""
NO_ANSWER = "no response in the capture"
NOT_DUE = "no response expected (acks=0)"
SLACK = 1.0
CREATE_TOPICS, ALREADY_THERE = 19, 36


class Replay:
    """One run. `show` gets each outcome, in the order of the plan; `say` what a person should know.

    Requests are sent `speed` times as fast as in the capture, None for as fast as answers come. `create` are the topics
    to make.
    """

    def __init__(
        self, plan: Plan, bootstrap: str, settings: Settings, judge: Judge, *,
        speed: float | None = 1.0, create: Mapping[str, TopicShape] | None = None,
        show: Callable[[ReplayStep, ReplayedRequest], None], say: Callable[[str], None], tap: Tap | None = None,
    ) -> None:  # fmt: skip
        self.plan, self.settings, self.judge, self.speed, self.create = plan, settings, judge, speed, create
        self._show, self._say, self._tap = show, say, tap
        self._cluster = Cluster(bootstrap, settings, note=say)
        self._words = Words(judge.known, self._cluster.topic_ids.get)
        self._pools: dict[Talk, Pool] = {}
        self._tasks: asyncio.TaskGroup
        self._ready: dict[int, ReplayedRequest] = {}
        self._places = {id(step): place for place, step in enumerate(plan.steps)}
        self._left = Counter(step.talk for step in plan.steps)
        self._next = 0
        self._news = asyncio.Event()
        self._in_vain = set[Any]()
        self._homes: dict[Address, Address] = {}

    async def run(self) -> None:
        """Send all; raise `ClientError` where no broker can be reached at all."""
        async with self._cluster:
            await self._begin()
            start = asyncio.get_running_loop().time()
            try:
                async with asyncio.TaskGroup() as self._tasks:
                    for step in self.plan.steps:
                        if self.speed is not None:
                            due = start + step.at / 1e9 / self.speed
                            await asyncio.sleep(due - asyncio.get_running_loop().time())
                        while not self.plan.is_due(step):  # an answer that it follows from has not come
                            self._news.clear()
                            await self._news.wait()
                        await self._take(step)
            except BaseExceptionGroup as group:
                raise group.exceptions[0] from None
            finally:
                await asyncio.gather(*(pool.close() for pool in self._pools.values()), return_exceptions=True)

    # Before the first request

    async def _begin(self) -> None:
        """Find the brokers of now, pair them with those of the capture, and make the topics that are wanted."""
        address = await self._cluster.any()
        await self._cluster.versions(address)
        await self._cluster.refresh()
        self.judge.shared = shared_groups(step.exchange for step in self.plan.steps)
        before, now = brokers_in(step.exchange for step in self.plan.steps), sorted(self._cluster.brokers)
        for place, node in enumerate(sorted(before)):
            if now:
                here = now[place % len(now)]
                self.judge.known.note(NODE, {}, node, here)
                self._homes[before[node]] = self._cluster.brokers[here]
        if self.create:
            await self._create(self.create)

    async def _create(self, topics: Mapping[str, TopicShape]) -> None:
        """Create topics, where a broker lets them be created, and wait until each has a leader."""
        api = grammars.by_key(CREATE_TOPICS)
        if api.key not in await self._cluster.versions(await self._cluster.any()):
            self._say("no topics created: the broker does not support CreateTopics")
            return
        most = max(len(self._cluster.brokers), 1)
        rows = [
            {"name": name, "num_partitions": one.partitions, "replication_factor": min(one.replicas, most)}
            for name, one in topics.items()
        ]
        exchange = await self._cluster.send(api, {"topics": rows})
        message = exchange.response.message() if exchange.response is not None else None
        for topic in message.body.get("topics") or () if message is not None else ():
            if topic["error_code"] not in (0, ALREADY_THERE):
                error = next((one.name for one in exchange.errors if one.code == topic["error_code"]), "")
                self._say(f"topic {topic['name']} was not created: {error}")
        end = asyncio.get_running_loop().time() + self.settings.timeout
        for name, one in topics.items():
            while asyncio.get_running_loop().time() < end:
                await self._cluster.refresh(name)
                led = [part for part in range(one.partitions) if self._cluster.leaders.get((name, part), -1) >= 0]
                if len(led) == one.partitions or len(led) == len(self._cluster.partitions.get(name, ())) > 0:
                    break
                await asyncio.sleep(PAUSE)

    # One request after the other

    async def _take(self, step: ReplayStep) -> None:
        """Send a step; what comes of it is waited for beside."""
        exchange = step.exchange
        outcome = ReplayedRequest(exchange, Verdict.UNCOMPARED, exchange.version)
        try:
            if step.left_out or step.unfit:
                outcome.why = step.left_out or step.unfit
                outcome.verdict = Verdict.UNCOMPARED if step.left_out else Verdict.FAILED
            else:
                sent, connection = await self._prepare(step)
                outcome.version, outcome.lost = sent.version, sent.lost
                assert exchange.api is not None
                future = connection.send(exchange.api, sent.version, sent.body)
                if step.waits:
                    self._tasks.create_task(self._answer(step, outcome, sent, connection, future))
                    return
                outcome.why = NO_ANSWER if exchange.answered else NOT_DUE
        except (ClientError, BuildError) as error:
            outcome.verdict, outcome.why = Verdict.FAILED, str(error)
        await self._done(step, outcome)

    async def _prepare(self, step: ReplayStep) -> tuple[Sent, Connection]:
        """Return what to send for a step, and where; raise `ClientError` or `BuildError` where that cannot be."""
        exchange = step.exchange
        pool = self._pools.get(step.talk)
        if pool is None:  # the connections that stand for a captured one: one to each broker that is needed
            settings = replace(self.settings, client_id=exchange.client_id)
            pool = self._pools[step.talk] = Pool(
                settings, self._cluster.bootstrap, self._cluster.topics, trace=lambda line: None, note=self._say,
                seen=None, tap=self._tap, fallback=False,
            )  # fmt: skip
        home = self._homes.get(exchange.peers.broker) or await self._cluster.any()
        versions = await self._cluster.versions(home)
        await self._learn_topics(step)
        for producer, epoch, transactional_id in self._words.unknown_producers(exchange):
            body = {"transactional_id": transactional_id, "transaction_timeout_ms": 60_000}
            answer = await self._cluster.send("InitProducerId", body)
            message = answer.response.message() if answer.response is not None else None
            if message is not None and not message.body.get("error_code"):
                self._words.note_producer(producer, epoch, message.body["producer_id"], message.body["producer_epoch"])
        sent = self._words.say(exchange, versions)
        assert exchange.api is not None
        where = home
        if len(self._cluster.brokers) > 1 and (belongs := route(exchange.api, sent.body)).kind != "any":
            where = await self._cluster.belonging(belongs)
        if where != home and (told := await self._cluster.versions(where)) != versions:
            sent = self._words.say(exchange, told)
        return sent, await pool.connect(where)

    async def _learn_topics(self, step: ReplayStep) -> None:
        """Ask for the ids of topics that a request or its answer names by ids of then, or now has to."""
        exchange = step.exchange
        wanted = self._words.unknown_topics(exchange)
        home = self._homes.get(exchange.peers.broker) or await self._cluster.any()
        assert exchange.api is not None
        with suppress(BuildError):
            version = nearest(exchange.api, exchange.version, await self._cluster.versions(home))
            wanted |= self._words.named_topics(exchange, version)
        for name in wanted:
            if name not in self._cluster.topic_ids:
                await self._cluster.refresh(name)
            if name in self._cluster.topic_ids:
                self._words.note_topic(name, self._cluster.topic_ids[name])

    # Answers

    async def _answer(
        self, step: ReplayStep, outcome: ReplayedRequest, sent: Sent, connection: Connection,
        future: asyncio.Future[Exchange],
    ) -> None:  # fmt: skip
        """Wait for an answer, and compare it; where it is not the last word, send the request once more."""
        old, loop = step.exchange, asyncio.get_running_loop()
        patience, pause = loop.time() + self.settings.timeout, PAUSE
        try:
            while True:
                limit = self.settings.timeout + waits_of(old, sent)
                new = outcome.answer = await connection.answer(future, timeout=limit)
                differences = list(self.judge.compare(old, new))
                reasons = worth_asking_again(old, new, differences)
                if not reasons - self._in_vain:
                    break
                if loop.time() + pause > patience:
                    self._in_vain |= reasons
                    break
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST)
                self._cluster.forget()
                sent, connection = await self._prepare(step)
                assert old.api is not None
                future = connection.send(old.api, sent.version, sent.body)
                outcome.tries += 1
            await self._learn_topics(step)
            differences = list(self.judge.compare(old, new))
            self.judge.learn(old, new)
            outcome.differences, outcome.sooner = differences, self.judge.sooner
            outcome.verdict = Verdict.DIFFERS if differences else Verdict.SAME
        except (ClientError, BuildError) as error:
            outcome.verdict, outcome.why = Verdict.FAILED, str(error)
        await self._done(step, outcome)

    async def _done(self, step: ReplayStep, outcome: ReplayedRequest) -> None:
        """Tell of an outcome, after those of all steps before it; whoever waits for its answer need not any more.

        Hang up once nothing more is to be said on its captured connection.
        """
        if step.waits:
            self.plan.answered(step)
        self._news.set()
        self._ready[self._places[id(step)]] = outcome
        while self._next in self._ready:
            self._show(self.plan.steps[self._next], self._ready.pop(self._next))
            self._next += 1
        self._left[step.talk] -= 1
        if not self._left[step.talk] and step.talk in self._pools:
            with suppress(KdbgError):
                await self._pools.pop(step.talk).close()


def waits_of(old: Exchange, sent: Sent) -> float:
    """Return the seconds that a broker may take beside the time of any answer: what the request says, or it took."""
    took = (old.latency or 0) / 1e9
    assert old.api is not None
    return max(waits(old.api, sent.body), took) + SLACK
