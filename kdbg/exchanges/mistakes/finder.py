"""The mistake in a message: the smallest change that makes it valid, and how sure that is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ...protocol.findings.quirks import Sure
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import Fixed, Sized, WireArray
from ...protocol.wire.records import RecordsNode
from ..messages.message import grammar_of, header_grammar
from ..messages.weigh import ROOT, Path, path_text
from .batches import batch_mistake
from .changes import ANY, Change, changes, length_bytes, tag_changes
from .search import Budget, Edit, Exhausted, Mistake, MistakeReader, ReadPosition, Search, Subject, is_header, sized

CLOSED: Final = frozenset({"acks", "isolation_level", "key_type"})
"""Fields that have no value but those that have a name."""
LONGEST = 1 << 20
"""Longer messages are not searched."""
CLIENT_ID_AT = 8
"""Where the client id of a request header begins."""
CERTAIN_MARGIN, CERTAIN_GAIN = 24.0, 48.0
LIKELY_MARGIN, LIKELY_GAIN, VERSION_GAIN = 8.0, 14.0, 32.0
"""Bits by which the best change must be better than the next, and by which the bytes after it must make sense."""
MOST_KINDS, MOST_STEPS = 8, 32
"""Mistakes that are named of one message, and corrections after which it is examined again."""


def unused_values(subject: Subject, search: Search) -> Iterator[Mistake]:
    """Yield the values that no implementation uses, in a message whose fields end where it does."""
    found: list[tuple[ReadPosition, int]] = []
    for place in (search.strict.places or []) if search.ended else []:
        if place.tags or not isinstance(place.node, Fixed) or place.path[2] not in CLOSED:
            continue
        raw, names = subject.frame[place.at : place.at + place.node.size], place.node.names
        value, little = int.from_bytes(raw, "big", signed=True), int.from_bytes(raw, "little", signed=True)
        if names and value not in names and little not in names:
            found.append((place, value))
    sure = Sure.CERTAIN if search.valid and search.strict.odd <= len(found) else Sure.LIKELY
    for place, value in found:
        *first, last = map(str, sorted(place.node.names))
        yield subject.mistake(
            "unused-value", path=path_text(place.path), start=place.at, length=place.node.size, sure=sure,
            actual=str(value), expected=" or ".join([", ".join(first), last]),
        )  # fmt: skip


class Examination(NamedTuple):
    """The mistakes of a message, in the order in which they are corrected; `complete`: all changes were tried.

    The corrected bytes of one have those before it corrected as well.
    """

    mistakes: tuple[Mistake, ...] = ()
    complete: bool = True

    @property
    def mistake(self) -> Mistake | None:
        """The first mistake, None where none explains the message."""
        return self.mistakes[0] if self.mistakes else None


def examine(frame: bytes, *, api: Api, version: int, direction: Direction, size: int | None = None) -> Examination:
    """Return all mistakes of a message, none for a valid one, and whether the search was complete.

    `frame` begins at the header and is complete; `size` is the INT32 before it, None where there is none.
    """
    if not api.reads(direction, version):
        return Examination()
    if len(frame) > LONGEST:
        return Examination(complete=False)
    budget, found = Budget(), dict[str, Mistake]()
    try:
        for one in _mistakes(Subject(frame, api, version, direction), size, budget):
            known = found.get(one.kind)
            found[one.kind] = one if known is None else known._replace(others=known.others + 1)
            if len(found) == MOST_KINDS:
                break
    except Exhausted:
        return Examination(tuple(found.values()), False)
    return Examination(tuple(found.values()), budget.steps > 0)


def _mistakes(subject: Subject, size: int | None, budget: Budget) -> Iterator[Mistake]:
    """Yield the mistake of a message, then those that remain when it is corrected."""
    shifts: list[tuple[int, int]] = []  # where the bytes of a correction begin, and how many there are more than before

    def moved(mistake: Mistake) -> Mistake:
        """Return a mistake of the corrected message at its place in the message that was not corrected."""
        at = mistake.start
        for start, by in reversed(shifts):
            at = at if at <= start else max(start, at - by)
        return mistake._replace(start=at)

    for _ in range(MOST_STEPS):
        search = Search(subject.frame, subject.nodes, budget)
        found = _mistake(subject, search, size)
        if found is not None:
            yield moved(found)
        if found is None or found.sure is not Sure.CERTAIN or not found.corrected or found.kind == "other-version-body":
            break
        wrong, corrected = subject.frame, found.corrected[4:]
        shorter = range(min(len(wrong), len(corrected)))
        start = bisect_left(shorter, True, key=lambda at: wrong[: at + 1] != corrected[: at + 1])
        shifts.append((start, len(corrected) - len(wrong)))
        subject, size = subject._replace(frame=corrected), None
    yield from map(moved, unused_values(subject, search))


def _mistake(subject: Subject, search: Search, size: int | None) -> Mistake | None:
    """Return the mistake that explains best why a message is not valid, but for values that nothing uses."""
    length = len(subject.frame)
    if size is not None and size != length:
        if not search.valid:
            return None  # it may be cut off
        little = int.from_bytes(size.to_bytes(4, "big", signed=True), "little", signed=True)
        kind = "size-counts-itself" if size == length + 4 else "wrong-size"
        kind = "little-endian-size" if little in (length, length + 4) else kind
        return subject.mistake(
            kind, path="size", start=-4, length=4, actual=str(size), expected=str(length),
            corrected=sized(subject.frame), sure=Sure.LIKELY if kind == "wrong-size" else Sure.CERTAIN,
        )  # fmt: skip
    if search.ended and (found := batch_mistake(subject, search.strict.record_sets, search.budget)) is not None:
        return found
    if search.valid:
        places = (one for one in search.strict.places or [] if not one.tags and isinstance(one.node, Fixed))
        tried = ((one, each) for one in places for each in changes(subject.frame, one.at, one.node, one.path[2]))
        for place, change in tried:
            if change.data is not None:  # it makes sense only with its bytes in the other order, or one was damaged
                corrected = subject.frame[: place.at] + change.data + subject.frame[change.end :]
                return subject.mistake(
                    change.kind, path=path_text(place.path), start=place.at, length=change.end - place.at,
                    actual=change.actual, expected=change.expected, corrected=sized(corrected),
                    sure=Sure.LIKELY if sum(map(bool, change.data)) > 1 else Sure.GUESS,
                )  # fmt: skip
        if search.strict.odd <= len(list(unused_values(subject, search))):
            return None
    return _best(subject, search)


def _best(subject: Subject, search: Search) -> Mistake | None:
    """Return the mistake of the best change, as sure as it is better than the next one."""
    results = dict[bytes, Candidate]()  # of several with the same result the best
    for one in sorted(candidates(subject, search), key=lambda one: one.cost):
        results.setdefault(one.corrected or one.kind.encode(), one)
    if not results:
        return _header_alone(subject)
    best, *others = results.values()
    rivals = [  # not the same in other words, as the body of another version differs in every length: a habit, too
        one.cost
        for one in others
        if best.corrected != one.corrected and not (best.kind == "other-version-body" and one.habit)
    ]
    rivals += [search.strict.bits] if search.valid else []
    margin = min(rivals, default=best.cost + 1000.0) - best.cost
    if search.valid and margin < CERTAIN_MARGIN:
        return None
    first, *more = best.edits
    change, gain, sure = first.change, best.gain, Sure.GUESS
    if change.cost < ANY:
        least = VERSION_GAIN if best.kind == "other-version-body" else LIKELY_GAIN
        if margin >= CERTAIN_MARGIN and gain >= CERTAIN_GAIN:
            sure = Sure.CERTAIN
        elif margin >= LIKELY_MARGIN and gain >= least:
            sure = Sure.LIKELY
    return subject.mistake(
        change.kind, path=path_text(first.path), start=first.start, length=change.end - first.start, sure=sure,
        actual=change.actual, expected=change.expected, others=len(more),
        corrected=sized(best.corrected) if best.corrected else b"",
    )  # fmt: skip


def _header_alone(subject: Subject) -> Mistake | None:
    """Return the mistake of a request that is nothing but a header with a compact client id, None for any other."""
    if subject.direction == "response" or subject.version < subject.api.flexible:
        return None
    tags = subject.frame[CLIENT_ID_AT : CLIENT_ID_AT + 1] == b"\0"  # some programs write tagged fields before it, too
    at = CLIENT_ID_AT + tags
    name = subject.frame[at + 1 :].rstrip(b"\0")
    if not name or subject.frame[at] != len(name) + 1 or not name.isascii() or not name.decode().isprintable():
        return None
    corrected = subject.frame[:CLIENT_ID_AT] + len(name).to_bytes(2, "big") + name + b"\0"
    place = {"path": "client_id", "start": CLIENT_ID_AT, "length": len(subject.frame) - CLIENT_ID_AT}
    return subject.mistake("compact-client-id-without-body", **place, corrected=sized(corrected))


HABIT, VERSION, DISTANCE = 3.0, 3.0, 0.5
"""Bits that a habit costs beside its first change, and another version, with those of each version between."""


TEXT, BYTES, ARRAY, RECORDS = "text", "bytes", "array", "records"
"""What begins with a length or a count."""
ANY_LENGTH = frozenset({TEXT, BYTES, ARRAY, RECORDS})
NOT_TEXT, SIZED = ANY_LENGTH - {TEXT}, ANY_LENGTH - {ARRAY}


class Habit(NamedTuple):
    """What a program does everywhere: by kinds of mistakes the lengths it writes so, and what it does with tags.

    `header`: its header has the wrong tags as well.
    """

    lengths: tuple[tuple[str, frozenset[str]], ...] = ()
    tags: str = ""
    header: bool = False

    def change(self, data: bytes, at: int, node: Any, path: Path, tags: bool) -> Change | None:
        """Return the change of a node, or of the tagged fields of a structure, if it is one that is written so."""
        if tags:
            found = tag_changes(data, at, node) if self.header or not is_header(path) else iter(())
            return next((one for one in found if one.kind == self.tags), None)
        sort = ARRAY if isinstance(node, WireArray) else RECORDS if isinstance(node, RecordsNode) else ""
        if isinstance(node, Sized):
            sort = TEXT if node.text else BYTES
        kinds = [kind for kind, wanted in self.lengths if sort in wanted]
        if not kinds or is_header(path):
            return None
        for kind in kinds:
            if kind == "compact-length-without-one" and data[at : at + 1] == b"\0" and not node.nullable:
                return Change(kind, 4.0, "0", "1", at + 1, 0, length_bytes(node.length, 0))
            if one := next((one for one in changes(data, at, node, path[2]) if one.kind == kind), None):
                return one
        return None


def habits(flexible: bool) -> Iterator[Habit]:
    """Yield what programs do wrong throughout a message of a flexible version, or of another."""
    if not flexible:
        for wanted in (ANY_LENGTH, ANY_LENGTH - {RECORDS}, frozenset({TEXT}), SIZED, frozenset({ARRAY})):
            yield Habit((("compact-length", wanted),))
            yield Habit((("little-endian-length", wanted),))
        yield Habit(tags="surplus-tagged-fields")
        yield Habit((("compact-length", ANY_LENGTH),), "surplus-tagged-fields")
        return
    without_one, old_text = "compact-length-without-one", ("int16-length", frozenset({TEXT}))
    old_other = ("int32-length", NOT_TEXT)
    for wanted in (ANY_LENGTH, frozenset({TEXT}), SIZED, frozenset({ARRAY}), NOT_TEXT):
        yield Habit(((without_one, wanted),))
    yield Habit((old_text,))
    yield Habit((("int16-length", SIZED),))
    yield Habit((("int32-length", frozenset({ARRAY})),))
    yield Habit((old_other,))
    yield Habit((old_text, old_other))
    for header in (False, True):
        yield Habit((), "missing-tagged-fields", header)
        yield Habit((old_text, old_other), "missing-tagged-fields", header)
        yield Habit(((without_one, ANY_LENGTH),), "missing-tagged-fields", header)
    yield Habit(tags="surplus-tagged-fields")


class Candidate(NamedTuple):
    """Changes that make a message valid, what they cost with the message that results, and its bytes.

    `gain`: bits that the bytes after the first change cost less than random ones.
    """

    cost: float
    edits: list[Edit]
    gain: float
    corrected: bytes
    habit: bool = False

    @classmethod
    def of(cls, subject: Subject, reader: MistakeReader) -> Candidate:
        """Return the candidate of what a reader changed in a message; the first change is where that is not valid."""
        parts, at, first = [], 0, reader.edits[0]
        for edit in reader.edits:
            parts += [subject.frame[at : edit.start], edit.change.data or b""]
            at = edit.change.end
        known = all(edit.change.data is not None for edit in reader.edits)
        kinds = {edit.change.kind: edit.change.cost for edit in reversed(reader.edits)}
        corrected = b"".join([*parts, subject.frame[at:]]) if known else b""
        gain = 8.0 * (len(subject.frame) - first.start) - (reader.bits - first.bits)
        return cls(reader.bits + sum(kinds.values()), reader.edits, gain, corrected)

    @property
    def kind(self) -> str:
        """The kind of its first change."""
        return self.edits[0].change.kind


def candidates(subject: Subject, search: Search) -> Iterator[Candidate]:
    """Yield what makes the message valid."""
    for reader in search.singles():
        yield Candidate.of(subject, reader)
    for habit in habits(subject.version >= subject.api.flexible):
        reader = search.reader(habit.change)
        if reader.whole() and len(reader.edits) > 1:  # what it does once, or never, is no habit
            one = Candidate.of(subject, reader)
            yield one._replace(cost=one.cost + HABIT, habit=True)
    yield from _versions(subject, search)


def _versions(subject: Subject, search: Search) -> Iterator[Candidate]:
    """Yield the versions whose body the message has though it is of another."""
    api, direction, frame = subject.api, subject.direction, subject.frame
    own = header_grammar(api, subject.version, direction)
    for other in sorted(api.versions, key=lambda one: abs(one - subject.version)):
        if other == subject.version or not api.reads(direction, other):
            continue
        for head in dict.fromkeys((own, header_grammar(api, other, direction))):
            reader = search.reader(nodes=(head, grammar_of(api, other, direction)))
            if not reader.whole():
                continue
            change = Change("other-version-body", VERSION, str(other), str(subject.version), 0, None, None)
            probe = search.reader(nodes=(head,))
            probe.whole()
            edit = Edit(probe.at, ROOT, change._replace(end=len(frame)), probe.bits)
            gain = 8.0 * (len(frame) - probe.at) - (reader.bits - probe.bits)
            corrected = frame[:2] + other.to_bytes(2, "big") + frame[4:] if direction == "request" else b""
            yield Candidate(reader.bits + VERSION + DISTANCE * abs(other - subject.version), [edit], gain, corrected)
            return
