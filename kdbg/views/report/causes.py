"""Captures judged while their rows are made: the causes that diagnosis finds, and the stories of whom they concern.

    packets, exchanges ─ ledgers ─┬─ diagnose ─ Cause: the head of the page
                                  └─ stories ── Lane: a line of time for each group, client … of a cause

Ledgers are forgotten after each capture; what is kept of it is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...analysis.diagnosis import Case, Who, diagnose, weight
from ...analysis.diagnosis.stories import Event, subjects, tell
from ...analysis.diagnosis.stories.text import sentence as told_of
from ...analysis.diagnosis.text import advice, alternatives, sentence
from ...analysis.ledgers import Ledgers
from ...exchanges.messages.peers import endpoint
from ...protocol.findings import Severity
from ..render.diagnosis import command, evidence_text
from ..render.values import escape
from .cells import duration, shown, when

MOST_CAUSES = 100
"""Of all captures together."""
MOST_LANES, MOST_EVENTS = 8, 120
"""Lines of time of a capture, and events on each: the causes and errors among many, then the first of the others."""
TEXT = 2000
"""Characters of a sentence."""
NAMES = {"client_id": "client", "transactional_id": "transactional id", "cluster_id": "cluster"}
"""What the page calls whom a cause is about, where that is not the field's own name."""
NOWHERE = ("-", "<stdin>")


class Cause(NamedTuple):
    """What diagnosis found, for the page: `case` as data, in the capture called `file`, and its texts.

    `level` is how serious it is: error, warning, note. `who` are those it is about, each with what it is; `when` says
    since when, and for how long. `command` shows the evidence, "" where none does.
    """

    case: Case
    file: str
    level: str
    sentence: str
    advice: str
    who: list[tuple[str, str]]
    when: str
    command: str
    evidence: str
    alternatives: str

    @classmethod
    def of(cls, case: Case, file: str) -> Cause:
        """Return a case for the page."""
        source = "" if file in NOWHERE or "\\" in file else file
        since, until = case.since // 1000, case.until // 1000
        lasts = f", for {duration(until - since)}" if until > since else ""
        return cls(
            case, file, case.severity.value, shown(sentence(case), TEXT), shown(advice(case), TEXT),
            [(NAMES.get(name, name), shown(value)) for name, value in case.who._asdict().items() if value is not None],
            f"{when(since)} UTC{lasts}" if since else "unknown time", shown(command(case, source), TEXT),
            shown(evidence_text(case, source), TEXT), shown("; ".join(alternatives(case)), TEXT),
        )  # fmt: skip


class Lane(NamedTuple):
    """The story of whom a cause concerns: `kind` and `name` as `kdbg story` has them, in the capture called `file`."""

    kind: str
    name: str
    file: str
    events: list[Event]


@dataclass
class ReportedCauses:
    """The causes and stories of all captures that were read, the weightiest first; `left` causes are not held."""

    causes: list[Cause] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    files: int = 0
    left: int = 0

    def take(self, ledgers: Ledgers, file: str) -> None:
        """Judge a capture."""
        cases = diagnose(ledgers)
        self.lanes += lanes(ledgers, cases, file)
        self.add(cases, file)

    def add(self, cases: Sequence[Case], file: str) -> None:
        """Add the cases of a capture, the weightiest first."""
        self.files += 1
        weightiest = (Cause.of(case, file) for case in cases[:MOST_CAUSES])
        found = sorted([*self.causes, *weightiest], key=lambda cause: weight(cause.case))
        self.left += len(cases[MOST_CAUSES:]) + len(found[MOST_CAUSES:])
        self.causes = found[:MOST_CAUSES]

    @property
    def loud(self) -> list[Cause]:
        """Those above a note."""
        return [cause for cause in self.causes if cause.case.severity is not Severity.NOTE]

    @property
    def notes(self) -> list[Cause]:
        """After-effects, and what is merely worth knowing."""
        return [cause for cause in self.causes if cause.case.severity is Severity.NOTE]


def lanes(book: Ledgers, cases: Sequence[Case], file: str) -> Iterator[Lane]:
    """Yield the stories of whom causes above a note concern, one for each of these."""
    known = {(kind, subject.name) for kind, subject in subjects(book)}
    wanted: dict[tuple[str, str], None] = {}
    for case in cases:
        if case.severity is not Severity.NOTE:
            found = next((one for one in concerned(book, case.who) if one in known), None)
            if found is not None:
                wanted.setdefault(found)
    for kind, name in list(wanted)[:MOST_LANES]:
        events = [event for event in tell(book, kind, name, list(cases)) or [] if event.time > 0]
        ranked = sorted(range(len(events)), key=lambda i: (events[i].kind not in ("cause", "error"), i))
        yield Lane(kind, name, escape(file), [events[i] for i in sorted(ranked[:MOST_EVENTS])])


def concerned(book: Ledgers, who: Who) -> Iterator[tuple[str, str]]:
    """Yield of whom a story may tell what happened, the closest first."""
    for kind, name in (("transaction", who.transactional_id), ("group", who.group), ("client", who.client_id),
                       ("topic", who.topic)):  # fmt: skip
        if name is not None:
            yield kind, name
    for number, session in book.sessions.items():
        if who.broker == endpoint(session.broker) and who.host in (None, session.peers.client[0]):
            yield "connection", str(number)


def event_text(event: Event) -> str:
    """Return what an event says, for the page."""
    return shown(told_of(event), TEXT)
