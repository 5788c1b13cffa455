"""Cases that are kept: written as JSON by one process, told by another as if it had found them itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...protocol.findings.kinds import Severity
from .case import Case, Evidence, Rule, Who
from .text import case_object

if TYPE_CHECKING:
    from ..ledgers import Ledgers


def kept(case: Case) -> dict[str, Any]:
    """Return a case as JSON can hold it, to be told again: with its times in nanoseconds, for seconds are rounded."""
    return {**case_object(case), "since_ns": case.since, "until_ns": case.until}


def stored_case(found: Mapping[str, Any]) -> Case:
    """Return a case that was kept, its sentences as they were made; raise ValueError for what is none."""
    try:
        evidence = found["evidence"]
        rule = Rule(
            str(found["cause"]), Severity(found["severity"]), "", _plain(found["sentence"]), _plain(found["advice"]),
            str(found["document"]), _nothing, tuple(_plain(one) for one in found["alternatives"]),
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


def _nothing(book: Ledgers) -> Iterator[Case]:
    """Find nothing: the case is there already."""
    return iter(())
