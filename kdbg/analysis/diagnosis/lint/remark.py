"""What a linter found: who did what, how often, and where it is to be seen first."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....protocol.findings import Finding
from ...ledgers.evidence import Mark, Occurrences
from .registry import Lint


class Party(NamedTuple):
    """Who did it: a client by its id, host and software, or a broker by its address; "" for what is not told."""

    client_id: str = ""
    host: str = ""
    software: str = ""
    broker: str = ""


class Remark(NamedTuple):
    """One thing that a party did: `about` is which API and version, or field, "" for none.

    `mistake` is the first finding of a mistake, which says more.
    """

    lint: Lint
    party: Party
    about: str
    seen: Occurrences
    mistake: Finding | None = None

    @property
    def first(self) -> Mark | None:
        """The first exchange that shows it."""
        return self.seen.first


def remark_object(remark: Remark) -> dict[str, Any]:
    """Return a remark as JSON has it: times are seconds since the epoch."""
    first, lint = remark.first, remark.lint
    return {
        "code": lint.code,
        "old_code": lint.old_code,
        "severity": lint.severity.value,
        "what": lint.what,
        "who": {name: value for name, value in remark.party._asdict().items() if value},
        "about": remark.about or None,
        "text": remark.mistake.text if remark.mistake is not None else None,
        "count": remark.seen.count,
        "since": first.time / 1e9 if first is not None else None,
        "until": remark.seen.until / 1e9 if first is not None else None,
        "exchanges": list(remark.seen.numbers),
        "document": lint.document,
    }
