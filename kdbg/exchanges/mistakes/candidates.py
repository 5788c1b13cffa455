"""The changes that make a message valid, the best first: single ones, habits, and the bodies of other versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..messages.message import grammar_of, header_grammar
from ..messages.weigh import ROOT, path_text
from .changes import Change
from .habits import habits
from .mistake import Mistake, Subject, sized
from .search import Correction, Edit, MistakeReader, Search, beginning

HABIT, VERSION, DISTANCE = 3.0, 3.0, 0.5
"""Bits that a habit costs beside its first change, and another version, with those of each version between."""


class Candidate(NamedTuple):
    """Changes that make a message valid, what they cost with the message that results, and its bytes."""

    cost: float
    found: Correction
    corrected: bytes
    habit: bool = False

    @property
    def kind(self) -> str:
        """The kind of its first change."""
        return self.found.edits[0].change.kind

    def rivals(self, other: Candidate) -> bool:
        """Return whether another one is an alternative, not the same in other words.

        The body of another version differs in every length, which is a habit as well.
        """
        same = self.kind == "other-version-body" and other.habit
        return not same and self.corrected != other.corrected

    def mistake(self, subject: Subject) -> Mistake:
        """Return the mistake that they undo."""
        first = self.found.edits[0]
        change = first.change
        return subject.mistake(change.kind)._replace(
            path=path_text(first.path), start=first.start, length=change.end - first.start, actual=change.actual,
            expected=change.expected, others=len(self.found.edits) - 1,
            corrected=sized(self.corrected) if self.corrected else b"",
        )  # fmt: skip


def candidates(subject: Subject, search: Search) -> list[Candidate]:
    """Return what makes the message valid, the best first; of several with the same result the best."""
    found = sorted(_candidates(subject, search), key=lambda one: one.cost)
    results = dict[bytes, Candidate]()
    for one in found:
        results.setdefault(one.corrected or one.kind.encode(), one)
    return list(results.values())


def _candidates(subject: Subject, search: Search) -> Iterator[Candidate]:
    for found in search.singles():
        yield _candidate(subject, found, 0.0)
    for habit in habits(subject.version >= subject.api.flexible):
        if (found_everywhere := search.with_habit(habit)) is not None:
            yield _candidate(subject, found_everywhere, HABIT)._replace(habit=True)
    yield from _versions(subject, search)


def _candidate(subject: Subject, found: Correction, more: float) -> Candidate:
    known = all(edit.change.data is not None for edit in found.edits)
    corrected = corrected_bytes(subject.frame, found.edits) if known else b""
    kinds = {edit.change.kind: edit.change.cost for edit in reversed(found.edits)}
    return Candidate(found.bits + sum(kinds.values()) + more, found, corrected)


def corrected_bytes(frame: bytes, edits: list[Edit]) -> bytes:
    """Return a message with its changes made."""
    parts, at = [], 0
    for edit in edits:
        parts += [frame[at : edit.start], edit.change.data or b""]
        at = edit.change.end
    return b"".join([*parts, frame[at:]])


def _versions(subject: Subject, search: Search) -> Iterator[Candidate]:
    """Yield the versions whose body the message has though it is of another."""
    api, direction, frame = subject.api, subject.direction, subject.frame
    own = header_grammar(api, subject.version, direction)
    for other in sorted(api.versions, key=lambda one: abs(one - subject.version)):
        if other == subject.version or not api.reads(direction, other):
            continue
        for head in dict.fromkeys((own, header_grammar(api, other, direction))):
            reader = MistakeReader(frame, search.budget)
            reader.todo = beginning((head, grammar_of(api, other, direction)))
            if not reader.whole():
                continue
            change = Change("other-version-body", VERSION, str(other), str(subject.version), 0, None, None)
            at, bits = _body_at(reader, frame, head)
            edit = Edit(at, ROOT, change._replace(end=len(frame)), bits)
            found = Correction([edit], reader.bits, 8.0 * (len(frame) - at) - (reader.bits - bits))
            corrected = frame[:2] + other.to_bytes(2, "big") + frame[4:] if direction == "request" else b""
            yield Candidate(reader.bits + VERSION + DISTANCE * abs(other - subject.version), found, corrected)
            return


def _body_at(reader: MistakeReader, frame: bytes, head: object) -> tuple[int, float]:
    """Return where the body begins, and what the header costs."""
    probe = MistakeReader(frame, reader.budget)
    probe.todo = beginning((head,))  # type: ignore[arg-type]
    probe.whole()
    return probe.at, probe.bits
