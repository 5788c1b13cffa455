"""The staged incidents beside the project: the cause comes first, its party is right, healthy runs are quiet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kdbg.analysis.diagnosis import Case, diagnose
from kdbg.analysis.diagnosis.text import case_object
from kdbg.analysis.ledgers import Ledgers
from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.protocol.findings import Severity

INCIDENTS = Path(__file__).resolve().parents[3] / "shared" / "incidents"
TRUTH = INCIDENTS / "truth.jsonl"
ALL: list[dict[str, Any]] = (
    [json.loads(line) for line in TRUTH.read_text().splitlines()] if TRUTH.is_file() else []
)  # fmt: skip
LATER = INCIDENTS.with_name("incidents2")
FOUND: dict[str, tuple[set[str], str]] = {
    "f01": ({"connection-failing"}, "10.77.0.1:9192"), "f07": ({"tls-client-certificate-rejected"}, "10.77.0.1:9094"),
    "f09": ({"tls-handshake-failing"}, "10.77.0.1:9097"), "f12": ({"sasl-client-to-plaintext-listener"}, "hr-export"),
    "f16": ({"short-lived-members"}, "cron-peek"), "f18": ({"never-commits"}, "bill-run"),
    "f22": ({"codec-unsupported"}, "meter-old"), "f27": ({"share-records-released"}, "worker-1"),
    "f33": ({"idle-connection-reset"}, "alarm-gw"), "f36": ({"low-bandwidth"}, "cam-view"),
    "f43": ({"broker-down"}, "10.77.0.5:9092"), "v01": ({"static-member-fenced"}, "pos-b"),
    "y-two": ({"broker-frozen", "max-poll-interval-exceeded", "packet-loss"}, "10.77.0.6:9092"),
}  # fmt: skip
"""Of later incidents, by how their names begin: the causes, and a name of the party that the first is about."""
PARTS = ("client_id", "topic", "group", "user", "transactional_id", "listener", "broker")


def judged(path: Path, blocks: int | None = None) -> list[Case]:
    """Return what diagnosis says of a capture; with `blocks`, packets go in so many at a time."""
    engine = Engine()
    ledgers = Ledgers(engine.names_then)
    with open_capture(path) as capture:
        for packets in capture.blocks(singly=blocks == 1):
            ledgers.packets(packets)
            ledgers.take(engine.receive_all(packets))
        ledgers.take(engine.close())
        ledgers.left_over(engine.findings)
    return diagnose(ledgers)


@pytest.mark.skipif(not ALL, reason="the staged incidents are not beside the project")
@pytest.mark.parametrize("truth", ALL, ids=lambda truth: truth["name"])
def test_the_cause_comes_first(truth: dict[str, Any]) -> None:
    cases = judged(INCIDENTS / truth["file"])
    loud = [case for case in cases if case.severity is not Severity.NOTE]
    if truth["healthy"]:
        assert not loud, [case_object(case)["sentence"] for case in loud]
        return
    assert loud, "no root cause found"
    first = case_object(loud[0])
    assert first["cause"] == truth["cause_code"]
    said = [str(first["who"][name]) for name in PARTS if name in first["who"]]
    assert said
    assert any(name.removeprefix("127.0.0.1:") in truth["who"] or truth["who"] in name for name in said), said


@pytest.mark.skipif(not ALL, reason="the staged incidents are not beside the project")
@pytest.mark.parametrize("truth", ALL[:12], ids=lambda truth: truth["name"])
def test_how_packets_come_makes_no_difference(truth: dict[str, Any]) -> None:
    path = INCIDENTS / truth["file"]
    assert [case_object(case) for case in judged(path, 1)] == [case_object(case) for case in judged(path)]


@pytest.mark.skipif(not LATER.is_dir(), reason="the later incidents are not beside the project")
@pytest.mark.parametrize("path", sorted(LATER.glob("*.pcap.gz")), ids=lambda path: path.name)
def test_the_cause_of_a_later_incident_comes_first(path: Path) -> None:
    loud = [case_object(case) for case in judged(path) if case.severity is not Severity.NOTE]
    causes, party = next((found for name, found in FOUND.items() if path.name.startswith(name)), (set(), ""))
    assert {one["cause"] for one in loud} == causes, [one["sentence"] for one in loud]
    assert not party or party in loud[0]["who"].values()
