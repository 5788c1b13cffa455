"""librdkafka's mock cluster as a Python object: brokers that live in this process and answer real clients.

The C library inside the confluent-kafka wheel exports it (rd_kafka_mock_*, see librdkafka's src/rdkafka_mock.h);
confluent-kafka itself doesn't, so it is called through ctypes. The mock is no Kafka broker: it knows some twenty
APIs, keeps about 5 MB a partition, and here and there deviates from the protocol (captures/README.md says where).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import confluent_kafka

from .network import FIRST_BROKER_PORT, only_free_port

RD_KAFKA_PRODUCER = 0


def _load_library() -> ctypes.CDLL:
    site_packages = Path(confluent_kafka.__file__).parents[1]
    (path,) = site_packages.glob("confluent_kafka.libs/librdkafka*.so*")
    library = ctypes.CDLL(str(path))
    for name in ("rd_kafka_new", "rd_kafka_conf_new", "rd_kafka_mock_cluster_new"):
        getattr(library, name).restype = ctypes.c_void_p  # the default, int, would cut pointers in half
    library.rd_kafka_version_str.restype = ctypes.c_char_p
    return library


class MockCluster:
    """A running cluster of `brokers` mock brokers, numbered from 1, on ports 9092 and up; stops on leaving `with`."""

    def __init__(self, brokers: int = 1) -> None:
        self._library = _load_library()
        self._client = self._new_client()
        self.ports = [FIRST_BROKER_PORT + number for number in range(brokers)]
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        with only_free_port(self.ports[0]):
            self._cluster = ctypes.c_void_p(self._library.rd_kafka_mock_cluster_new(self._client, 1))
        for number, port in enumerate(self.ports[1:], 2):
            with only_free_port(port):
                self._check(self._library.rd_kafka_mock_broker_add(self._cluster, number))
        self.version: str = self._library.rd_kafka_version_str().decode()

    def _new_client(self) -> ctypes.c_void_p:
        """The client handle that librdkafka wants a mock cluster to hang from; it connects to nothing itself."""
        why = ctypes.create_string_buffer(512)
        conf = ctypes.c_void_p(self._library.rd_kafka_conf_new())
        self._library.rd_kafka_conf_set(conf, b"log_level", b"3", None, ctypes.c_size_t(0))
        client = self._library.rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, ctypes.c_size_t(len(why)))
        if not client:
            raise RuntimeError(f"rd_kafka_new: {why.value.decode()}")
        return ctypes.c_void_p(client)

    def __enter__(self) -> MockCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)

    def create_topic(self, name: str, partitions: int = 1, replicas: int = 1) -> None:
        self._check(self._library.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, replicas))

    def limit_versions(self, highest: Mapping[int, int], lowest: int = 0) -> None:
        """Answer ApiVersions with [lowest, highest] for each API key given; -1 as highest hides an API."""
        for api_key, version in highest.items():
            first = -1 if version < 0 else lowest
            self._check(
                self._library.rd_kafka_mock_set_apiversion(
                    self._cluster, ctypes.c_int16(api_key), ctypes.c_int16(first), ctypes.c_int16(version)
                )
            )

    def inject_errors(self, api_key: int, errors: Sequence[int]) -> None:
        """Answer the next requests of this API with these error codes, one each (0 lets one through)."""
        array = (ctypes.c_int * len(errors))(*errors)
        self._library.rd_kafka_mock_push_request_errors_array(
            self._cluster, ctypes.c_int16(api_key), ctypes.c_size_t(len(errors)), array
        )

    def delay_next(self, broker: int, api_key: int, milliseconds: int) -> None:
        """Let this broker take its time over the next request of this API."""
        rounds = ctypes.c_size_t(1)
        self._check(
            self._library.rd_kafka_mock_broker_push_request_error_rtts(
                self._cluster, broker, ctypes.c_int16(api_key), rounds, 0, milliseconds
            )
        )

    def set_topic_error(self, topic: str, error: int) -> None:
        self._library.rd_kafka_mock_topic_set_error(self._cluster, topic.encode(), error)

    def set_leader(self, topic: str, partition: int, broker: int) -> None:
        self._check(self._library.rd_kafka_mock_partition_set_leader(self._cluster, topic.encode(), partition, broker))

    def set_coordinator(self, kind: str, key: str, broker: int) -> None:
        """Make broker the coordinator of a group (kind "group") or transactional id (kind "transaction")."""
        self._check(self._library.rd_kafka_mock_coordinator_set(self._cluster, kind.encode(), key.encode(), broker))

    def set_round_trip(self, broker: int, milliseconds: int) -> None:
        """Delay every response of this broker."""
        self._check(self._library.rd_kafka_mock_broker_set_rtt(self._cluster, broker, milliseconds))

    def set_rebalance_delay(self, milliseconds: int) -> None:
        """How long a new group waits for more members (the mock's default: 3 s)."""
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, milliseconds)

    def stop_broker(self, broker: int) -> None:
        """Close the broker's connections and its listening port."""
        self._check(self._library.rd_kafka_mock_broker_set_down(self._cluster, broker))

    def start_broker(self, broker: int) -> None:
        self._check(self._library.rd_kafka_mock_broker_set_up(self._cluster, broker))

    @staticmethod
    def _check(error: int) -> None:
        if error:
            raise RuntimeError(f"librdkafka's mock cluster answered error {error}")
