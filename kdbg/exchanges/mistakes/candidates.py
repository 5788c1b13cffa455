"""The changes that make a message valid, the best first: single ones, habits, and the bodies of other versions.

A habit is a mistake that a program makes in every field of a kind, not in one: each is tried on the whole message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...protocol.wire.nodes import Sized, WireArray, WireStruct
from ...protocol.wire.records import RecordsNode
from ..messages.message import grammar_of, header_grammar
from ..messages.weigh import ROOT, Path, path_text
from .changes import LENGTHS, Change, changes, length_bytes, tag_changes
from .mistake import Mistake, Subject, sized
from .search import Correction, Edit, Habit, MistakeReader, Search, beginning, is_header

Wanted = Callable[[Any], bool]
HABIT, VERSION, DISTANCE = 3.0, 3.0, 0.5
"""Bits that a habit costs beside its first change, and another version, with those of each version between."""


def _is_text(node: Any) -> bool:
    return isinstance(node, Sized) and node.text


def _is_array(node: Any) -> bool:
    return isinstance(node, WireArray)


def _is_sized(node: Any) -> bool:
    return isinstance(node, LENGTHS) and not isinstance(node, WireArray)


def _is_any(node: Any) -> bool:
    return isinstance(node, LENGTHS)


def _has_no_records(node: Any) -> bool:
    return isinstance(node, LENGTHS) and not isinstance(node, RecordsNode)


def _is_other(node: Any) -> bool:
    return isinstance(node, LENGTHS) and not _is_text(node)


def _wrong_lengths(kind: str, wanted: Wanted) -> Habit:
    """Return the habit of writing the lengths of some nodes in one wrong way."""

    def change(data: bytes, at: int, node: Any, path: Path, tags: bool) -> Change | None:
        if tags or not wanted(node) or is_header(path):
            return None
        if kind == "compact-length-without-one" and data[at : at + 1] == b"\0" and not node.nullable:
            return Change(kind, 4.0, "0", "1", at + 1, 0, length_bytes(node.length, 0))
        return next((one for one in changes(data, at, node, path[2]) if one.kind == kind), None)

    return change


def _wrong_tags(kind: str, *, header: bool = False) -> Habit:
    """Return the habit of leaving out, or doubling, the tagged fields of every structure."""

    def change(data: bytes, at: int, node: Any, path: Path, tags: bool) -> Change | None:
        if not tags or not isinstance(node, WireStruct) or (is_header(path) and not header):
            return None
        return next((one for one in tag_changes(data, at, node) if one.kind == kind), None)

    return change


def _both(*habits: Habit) -> Habit:
    def change(data: bytes, at: int, node: Any, path: Path, tags: bool) -> Change | None:
        found = (habit(data, at, node, path, tags) for habit in habits)
        return next((one for one in found if one is not None), None)

    return change


def habits(flexible: bool) -> Iterator[Habit]:
    """Yield what programs do wrong throughout a message of a flexible version, or of another."""
    if not flexible:
        for wanted in (_is_any, _has_no_records, _is_text, _is_sized, _is_array):
            yield _wrong_lengths("compact-length", wanted)
            yield _wrong_lengths("little-endian-length", wanted)
        yield _wrong_tags("surplus-tagged-fields")
        yield _both(_wrong_lengths("compact-length", _is_any), _wrong_tags("surplus-tagged-fields"))
        return
    old = _both(_wrong_lengths("int16-length", _is_text), _wrong_lengths("int32-length", _is_other))
    for wanted in (_is_any, _is_text, _is_sized, _is_array, _is_other):
        yield _wrong_lengths("compact-length-without-one", wanted)
    yield _wrong_lengths("int16-length", _is_text)
    yield _wrong_lengths("int16-length", _is_sized)
    yield _wrong_lengths("int32-length", _is_array)
    yield _wrong_lengths("int32-length", _is_other)
    yield old
    for header in (False, True):
        missing = _wrong_tags("missing-tagged-fields", header=header)
        yield missing
        yield _both(missing, old)
        yield _both(missing, _wrong_lengths("compact-length-without-one", _is_any))
    yield _wrong_tags("surplus-tagged-fields")


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
