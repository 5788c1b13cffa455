"""Every API version that each real broker serves, sent by kdbg and answered: to the last byte, or the test fails.

Bodies hold defaults, which brokers answer with errors or with nothing; where a default would harm the broker or want no
answer, `HARMLESS` says what is sent instead. The table of what was answered is printed at the end of the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from kdbg.errors import ClientError, Closed
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.cluster import Cluster
from kdbg.live.client.connection import Connection
from kdbg.live.client.settings import Settings, addresses
from kdbg.protocol import grammars
from kdbg.protocol.grammars.errors import ERRORS
from kdbg.protocol.wire import Api
from kdbg.protocol.wire.language import DIRECTIONS
from kdbg.protocol.wire.readings.outline import outline

from ..evidence.proofs import proved
from ..peers.dice import Message
from .broker import Broker

Answers = dict[str, dict[int, str]]

NEVER = 2**31 - 2
HARMLESS: Mapping[str, Mapping[str, Any]] = {
    "Produce": {"acks": 1, "timeout_ms": 1000},
    "Fetch": {"max_wait_ms": 1},
    "FindCoordinator": {"key": "nobody", "coordinator_keys": ["nobody"]},
    "OffsetFetch": {"group_id": "nobody", "topics": [], "groups": [{"group_id": "nobody", "topics": []}]},
    "LeaderAndIsr": {"controller_id": NEVER, "controller_epoch": -1},
    "StopReplica": {"controller_id": NEVER, "controller_epoch": -1},
    "UpdateMetadata": {"controller_id": NEVER, "controller_epoch": -1},
    "ControlledShutdown": {"broker_id": NEVER},
    "UnregisterBroker": {"broker_id": NEVER},
    "UnregisterController": {"controller_id": NEVER},
    "AddPartitionsToTxn": {"transactions": [{"transactional_id": "nobody", "topics": []}]},
    "DescribeAcls": {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1},
    "ApiVersions": {"client_software_name": "kdbg", "client_software_version": "1"},
}
REFUSED: Mapping[str, range] = {"Envelope": range(1), "Produce": range(3)}
"""What a broker may answer by hanging up: Envelope is for controllers; Kafka 4 says that it serves the first versions
of Produce, because old librdkafka looks for them, and does not (KIP-896)."""
FAILED = ("HUNG UP", "ODD: ", "127.0.0.1")
SERVED_BY_0_8_2 = {key: (0, 1 if key in (8, 9) else 0) for key in range(11)}
"""Kafka 0.8.2 cannot say what it serves: the APIs of its guide, offsets in ZooKeeper and in a topic."""


class Sweep:
    """Sends one request after the other, on a new connection where a broker hung up."""

    def __init__(self, broker: Broker) -> None:
        self.address = addresses(broker.bootstrap)[0]
        self.settings = Settings(timeout=6)
        self.connection: Connection | None = None

    async def ask(self, api: Api, version: int) -> Exchange:
        if self.connection is None or not self.connection.open_:
            self.connection = await Connection.open(self.address, self.settings)
        body = {
            name: value
            for name, value in HARMLESS.get(api.name, {}).items()
            if name in set(api.at("request", version).keys)
        }
        return await self.connection.answer(self.connection.send(api, version, body))

    async def close(self) -> None:
        if self.connection is not None:
            await self.connection.close()


async def served(broker: Broker) -> dict[int, tuple[int, int]]:
    """API key -> (lowest, highest) version, as the broker says it."""
    async with Cluster(broker.bootstrap, Settings()) as cluster:
        return dict(await cluster.versions(await cluster.any()) or SERVED_BY_0_8_2)


async def sweep(broker: Broker) -> Answers:
    """What every version of every API was answered with."""
    found: Answers = {}
    asker = Sweep(broker)
    for key, (lowest, highest) in sorted((await served(broker)).items()):
        api = grammars.api(key)
        assert highest in api.versions, f"{api.name} v{highest} is newer than kdbg's grammars"
        found[api.name] = {version: await answer(asker, api, version) for version in range(lowest, highest + 1)}
    await asker.close()
    return found


async def answer(asker: Sweep, api: Api, version: int) -> str:
    """The word for one answer: the first error in it, or "ok"."""
    try:
        exchange = await asker.ask(api, version)
    except Closed:
        if version in REFUSED.get(api.name, ()):
            return "refused"
        return "HUNG UP"
    except ClientError as error:
        return str(error).upper()
    assert exchange.response is not None
    message = exchange.response.message()
    assert message is not None
    if message.findings:
        return f"ODD: {message.findings[0]}"
    errors = outline(message.grammar)(message.body)[2]
    return ERRORS[errors[0]].name if errors else "ok"


def answered(answers: Answers) -> set[Message]:
    """The messages that an answer proves: the request that was understood, and the response that was read."""
    keys = {name: grammars.api(name).key for name in answers}
    return {
        Message(keys[name], direction, version)
        for name, versions in answers.items()
        for version, word in versions.items()
        if word != "refused"
        for direction in DIRECTIONS
    }


def condensed(answers: Answers) -> str:
    """The table: an API a line, with the versions that were answered and how."""
    lines = []
    for name, versions in answers.items():
        words = sorted(set(versions.values()))
        lines.append(f"  {name:<34} v{min(versions)}–v{max(versions)}  {', '.join(words)}")
    return "\n".join(lines)


def test_every_version_is_answered_to_the_last_byte(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    answers = asyncio.run(sweep(broker))
    count = sum(map(len, answers.values()))
    failed = {
        f"{name} v{version}": word
        for name, versions in answers.items()
        for version, word in versions.items()
        if word.startswith(FAILED)
    }
    with capsys.disabled():
        print(f"\nKafka {broker.version}: {len(answers)} APIs, {count} versions, all answered\n{condensed(answers)}")
    assert failed == {}
    assert count >= len(SERVED_BY_0_8_2)
    assert answered(answers) == proved(f"broker {broker.version}"), "python -m tests.evidence brokers"
