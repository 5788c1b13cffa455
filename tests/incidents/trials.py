"""How often each rule is right, over all staged runs: `python -m tests.incidents.trials [--write] [NAME…]`.

Each failing run is judged whole, in parts, at half the speed, beside another one, and among fifty healthy clients; each
healthy run whole, in a part, and at other speeds. A rule is right where a case of it names the run's cause and the
party, and wrong where a case above a note names another cause.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from kdbg.analysis.diagnosis import Case
from kdbg.analysis.diagnosis import case as case_module
from kdbg.analysis.diagnosis.text import sentence
from kdbg.capture.packet import Packet
from kdbg.protocol.findings import Severity

from . import CAPTURES
from .codes import NO_RULE_YET
from .scenarios import INCIDENTS
from .shown import missing
from .variants import at_speed, elsewhere, judged, packets_of, part, together

TOPIC_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TRUTH: dict[str, dict[str, Any]] = {
    one["name"]: one for one in map(json.loads, (CAPTURES / "truth.jsonl").read_text().splitlines())
}
FAILING = [one for one in TRUTH.values() if not one["healthy"]]
HEALTHY = [one for one in TRUTH.values() if one["healthy"]]
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
MIXED = ("beside another", "among fifty")
KEPT = Path(case_module.__file__).with_name("trials.json")
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
    yield from mixed_trials(truth, other)


def mixed_trials(truth: dict[str, Any], other: dict[str, Any]) -> Iterator[Trial]:
    """Yield the trials of a failing run beside another one, and among healthy clients."""
    name, run = (truth["name"],), packets(truth)
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


def names_any(case: Case, truth: dict[str, Any]) -> bool:
    """Whether a case is about something that a run is about, or about the end that its client cannot reach."""
    said = {place_of(value) for value in (*case.who, *map(str, case.facts.values()))}
    return any(place_of(one) in said for value in truth["who"].values() for one in as_list(value))


def as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def names_party(case: Case, truth: dict[str, Any]) -> bool:
    """Whether a case is about the party that a run is about: all that both name is the same."""
    pairs = [(said, value) for name, value in truth["who"].items() if is_known(said := getattr(case.who, name, None))]
    same = [place_of(said) in map(place_of, as_list(value)) for said, value in pairs]
    return any(same) and (truth["cause_code"] in NO_RULE_YET or all(same))


class Outcome(NamedTuple):
    """What a trial showed: whether the run's cause came first, whether that of each run was named."""

    kind: str
    run: str
    shown: bool
    first: bool
    named: bool
    hits: tuple[tuple[str, str], ...]
    """Rules that named a cause and its party, and what their cases claim."""
    misses: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]
    """Those of the misses."""

    @property
    def healthy(self) -> bool:
        return bool(TRUTH[self.run]["healthy"])


def is_hit(case: Case, truth: dict[str, Any]) -> bool:
    """Whether a case names the cause of a run and its party; the party alone where kdbg has no rule for the cause."""
    return (case.code == truth["cause_code"] or truth["cause_code"] in NO_RULE_YET) and names_party(case, truth)


def gives_party(case: Case, failing: list[dict[str, Any]]) -> bool:
    return case.rule.fallback and any(names_any(case, truth) for truth in failing)


def before_hit(cases: list[tuple[Case, bool]], *, healthy: bool) -> list[Case]:
    """Return what is wrong: all that is said of healthy runs, and what comes before the cause of others.

    What gives no reason is right where it names the party.
    """
    at = next((place for place, (_, hit) in enumerate(cases) if hit), min(len(cases), 1))
    return [case for case, _ in (cases if healthy else cases[:at])]


def outcome(trial: Trial) -> Outcome:
    failing = [TRUTH[name] for name in trial.runs if not TRUTH[name]["healthy"]]
    cases = [
        (case, any(is_hit(case, truth) for truth in failing))
        for case in loud(judged(trial.packets))
        if case.code != "clock-skew" or trial.kind not in MIXED  # there, runs are moved to other times
    ]
    rivals = [(rival, any(is_hit(rival, truth) for truth in failing)) for case, _ in cases for rival in case.rivals]
    wrong = before_hit(cases, healthy=not failing)
    causes = [case for case, _ in (*cases, *rivals)]
    named = [any(is_hit(case, truth) for case in causes) for truth in failing if truth["cause_code"] != "clock-skew"]
    return Outcome(
        trial.kind, trial.runs[0], trial.shown,
        first=cases[0][1] if cases else not failing, named=all(named),
        hits=tuple((case.code, case.certainty) for case, hit in (*cases, *rivals) if hit or gives_party(case, failing)),
        misses=tuple((case.code, case.certainty) for case in wrong if not gives_party(case, failing)),
        sentences=tuple(f"{case.code}, {case.certainty}: {sentence(case)}" for case in wrong),
    )  # fmt: skip


def outcomes(job: tuple[str, str]) -> list[Outcome]:
    """Return what the trials of a run show, beside another one."""
    case_module.certainty = lambda code, claim: claim  # type: ignore[assignment]
    name, other = job
    found = [outcome(trial) for trial in trials_of(TRUTH[name], TRUTH[other])]
    packets_of.cache_clear()
    return found


def all_outcomes(names: list[str]) -> Iterator[Outcome]:
    """Yield what the trials of these runs show; failing ones stand beside the next one, by chance."""
    order = [one["name"] for one in FAILING]
    random.Random(25).shuffle(order)
    beside = dict(zip(order, [*order[1:], order[0]], strict=True))
    with ProcessPoolExecutor() as processes:
        for found in processes.map(outcomes, [(name, beside.get(name, name)) for name in names], chunksize=4):
            yield from found


def counted(found: Iterable[Outcome]) -> dict[str, dict[str, dict[str, list[int]]]]:
    """Return hits and misses by rule, claim and kind of trial, as kdbg keeps them."""
    counts = defaultdict[tuple[str, str, str], list[int]](lambda: [0, 0])
    for one in found:
        for place, claims in enumerate((one.hits, one.misses)):
            for code, claim in set(claims):
                counts[code, claim, one.kind][place] += 1
    kept: dict[str, dict[str, dict[str, list[int]]]] = {}
    for (code, claim, kind), count in sorted(counts.items()):
        kept.setdefault(code, {}).setdefault(claim, {})[kind] = count
    return kept


def main(arguments: list[str]) -> int:
    """Judge the runs that are named, or all; print what was missed, and the scores."""
    write = "--write" in arguments
    names = [name for name in arguments if name != "--write"] or [one["name"] for one in (*FAILING, *HEALTHY)]
    found = list(all_outcomes(names))
    for one in found:
        if not one.first or one.misses:
            print(f"{one.run}, {one.kind}: {'' if one.first else 'not '}first; {'; '.join(one.sentences) or 'silent'}")
    for kind, healthy, shown in dict.fromkeys((one.kind, one.healthy, one.shown) for one in found):
        some = [one for one in found if (one.kind, one.healthy, one.shown) == (kind, healthy, shown)]
        certain = sum(any(claim == "certain" for _, claim in one.misses) for one in some)
        what = "quiet" if healthy else "cause first"
        run = "healthy" if healthy else "failing" if shown else "failing, what tells is cut off"
        print(f"{kind}, {run}: {what} in "
              f"{sum(one.first for one in some)} of {len(some)}, all named in {sum(one.named for one in some)}, "
              f"another cause claimed as certain in {certain}")  # fmt: skip
    if write:
        KEPT.write_text(json.dumps(counted(found), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
