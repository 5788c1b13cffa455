"""What diagnosis says of each staged run: the cause first and the right party, nothing of runs that went well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kdbg.analysis.diagnosis import Case, diagnose
from kdbg.analysis.diagnosis.rules import RULES
from kdbg.analysis.diagnosis.text import case_object
from kdbg.analysis.ledgers import Ledgers
from kdbg.capture import open_capture
from kdbg.capture.packet import Packet
from kdbg.exchanges.engine.engine import Engine
from kdbg.protocol.findings import Severity

from ..cases import by_day, for_each
from .codes import MISREAD, NO_RULE_YET

CAPTURES = Path(__file__).parent / "captures"
TRUTH: list[dict[str, Any]] = [json.loads(line) for line in (CAPTURES / "truth.jsonl").read_text().splitlines()]
FAILING = [one for one in TRUTH if not one["healthy"] and one["cause_code"] not in NO_RULE_YET]
QUIET = [one for one in TRUTH if one["healthy"] and one["name"] not in MISREAD]
CURED = [one for one in QUIET if one["name"].endswith(".cured")]
WELL = [one for one in QUIET if one not in CURED]
CUT = by_day(TRUTH, 3)
"""Runs of which a part is judged as well."""
STOPPED = "127.0.0.11:9092"
"""A broker that is stopped while other clusters run: clients of earlier runs still try to connect to it."""
UNSEEN: dict[str, str] = {"program-reads-what-it-wrote": "it wrote a record before it read one"}
"""Runs of which too little is to be seen, each with what is missing."""


FIRST_SIGNS = {"rebalance-blocked": "consumer-paused"}
"""What is to be seen before a cause is, in a capture that ends early."""


def blocks_of(name: str) -> list[list[Packet]]:
    with open_capture(CAPTURES / name) as capture:
        return [list(packets) for packets in capture.blocks()]


def judged(blocks: list[list[Packet]], since: float = 0.0, until: float = 1.0) -> list[Case]:
    """Return what diagnosis says of a run, or of the part of its time from `since` to `until`."""
    engine = Engine()
    ledgers = Ledgers(engine.names_then)
    times = [packet[1] for packets in blocks for packet in packets]
    first, whole = min(times), max(times) - min(times)
    for packets in blocks:
        packets = [packet for packet in packets if since <= (packet[1] - first) / max(whole, 1) <= until]
        ledgers.packets(packets)
        ledgers.take(engine.receive_all(packets))
    ledgers.take(engine.close())
    ledgers.left_over(engine.findings)
    return diagnose(ledgers)


def loud(cases: list[Case]) -> list[Case]:
    return [case for case in cases if case.severity is not Severity.NOTE
            and (case.code, case.who.broker) != ("connection-failing", STOPPED)]  # fmt: skip


def test_there_are_enough() -> None:
    assert len(FAILING) >= 40
    assert len(WELL) >= 40
    assert len(UNSEEN) <= len(FAILING) // 20


def test_causes_without_a_rule_have_none() -> None:
    assert not NO_RULE_YET.keys() & RULES.keys(), "a rule has the code now: move it to OURS"
    assert NO_RULE_YET.keys() <= {one["cause_code"] for one in TRUTH}


@for_each("name", list(MISREAD))
def test_misread_runs_are_still_misread(name: str) -> None:
    (truth,) = (one for one in TRUTH if one["name"] == name and one["healthy"])
    causes = {case_object(case)["cause"] for case in loud(judged(blocks_of(truth["file"])))}
    assert MISREAD[name] in causes, "the run is quiet now: take it out of MISREAD"


@for_each("truth", FAILING, by=lambda truth: truth["name"][0], ids=lambda truth: truth["name"])
def test_the_cause_comes_first(truth: dict[str, Any]) -> None:
    """Of the whole capture; one that ended early names no other cause, or gives no reason."""
    blocks = blocks_of(truth["file"])
    cases = loud(judged(blocks))
    if truth["name"] in UNSEEN:
        assert not cases, "it is seen now: take it off the list"
    else:
        assert cases, "no root cause found"
        first = case_object(cases[0])
        assert first["cause"] == truth["cause_code"], first["sentence"]
        for name, value in truth["who"].items():
            said = first["who"].get(name)
            assert said in value if isinstance(value, list) else said == value, (name, said, value)
    if truth not in CUT:
        return
    early = [case_object(case) for case in loud(judged(blocks, until=0.6))[:1] if not case.rule.fallback]
    expected = {truth["cause_code"], FIRST_SIGNS.get(truth["cause_code"])}
    assert [(one["cause"], one["sentence"]) for one in early if one["cause"] not in expected] == []


@for_each("truth", [*WELL, *by_day(CURED, 3)], by=lambda truth: truth["name"][0], ids=lambda truth: truth["name"])
def test_what_goes_well_is_quiet(truth: dict[str, Any]) -> None:
    """In the whole capture, and in one that began late. TLS that is not decrypted cannot be judged."""
    blocks = blocks_of(truth["file"])
    for since in (0.0, 0.3) if truth in CUT else (0.0,):
        found = [case for case in loud(judged(blocks, since=since)) if case.code != "not-readable"]
        assert [case_object(case)["sentence"] for case in found] == [], f"since {since}"
