"""Requests of administrators that brokers reject, and what an administrator set up so that it cannot work."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from ...brokers.tools import ToolFailed
from ..foreign import java_client
from ..handmade import handmade
from ..incident import Incident, Shown
from ..stage import PATIENCE, QUIET, SETUP, Stage, ended
from .groups import SHORT, polled

ONE, STRICT, THREE = "127.0.0.11:9092", "127.0.0.31:9092", "127.0.0.21:9092"
LONELY = "127.0.0.71:9092"
SECONDS = 5.0


def script(client: str, address: str = ONE) -> AdminClient:
    """An administrator's client of librdkafka's."""
    return AdminClient({"bootstrap.servers": address, "client.id": client, **QUIET})


def tried(futures: dict[Any, Any]) -> None:
    """Wait for what an administrator requested, whatever comes of it."""
    for each in futures.values():
        with suppress(KafkaException):
            each.result(PATIENCE)


def repeated(work: Callable[[], object], times: int = 3) -> None:
    """Do this as a script does that is started again after it failed."""
    for _ in range(times):
        work()
        time.sleep(0.3)


def create(stage: Stage, topic: str, address: str = ONE, partitions: int = 1, **config: str) -> None:
    """Create a topic that is not there yet."""
    stage.no_topic("readings")
    admin, settings = script("deploy-job", address), {key.replace("_", "."): value for key, value in config.items()}
    with stage.recording():
        repeated(lambda: tried(admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])))
    stage.no_topic("readings")


def create_twice(stage: Stage, count: int = 2) -> None:
    """One request with the same topic twice, as from a list that has it twice."""
    stage.no_topic("readings")
    topic = {"name": "readings", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    with stage.recording(), handmade("schema-sync", ONE) as client:
        client.ask("ApiVersions", 0)
        topics = [topic] * count
        repeated(lambda: client.ask("CreateTopics", 4, topics=topics, timeout_ms=5000, validate_only=False))
    stage.no_topic("readings")


def shrink(stage: Stage, partitions: int = 2) -> None:
    """Fewer partitions than the topic has."""
    stage.topic("readings", partitions=4)
    admin = script("resize-job")
    with stage.recording():
        times = 3 if partitions < 4 else 1  # once there are as many, the same request is refused too
        repeated(lambda: tried(admin.create_partitions([NewPartitions("readings", partitions)])), times=times)


def configure(stage: Stage, value: str = "for-ever") -> None:
    stage.topic("readings")
    entry = ConfigEntry("retention.ms", value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, "readings", incremental_configs=[entry])
    admin = script("config-sync")
    with stage.recording():
        repeated(lambda: tried(admin.incremental_alter_configs([resource])))


def delete(stage: Stage, address: str = LONELY) -> None:
    """A topic to be deleted where delete.topic.enable is false."""
    admin = script("cleanup-job", address)
    if address == LONELY:
        stage.topic("readings-old")
    else:
        stage.beside("one")
        tried(admin.create_topics([NewTopic("readings-old", 1, 1)]))
    with stage.recording():
        tried(admin.delete_topics(["readings-old"]))
        time.sleep(0.3)
        if address == LONELY:
            repeated(lambda: tried(admin.delete_topics(["readings-old"])), times=2)


def permit(stage: Stage, address: str = STRICT) -> None:
    """An ACL to be made where no authorizer is configured."""
    rule = AclBinding(
        ResourceType.TOPIC, "ledger-out", ResourcePatternType.LITERAL, "User:bob", "*", AclOperation.READ,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    if address != STRICT:
        stage.beside("one")
    admin = script("acl-sync", address)
    with stage.recording():
        repeated(lambda: tried(admin.create_acls([rule])))


def enrol(stage: Stage, iterations: int = 1000) -> None:
    """A user of SCRAM with fewer iterations than the broker takes."""
    user = UserScramCredentialUpsertion(
        "carol", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, iterations), b"x-y-z"
    )
    admin = script("user-sync")
    with stage.recording():
        repeated(lambda: tried(admin.alter_user_scram_credentials([user])))


def move_log(stage: Stage, path: str = "/var/lib/kafka/disk-2") -> None:
    """A replica to be moved to a directory that is none of the broker's log.dirs."""
    stage.topic("readings")
    path = path or str(stage.broker.data)
    dirs = [{"path": path, "topics": [{"name": "readings", "partitions": [0]}]}]
    with stage.recording(), handmade("disk-balancer", ONE) as client:
        client.ask("ApiVersions", 0)
        repeated(lambda: client.ask("AlterReplicaLogDirs", 1, dirs=dirs))


def trim(stage: Stage, policy: str = "compact") -> None:
    """Records to be deleted of a topic that is only compacted."""
    stage.topic("addresses", cleanup_policy=policy)
    with stage.producer("setup") as writer:
        for number in range(5):
            writer.produce("addresses", f"street {number}", key=f"{number}")
        writer.flush(PATIENCE)
    admin = script("trim-job")
    with stage.recording():
        repeated(lambda: tried(admin.delete_records([TopicPartition("addresses", 0, 3)])))


def busy_group(stage: Stage, client: str, work: Callable[[AdminClient], object], *, active: bool = True) -> None:
    """Something is done to a group whose member is there, or that has left."""
    stage.topic("mails")
    stage.fill("mails", *(f"mail {number}" for number in range(6)))
    with stage.recording(), stage.consumer("mail-out", "mailers", "mails", **SHORT) as reader:
        polled(reader, seconds=2)
        reader.commit(asynchronous=False)
        if not active:
            reader.close()
        admin = script(client)
        for _ in range(2):
            with suppress(KafkaException, ToolFailed):
                work(admin)
            if active:
                polled(reader, seconds=0.6)


def delete_group(admin: AdminClient) -> None:
    tried(admin.delete_consumer_groups(["mailers"]))


def reset_offsets(admin: AdminClient) -> None:
    wanted = ConsumerGroupTopicPartitions("mailers", [TopicPartition("mails", 0, 0)])
    tried(admin.alter_consumer_group_offsets([wanted]))


def delete_offsets(_: AdminClient) -> None:
    """By hand: no client of librdkafka's for Python deletes offsets."""
    topics = [{"name": "mails", "partitions": [{"partition_index": 0}]}]
    with handmade("offset-cleaner", ONE) as client:
        client.ask("FindCoordinator", 1, key="mailers", key_type=0)
        client.ask("OffsetDelete", 0, group_id="mailers", topics=topics)


def mutate(stage: Stage, rate: str = "0.5") -> None:
    """Topics made faster than controller_mutation_rate allows, by Kafka's own tool."""
    names = [f"tenant-{number}" for number in range(6)]
    for name in names:
        stage.no_topic(name)
    quota = f"controller_mutation_rate={rate}"
    stage.configure("--entity-type", "clients", "--entity-name", "tenant-maker", add=quota)
    with stage.recording(), handmade("tenant-maker", ONE) as client:
        client.ask("ApiVersions", 0)
        for name in names:
            topic = {"name": name, "num_partitions": 6, "replication_factor": 1, "assignments": [], "configs": []}
            client.ask("CreateTopics", 6, topics=[topic], timeout_ms=5000, validate_only=False)
            time.sleep(0.4)
    for name in names:
        stage.no_topic(name)


def elect(stage: Stage, down: bool = True) -> None:
    """The preferred leader of a partition is on a broker that is down."""
    stage.topic("trades", replicas=[[3, 1]])
    if down:
        stage.cluster.brokers[2].stop()
    with stage.recording(), handmade("rebalance-job", THREE) as client:
        client.ask("ApiVersions", 0)
        wanted = [{"topic": "trades", "partitions": [0]}]
        repeated(
            lambda: client.ask("ElectLeaders", 1, election_type=0, topic_partitions=wanted, timeout_ms=5000), times=4
        )  # fmt: skip


def reassign(stage: Stage, down: bool = True) -> None:
    """A partition is moved to a broker that is down: the reassignment never ends."""
    stage.topic("trades", replicas=[[1, 2]])
    if down:
        stage.cluster.brokers[2].stop()
    placed = [{"name": "trades", "partitions": [{"partition_index": 0, "replicas": [1, 3]}]}]
    with stage.recording("tcp and not port 9990 and host 127.0.0.1"), handmade("move-job", THREE) as client:
        client.ask("ApiVersions", 0)
        client.ask("AlterPartitionReassignments", 0, timeout_ms=5000, topics=placed)
        for _ in range(12):
            client.ask("ListPartitionReassignments", 0, timeout_ms=5000, topics=None)
            time.sleep(0.5)
    with handmade("setup", THREE) as client:
        placed[0]["partitions"] = [{"partition_index": 0, "replicas": None}]
        client.ask("AlterPartitionReassignments", 0, timeout_ms=5000, topics=placed)


def greet(stage: Stage, address: str) -> None:
    """See to it that topic hello is there, at the cluster of one broker or at another."""
    if address != LONELY:
        stage.beside("one")
    admin = script(SETUP, address)
    tried(admin.create_topics([NewTopic("hello", 1, 1)]))
    time.sleep(1)


def consume_first(stage: Stage, address: str = LONELY) -> None:
    """The first group of a cluster of one broker, that is to have three replicas of the offsets."""
    greet(stage, address)
    with stage.recording(), stage.consumer("hello-view", "hello-views", "hello", bootstrap_servers=address) as reader:
        polled(reader, seconds=9)


def consume_first_in_java(stage: Stage, address: str = LONELY) -> None:
    greet(stage, address)
    settings = {"bootstrap.servers": address, "client.id": "hello-page", "group.id": "hello-pages", "do.seconds": 8}
    with stage.recording():
        ended(java_client("consume", "hello", settings))


def transact_first(stage: Stage, address: str = LONELY) -> None:
    """The first transactional producer there: three replicas of the transactions' log are wanted too."""
    if address != LONELY:
        stage.beside("one")
    options = {"bootstrap_servers": address, "transactional_id": "hello-1"}
    with stage.recording(), suppress(KafkaException), stage.producer("hello-ledger", **options) as writer:
        writer.init_transactions(6)


DENIED = "group: stop its members first"
INCIDENTS = (
    Incident(
        "topic-with-too-many-partitions", "error-response", "one",
        partial(create, topic="readings", partitions=10_001), {"client_id": "deploy-job", "topic": "readings"},
        (Shown("CreateTopics", "POLICY_VIOLATION", client_id="deploy-job", at_least=3),), "fewer partitions",
        partial(create, topic="readings", partitions=4),
    ),
    Incident(
        "topic-with-wrong-config", "error-response", "one",
        partial(create, topic="readings", cleanup_policy="compacted"), {"client_id": "deploy-job", "topic": "readings"},
        (Shown("CreateTopics", "INVALID_CONFIG", client_id="deploy-job", at_least=3),), "cleanup.policy=compact",
        partial(create, topic="readings", cleanup_policy="compact"),
    ),
    Incident(
        "config-with-wrong-value", "error-response", "one", configure,
        {"client_id": "config-sync", "topic": "readings"},
        (Shown("IncrementalAlterConfigs", "INVALID_CONFIG", client_id="config-sync", at_least=3),),
        "retention.ms=-1", partial(configure, value="-1"),
    ),
    Incident(
        "topic-with-wrong-name", "error-response", "one", partial(create, topic="readings/eu"),
        {"client_id": "deploy-job", "topic": "readings/eu"},
        (Shown("CreateTopics", "INVALID_TOPIC_EXCEPTION", client_id="deploy-job", at_least=3),),
        "letters, digits, '.', '_' and '-' only", partial(create, topic="readings"),
    ),
    Incident(
        "topic-twice-in-a-request", "error-response", "one", create_twice,
        {"client_id": "schema-sync", "topic": "readings"},
        (Shown("CreateTopics", "INVALID_REQUEST", client_id="schema-sync", at_least=3),), "name each topic once",
        partial(create_twice, count=1),
    ),
    Incident(
        "fewer-partitions", "error-response", "one", shrink, {"client_id": "resize-job", "topic": "readings"},
        (Shown("CreatePartitions", "INVALID_PARTITIONS", client_id="resize-job", at_least=3),),
        "a new topic; partitions can only be added", partial(shrink, partitions=6),
    ),
    Incident(
        "topic-deletion-disabled", "error-response", "lonely", delete,
        {"client_id": "cleanup-job", "topic": "readings-old"},
        (Shown("DeleteTopics", "TOPIC_DELETION_DISABLED", client_id="cleanup-job", at_least=3),),
        "delete.topic.enable=true", partial(delete, address=ONE),
    ),
    Incident(
        "acl-without-authorizer", "error-response", "strict", permit,
        {"client_id": "acl-sync", "broker": STRICT},
        (Shown("CreateAcls", "SECURITY_DISABLED", client_id="acl-sync", at_least=3),), "authorizer.class.name",
        partial(permit, address=ONE),
    ),
    Incident(
        "scram-with-few-iterations", "error-response", "one", enrol, {"client_id": "user-sync"},
        (Shown("AlterUserScramCredentials", "UNACCEPTABLE_CREDENTIAL", client_id="user-sync", at_least=3),),
        "4,096 iterations or more", partial(enrol, iterations=4096),
    ),
    Incident(
        "replica-to-unknown-directory", "error-response", "one", move_log,
        {"client_id": "disk-balancer", "topic": "readings"},
        (Shown("AlterReplicaLogDirs", "LOG_DIR_NOT_FOUND", client_id="disk-balancer", at_least=3),),
        "a directory of log.dirs", partial(move_log, path=""),
    ),
    Incident(
        "records-of-compacted-topic-deleted", "error-response", "one", trim,
        {"client_id": "trim-job", "topic": "addresses"},
        (Shown("DeleteRecords", "POLICY_VIOLATION", client_id="trim-job", at_least=3),),
        "cleanup.policy=compact,delete", partial(trim, policy="compact,delete"),
    ),
    Incident(
        "group-deleted-while-active", "error-response", "one",
        partial(busy_group, client="group-cleaner", work=delete_group),
        {"client_id": "group-cleaner", "group": "mailers"},
        (Shown("DeleteGroups", "NON_EMPTY_GROUP", client_id="group-cleaner"),), DENIED,
        partial(busy_group, client="group-cleaner", work=delete_group, active=False),
    ),
    Incident(
        "offsets-reset-while-active", "offset-reset-on-active-group", "one",
        partial(busy_group, client="replay-job", work=reset_offsets),
        {"client_id": "replay-job", "group": "mailers", "topic": "mails"},
        (Shown("OffsetCommit", "UNKNOWN_MEMBER_ID", client_id="replay-job"),), DENIED,
        partial(busy_group, client="replay-job", work=reset_offsets, active=False),
    ),
    Incident(
        "offsets-deleted-while-subscribed", "error-response", "one",
        partial(busy_group, client="offset-cleaner", work=delete_offsets),
        {"client_id": "offset-cleaner", "group": "mailers", "topic": "mails"},
        (Shown("OffsetDelete", "GROUP_SUBSCRIBED_TO_TOPIC", client_id="offset-cleaner"),), DENIED,
        partial(busy_group, client="offset-cleaner", work=delete_offsets, active=False),
    ),
    Incident(
        "topics-made-too-fast", "quota-throttled", "one", mutate,
        {"client_id": "tenant-maker", "broker": ONE},
        (Shown("CreateTopics", "THROTTLING_QUOTA_EXCEEDED", client_id="tenant-maker"),),
        "a larger controller_mutation_rate, or fewer topics a second", partial(mutate, rate="1000"),
    ),
    Incident(
        "preferred-leader-down", "error-response", "three", elect,
        {"client_id": "rebalance-job", "topic": "trades"},
        (Shown("ElectLeaders", "PREFERRED_LEADER_NOT_AVAILABLE", client_id="rebalance-job", at_least=4),),
        "bring the broker back", partial(elect, down=False),
    ),
    Incident(
        "reassignment-to-dead-broker", "reassignment-stuck", "three", reassign,
        {"client_id": "move-job", "topic": "trades"},
        (Shown("ListPartitionReassignments", client_id="move-job", where="size(response.topics) > 0", at_least=10),),
        "bring the broker back, or cancel", partial(reassign, down=False),
    ),
    Incident(
        "offsets-topic-wants-three-brokers", "coordinator-unavailable", "lonely", consume_first,
        {"client_id": "hello-view", "group": "hello-views", "broker": LONELY},
        (Shown("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", client_id="hello-view", at_least=3),),
        "offsets.topic.replication.factor=1", partial(consume_first, address=ONE),
    ),
    Incident(
        "offsets-topic-wants-three-brokers-java", "coordinator-unavailable", "lonely", consume_first_in_java,
        {"client_id": "hello-page", "group": "hello-pages", "broker": LONELY},
        (Shown("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", client_id="hello-page", at_least=20),),
        "offsets.topic.replication.factor=1", partial(consume_first_in_java, address=ONE),
    ),
    Incident(
        "transaction-log-wants-three-brokers", "coordinator-unavailable", "lonely", transact_first,
        {"client_id": "hello-ledger", "transactional_id": "hello-1", "broker": LONELY},
        (Shown("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", client_id="hello-ledger", at_least=3),),
        "transaction.state.log.replication.factor=1", partial(transact_first, address=ONE),
    ),
)  # fmt: skip
