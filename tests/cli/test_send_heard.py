"""What a broker hears of `kdbg send`, and what is shown of its answer: the command at one end, real bytes at the other.

For what options and bodies leave out, for values by their names, and for topics that an answer tells by id alone.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any
from uuid import UUID

import pytest

from ..client.brokers import ORDERS_ID, Brokers
from ..client.servers import Request, in_loop
from .calls import ENVIRONMENT, MAIN


async def send(brokers: Brokers, *arguments: object) -> str:
    """Run the command, in a process of its own; what it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kdbg", "send", *map(str, arguments), "--broker", brokers.bootstrap,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd=MAIN, env=ENVIRONMENT,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


async def heard(api: str, versions: tuple[int, int], *arguments: object) -> dict[str, Any]:
    """The body of the one request to this API."""
    bodies: list[dict[str, Any]] = []

    def listen(brokers: Brokers, node: int, request: Request) -> bytes:
        bodies.append(request.body)
        return request.response()

    async with Brokers().running() as brokers:
        brokers.versions[api] = versions
        brokers.answers[api] = listen
        await send(brokers, *arguments)
    (body,) = bodies
    return body


@pytest.mark.parametrize("given", [(), ("--body", "{}")], ids=["options", "body"])
@in_loop
async def test_acls_without_filters_are_all_of_them(given: tuple[object, ...]) -> None:
    body = await heard("DescribeAcls", (0, 3), "describe-acls", *given)
    assert (body["resource_name_filter"], body["principal_filter"], body["host_filter"]) == (None, None, None)
    assert (body["resource_type_filter"], body["operation"], body["permission_type"]) == (1, 1, 1)


@pytest.mark.parametrize("given", [(), ("--body", "{}")], ids=["options", "body"])
@in_loop
async def test_leaders_without_topics_are_elected_everywhere(given: tuple[object, ...]) -> None:
    body = await heard("ElectLeaders", (0, 2), "elect-leaders", *given)
    assert body["topic_partitions"] is None
    assert body["timeout_ms"] > 0


@pytest.mark.parametrize(
    "given",
    [("--topic", "orders", "--count", "3"), ("--body", '{"topics": [{"name": "orders", "count": 3}]}')],
    ids=["options", "body"],
)
@in_loop
async def test_partitions_get_the_time_that_it_takes_to_make_them(given: tuple[object, ...]) -> None:
    body = await heard("CreatePartitions", (0, 3), "create-partitions", *given)
    assert body["timeout_ms"] == 30_000
    assert body["topics"] == [{"name": "orders", "count": 3, "assignments": None}]


@in_loop
async def test_values_go_by_the_names_that_are_shown() -> None:
    of = ("--set", "resources=[{}]", "--set", "resources[0].resource_name=orders")
    body = await heard("DescribeConfigs", (1, 4), "describe-configs", *of, "--set", "resources[0].resource_type=topic")
    assert body["resources"][0]["resource_type"] == 2


@in_loop
async def test_topics_of_an_answer_that_tells_ids_alone_are_shown_by_name() -> None:
    def assigned(brokers: Brokers, node: int, request: Request) -> bytes:
        partitions = [{"topic_id": UUID(str(ORDERS_ID)), "partitions": [0]}]
        return request.response({"assignment": {"topic_partitions": partitions}})

    def told(brokers: Brokers, node: int, request: Request) -> bytes:
        """Metadata by id, as brokers of 3.x answer it."""
        return request.response({"topics": [{"topic_id": ORDERS_ID, "name": "orders", "partitions": []}]})

    async with Brokers().running() as brokers:
        brokers.versions["ConsumerGroupHeartbeat"] = (0, 1)
        brokers.answers |= {"ConsumerGroupHeartbeat": assigned, "Metadata": told}
        shown = await send(brokers, "consumer-group-heartbeat", "--direct", "--set", "group_id=billing")
    (line,) = (line for line in shown.splitlines() if str(ORDERS_ID) in line)
    assert "orders" in line
