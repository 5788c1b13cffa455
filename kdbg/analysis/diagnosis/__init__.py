"""Why something does not work: causes, found in the ledgers of a conversation by rules, each with its evidence.

`diagnose(ledgers)` returns the cases that the rules find, the weightiest first, after-effects separated from causes. A
rule in `rules` says what it looks for, what makes it sure, its sentence and advice. The rules of `milestones` find what
clients do not get past; they give way to a rule that gives the reason. Nothing here opens files or prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from operator import attrgetter

from ...protocol.findings import Severity
from ..ledgers import Ledgers
from ..ledgers.sessions import ORDER
from .case import MILESTONES, Case, Evidence, Rule, Who
from .queries import clusters_of, grouped
from .rules import RULES
from .trials import CERTAINTIES, Certainty

__all__ = ["Case", "Certainty", "Evidence", "Rule", "Who", "diagnose"]
BEFORE = 1_000_000_000
"""Nanoseconds that an after-effect may seem to begin before its cause: what was asked before is answered after it."""
AFTER = 30_000_000_000
"""Nanoseconds after the end of a cause within which its after-effects begin."""
MOST = 1000
"""The most cases of one rule that are returned."""
SAME: tuple[str, ...] = ("client_id", "topic", "group", "transactional_id")
"""What a cause and its after-effect have in common, where both say it."""


def diagnose(book: Ledgers, *, over: bool = True) -> list[Case]:
    """Return the causes that the rules find in the ledgers, the weightiest first; `over`: the capture has ended.

    A case that blames a party for what a malformed message explains itself is a note: such a message is its first
    evidence, and half of all.
    """
    mistaken = {number: f"malformed-{side}" for mistakes in book.mistakes.values()
                for number, side in mistakes.exchanges.items()}  # fmt: skip
    cases: list[Case] = []
    for rule in RULES.values():
        for case in islice(rule.find(book), MOST):
            exchanges = case.evidence.exchanges
            because = mistaken.get(exchanges[0]) if exchanges else None
            half = 2 * sum(number in mistaken for number in exchanges) >= len(exchanges)
            if because is not None and case.code not in mistaken.values() and half:
                case = replace(case, severity=Severity.NOTE, because=because)
            cases.append(case)
    reasons = grouped((case for case in cases if not case.rule.fallback), attrgetter("code"))
    shown = {code: {one for case in some for one in numbers(case)} for code, some in reasons.items()}
    left = [case for case in cases if not (case.rule.fallback and has_reason(case, shown))]
    if not over:
        left = [case for case in left if case.code != "not-readable"]  # what is not there yet may come
    clusters = clusters_of(book)
    return with_rivals(sorted(after_effects(left, clusters), key=weight), clusters)


def numbers(case: Case) -> set[tuple[str, int]]:
    """Return the numbers of a case's evidence, each after "exchange" or "packet"."""
    exchanges, packets, _ = case.evidence
    return {*(("exchange", number) for number in exchanges), *(("packet", number) for number in packets)}


def has_reason(case: Case, shown: Mapping[str, set[tuple[str, int]]]) -> bool:
    """Return whether a rule that is no after-effect of a case has the same evidence, given that of each rule."""
    own = numbers(case)
    return any(code not in case.rule.explains and not own.isdisjoint(others) for code, others in shown.items())


def after_effects(cases: list[Case], clusters: Mapping[str, str]) -> list[Case]:
    """Return the cases, those that another explains as notes that name it; `clusters` are the ids by broker."""
    causes = [case for case in cases if case.severity is not Severity.NOTE]
    causes.sort(key=lambda cause: cause.rule.fallback)  # a reason before what has none
    found: list[Case] = []
    for case in cases:
        for cause in causes:
            explains = cause.certainty != "guess" and is_explained(case, cause)
            if not (explains or accounts_for(cause, case)) or not is_during(cause, case):
                continue
            if cause.who.group == case.who.group is not None or are_close(cause.who, case.who, clusters):
                case = replace(case, severity=Severity.NOTE, because=cause.code)
                break
        found.append(case)
    return found


def is_explained(case: Case, cause: Case) -> bool:
    """Return whether causes of the one kind are after-effects of those of the other."""
    return cause is not case and case.code in cause.rule.explains and cause.code not in case.rule.explains


def with_rivals(cases: list[Case], clusters: Mapping[str, str]) -> list[Case]:
    """Return ordered cases, each with those after it that explain the same in another way.

    A guess that would explain another case is its rival, and so are two causes with the same evidence, unless one is
    certain.
    """
    found: list[Case] = []
    for case in cases:
        rivals = (at for at, one in enumerate(found) if is_rival(one, case) and is_during(one, case)
                  and are_close(one.who, case.who, clusters))  # fmt: skip
        at = next(rivals, None)
        if at is None:
            found.append(case)
        else:
            found[at] = replace(found[at], rivals=(*found[at].rivals, case))
    return found


def is_rival(one: Case, other: Case) -> bool:
    """Return whether two causes may explain the same."""
    if Severity.NOTE in (one.severity, other.severity) or one.code == other.code:
        return False
    for case, cause in ((one, other), (other, one)):
        if cause.certainty == "guess" and is_explained(case, cause):
            return True
    return "certain" not in (one.certainty, other.certainty) and not numbers(one).isdisjoint(numbers(other))


def are_close(cause: Who, effect: Who, clusters: Mapping[str, str]) -> bool:
    """Return whether two cases contradict one another in no name, and share one, a host, or the cluster."""
    pairs = dict(zip(Who._fields, zip(cause, effect, strict=True), strict=True))
    if any(None not in pairs[name] and pairs[name][0] != pairs[name][1] for name in SAME):
        return False
    if None in pairs["broker"] or any(one == other is not None for one, other in pairs.values()):
        return True
    return clusters.get(cause.broker or "") == clusters.get(effect.broker or "") is not None


def is_during(cause: Case, case: Case) -> bool:
    """Return whether a case is seen while its cause is, or shortly after; cases without times fit any."""
    if not (cause.since and case.since):
        return True
    return case.until + BEFORE >= cause.since and case.since <= cause.until + AFTER


def accounts_for(cause: Case, case: Case) -> bool:
    """Return whether an error that is more than a guess accounts for a case without a reason: they share a name.

    It does not for what a client did not get past before it came to the milestone of the cause.
    """
    if not case.rule.fallback or cause.rule.fallback:
        return False
    if MILESTONES.index(case.milestone) < MILESTONES.index(cause.milestone):
        return False
    pairs = [(getattr(cause.who, name), getattr(case.who, name)) for name in SAME]
    return cause.severity is Severity.ERROR and cause.certainty != "guess" and any(a == b is not None for a, b in pairs)


def weight(case: Case) -> tuple[int, float, int, int]:
    """Return what cases are ordered by: the weightiest has the least."""
    return ORDER.index(case.severity), -case.weight, CERTAINTIES.index(case.certainty), case.since
