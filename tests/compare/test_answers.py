"""The same request answered twice: what differs by meaning, what does not, and what is worth another try."""

from __future__ import annotations

from typing import Any

import pytest

import kdbg
from kdbg.analysis.compare.answers import Judge, worth_asking_again
from kdbg.analysis.compare.broker_assigned import KEPT, MEMBER, OFFSET
from kdbg.analysis.compare.value_mapping import Counterparts
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.peers import Peers
from kdbg.protocol import grammars

PEERS = Peers(1, ("127.0.0.1", 1), ("127.0.0.1", 9092))


def exchange(api: str, version: int, asked: dict[str, Any], answer: dict[str, Any]) -> Exchange:
    found = Exchange(PEERS, grammars.api(api), version, 1, "me")
    for direction, body in (("request", asked), ("response", answer)):
        data = kdbg.encode(body, api=api, version=version, direction=direction, header={"correlation_id": 1})
        half = CapturedMessage(data, (0, 0), (0, 0), direction)  # type: ignore[arg-type]
        half.api, half.version = found.api, version
        setattr(found, direction, half)
    assert found.response is not None
    found.response.asked = found.request
    return found


def differing(old: Exchange, new: Exchange, known: Counterparts | None = None, **how: bool) -> dict[str, Any]:
    judge = Judge(known or Counterparts(), **how)
    return {one.path: (one.a, one.b) for one in judge.compare(old, new)}


ASKED = {"topics": [{"name": "orders"}]}


def metadata(*topics: dict[str, Any], version: int = 7, **more: Any) -> Exchange:
    return exchange("Metadata", version, ASKED, {"brokers": [], "topics": list(topics), **more})


def partition(index: int, **more: Any) -> dict[str, Any]:
    return {"error_code": 0, "partition_index": index, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1], **more}


def topic(*partitions: dict[str, Any], error: int = 0) -> dict[str, Any]:
    return {"error_code": error, "name": "orders", "is_internal": False, "partitions": list(partitions)}


def test_another_cluster_is_no_difference() -> None:
    old = metadata(topic(partition(0)), controller_id=1, cluster_id="a", throttle_time_ms=3)
    new = metadata(
        topic(partition(0, leader_id=7, leader_epoch=9, replica_nodes=[7, 8], isr_nodes=[7])),
        controller_id=8, cluster_id="b", brokers=[{"node_id": 7, "host": "b", "port": 1, "rack": None}],
    )  # fmt: skip
    assert differing(old, new) == {}


def test_another_topic_is_one() -> None:
    found = differing(metadata(topic(partition(0))), metadata(topic(partition(0), partition(1))))
    assert list(found) == ["topics[orders].partitions[1]"]
    found = differing(metadata(topic(partition(0))), metadata(topic(error=29)))
    assert found["topics[orders].error_code"] == (0, 29)


def test_what_the_capture_had_to_wait_for_comes_sooner() -> None:
    judge = Judge(Counterparts())
    assert judge.compare(metadata(topic(error=3)), metadata(topic(partition(0)))) == []
    assert judge.sooner == 1
    assert judge.compare(metadata(topic(partition(0))), metadata(topic(partition(0)))) == []
    assert judge.sooner == 0


def test_what_passes_is_worth_another_try_and_what_the_capture_has_too_is_not() -> None:
    good, missing = metadata(topic(partition(0))), metadata(topic(error=3))
    assert worth_asking_again(good, missing, []) == {3}
    assert worth_asking_again(missing, missing, []) == set()
    assert worth_asking_again(missing, good, []) == set()
    assert worth_asking_again(good, metadata(topic(error=29)), []) == set()


def fetch(records: list[dict[str, Any]], error: int = 0, base: int = 0, **batch: Any) -> Exchange:
    part = {"partition": 0, "fetch_offset": base, "partition_max_bytes": 1000}
    asked = {"max_wait_ms": 1, "min_bytes": 1, "topics": [{"topic": "orders", "partitions": [part]}]}
    batches = [{"base_offset": base, **batch, "records": records}] if records else []
    told = {"partition_index": 0, "error_code": error, "high_watermark": base + len(records), "records": batches}
    return exchange("Fetch", 4, asked, {"responses": [{"topic": "orders", "partitions": [told]}]})


def record(value: str, **more: Any) -> dict[str, Any]:
    return {"key": b"k", "value": value.encode(), **more}


RECORDS = "responses[orders].partitions[0].records"


def test_records_are_compared_one_by_one() -> None:
    old, new = fetch([record("a"), record("b")]), fetch([record("a"), record("c")])
    assert differing(old, new) == {f"{RECORDS}[1].value": (b"b", b"c")}
    assert differing(old, fetch([record("a"), record("b")], attributes=1)) == {}, "another codec is the same records"
    more = fetch([record("a"), record("b"), record("c")])
    assert differing(old, more) == {}, "more than the capture had comes sooner"


def test_records_that_are_not_there_yet_are_worth_another_try() -> None:
    old, new = fetch([record("a"), record("b")]), fetch([record("a")])
    judge = Judge(Counterparts())
    found = judge.compare(old, new)
    assert [one.path for one in found] == [f"{RECORDS}[1]"]
    assert worth_asking_again(old, new, found) == {f"{RECORDS}[1]"}


def test_records_lie_where_the_topic_of_now_begins() -> None:
    known = Counterparts()
    known.note(OFFSET, {"topic": "orders", "partition": 0}, 0, 500)
    assert differing(fetch([record("a")]), fetch([record("a")], base=500), known) == {}
    assert list(differing(fetch([record("a")]), fetch([record("a")], base=400), known)) == [f"{RECORDS}[0]"]


def test_values_are_hidden_where_that_is_wanted() -> None:
    old, new = fetch([record("secret 1")]), fetch([record("secret 22")])
    ((one, other),) = differing(old, new, values=False).values()
    assert bytes(one) != b"secret 1"
    assert b"secret" not in bytes(one) + bytes(other)


def list_offsets(offset: int, timestamp: int = 5) -> Exchange:
    part = {"partition_index": 0, "timestamp": timestamp}
    asked = {"replica_id": -1, "topics": [{"name": "orders", "partitions": [part]}]}
    part = {"partition_index": 0, "error_code": 0, "timestamp": -1, "offset": offset}
    return exchange("ListOffsets", 1, asked, {"topics": [{"name": "orders", "partitions": [part]}]})


def test_an_offset_is_learnt_once_and_then_holds() -> None:
    judge = Judge(Counterparts())
    assert judge.compare(list_offsets(20), list_offsets(45)) == []
    judge.learn(list_offsets(20), list_offsets(45))
    assert judge.compare(list_offsets(25), list_offsets(50)) == []
    assert [(one.a, one.b) for one in judge.compare(list_offsets(25), list_offsets(25))] == [(50, 25)]


@pytest.mark.parametrize("timestamp", [-2, -1, -4])
def test_where_a_log_begins_and_ends_is_no_difference(timestamp: int) -> None:
    judge = Judge(Counterparts())
    judge.known.note(OFFSET, {"topic": "orders", "partition": 0}, 0, 20)
    assert judge.compare(list_offsets(5, timestamp), list_offsets(7, timestamp)) == []


def test_the_beginning_of_a_log_says_nothing_of_its_offsets() -> None:
    judge = Judge(Counterparts())
    judge.learn(list_offsets(0, -2), list_offsets(0, -2))
    assert judge.known.of(OFFSET, {"topic": "orders", "partition": 0}, 0) is KEPT
    judge.learn(list_offsets(0, -1), list_offsets(20, -1))
    assert judge.known.of(OFFSET, {"topic": "orders", "partition": 0}, 3) == 23, "its end does, until a record does"
    judge.known.note(OFFSET, {"topic": "orders", "partition": 0}, 0, 25)
    assert judge.known.of(OFFSET, {"topic": "orders", "partition": 0}, 3) == 28


def acls(*principals: str) -> Exchange:
    rows = [{"principal": one, "host": "*", "operation": 3, "permission_type": 3} for one in principals]
    resources = [{"resource_type": 2, "resource_name": name, "pattern_type": 3, "acls": rows} for name in ("a", "b")]
    asked = {"resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1,
             "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}  # fmt: skip
    return exchange("DescribeAcls", 1, asked, {"resources": resources[:: 1 if principals[0] == "User:x" else -1]})


def test_acls_are_compared_by_what_they_name_and_may_come_later() -> None:
    old, new = acls("User:x", "User:y"), acls("User:y", "User:x")
    assert differing(old, new) == {}
    judge = Judge(Counterparts())
    found = judge.compare(old, acls("User:y"))
    assert [one.path for one in found] == [f"resources[2 {name} 3].acls[User:x * 3 3]" for name in ("a", "b")]
    assert len(worth_asking_again(old, acls("User:y"), found)) == 2


def test_members_are_compared_by_their_counterparts() -> None:
    def described(first: str, second: str, hosts: str) -> Exchange:
        members = [{"member_id": one, "client_id": name, "client_host": "", "member_metadata": b"",
                    "member_assignment": b""} for one, name in zip((first, second), hosts, strict=True)]  # fmt: skip
        group = {"error_code": 0, "group_id": "g", "group_state": "Stable", "protocol_type": "consumer",
                 "protocol_data": "range", "members": members}  # fmt: skip
        return exchange("DescribeGroups", 0, {"groups": ["g"]}, {"groups": [group]})

    known = Counterparts()
    known.note(MEMBER, {}, "m1", "n1")
    known.note(MEMBER, {}, "m2", "n2")
    assert differing(described("m1", "m2", "ab"), described("n2", "n1", "ba"), known) == {}
    assert differing(described("m1", "m2", "ab"), described("n2", "n1", "ab"), known)


def heartbeat(assignment: Any, epoch: int = 1) -> Exchange:
    asked = {"group_id": "g", "member_id": "m", "member_epoch": epoch, "subscribed_topic_names": ["orders"]}
    answer = {"error_code": 0, "member_id": "m", "member_epoch": epoch, "assignment": assignment}
    return exchange("ConsumerGroupHeartbeat", 0, asked, answer)


def assigned(*partitions: int) -> dict[str, Any]:
    return {"topic_partitions": [{"topic_id": "00000000-0000-0000-0000-000000000009", "partitions": list(partitions)}]}


def test_with_which_heartbeat_an_assignment_comes_does_not_matter() -> None:
    judge = Judge(Counterparts())
    assert judge.compare(heartbeat(None), heartbeat(assigned(0))) == []
    assert judge.sooner == 1
    assert judge.compare(heartbeat(assigned(0)), heartbeat(None)) == [], "it was told before"


def test_an_assignment_that_is_another_one_does() -> None:
    judge = Judge(Counterparts())
    found = judge.compare(heartbeat(assigned(0)), heartbeat(assigned(1)))
    assert [one.path.rpartition(".")[2] for one in found] == ["partitions"]
    judge = Judge(Counterparts())
    late = judge.compare(heartbeat(assigned(0)), heartbeat(None))
    assert worth_asking_again(heartbeat(assigned(0)), heartbeat(None), late)


def test_fields_that_one_version_lacks_are_no_difference() -> None:
    old = metadata(topic(partition(0)), version=9, cluster_authorized_operations=5)
    assert differing(old, metadata(topic(partition(0)), version=5)) == {}


def test_secrets_are_not_shown() -> None:
    def described(value: str) -> Exchange:
        entry = {"name": "ssl.key.password", "value": value, "read_only": False, "is_sensitive": True, "synonyms": []}
        result = {"error_code": 0, "error_message": None, "resource_type": 4, "resource_name": "1", "configs": [entry]}
        asked = {"resources": [{"resource_type": 4, "resource_name": "1", "configuration_keys": None}]}
        return exchange("DescribeConfigs", 1, asked, {"results": [result]})

    found = differing(described("hunter2"), described("hunter3"))
    assert "hunter" not in repr(found)
    assert "hunter3" in repr(differing(described("hunter2"), described("hunter3"), secrets=True))
