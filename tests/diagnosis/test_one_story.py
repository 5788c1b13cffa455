"""One incident, one story: what diagnose, tree, JSON, stats, story and report say of it is the same, to the number."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from kdbg.capture import open_capture
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.query.report import Reported
from kdbg.views.report.page import Report, report

from ..cases import by_day
from ..cli.calls import call
from .books import STAGED, truths

Json = dict[str, Any]
NAMES = sorted(truth["file"] for truth in truths(STAGED) if not truth["healthy"])
SMALL = 60_000
"""Bytes of a capture that is cheap enough to be looked at in every way."""
PATHS = [STAGED / name for name in NAMES if (STAGED / name).stat().st_size < SMALL][::4]
BEFORE = {"consumer-paused"}
"""Causes whose evidence is what came last before they began."""
IN_MS = 2e-3
"""Seconds by which times may differ: those of tables are in microseconds."""


@lru_cache(maxsize=1)
def cases(path: Path) -> list[Json]:
    return [json.loads(line) for line in call("diagnose", path, "-f", "json").out.splitlines()]


@lru_cache(maxsize=1)
def exchanges(path: Path) -> dict[int, Json]:
    return {line["number"]: line for line in call("decode", path, "-f", "json").lines}


@lru_cache(maxsize=1)
def reported(path: Path) -> tuple[Report, list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The report, how often each error was told by API and client, and the spans of exchanges in its tables."""
    with closing(Reported(Filters())) as collected:
        with open_capture(path) as capture:
            collected.capture(capture)
        told = list(collected.ask("SELECT api, client_id, error, COUNT(*) FROM errors GROUP BY 1, 2, 3"))
        known = list(collected.ask("SELECT number, api, client_id, request_time FROM exchanges"))
        return report(collected.ask, collected.diagnosis), told, known


def errors_of(lines: list[Json]) -> Counter[tuple[str, str | None, str]]:
    """How often each error code was told, by API and client."""
    return Counter(
        (line["api"], line["client_id"], error["name"]) for line in lines for error in line["errors"]
    )  # fmt: skip


def evidence_is_there_in_every_view(path: Path) -> None:
    known = exchanges(path)
    rows = {number: rest for number, *rest in reported(path)[2]}
    assert set(rows) == set(known)
    for case in cases(path):
        for number in case["evidence"]["exchanges"][:3]:
            line = known[number]
            half = line["request"] or line["response"]
            ends = [part["time"] for part in (line["request"], line["response"]) if part]
            assert case["since"] - 1 <= max(ends) or case["cause"] in BEFORE, (case["cause"], number)
            api, client, time = rows[number]
            assert (api, client) == (line["api"], line["client_id"])
            assert time / 1e6 == pytest.approx(half["time"], abs=IN_MS)
            tree = call("decode", f"{path}#{number}").out
            assert tree.startswith(f"#{number} {line['api'] or 'Response'}")


def errors_are_counted_alike(path: Path) -> None:
    every = errors_of(list(exchanges(path).values()))
    told = {(api, client, error): count for api, client, error, count in reported(path)[1]}
    assert told == dict(every)
    stats = Counter[tuple[str, str | None, str]]()
    for row in call("stats", path, "--by", "api,client,error", "-f", "json").out.splitlines():
        found = json.loads(row)
        if found["error"] is not None:
            stats[found["api"], found["client"], found["error"]] += found["errors"] + found["steps"]
    assert stats == every


def the_report_says_of_causes_what_diagnose_says(path: Path) -> None:
    whole = reported(path)[0]
    assert whole.diagnosis is not None
    assert [
        {
            "cause": one.case.code, "severity": one.level, "count": one.case.count, "since": one.case.since / 1e9,
            "until": one.case.until / 1e9, "certainty": one.case.certainty, "because": one.case.because or None,
            "exchanges": list(one.case.evidence.exchanges),
            "who": {name: value for name, value in one.case.who._asdict().items() if value is not None},
        }
        for one in whole.diagnosis.causes
    ] == [
        {name: case[name] for name in ("cause", "severity", "count", "since", "until", "certainty", "because")}
        | {"exchanges": case["evidence"]["exchanges"], "who": case["who"]}
        for case in cases(path)
    ]  # fmt: skip


def stories_tell_the_same_causes_at_the_same_time(path: Path) -> None:
    by_code: dict[str, list[Json]] = {}
    for case in cases(path):
        by_code.setdefault(case["cause"], []).append(case)
    for case in cases(path):
        options = [("--group", case["who"].get("group")), ("--transaction", case["who"].get("transactional_id")),
                   ("--client", case["who"].get("client_id")), ("--topic", case["who"].get("topic"))]  # fmt: skip
        for option, name in options:
            told = call("story", path, option, name, "-f", "json") if name is not None else None
            if told is None or told.status == 2:
                continue
            events = [event for event in map(json.loads, told.out.splitlines()) if event["kind"] == "cause"]
            assert case["cause"] in {event["facts"]["cause"] for event in events}, (option, name)
            for event in events:
                same = [(one["since"], one["until"], one["count"], one["certainty"], one["who"])
                        for one in by_code[event["facts"]["cause"]]]  # fmt: skip
                facts = event["facts"]
                assert (event["time"], facts["until"], facts["count"], facts["certainty"], event["who"]) in same
            break


def errors_of_stories_are_those_of_exchanges(path: Path) -> None:
    """Errors that a story tells of a client are those that JSON has of it."""
    every = errors_of(list(exchanges(path).values()))
    for client in {case["who"]["client_id"] for case in cases(path) if "client_id" in case["who"]}:
        told = call("story", path, "--client", client, "-f", "json")
        for event in map(json.loads, told.out.splitlines()):
            if event["kind"] == "error":
                facts = event["facts"]
                known = every[facts["api"], client, facts["error"]]
                assert 0 < facts["count"] <= known, facts


@pytest.mark.parametrize("path", by_day(PATHS, 6), ids=lambda path: path.name)
def test_every_view_tells_the_same(path: Path) -> None:
    """One test for each capture, as each reads it in three ways."""
    evidence_is_there_in_every_view(path)
    errors_are_counted_alike(path)
    the_report_says_of_causes_what_diagnose_says(path)
    stories_tell_the_same_causes_at_the_same_time(path)
    errors_of_stories_are_those_of_exchanges(path)
