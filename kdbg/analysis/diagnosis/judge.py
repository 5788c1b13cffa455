"""All rules over the ledgers: what they find, in the order of its weight, after-effects separated from causes."""

from __future__ import annotations

from dataclasses import replace

from ...protocol.findings import Severity
from ..ledgers import Ledgers
from ..ledgers.sessions import ORDER
from .case import CERTAINTIES, Case
from .rules import RULES

BEFORE = 1_000_000_000
"""Nanoseconds that an after-effect may seem to begin before its cause: what was asked before is answered after it."""
MOST = 1000
"""Cases of one rule that are told."""
SAME: tuple[str, ...] = ("client_id", "topic", "group", "transactional_id")
"""What a cause and its after-effect have in common, where both say it."""


def diagnose(book: Ledgers) -> list[Case]:
    """Return the causes that the rules find in the ledgers, the weightiest first."""
    cases: list[Case] = []
    for rule in RULES:
        for number, case in enumerate(rule.find(book)):
            if number >= MOST:
                break
            cases.append(case)
    return sorted(after_effects(after_mistakes(cases, book)), key=weight)


def after_mistakes(cases: list[Case], book: Ledgers) -> list[Case]:
    """Return the cases, those as notes that blame a party for what a malformed message explains itself.

    Such a case has a malformed message as its first evidence, and in half of all.
    """
    mistaken = {number: f"malformed-{side}" for session in book.sessions.values()
                for number, side in session.mistakes.exchanges.items()}  # fmt: skip
    found: list[Case] = []
    for case in cases:
        numbers = case.evidence.exchanges
        because = mistaken.get(numbers[0]) if numbers else None
        half = 2 * sum(number in mistaken for number in numbers) >= len(numbers)
        if because is not None and case.code not in mistaken.values() and half:
            case = replace(case, severity=Severity.NOTE, because=because)
        found.append(case)
    return found


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
