"""What goes wrong: error codes, a broker that goes down, requests no broker understands."""

from __future__ import annotations

import socket
import struct
import time
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaError, Producer

from recording.api_keys import CONTROLLED_SHUTDOWN, FETCH, FIND_COORDINATOR, HEARTBEAT, METADATA, PRODUCE
from recording.librdkafka import consumer, producer, read, send, wait_until
from recording.mock_cluster import MockCluster
from recording.network import FIRST_BROKER_PORT
from recording.scripted_broker import HangUpError, Request, SilentError, scripted_broker
from recording.tcpdump import recording
from recording.wire_bytes import array, sized, string

UNKNOWN_API_KEY = 31999


def errors(out: Path) -> None:
    """Errors a client gets over, errors it doesn't, and a broker that goes down with a request unanswered."""
    with MockCluster(brokers=3) as cluster:
        cluster.create_topic("orders", replicas=3)
        cluster.set_leader("orders", 0, 1)
        cluster.set_coordinator("group", "billing", 2)
        cluster.set_rebalance_delay(0)
        with recording(out, cluster.ports):
            shop = producer(cluster, "shop", retry_backoff_ms=50)
            _produce_with_errors(cluster, shop)
            _consume_with_errors(cluster)
            _leader_goes_down(cluster, shop)


def _produce_with_errors(cluster: MockCluster, shop: Producer) -> None:
    send(shop, "orders", "order 1")
    cluster.inject_errors(PRODUCE, [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.NOT_ENOUGH_REPLICAS])
    send(shop, "orders", "order 2, sent three times")
    cluster.inject_errors(PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
    send(shop, "orders", "order 3, refused for good")
    cluster.set_topic_error("ghosts", KafkaError.UNKNOWN_TOPIC_OR_PART)
    impatient = {"message_timeout_ms": 600, "topic_metadata_refresh_fast_interval_ms": 200}
    send(producer(cluster, "medium", **impatient), "ghosts", "to nobody")


def _consume_with_errors(cluster: MockCluster) -> None:
    cluster.inject_errors(FIND_COORDINATOR, [KafkaError.COORDINATOR_NOT_AVAILABLE])
    cluster.inject_errors(FETCH, [KafkaError.NOT_LEADER_FOR_PARTITION])
    cluster.inject_errors(HEARTBEAT, [0, KafkaError.REBALANCE_IN_PROGRESS])
    prompt = {"heartbeat_interval_ms": 200, "session_timeout_ms": 2000, "retry_backoff_ms": 50}
    with consumer(cluster, "billing-1", "billing", **prompt) as billing:
        assignments: list[int] = []
        billing.subscribe(["orders"], on_assign=lambda member, partitions: assignments.append(len(partitions)))
        read(billing, 2)
        wait_until(lambda: len(assignments) == 2, lambda: billing.poll(0.1))
        billing.commit(asynchronous=False)


def _leader_goes_down(cluster: MockCluster, shop: Producer) -> None:
    cluster.set_round_trip(1, 2000)
    shop.produce("orders", "order 4, first to a broker that goes down")
    shop.poll(0.3)
    cluster.set_leader("orders", 0, 3)
    cluster.stop_broker(1)
    shop.flush()


def controlled_shutdown(out: Path) -> None:
    """Requests hardly a client sends: ControlledShutdown v0 and v1, unknown APIs, versions from the future."""
    port = FIRST_BROKER_PORT
    answers = {
        (CONTROLLED_SHUTDOWN, 0): _shut_down,
        (CONTROLLED_SHUTDOWN, 1): _shut_down,
        (UNKNOWN_API_KEY, 0): _never,
        (METADATA, 99): _hang_up,
    }
    with recording(out, [port]), scripted_broker(port, answers):
        for messages in _strange_requests():
            with socket.create_connection(("127.0.0.1", port), timeout=0.5) as connection:
                for message in messages:
                    connection.sendall(sized(message))
                    with suppress(TimeoutError):
                        connection.recv(4096)
            time.sleep(0.1)


def _strange_requests() -> list[list[bytes]]:
    """The messages of each connection."""
    name = string("shutdown-script")
    software = b"\x07script\x041.0\0"  # compact strings, no tags
    return [
        [
            struct.pack(">hhii", CONTROLLED_SHUTDOWN, 0, 1, 5),  # no client id in front of the broker id
            struct.pack(">hhi", CONTROLLED_SHUTDOWN, 1, 2) + name + struct.pack(">i", 5),
        ],
        [struct.pack(">hhi", 18, 9, 3) + name + b"\0" + software],
        [struct.pack(">hhi", UNKNOWN_API_KEY, 0, 4) + name + b"whatever"],
        [struct.pack(">hhi", METADATA, 99, 5) + name + b"\0\0\0"],
    ]


def _shut_down(request: Request) -> bytes:
    remaining = [string("orders") + struct.pack(">i", 0), string("orders") + struct.pack(">i", 2)]
    return struct.pack(">h", 0) + array(remaining)


def _never(request: Request) -> bytes:
    raise SilentError


def _hang_up(request: Request) -> bytes:
    raise HangUpError
