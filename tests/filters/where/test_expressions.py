"""Expressions and what they select: the same that a program finds in the lines of `decode --format json`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kdbg

from ...cases import by_day, for_each
from ...cli.calls import call

pytest.importorskip("cel_expr_python", reason="the extra where is not installed")
CAPTURES = Path(kdbg.__file__).resolve().parents[1] / "captures"
FILES = [CAPTURES / "errors.pcap", CAPTURES / "real-errors.pcap", CAPTURES / "transactions.pcap"]
Line = dict[str, Any]


@cache
def lines(path: Path) -> list[Line]:
    return call("decode", path, "-f", "json").lines


def body(line: Line, side: str) -> Line:
    return (line[side] or {}).get("body") or {}


def topics(line: Line) -> list[Any]:
    """What stands under `topics` in a request."""
    return body(line, "request").get("topics") or []


def records(line: Line) -> list[Line]:
    found = []
    for topic in body(line, "request").get("topic_data", ()):
        for partition in topic["partition_data"]:
            found += [one for batch in partition["records"] or () for one in batch.get("records", ())]
    return found


def latency(line: Line) -> float:
    return line["latency_ms"] if line["latency_ms"] is not None else -1


def throttled(line: Line) -> float:
    return body(line, "response").get("throttle_time_ms", -1)


def named(line: Line, name: str) -> bool:
    return any(error["name"] == name for error in line["errors"])


NO_HALF: dict[str, Any] = {"size": 1 << 40, "packets": [0, 1 << 40], "time_utc": ""}
"""Stands for a request that was not captured: no expression selects by it."""
RESULTS: dict[str, Callable[[Line], bool]] = {
    'api == "Produce" && latency_ms > 0.02': lambda one: one["api"] == "Produce" and latency(one) > 0.02,
    "response.throttle_time_ms >= 0": lambda one: throttled(one) >= 0,
    'errors.exists(e, e.code == "NOT_LEADER_OR_FOLLOWER" && e.partition == 0)': lambda one: any(
        error["code"] == 6 and error["partition"] == 0 for error in one["errors"]
    ),
    'request.body.topics[0].name == "orders"': lambda one: (
        bool(topics(one)) and isinstance(topics(one)[0], dict) and topics(one)[0].get("name") == "orders"
    ),
    'request.topics.exists(t, t.name == "orders")': lambda one: any(
        isinstance(topic, dict) and topic.get("name") == "orders" for topic in topics(one)
    ),
    "latency_ms > 10": lambda one: latency(one) > 10,
    "latency_ms == null": lambda one: one["latency_ms"] is None,
    "!(latency_ms > 10)": lambda one: one["latency_ms"] is not None and latency(one) <= 10,
    "response == null": lambda one: one["response"] is None,
    "response != null": lambda one: one["response"] is not None,
    "api_key in [0, 1, 18]": lambda one: one["api_key"] in (0, 1, 18),
    'api in ["Fetch", "Metadata"]': lambda one: one["api"] in ("Fetch", "Metadata"),
    "api_version >= 10 && api_version < 14": lambda one: 10 <= one["api_version"] < 14,
    'client_id.startsWith("b") || client_id == "shop"': lambda one: (
        one["client_id"] is not None and (one["client_id"].startswith("b") or one["client_id"] == "shop")
    ),
    'client_id.matches("^[a-m].*[0-9]$")': lambda one: bool(re.search("^[a-m].*[0-9]$", one["client_id"] or "")),
    'client_id.contains("o") && !client_id.endsWith("1")': lambda one: (
        "o" in (one["client_id"] or "") and not one["client_id"].endswith("1")
    ),
    "connection.id == 2": lambda one: one["connection"]["id"] == 2,
    'connection.broker.endsWith(":9092")': lambda one: one["connection"]["broker"].endswith(":9092"),
    "client != broker && client == connection.client": lambda one: True,
    "number > 20 && number <= 30": lambda one: 20 < one["number"] <= 30,
    "number % 10 == 3": lambda one: one["number"] % 10 == 3,
    "correlation_id == 3": lambda one: one["correlation_id"] == 3,
    "size(errors) > 0": lambda one: bool(one["errors"]),
    '"UNKNOWN_TOPIC_OR_PARTITION" in error_names': lambda one: named(one, "UNKNOWN_TOPIC_OR_PARTITION"),
    'errors.exists_one(e, e.topic == "orders")': lambda one: (
        sum(error["topic"] == "orders" for error in one["errors"]) == 1
    ),
    'errors.filter(e, e.topic == "orders").size() >= 1': lambda one: any(e["topic"] == "orders" for e in one["errors"]),
    "errors.map(e, e.code).exists(code, code == 27 || code == 25)": lambda one: any(
        error["code"] in (25, 27) for error in one["errors"]
    ),
    "size(errors) > 0 && errors.all(e, e.partition == null)": lambda one: (
        bool(one["errors"]) and all(error["partition"] is None for error in one["errors"])
    ),
    'response.error_code == "REBALANCE_IN_PROGRESS"': lambda one: body(one, "response").get("error_code") == 27,
    'response.error_code in ["MEMBER_ID_REQUIRED", "UNKNOWN_MEMBER_ID"]': lambda one: (
        body(one, "response").get("error_code") in (79, 25)
    ),
    "has(response.throttle_time_ms)": lambda one: throttled(one) >= 0,
    "has(request.max_wait_ms) && request.max_wait_ms >= 500": lambda one: (
        body(one, "request").get("max_wait_ms", 0) >= 500
    ),
    "waited_ms > 0 && latency_ms < waited_ms": lambda one: 0 <= latency(one) < body(one, "request").get(
        "max_wait_ms" if one["api"] == "Fetch" else "timeout_ms" if one["api"] != "JoinGroup" else
        "rebalance_timeout_ms", 0
    ) and not (one["api"] == "Produce" and body(one, "request")["acks"] != -1),
    "request_size + response_size > 300": lambda one: (
        one["response"] is not None
        and one["request"] is not None
        and one["request"]["size"] + one["response"]["size"] > 300
    ),
    "request.size < 60 && response.size > 100": lambda one: (
        (one["request"] or NO_HALF)["size"] < 60 and one["response"] is not None and one["response"]["size"] > 100
    ),
    "request.packets[0] >= 40 && request.packets[1] <= 80": lambda one: (
        (one["request"] or NO_HALF)["packets"][0] >= 40 and (one["request"] or NO_HALF)["packets"][1] <= 80
    ),
    'time >= timestamp("2026-11-21T00:38:37Z") && time - timestamp("2026-11-21T00:38:37Z") < duration("800ms")': (
        lambda one: "2026-11-21T00:38:37" <= (one["request"] or NO_HALF)["time_utc"] < "2026-11-21T00:38:37.8"
    ),
    'request.time_utc.startsWith("2026-11-21T00:38:36")': lambda one: (
        (one["request"] or NO_HALF)["time_utc"].startswith("2026-11-21T00:38:36")
    ),
    '"trailing-bytes" in finding_kinds': lambda one: "trailing-bytes" in {found["kind"] for found in one["findings"]},
    'findings.exists(f, f.severity == "error" && f.side == "response" && f.offset > 100)': lambda one: any(
        found["severity"] == "error" and found["side"] == "response" and (found["offset"] or 0) > 100
        for found in one["findings"]
    ),
    "notes.size() >= 1": lambda one: bool(one["notes"]),
    'api == "JoinGroup" && "billing" in groups': lambda one: (
        one["api"] == "JoinGroup" and body(one, "request")["group_id"] == "billing"
    ),
    'request.topic_data.exists(t, t.partition_data.exists(p, p.records.exists(b, b.records.exists(r, '
    'r.value.startsWith("order 2")))))': lambda one: any(
        isinstance(record["value"], str) and record["value"].startswith("order 2") for record in records(one)
    ),
    'request.protocols.exists(p, p.metadata.payload == "ConsumerProtocolSubscription" && '
    '"orders" in p.metadata.value.topics)': lambda one: any(
        "orders" in protocol["metadata"].get("value", {}).get("topics", ())
        for protocol in body(one, "request").get("protocols", ())
    ),
    'request.acks == -1 ? latency_ms > 0.02 : api == "Heartbeat"': lambda one: (
        latency(one) > 0.02 if body(one, "request").get("acks") == -1 else False
    ),
    'has(request.acks) ? latency_ms > 0.02 : api == "Heartbeat"': lambda one: (
        latency(one) > 0.02 if "acks" in body(one, "request") else one["api"] == "Heartbeat"
    ),
    'api == "Fetch" || response.throttle_time_ms < 0': lambda one: one["api"] == "Fetch",
    'string(api_key) + "/" + string(api_version) == "3/13"': lambda one: (
        one["api_key"] == 3 and one["api_version"] == 13
    ),
    "request.header.correlation_id == correlation_id && request.api_version == api_version": lambda one: bool(
        one["request"]
    ),
}  # fmt: skip


@for_each("expression", by_day([*RESULTS], 3))
def test_an_expression_selects_what_the_lines_of_json_say(expression: str) -> None:
    found = 0
    for path in FILES:
        wanted = [line["number"] for line in lines(path) if RESULTS[expression](line)]
        assert [one.number for one in kdbg.read(path, where=expression)] == wanted, path.name
        found += len(wanted)
    assert found, "it must be seen to select something"


def test_there_are_enough_of_them() -> None:
    assert len(RESULTS) >= 40


@for_each("name", ["client", "address", "broker", "topics", "partitions", "groups", "error_names",
                                  "latency_ms", "late_ms", "waited_ms", "size", "request_size", "response_size",
                                  "finding_kinds", "packet", "packets", "topic_names", "time"])  # fmt: skip
def test_handy_names_are_there(name: str) -> None:
    from kdbg.exchanges.filters.where.vocabulary import TERMS

    for one in kdbg.read(FILES[0]):
        TERMS[name].read(one, {})


def test_every_name_of_json_is_one() -> None:
    from kdbg.exchanges.filters.where.vocabulary import TERMS

    assert {name for path in FILES for line in lines(path) for name in line} <= TERMS.keys()
