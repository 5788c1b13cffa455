"""The in-process broker: librdkafka's mock cluster."""

from __future__ import annotations

import re
import sys

import pytest

from kdbg.errors import InputError
from kdbg.extras import install
from kdbg.live.client.cluster import Cluster
from kdbg.live.client.mock import mock_cluster
from kdbg.live.client.settings import Settings, addresses

from .servers import in_loop


def test_what_asks_for_one() -> None:
    for other in ("mock", "mocking:9092"):
        with mock_cluster(other) as bootstrap:
            assert bootstrap == other


@pytest.mark.parametrize("brokers", [1, 3])
def test_so_many_brokers_on_loopback(brokers: int) -> None:
    with mock_cluster(f"mock:{brokers}") as bootstrap:
        assert [host for host, _ in addresses(bootstrap)] == ["127.0.0.1"] * brokers


@in_loop
async def test_topics_create_themselves() -> None:
    with mock_cluster("mock:") as bootstrap:
        async with Cluster(bootstrap, Settings()) as cluster:
            exchange = await cluster.send("metadata", {"topics": [{"name": "orders"}]}, version=8)
    assert exchange.response is not None
    message = exchange.response.message()
    assert message is not None
    assert message.body["topics"][0]["name"] == "orders"
    assert message.body["topics"][0]["error_code"] == 0


@pytest.mark.parametrize("broker", ["mock:x", "mock:0", "mock:-1", "mock:1000"])
def test_nonsense_is_refused(broker: str) -> None:
    with pytest.raises(InputError, match="use mock:"), mock_cluster(broker):
        pass


def test_without_the_library_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(InputError, match=re.escape(install("mock"))), mock_cluster("mock:"):
        pass
