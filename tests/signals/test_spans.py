"""`kdbg export --otlp`: span for span what `kdbg decode --format json` says, in lines that OTLP's own classes read."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kdbg.exchanges.messages.capture_points import SPLIT_NAMES
from kdbg.exchanges.messages.rejection import NORMAL_STEPS
from kdbg.scale.signals import attributes, traces
from kdbg.scale.signals.traces import parent_of

from ..cases import by_day, for_each
from ..cli.calls import CAPTURES, SHIPPED, Outcome
from ..traffic import Talk
from .received import Received, request_of, spans_in

Cli = Callable[..., Outcome]
ERRORS = CAPTURES / "errors.pcap"
LOGS = sorted((Path(__file__).parents[1] / "logs" / "recorded").glob("*.log"))
CLIENT, ERROR = 3, 2
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CONTEXT = f"00-{TRACE}-{PARENT}-01"


def exported(cli: Cli, path: Path, *arguments: object) -> list[Received]:
    outcome = cli("export", path, "--otlp", "-", *arguments)
    assert outcome.status in (0, 1), outcome.err
    for line in outcome.lines:
        request_of(line)
    return spans_in(outcome.out)


def of_exchanges(spans: list[Received]) -> list[Received]:
    return [one for one in spans if one.span["kind"] == CLIENT]


def of_connections(spans: list[Received]) -> list[Received]:
    return [one for one in spans if one.span["kind"] != CLIENT]


def is_step(line: dict[str, Any], error: dict[str, Any]) -> bool:
    keys = NORMAL_STEPS.get(error["code"])
    return keys is not None and (not keys or line["api_key"] in keys)


@pytest.mark.parametrize("path", by_day(SHIPPED, 3), ids=lambda path: path.name)
def test_spans_say_what_json_says(cli: Cli, path: Path) -> None:
    spans = of_exchanges(exported(cli, path))
    lines = [line for line in cli("decode", path, "-f", "json", "--latency").lines if line["number"]]
    assert len(spans) == len(lines)
    for one, line in zip(spans, lines, strict=True):
        said, span = one.attributes, one.span
        assert said.get("kafka.exchange") == line["number"]
        assert said.get("kafka.api") == line["api"]
        assert said.get("kafka.api_key") == line["api_key"]
        assert said.get("kafka.api_version") == line["api_version"]
        assert said.get("kafka.correlation_id") == line["correlation_id"]
        assert said.get("messaging.client.id") == line["client_id"] or not line["client_id"]
        assert f"{said['client.address']}:{said['client.port']}" == line["connection"]["client"].translate(BRACKETS)
        assert f"{said['server.address']}:{said['server.port']}" == line["connection"]["broker"].translate(BRACKETS)
        assert said.get("kafka.latency_ms") == line["latency_ms"]
        for side in ("request", "response"):
            assert said.get(f"kafka.{side}.size") == (line[side]["size"] if line[side] else None)
        for name in SPLIT_NAMES:
            assert said.get(f"kafka.{name}") == (line.get("split") or {}).get(name), name
        assert said.get("kafka.errors", []) == list(dict.fromkeys(error["name"] for error in line["errors"]))
        failed = list(dict.fromkeys(error["name"] for error in line["errors"] if not is_step(line, error)))
        assert span["status"] == ({"code": ERROR, "message": ", ".join(failed)} if failed else {})
        assert said.get("error.type") == (failed[0] if failed else None)
        found = [each["name"].removeprefix("finding ") for each in span["events"] if each["name"].startswith("finding")]
        assert found == [finding["kind"] for finding in line["findings"]][: traces.EVENTS - 2]
        begun = line["request"] or line["response"]
        assert int(span["startTimeUnixNano"]) == pytest.approx(begun["time"] * 1e9, abs=1000)
        assert int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"])


BRACKETS = str.maketrans("", "", "[]")


@pytest.mark.parametrize("path", SHIPPED[::4], ids=lambda path: path.name)
def test_exchanges_are_below_their_connection(cli: Cli, path: Path) -> None:
    spans = exported(cli, path)
    roots = {(one.span["traceId"], one.span["spanId"]): one for one in of_connections(spans)}
    assert len({one.span["spanId"] for one in spans}) == len(spans)
    counts = Counter[tuple[str, str]]()
    for one in of_exchanges(spans):
        key = one.span["traceId"], one.span["parentSpanId"]
        counts[key] += 1
        root = roots[key]
        assert root.attributes["kafka.connection"] == one.attributes["kafka.connection"]
        assert int(root.span["startTimeUnixNano"]) <= int(one.span["startTimeUnixNano"])
        assert int(root.span["endTimeUnixNano"]) >= int(one.span["endTimeUnixNano"])
    assert counts == {key: root.attributes["kafka.exchanges"] for key, root in roots.items()}


def test_a_second_export_has_the_same_ids_and_another_capture_others(cli: Cli, tmp_path: Path) -> None:
    first, second = exported(cli, ERRORS), exported(cli, ERRORS)
    assert first == second
    copy = tmp_path / "of-another-name.pcap"
    copy.write_bytes(ERRORS.read_bytes())
    assert [one.span["spanId"] for one in exported(cli, copy)] == [one.span["spanId"] for one in first]
    other = exported(cli, CAPTURES / "first-contact.pcap")
    assert not {one.span["traceId"] for one in other} & {one.span["traceId"] for one in first}


def test_filters_choose_spans_and_their_ids_stay(cli: Cli) -> None:
    some = of_exchanges(exported(cli, ERRORS, "--api", "produce"))
    assert {one.attributes["kafka.api"] for one in some} == {"Produce"}
    whole = {one.span["spanId"]: one for one in of_exchanges(exported(cli, ERRORS))}
    assert [whole[one.span["spanId"]].attributes for one in some] == [one.attributes for one in some]


@for_each(
    ("value", "expected"),
    [
        (CONTEXT, True),
        (f"01-{TRACE}-{PARENT}-01-more", True),
        (f"00-{TRACE}-{PARENT}-01-more", False),
        (f"ff-{TRACE}-{PARENT}-01", False),
        (f"00-{'0' * 32}-{PARENT}-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (CONTEXT.upper(), False),
        (f"{CONTEXT}\n", False),
        ("", False),
    ],
)
def test_trace_contexts(value: str, expected: bool) -> None:
    found = (bytes.fromhex(TRACE), bytes.fromhex(PARENT))
    assert parent_of(value.encode()) == (found if expected else None)
    assert parent_of(None) is None


def produced(records: list[dict[str, Any]], codec: int = 0) -> Talk:
    batch = {"attributes": codec, "records": records}
    data = [{"name": "orders", "partition_data": [{"index": 0, "records": [batch]}]}]
    return Talk().ask("Produce", 7, acks=-1, timeout_ms=1, topic_data=data).answer()


def carrying(context: str) -> dict[str, Any]:
    headers = [{"key": "other", "value": b"x"}, {"key": "traceparent", "value": context.encode()}]
    return {"key": b"secret key", "value": b"secret value", "headers": headers}


@pytest.mark.parametrize("codec", range(5))
def test_records_lead_to_their_own_trace(cli: Cli, write: Callable[..., Path], codec: int) -> None:
    other = f"00-{TRACE}-{'1' * 16}-00"
    records = [carrying(CONTEXT), carrying("no context"), carrying(CONTEXT), carrying(other), {"value": b"secret"}]
    (span,) = of_exchanges(exported(cli, write(produced(records, codec))))
    links = [(link["traceId"], link["spanId"]) for link in span.span["links"]]
    assert links == [(TRACE, PARENT), (TRACE, "1" * 16)]
    assert span.attributes["messaging.batch.message_count"] == 5
    assert span.attributes["messaging.destination.name"] == "orders"
    assert span.attributes["messaging.destination.partition.id"] == "0"
    assert "secret" not in json.dumps(span)


def test_hostile_names_are_escaped_and_not_endless(cli: Cli, write: Callable[..., Path]) -> None:
    name = "\x1b[2J" + "x" * 10_000
    topics = [{"name": f"{n}-{name}"} for n in range(300)]
    path = write(Talk(client_id=name[:400]).ask("Metadata", 1, topics=topics).answer())
    (span,) = of_exchanges(exported(cli, path))
    assert span.attributes["messaging.client.id"].startswith("\\x1b[2J")
    assert len(span.attributes["messaging.client.id"]) == attributes.LONGEST + len("\\x1b…") - 1
    assert len(span.attributes["kafka.topics"]) == attributes.MOST
    assert "\\u001b" not in json.dumps(span)


def test_groups_and_transactions_are_named(cli: Cli) -> None:
    spans = of_exchanges(exported(cli, CAPTURES / "transactions.pcap"))
    named = defaultdict(set)
    for one in spans:
        for key in ("kafka.transactional_id", "messaging.consumer.group.name"):
            if key in one.attributes:
                named[key].add(one.attributes[key])
    lines = cli("decode", CAPTURES / "transactions.pcap", "-f", "json").lines
    bodies = [line["request"]["body"] for line in lines if line["request"]]
    wanted = {body["transactional_id"] for body in bodies if body.get("transactional_id")}
    assert wanted
    assert named["kafka.transactional_id"] == wanted


def test_a_log_has_spans_as_far_as_it_has_times(cli: Cli) -> None:
    for path in by_day(LOGS, 2):
        outcome = cli("export", path, "--otlp", "-")
        if outcome.status == 2:
            continue
        spans = of_exchanges(spans_in(outcome.out))
        lines = cli("decode", path, "-f", "json").lines
        untimed = sum((line["request"] or line["response"])["time"] is None for line in lines)
        assert len(spans) == len(lines) - untimed
        assert ("without a time" in outcome.err) is bool(untimed)
