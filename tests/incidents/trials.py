"""How often each rule is right, over all staged runs: `python -m tests.incidents.trials [--write] [NAME…]`.

Each failing run is judged whole, in parts, at half the speed, beside another one, and among fifty healthy clients; each
healthy run whole, in a part, and at other speeds. A rule is right where a case of it names the run's cause and the
party, and wrong where a case above a note names another cause.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kdbg.analysis.diagnosis import Case
from kdbg.analysis.diagnosis.text import sentence
from kdbg.capture.packet import Packet
from kdbg.protocol.findings import Severity

from . import CAPTURES
from .codes import MISREAD, NO_RULE_YET
from .scenarios import INCIDENTS
from .shown import missing
from .variants import at_speed, elsewhere, judged, packets_of, part, together

TOPIC_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TRUTH: dict[str, dict[str, Any]] = {
    one["name"]: one for one in map(json.loads, (CAPTURES / "truth.jsonl").read_text().splitlines())
}
FAILING = [one for one in TRUTH.values() if not one["healthy"]]
HEALTHY = [one for one in TRUTH.values() if one["healthy"] and one["name"] not in MISREAD]
PARTS = ("first 60 %", 0.0, 0.6), ("last 70 %", 0.3, 1.0)
"""Parts of a capture's time that are judged by themselves."""
CROWD = (
    "topics-are-there-already", "user-sees-no-topics", "transactions-aborted-on-purpose",
    "preferred-leaders-lead-already", "bulk-load-without-keys", "one-bootstrap-server-gone", "operations-script",
    "share-group-at-work", "versions-fall-back", "big-compressed-batches", "replay-from-a-time",
    "sasl-sessions-renewed", "everyday-aiokafka", "idle-connections-closed", "transactions-committed",
    "sasl-sessions-renewed-kafka-python", "everyday-kafkajs", "metadata-every-second", "compacted-topic",
    "long-polls-cut-short", "idle-long-polls", "console-tools", "metrics-with-acks-0", "topic-made-on-first-use",
    "members-come-and-go-java",
)  # fmt: skip
"""Healthy runs with fifty clients in all."""
STOPPED = "127.0.0.11:9092"
"""A broker that is stopped while other clusters run: clients of earlier runs still try to connect to it."""


class Trial(NamedTuple):
    """One judgement: the runs in it, and how it was made. `shown`: what tells the cause is in it."""

    kind: str
    runs: tuple[str, ...]
    packets: tuple[Packet, ...] | list[Packet]
    shown: bool = True


def packets(truth: dict[str, Any]) -> tuple[Packet, ...]:
    return packets_of(CAPTURES / truth["file"])


def trials_of(truth: dict[str, Any], other: dict[str, Any]) -> Iterator[Trial]:
    """Yield the trials of a run; `other` is a failing run that may be beside it."""
    name, run = (truth["name"],), packets(truth)
    yield Trial("whole", name, run)
    with tempfile.TemporaryDirectory() as folder:
        for kind, since, until in PARTS:
            file = part(CAPTURES / truth["file"], since, until, Path(folder) / f"{until}.pcap.gz")
            shown = truth["healthy"] or not missing(file, INCIDENTS[truth["name"]].evidence)
            yield Trial(kind, name, packets_of(file), shown)
    yield Trial("half the speed", name, at_speed(run, 0.5))
    if truth["healthy"]:
        yield Trial("twice the speed", name, at_speed(run, 2))
        return
    end = run[-1][1]
    yield Trial("beside another", (*name, other["name"]), together(run, ending(packets(other), 11, end)))
    crowd = (ending(packets(TRUTH[one]), place, end) for place, one in enumerate(CROWD, 12))
    yield Trial("among fifty", name, together(run, *crowd))


def ending(packets: tuple[Packet, ...], place: int, end: int) -> list[Packet]:
    """Return the packets of another run that ends at the same moment."""
    return elsewhere(packets, place, end - (packets[-1][1] - packets[0][1]))


def loud(cases: list[Case]) -> list[Case]:
    return [case for case in cases if case.severity is not Severity.NOTE and case.code != "not-readable"
            and (case.code, place_of(case.who.broker)) != ("connection-failing", place_of(STOPPED))]  # fmt: skip


def place_of(value: object) -> object:
    """An address as it is in all networks."""
    return value.rpartition(".")[2] if isinstance(value, str) and value.startswith(("127.", "10.")) else value


def is_known(value: object) -> bool:
    """Whether a name is more than the id of a topic whose name was said before the capture."""
    return value is not None and not (isinstance(value, str) and TOPIC_ID.fullmatch(value))


def names_party(case: Case, truth: dict[str, Any]) -> bool:
    """Whether a case is about the party that a run is about: all that both name is the same."""
    pairs = [(said, value) for name, value in truth["who"].items() if is_known(said := getattr(case.who, name, None))]
    same = [place_of(said) in map(place_of, value if isinstance(value, list) else [value]) for said, value in pairs]
    return any(same) and (truth["cause_code"] in NO_RULE_YET or all(same))


class Outcome(NamedTuple):
    """What a trial showed: whether the run's cause came first, whether each run's cause was named, what else was."""

    trial: Trial
    first: bool
    named: bool
    hits: tuple[tuple[str, str], ...]
    """Codes of rules that named a cause and its party, and the certainty that they claimed."""
    misses: tuple[tuple[str, str], ...]
    said: tuple[str, ...]
    """The sentences of misses."""


def is_hit(case: Case, truth: dict[str, Any]) -> bool:
    if truth["cause_code"] in NO_RULE_YET:
        return names_party(case, truth)
    return case.code == truth["cause_code"] and names_party(case, truth)


def is_hit_of_any(case: Case, trial: Trial) -> bool:
    return any(is_hit(case, TRUTH[name]) for name in trial.runs if not TRUTH[name]["healthy"])


def outcome(trial: Trial) -> Outcome:
    cases = loud(judged(trial.packets))
    if len(trial.runs) > 1 or trial.kind == "among fifty":
        cases = [case for case in cases if case.code != "clock-skew" or is_hit_of_any(case, trial)]
    failing = [TRUTH[name] for name in trial.runs if not TRUTH[name]["healthy"]]
    hits = [any(is_hit(case, truth) for truth in failing) for case in cases]
    claims = [(case.code, case.certainty) for case in cases]
    missed = [case for case, hit in zip(cases, hits, strict=True) if not hit]
    return Outcome(
        trial,
        first=hits[0] if hits else not failing,
        named=all(any(is_hit(case, truth) for case in cases) for truth in failing),
        hits=tuple(claim for claim, hit in zip(claims, hits, strict=True) if hit),
        misses=tuple((case.code, case.certainty) for case in missed),
        said=tuple(f"{case.code} {case.certainty}: {sentence(case)}" for case in missed),
    )
