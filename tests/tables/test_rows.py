"""Each table's rows, from dialogues whose contents are known."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kdbg
from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.views.render.jsonlines import json_line
from kdbg.views.tables.cells import plain
from kdbg.views.tables.columns import TABLES
from kdbg.views.tables.message_columns import WantedRows
from kdbg.views.tables.rows import Rows
from tests.cli.calls import SHARED, SHIPPED
from tests.traffic import START, Talk, pcap

from ..cases import by_day, for_each

Table = list[dict[str, Any]]
SAID = ("kind", "severity", "offset", "text")
"""What a problem and a finding in JSON have in common, null or not."""


class Tables:
    """The rows of all tables, each as a dict by the names of its columns."""

    def __init__(self, exchanges: Iterator[Exchange], topics: dict[UUID, str], wanted: WantedRows) -> None:
        self.tables: dict[str, Table] = {name: [] for name in TABLES}
        self.sizes: list[tuple[str, int]] = []
        self.rows = Rows(plain(self.add), wanted, topics)
        for exchange in exchanges:
            self.rows.exchange("capture", exchange)

    def add(self, table: str, time: int | None, row: tuple[Any, ...], size: int) -> None:
        self.tables[table].append(dict(zip(TABLES[table], row, strict=True)))
        self.sizes.append((table, size))


def tables_of(*talks: Talk, **wanted: bool) -> dict[str, Table]:
    session = Engine()
    with open_capture(io.BytesIO(pcap(*talks))) as capture:
        exchanges = list(session.run(capture.blocks()))
    return Tables(iter(exchanges), session.topic_names, WantedRows(**wanted)).tables


def some(row: dict[str, Any], *names: str) -> list[Any]:
    return [row[name] for name in names]


def batch(*values: str, base_offset: int = 0, **fields: Any) -> dict[str, Any]:
    records = [
        {"offset": base_offset + n, "timestamp": START * 1000 + n, "key": f"k{n}", "value": value, "headers": []}
        for n, value in enumerate(values)
    ]
    return {"magic": 2, "base_offset": base_offset, "records": records, **fields}


def test_an_exchange_is_one_row() -> None:
    talk = Talk(client_id="shop").ask("Metadata", 8, topics=[{"name": "orders"}])
    talk.answer(throttle_time_ms=7, topics=[{"name": "orders", "error_code": 5, "partitions": []}])
    [row] = tables_of(talk)["exchanges"]
    assert some(row, "capture", "client", "broker") == ["capture", "10.0.0.1:51514", "10.0.0.2:9092"]
    assert some(row, "api", "api_key", "api_version", "correlation_id", "client_id") == ["Metadata", 3, 8, 1, "shop"]
    assert some(row, "topics", "groups", "error_codes", "errors") == [["orders"], [], [5], ["LEADER_NOT_AVAILABLE"]]
    assert some(row, "throttle_ms", "answered", "notes") == [7, True, []]
    assert row["response_time"] - row["request_time"] == row["latency_us"] > 0
    assert row["request_packet"] < row["response_packet"]


def test_what_was_produced_and_where_it_went() -> None:
    talk = Talk().ask("Produce", 7, acks=1, timeout_ms=1, transactional_id=None, topic_data=[
        {"name": "orders", "partition_data": [
            {"index": 3, "records": [batch("a", "bc", producer_id=77, producer_epoch=2, base_sequence=40)]},
            {"index": 4, "records": [batch("d")]},
        ]},
    ])  # fmt: skip
    talk.answer(responses=[{"name": "orders", "partition_responses": [
        {"index": 3, "base_offset": 100, "log_start_offset": 5},
        {"index": 4, "error_code": 6, "base_offset": -1, "log_start_offset": -1},
    ]}])  # fmt: skip
    tables = tables_of(talk, records=True, values=True)
    ok, failed = tables["partitions"]
    place = "topic", "partition", "error_code", "error", "offset", "log_start_offset"
    assert some(ok, *place) == ["orders", 3, 0, "NONE", 100, 5]
    assert some(failed, *place) == ["orders", 4, 6, "NOT_LEADER_OR_FOLLOWER", -1, -1]
    assert some(ok, "records", "last_offset", "codec") == [2, 101, "none"]
    assert some(failed, "records", "last_offset") == [1, None]
    assert ok["bytes"] > failed["bytes"] > 61
    first, second, third = tables["records"]
    assert some(second, "topic", "partition", "offset", "key", "value", "sequence") == [
        "orders",
        3,
        101,
        b"k1",
        b"bc",
        41,
    ]
    assert some(first, "timestamp", "key_size", "value_size", "crc_ok") == [START * 1_000_000, 2, 1, True]
    assert some(first, "producer_id", "producer_epoch", "transactional") == [77, 2, False]
    assert third["offset"] is None, "the broker refused it: it has no offset"


def test_records_show_no_contents_unless_asked_for() -> None:
    talk = Talk().ask("Produce", 7, acks=1, topic_data=[
        {"name": "orders", "partition_data": [{"index": 0, "records": [batch("a")]}]},
    ])  # fmt: skip
    [record] = tables_of(talk, records=True)["records"]
    assert some(record, "key", "value", "key_size", "value_size", "offset") == [None, None, 2, 1, None]
    assert tables_of(talk)["records"] == []


@pytest.mark.parametrize(("values", "sizes"), [(True, [5, 0]), (False, [0, 0])])
def test_only_keys_and_values_of_records_count_as_large(values: bool, sizes: list[int]) -> None:
    records = batch("", "bcd")
    records["records"][0]["value"] = records["records"][1]["key"] = None
    topic = {"name": "orders", "partition_data": [{"index": 0, "records": [records]}]}
    talk = Talk().ask("Produce", 7, acks=1, topic_data=[topic]).answer(responses=[])
    talk.ask("Heartbeat", 0, group_id="g").answer(error_code=27).ask("Metadata", 1, topics=[])
    rows = Tables(kdbg.read(io.BytesIO(pcap(talk))), {}, WantedRows(records=True, values=values))
    assert [size for table, size in rows.sizes if table == "records"] == sizes
    others = {table: size for table, size in rows.sizes if table != "records"}
    assert others == {"exchanges": 0, "partitions": 0, "groups": 0, "problems": 0}


def test_what_was_fetched_by_id_goes_by_its_name() -> None:
    orders = UUID(int=7)
    talk = Talk().ask("Metadata", 12, topics=None)
    talk.answer(topics=[{"name": "orders", "topic_id": orders, "partitions": []}])
    talk.ask("Fetch", 13, topics=[{"topic_id": orders, "partitions": [{"partition": 1, "fetch_offset": 20}]}])
    talk.answer(responses=[{"topic_id": orders, "partitions": [
        {"partition_index": 1, "high_watermark": 30, "last_stable_offset": 29, "log_start_offset": 3,
         "records": [batch("x", "y", "z", base_offset=18)]},
    ]}])  # fmt: skip
    tables = tables_of(talk, records=True)
    [row] = tables["partitions"]
    assert some(row, "topic", "topic_id", "partition") == ["orders", str(orders), 1]
    assert some(row, "offset", "high_watermark", "last_stable_offset", "log_start_offset") == [20, 30, 29, 3]
    assert some(row, "records", "last_offset") == [3, 20]
    assert [record["offset"] for record in tables["records"]] == [18, 19, 20]
    assert tables["exchanges"][1]["topics"] == ["orders"]


def test_offsets_of_groups_and_ends_of_logs() -> None:
    talk = Talk().ask("OffsetCommit", 2, group_id="billing", member_id="m", generation_id_or_member_epoch=4, topics=[
        {"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 40, "committed_metadata": ""}]},
    ])  # fmt: skip
    talk.answer(topics=[{"name": "orders", "partitions": [{"partition_index": 0, "error_code": 22}]}])
    talk.ask("ListOffsets", 1, replica_id=-1, topics=[
        {"name": "orders", "partitions": [{"partition_index": 0, "timestamp": -1}]},
    ])  # fmt: skip
    talk.answer(topics=[{"name": "orders", "partitions": [{"partition_index": 0, "timestamp": -1, "offset": 55}]}])
    tables = tables_of(talk)
    commit, end = tables["partitions"]
    assert some(commit, "group_id", "topic", "offset", "error") == ["billing", "orders", 40, "ILLEGAL_GENERATION"]
    assert some(end, "group_id", "offset", "requested_timestamp", "asked_timestamp") == [None, 55, -1, -1]
    [event] = tables["groups"]
    assert some(event, "event", "group_id", "member_id", "generation_id") == ["commit", "billing", "m", 4]
    assert some(event, "error_code", "error") == [22, "ILLEGAL_GENERATION"]


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (2, 1)])
def test_messages_of_old_record_sets_are_records_plain_and_compressed(version: int, magic: int) -> None:
    plain = [{"magic": magic, "offset": n, "key": f"k{n}", "value": f"v{n}"} for n in range(2)]
    packed = {"magic": magic, "offset": 1, "attributes": 1, "records": plain}
    topic = {"name": "orders", "partition_data": [{"index": 0, "records": [*plain, packed]}]}
    rows = tables_of(Talk().ask("Produce", version, acks=1, topic_data=[topic]).answer(), records=True)["records"]
    assert [row["codec"] for row in rows] == ["none", "none", "gzip", "gzip"]


@pytest.mark.parametrize(("first", "second", "codec"), [(1, 0, "gzip"), (0, 1, "none")])
def test_the_codec_of_a_record_set_is_that_of_its_first_batch(first: int, second: int, codec: str) -> None:
    records = [batch("a", attributes=first), batch("b", attributes=second)]
    topic = {"name": "orders", "partition_data": [{"index": 0, "records": records}]}
    [row] = tables_of(Talk().ask("Produce", 7, acks=1, topic_data=[topic]).answer())["partitions"]
    assert some(row, "codec", "records") == [codec, 2]


def test_records_that_are_deleted_and_ends_of_epochs() -> None:
    talk = Talk().ask("DeleteRecords", 0, topics=[
        {"name": "orders", "partitions": [{"partition_index": 2, "offset": 40}]},
    ])  # fmt: skip
    talk.answer(topics=[{"name": "orders", "partitions": [{"partition_index": 2, "low_watermark": 39}]}])
    talk.ask("OffsetForLeaderEpoch", 2, topics=[
        {"topic": "orders", "partitions": [{"partition": 2, "current_leader_epoch": 1, "leader_epoch": 1}]},
    ])  # fmt: skip
    talk.answer(topics=[{"topic": "orders", "partitions": [{"partition": 2, "leader_epoch": 1, "end_offset": 77}]}])
    deleted, end = tables_of(talk)["partitions"]
    assert some(deleted, "topic", "partition", "offset", "log_start_offset") == ["orders", 2, 40, 39]
    assert some(end, "topic", "partition", "offset", "log_start_offset") == ["orders", 2, 77, None]


@pytest.mark.parametrize("version", [7, 8])
def test_a_committed_offset_that_is_asked_for_belongs_to_its_group(version: int) -> None:
    topics = [{"name": "orders", "partition_indexes": [0]}]
    told = [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 40}]}]
    group = {"group_id": "billing"}
    talk = Talk().ask("OffsetFetch", version, **group | {"topics": topics} if version < 8 else {"groups": [group]})
    talk.answer(**{"topics": told} if version < 8 else {"groups": [group | {"topics": told}]})
    [row] = tables_of(talk)["partitions"]
    assert some(row, "group_id", "topic", "partition", "offset") == ["billing", "orders", 0, 40]


def test_a_rebalance_event_by_event() -> None:
    talk = Talk(client_id="c1")
    talk.ask("JoinGroup", 8, group_id="g", member_id="", protocol_type="consumer", protocols=[], reason="first")
    talk.answer(generation_id=3, protocol_name="range", leader="m1", member_id="m1", members=[
        {"member_id": "m1", "metadata": b""}, {"member_id": "m2", "metadata": b""},
    ])  # fmt: skip
    talk.ask("SyncGroup", 3, group_id="g", generation_id=3, member_id="m1").answer()
    talk.ask("Heartbeat", 0, group_id="g", generation_id=3, member_id="m1").answer(error_code=27)
    talk.ask("LeaveGroup", 5, group_id="g", members=[
        {"member_id": "m1", "reason": "done"}, {"member_id": "m2", "group_instance_id": "i2"},
    ]).answer()  # fmt: skip
    talk.ask("ConsumerGroupHeartbeat", 0, group_id="n", member_id="m9", member_epoch=0).answer(member_epoch=1)
    talk.ask("ConsumerGroupHeartbeat", 0, group_id="n", member_id="m9", member_epoch=-1).answer(member_epoch=-1)
    events = tables_of(talk)["groups"]
    assert [some(event, "event", "group_id", "member_id", "generation_id") for event in events] == [
        ["join", "g", "m1", 3], ["sync", "g", "m1", 3], ["heartbeat", "g", "m1", 3], ["leave", "g", "m1", None],
        ["leave", "g", "m2", None], ["join", "n", "m9", 1], ["leave", "n", "m9", -1],
    ]  # fmt: skip
    join, _, beat, first, second, *_ = events
    assert some(join, "leader", "members", "reason", "protocol_name", "client_id") == [True, 2, "first", "range", "c1"]
    assert some(beat, "error_code", "error", "leader") == [27, "REBALANCE_IN_PROGRESS", None]
    assert some(first, "reason") + some(second, "reason", "group_instance_id") == ["done", None, "i2"]


def test_a_request_without_an_answer() -> None:
    acks_0 = {"acks": 0, "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": [batch("a")]}]}]}
    talk = Talk().ask("Produce", 7, **acks_0).ask("Metadata", 1, topics=[])
    talk.asked.pop(0)
    unwanted, unanswered = tables_of(talk)["exchanges"]
    assert some(unwanted, "answered", "response_bytes", "latency_us", "notes") == [False, None, None, []]
    assert some(unanswered, "answered", "notes") == [
        None,
        ["no-response: the capture contains no response to this request"],
    ]


def test_secrets_stand_in_no_table() -> None:
    secret = "correct horse"
    talk = Talk().ask("SaslHandshake", 0, mechanism="PLAIN").answer(mechanisms=["PLAIN"])
    talk.ask_bytes("SaslAuthenticate", 0, b"\0\0\0\x20\0alice\0" + secret.encode())  # its length is wrong
    assert secret not in repr(tables_of(talk, records=True, values=True))


@pytest.mark.parametrize(
    "path", by_day([*SHIPPED, *SHARED], 3), ids=lambda path: f"{path.parent.parent.name}/{path.name}"
)
def test_every_row_has_every_column_and_every_finding_is_a_problem(path: Any) -> None:
    tables = Tables(kdbg.read(path), {}, WantedRows(records=True, values=True))
    findings = [found for exchange in kdbg.read(path) for found in json.loads(json_line(exchange))["findings"]]
    for problem, found in zip(tables.tables["problems"], findings, strict=True):
        assert [problem["side"] or "", problem["path"] or ""] == [found["side"], found["path"]]
        assert some(problem, *SAID) == [found[name] for name in SAID]
    assert tables.rows.problems.total() == len(findings)
    assert {type(kind) for kind in tables.rows.problems} <= {str}, "Spark's workers report them as JSON"


def test_a_problem_names_side_field_and_byte() -> None:
    talk = Talk().ask("Metadata", 1).answer_bytes(b"\0\0\0\1" + bytes(4) + b"\0\x09local").ask("Metadata", 1)
    broken, unanswered = tables_of(talk)["problems"]
    assert some(broken, "kind", "severity", "side", "path", "offset", "length") == [
        "truncated", "error", "response", "brokers[0].host", 18, 0,
    ]  # fmt: skip
    assert broken["text"] == "brokers[0].host: STRING needs 9 bytes, only 5 left (byte 18 of the frame, 0x0012)"
    assert some(unanswered, "kind", "severity", "side", "path", "offset", "text", "file") == [
        "no-response", "warning", "request", None, None, "the capture contains no response to this request", None,
    ]  # fmt: skip


@for_each("api", ["ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"])
@for_each(("epoch", "event"), [(0, "join"), (5, "heartbeat"), (-1, "leave"), (-2, "leave")])
def test_in_the_newer_protocols_the_epoch_tells_what_a_heartbeat_is(api: str, epoch: int, event: str) -> None:
    version = 0 if api != "ShareGroupHeartbeat" else 1
    talk = Talk().ask(api, version, group_id="g", member_id="m", member_epoch=epoch).answer(member_epoch=epoch)
    [row] = tables_of(talk)["groups"]
    assert some(row, "event", "group_id", "member_id", "generation_id") == [event, "g", "m", epoch]


def test_offsets_committed_in_a_transaction_are_an_event_of_the_group() -> None:
    topics = [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 40}]}]
    fields = {"transactional_id": "t", "producer_id": 1, "producer_epoch": 0, "topics": topics}
    tables = tables_of(Talk().ask("TxnOffsetCommit", 0, group_id="g", **fields).answer(topics=[]))
    [event], [partition] = tables["groups"], tables["partitions"]
    assert some(event, "event", "group_id") == ["commit", "g"]
    assert some(partition, "group_id", "topic", "partition", "offset") == ["g", "orders", 0, 40]


def test_what_is_told_again_is_remembered_but_not_the_id_of_a_topic_that_got_a_name() -> None:
    orders = UUID(int=7)
    topics = [{"topic_id": orders, "partitions": [{"partition": 1, "fetch_offset": 20}]}]
    talk = Talk().ask("Fetch", 13, topics=topics).answer(responses=[])
    talk.ask("Metadata", 12, topics=None)
    talk.answer(topics=[{"name": "orders", "topic_id": orders, "partitions": []}])
    for _ in range(2):
        talk.ask("Fetch", 13, topics=topics).answer(responses=[])
    table: list[tuple[Any, ...]] = []
    session = Engine()
    rows = Rows(plain(lambda *row: table.append(row)), WantedRows(), session.names_then)
    with open_capture(io.BytesIO(pcap(talk))) as capture:
        for exchange in session.run(capture.blocks()):
            session.names_then.at(exchange.names)
            rows.exchange("capture", exchange)
    place = [*TABLES["exchanges"]].index("topics")
    said = [row[place] for name, _, row, _ in table if name == "exchanges"]
    assert said == [[str(orders)], ["orders"], ["orders"], ["orders"]]


def test_connections_that_share_a_number_are_told_apart() -> None:
    rows: list[tuple[Any, ...]] = []
    make = Rows(plain(lambda table, time, row, size: rows.append(row)), WantedRows(), {})
    for capture, port in (("one", 50001), ("one", 50002), ("two", 50002)):
        talk = Talk(("10.0.0.1", port)).ask("Metadata", 1, topics=[]).answer()
        for exchange in kdbg.read(io.BytesIO(pcap(talk))):
            make.exchange(capture, exchange)
    assert [row[:3] for row in rows] == [
        ("one", 1, "10.0.0.1:50001"), ("one", 1, "10.0.0.1:50002"), ("two", 1, "10.0.0.1:50002"),
    ]  # fmt: skip


def test_what_no_table_needs_is_not_made() -> None:
    path = Path(__file__).parents[2] / "captures" / "first-contact.pcap"
    made = {
        tables: Tables(kdbg.read(path), {}, WantedRows.of(tables)).tables
        for tables in ((), ("partitions",), ("records",))
    }
    whole = Tables(kdbg.read(path), {}, WantedRows(records=True, values=True)).tables
    assert made["records",] == whole
    assert made["partitions",]["partitions"] == whole["partitions"]
    assert not made["partitions",]["records"]
    assert not made[()]["partitions"]
    assert made[()]["exchanges"] == whole["exchanges"]
