"""The sentences of a case, and its object: made last, of what the case has as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from .case import Case

UNKNOWN = {
    "client_id": "a client", "host": "a host", "broker": "the broker", "topic": "a topic", "group": "a group",
    "user": "of unknown name", "transactional_id": "an unknown id", "partition": "one", "listener": "another address",
    "cluster_id": "a cluster",
}  # fmt: skip
"""What stands for whom a case does not name."""


class Sentences(Formatter):
    """Fills templates: `{name!d}` is a duration in nanoseconds."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """Return a value as its conversion wants it."""
        return duration(value) if conversion == "d" else super().convert_field(value, conversion)


SENTENCES = Sentences()


def duration(value: int) -> str:
    """Return nanoseconds in words: "240 ms", "3.5 s", "2 min"."""
    if value >= 120_000_000_000:
        return f"{value / 60e9:.3g} min"
    if value >= 1_000_000_000:
        return f"{value / 1e9:.2g} s" if value < 10_000_000_000 else f"{value / 1e9:.0f} s"
    return f"{value / 1e6:.3g} ms"


def filled(template: str, case: Case) -> str:
    """Return a template with what a case knows."""
    who = {name: UNKNOWN[name] if value is None else value for name, value in case.who._asdict().items()}
    times = "once" if case.count == 1 else f"{case.count:,} times"
    return SENTENCES.vformat(template, (), {"count": case.count, "times": times, **who, **case.facts})


def sentence(case: Case) -> str:
    """Return what happened, in one sentence without a full stop; not escaped."""
    return filled(case.rule.sentence, case)


def advice(case: Case) -> str:
    """Return what to change; not escaped."""
    return filled(case.rule.advice, case)


def alternatives(case: Case) -> Sequence[str]:
    """Return what else it might be; nothing where the case is certain."""
    return () if case.certainty == "certain" else [filled(one, case) for one in case.rule.alternatives]


def case_object(case: Case) -> Mapping[str, Any]:
    """Return a case as JSON has it: times are seconds since the epoch."""
    return {
        "cause": case.code,
        "severity": case.severity.value,
        "sentence": sentence(case),
        "who": {name: value for name, value in case.who._asdict().items() if value is not None},
        "since": case.since / 1e9,
        "until": case.until / 1e9,
        "count": case.count,
        "evidence": {
            "exchanges": list(case.evidence.exchanges), "packets": list(case.evidence.packets),
            "fields": list(case.evidence.fields),
        },
        "advice": advice(case),
        "document": case.rule.document,
        "certainty": case.certainty,
        "alternatives": list(alternatives(case)),
        "because": case.because or None,
    }  # fmt: skip
