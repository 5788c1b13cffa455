"""The sentences of a case, and its JSON object: filled from the facts of the case; and cases read back from JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import Formatter
from typing import Any

from ...protocol.findings import Severity, amounts
from ..ledgers import Ledgers
from .case import Case, Evidence, Rule, Who
from .trials import Certainty, trials


def kept(case: Case) -> dict[str, Any]:
    """Return a case as JSON can hold it, to be read back: its times are in nanoseconds, as seconds are rounded."""
    return {**case_object(case), "since_ns": case.since, "until_ns": case.until}


def stored_case(found: Mapping[str, Any]) -> Case:
    """Return a case that was kept, its sentences as they were made; raise ValueError for what is none."""
    try:
        evidence = found["evidence"]
        rule = Rule(
            str(found["cause"]), found.get("milestone", "connection"), "", _plain(found["sentence"]),
            _plain(found["advice"]), str(found["document"]), lambda book: iter(()),
            tuple(_plain(one) for one in found["alternatives"]),
            severity=Severity(found["severity"]),
        )  # fmt: skip
        return Case(
            rule, Who(**found["who"]), int(found["since_ns"]), int(found["until_ns"]), int(found["count"]),
            Evidence(tuple(map(int, evidence["exchanges"])), tuple(map(int, evidence["packets"])),
                     tuple(map(str, evidence["fields"]))),
            certainty=found["certainty"], severity=rule.severity, because=str(found["because"] or ""),
        )  # fmt: skip
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not a cause stored by kdbg: {error}") from None


def _plain(text: str) -> str:
    """Return a template that comes to a text as it is."""
    return text.replace("{", "{{").replace("}", "}}")


UNKNOWN = {
    "client_id": "(no client.id)", "host": "(unknown)", "broker": "(unknown)", "topic": "(unknown)",
    "group": "(unknown)", "user": "(unknown)", "transactional_id": "(unknown)", "partition": "(unknown)",
    "listener": "(unknown)", "cluster_id": "(unknown)",
}  # fmt: skip
"""The text for what a case does not name."""
HEDGES: dict[Certainty, str] = {"certain": "", "likely": "probably ", "guess": "possibly "}
"""The text of `{probably}`: where a rule's certainty varies, its sentence has it once."""
MOST_NAMES = 4


class Sentences(Formatter):
    """Fill templates: `{name!d}` is a duration in nanoseconds, `{name!t}` how often, `{name:record}` a count."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """Return the text of a duration or of a number of times; otherwise what Python's conversions return."""
        if conversion == "d":
            return duration(value)
        return amounts.times(value) if conversion == "t" else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a number with its noun where the format is a noun, otherwise what Python's formats return."""
        if len(format_spec) > 1 and format_spec[0].isalpha():
            return amounts.count(round(value), format_spec)
        return str(super().format_field(value, format_spec))


SENTENCES = Sentences()


def named(noun: str, names: Iterable[Any], most: int = MOST_NAMES) -> str:
    """Return names after their noun, the first ones of many: `topic a`, `topics a, b, c, d and 2 more`."""
    unknown = UNKNOWN["client_id"] if noun == "client" else "(unknown)"
    shown = [str(name) or unknown for name in names] or [unknown]
    more = f" and {len(shown) - most:,} more" if len(shown) > most else ""
    return f"{noun}{'s' * (len(shown) > 1)} {', '.join(shown[:most])}{more}"


def duration(value: int) -> str:
    """Return nanoseconds in words: "240 ms", "3.5 s", "2 min", "5 h"."""
    if value >= 7_200_000_000_000:
        return f"{value / 3600e9:,.0f} h"
    if value >= 120_000_000_000:
        return f"{value / 60e9:.3g} min"
    if value >= 999_500_000:
        return f"{value / 1e9:.2g} s" if value < 9_950_000_000 else f"{value / 1e9:.0f} s"
    return f"{value / 1e6:.3g} ms"


def filled(template: str, case: Case) -> str:
    """Return a template filled with the facts of a case."""
    who = {name: UNKNOWN[name] if value is None else value for name, value in case.who._asdict().items()}
    known = {"count": case.count, "times": amounts.times(case.count), "probably": HEDGES[case.certainty]}
    return SENTENCES.vformat(template, (), {**known, **who, **case.facts})


def sentence(case: Case) -> str:
    """Return what happened, in one sentence without a full stop; `probably` in it if likely; not escaped."""
    return filled(case.rule.sentence, case)


def advice(case: Case) -> str:
    """Return what to change; not escaped."""
    return filled(case.rule.advice, case)


def alternatives(case: Case) -> Sequence[str]:
    """Return what else it might be, rival causes last; of others nothing where the case is certain."""
    others = () if case.certainty == "certain" else case.rule.alternatives
    return [*(filled(one, case) for one in others), *rivals(case)]


def rivals(case: Case) -> Sequence[str]:
    """Return the causes that may explain the same, each with what decides between it and the case."""
    return [f"{one.code} ({one.certainty}): {sentence(one)}. To decide: {advice(one)}" for one in case.rivals]


def checked(book: Ledgers) -> str:
    """Return what was checked in the ledgers: how many clients, connections, exchanges, groups, topics."""
    clients = {(session.client_id, session.peers.client[0]) for session in book.sessions.values()}
    numbers = {"client": len(clients), "TCP connection": len(book.paths), "exchange": book.exchanges,
               "group": len(book.groups), "topic": len(book.clusters.topics)}  # fmt: skip
    return ", ".join(amounts.count(number, noun) for noun, number in numbers.items())


def rule_object(rule: Rule) -> Mapping[str, Any]:
    """Return a rule as JSON has it; its texts are templates. Trials are hits and misses, by certainty and kind."""
    return {
        "cause": rule.code,
        "severity": rule.severity.value,
        "milestone": rule.milestone,
        "title": rule.title,
        "looks_for": (rule.find.__doc__ or "").split("\n\n")[0].removeprefix("Look for ").rstrip("."),
        "sentence": rule.sentence,
        "advice": rule.advice,
        "document": rule.document,
        "alternatives": list(rule.alternatives),
        "explains": sorted(rule.explains),
        "trials": trials().get(rule.code, {}),
    }


def case_object(case: Case) -> Mapping[str, Any]:
    """Return a case as JSON has it: times are seconds since the epoch."""
    return {
        "cause": case.code,
        "severity": case.severity.value,
        "milestone": case.milestone,
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
