"""`kdbg send` at real brokers where little is said: what is left out, values by name, topics by id, controllers."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

import pytest

from .broker import Broker
from .sending import Outcome, send
from .settings import CONTROLLER

SECURITY_DISABLED = 54


@pytest.fixture(params=["3.9", "4.4"])
def either(request: pytest.FixtureRequest) -> Broker:
    """A broker of 3.9, then one of 4.4."""
    broker: Broker = request.getfixturevalue("broker_3_9" if request.param == "3.9" else "broker_4")
    return broker


@pytest.fixture
def topic(either: Broker) -> str:
    """A new topic of one partition."""
    return new_topic(either)


def new_topic(broker: Broker) -> str:
    name = f"asked-{uuid.uuid4().hex[:8]}"
    assert ask(broker, "create-topics", "--topic", name)["topics"][0]["error_code"] == 0
    broker.wait_for_topic(name)
    return name


def ask(broker: Broker | str, *arguments: object) -> Any:
    """The body of the answer."""
    return send(broker, *arguments, "-f", "json").body


class TestLeftOut:
    """All there is, and time enough."""

    def test_acls_without_an_authorizer(self, either: Broker) -> None:
        """A type of 0 was hung up on."""
        assert ask(either, "describe-acls")["error_code"] == SECURITY_DISABLED

    def test_acls_by_name_and_all_of_them(self, secure_broker: Broker) -> None:
        name = f"acl-{uuid.uuid4().hex[:8]}"
        said = {"resource_type": "topic", "resource_name": name, "resource_pattern_type": "literal", "host": "*",
                "principal": "User:me", "operation": "describe-configs", "permission_type": "ALLOW"}  # fmt: skip
        (made,) = ask(secure_broker, "create-acls", "--set", f"creations[0]={json.dumps(said)}")["results"]
        assert made["error_code"] == 0
        for options in ((), ("--resource-type", "topic", "--operation", "describe-configs"), ("--resource-name", name)):
            found = ask(secure_broker, "describe-acls", *options)
            assert name in [one["resource_name"] for one in found["resources"]]
        assert ask(secure_broker, "describe-acls", "--permission", "deny")["resources"] == []
        filter = {"resource_type_filter": "topic", "resource_name_filter": name, "operation": "any",
                  "permission_type": "any"}  # fmt: skip
        (gone,) = ask(secure_broker, "delete-acls", "--body", json.dumps({"filters": [filter]}))["filter_results"]
        assert [one["resource_name"] for one in gone["matching_acls"]] == [name]

    def test_leaders_of_all_partitions(self, either: Broker, topic: str) -> None:
        """An empty list asks for none."""

        def asked(*options: object) -> list[str]:
            return [one["topic"] for one in ask(either, "elect-leaders", *options)["replica_election_results"]]

        assert topic in asked()
        assert asked("--topic", topic, "--election-type", "Preferred") == [topic]
        assert asked("--set", "topic_partitions=[]") == []

    def test_partitions_are_made_in_time(self, either: Broker, topic: str) -> None:
        (by_options,) = ask(either, "create-partitions", "--topic", topic, "--count", 2)["results"]
        more = {"topics": [{"name": topic, "count": 3}]}
        (by_body,) = ask(either, "create-partitions", "--body", json.dumps(more))["results"]
        assert [one["error_code"] for one in (by_options, by_body)] == [0, 0], "a timeout of 0 is none"

    def test_the_quorum(self, either: Broker) -> None:
        (log,) = ask(either, "describe-quorum")["topics"]
        assert (log["topic_name"], log["partitions"][0]["leader_id"]) == ("__cluster_metadata", either.node)

    def test_disks_of_all_topics(self, either: Broker, topic: str) -> None:
        (disk,) = ask(either, "describe-log-dirs")["results"]
        assert topic in [one["name"] for one in disk["topics"]]

    def test_records_are_answered(self, either: Broker, topic: str) -> None:
        """acks=0 is said, not left out."""
        partition = {"index": 0, "records": [{"records": [{"value": "x"}]}]}
        body = json.dumps({"topic_data": [{"name": topic, "partition_data": [partition]}]})
        (answered,) = ask(either, "produce", "--body", body)["responses"]
        assert answered["partition_responses"][0]["base_offset"] == 0

    def test_settings_by_the_name_of_their_kind(self, either: Broker, topic: str) -> None:
        resource = json.dumps({"resource_type": "topic", "resource_name": topic})
        (told,) = ask(either, "describe-configs", "--set", f"resources[0]={resource}")["results"]
        assert len(told["configs"]) > 10, "all of them"
        change = {"name": "retention.ms", "config_operation": "set", "value": "1000"}
        altered = json.dumps({"resource_type": "topic", "resource_name": topic, "configs": [change]})
        (done,) = ask(either, "incremental-alter-configs", "--set", f"resources[0]={altered}")["responses"]
        assert done["error_code"] == 0


class TestTopicIds:
    """Answers that tell topics by id."""

    def test_metadata_names_its_own(self, either: Broker, topic: str) -> None:
        assert re.search(rf'topic_id  [0-9a-f-]{{36}}  "{topic}"', send(either, "metadata", "--topic", topic).out)

    def test_fetched_by_id(self, either: Broker, topic: str) -> None:
        (line,) = send(either, "fetch", "--topic", topic, "--offset", 0, "--max-wait", 1, "-f", "json").lines
        assert list(line["topic_names"].values()) == [topic]

    def test_what_a_member_of_the_new_protocol_is_given(self, broker_4: Broker) -> None:
        """Nothing in the session has named the topic, so metadata is asked. (3.9 has it, but not by default.)"""
        topic = new_topic(broker_4)
        body = {"group_id": f"group-{topic}", "member_id": str(uuid.uuid4()), "member_epoch": "join",
                "rebalance_timeout_ms": 5000, "subscribed_topic_names": [topic], "topic_partitions": []}  # fmt: skip
        (line,) = send(broker_4, "consumer-group-heartbeat", "--body", json.dumps(body), "-f", "json").lines
        (given,) = line["response"]["body"]["assignment"]["topic_partitions"]
        assert line["topic_names"] == {given["topic_id"]: topic}


class TestControllers:
    """The listener that brokers talk to, not clients."""

    def test_metadata_is_not_served(self, either: Broker) -> None:
        outcome: Outcome = send(either.listener(CONTROLLER), "metadata")
        assert (outcome.status, outcome.out) == (1, "")
        (line,) = outcome.err.splitlines()
        assert "this is a controller listener, which does not support Metadata; it supports DescribeCluster" in line

    def test_another_listener_serves_it(self, either: Broker, topic: str) -> None:
        both = f"{either.listener(CONTROLLER)},{either.bootstrap}"
        (told,) = ask(both, "metadata", "--topic", topic)["topics"]
        assert told["name"] == topic

    def test_topics_are_made_by_the_controller(self, either: Broker) -> None:
        name = f"made-{uuid.uuid4().hex[:8]}"
        (made,) = ask(either.listener(CONTROLLER), "create-topics", "--topic", name)["topics"]
        assert made["error_code"] == 0
        either.wait_for_topic(name)

    def test_controllers_are_told(self, either: Broker) -> None:
        told = ask(either.listener(CONTROLLER), "describe-cluster", "--set", "endpoint_type=controller")
        assert [one["broker_id"] for one in told["brokers"]] == [told["controller_id"]]
