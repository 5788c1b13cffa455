"""Why something does not work: causes, found in the ledgers of a conversation by rules, each with its evidence.

`diagnose(ledgers)` returns the cases that the rules find, the weightiest first, after-effects separated from causes. A
rule in `rules` says what it looks for, what makes it sure, its sentence and advice. Nothing here opens files or prints.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from ...protocol.findings import Severity
from ..ledgers import Ledgers
from ..ledgers.sessions import ORDER
from .case import CERTAINTIES, Case, Certainty, Evidence, Rule, Who
from .rules import RULES

__all__ = ["Case", "Certainty", "Evidence", "Rule", "Who", "diagnose"]
BEFORE = 1_000_000_000
"""Nanoseconds that an after-effect may seem to begin before its cause: what was asked before is answered after it."""
MOST = 1000
"""The most cases of one rule that are returned."""
SAME: tuple[str, ...] = ("client_id", "topic", "group", "transactional_id")
"""What a cause and its after-effect have in common, where both say it."""


def diagnose(book: Ledgers) -> list[Case]:
    """Return the causes that the rules find in the ledgers, the weightiest first.

    A case that blames a party for what a malformed message explains itself is a note: such a message is its first
    evidence, and half of all.
    """
    mistaken = {number: f"malformed-{side}" for session in book.sessions.values()
                for number, side in session.mistakes.exchanges.items()}  # fmt: skip
    cases: list[Case] = []
    for rule in RULES.values():
        for case in islice(rule.find(book), MOST):
            numbers = case.evidence.exchanges
            because = mistaken.get(numbers[0]) if numbers else None
            half = 2 * sum(number in mistaken for number in numbers) >= len(numbers)
            if because is not None and case.code not in mistaken.values() and half:
                case = replace(case, severity=Severity.NOTE, because=because)
            cases.append(case)
    return sorted(after_effects(cases), key=weight)


def after_effects(cases: list[Case]) -> list[Case]:
    """Return the cases, those that another explains as notes that name it."""
    causes = [case for case in cases if case.rule.explains and case.severity is not Severity.NOTE]
    found: list[Case] = []
    for case in cases:
        for cause in causes:
            pairs = ((getattr(cause.who, name), getattr(case.who, name)) for name in SAME)
            explains = cause is not case and case.code in cause.rule.explains and cause.code not in case.rule.explains
            before = cause.since and case.until and case.until + BEFORE < cause.since
            if explains and not before and all(None in pair or pair[0] == pair[1] for pair in pairs):
                case = replace(case, severity=Severity.NOTE, because=cause.code)
                break
        found.append(case)
    return found


def weight(case: Case) -> tuple[int, float, int, int]:
    """Return what cases are ordered by: the weightiest has the least."""
    return ORDER.index(case.severity), -case.weight, CERTAINTIES.index(case.certainty), case.since
