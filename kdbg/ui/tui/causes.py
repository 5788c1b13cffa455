"""The pane of causes: what `kdbg diagnose` says of what is read, each with its evidence, from which one gets there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, NamedTuple

from rich.text import Text
from textual.message import Message

from ...protocol.findings import Severity
from ...protocol.findings.amounts import count
from ...views.render.findings import MARKS
from ...views.render.values import cut, escape
from .feed import Causes
from .pane import Pane, StyledText
from .table import RowTexts

INDENT = 4
NARROWEST = 24
UNFOLDED = 20
"""Causes that are not folded at first."""


@dataclass(eq=False)
class Cause:
    """A cause: the file, the object that diagnosis made of it, and whether its lines are folded."""

    file: int
    case: Mapping[str, Any]
    folded: bool

    @property
    def key(self) -> tuple[Any, ...]:
        """What stays the same as more becomes known."""
        return self.file, self.case["cause"], *self.case["who"].items()


class CauseLine(NamedTuple):
    """A line: of which cause, what stands on it, and the exchange that it leads to."""

    cause: Cause | None
    pieces: list[StyledText]
    exchange: int | None = None


class CausePane(Pane):
    """Shows causes; the cursor is on a line."""

    @dataclass
    class Wanted(Message):
        """Somebody wants to look at an exchange, by its file and number."""

        file: int
        number: int

    def __init__(self, texts: RowTexts, files: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self._texts, self._files = texts, files
        self._causes: Mapping[int, Causes] = {}
        self._so_far = self._unjudged = ""
        self.causes: list[Cause] = []
        self.lines: list[CauseLine] = []

    @property
    def count(self) -> int:
        return len(self.lines)

    @property
    def line(self) -> CauseLine | None:
        """The line under the cursor."""
        return self.lines[self.cursor] if self.cursor < self.count else None

    def load(self, causes: Mapping[int, Causes], so_far: str, unjudged: str) -> None:
        """Show what is known by now; `so_far` says how far the reading is, "" where it is over, `unjudged` why nobody
        judges. The cursor stays on its cause, folded ones stay folded."""
        old = {cause.key: cause for cause in self.causes}
        self._causes, self._so_far, self._unjudged = causes, so_far, unjudged
        self.causes = []
        for file in sorted(causes):
            for told in causes[file].objects:
                cause = Cause(file, told, told["severity"] == Severity.NOTE or len(self.causes) >= UNFOLDED)
                before = old.get(cause.key)
                cause.folded = cause.folded if before is None else before.folded
                self.causes.append(cause)
        self.refit()

    def refit(self) -> None:
        at = self.line
        lines = [*self._lines(max(self.size.width - 1, NARROWEST))]
        if at is not None and at.cause is not None:
            old, new = (_places(some, at.cause.key) for some in (self.lines, lines))
            if new:  # as many lines after its first, if it has as many
                self.cursor = new[min(self.cursor - old[0], len(new) - 1)]
        self.lines = lines
        super().refit()

    def _lines(self, width: int) -> Iterator[CauseLine]:
        if self._unjudged:
            yield CauseLine(None, [StyledText(cut(self._unjudged, width), "note")])
            return
        loud = [cause for cause in self.causes if cause.case["severity"] != Severity.NOTE]
        if self._so_far:
            found = count(len(loud), "cause") if loud else "no root cause found"
            yield CauseLine(None, [StyledText(cut(f"{self._so_far}; {found} so far", width), "note")])
        elif not loud:
            yield CauseLine(None, [StyledText("no root cause found", "good")])
        several, file = len({cause.file for cause in self.causes}) > 1, -1
        for cause in self.causes:
            if several and cause.file != file:
                file = cause.file
                yield CauseLine(None, [StyledText(cut(escape(self._files[file]), width), "heading")])
            yield from self._one(cause, width)
        more = sum(each.more for each in self._causes.values())
        if more:
            yield CauseLine(None, [StyledText(f"{count(more, 'less severe cause')}: see kdbg diagnose", "dim")])

    def _one(self, cause: Cause, width: int) -> Iterator[CauseLine]:
        told = cause.case
        mark, style = MARKS[Severity(told["severity"])]
        head = StyledText(f"{'▸' if cause.folded else '▾'} {mark} {told['cause']}", style)
        after = f"(after-effect of {told['because']}) " if told["because"] else ""
        if cause.folded:
            said = cut(f"  {after}{escape(told['sentence'])}", max(width - len(head.text), 1))
            yield CauseLine(cause, [head, StyledText(said)])
            return
        since, until = (round(told[name] * 1e6) * 1000 for name in ("since", "until"))
        when = escape(self._texts.clock.seen(since, until, told["count"]))
        yield CauseLine(
            cause, [head, StyledText(cut(f"  {told['certainty']}  {when}", max(width - len(head.text), 1)), "dim")]
        )
        yield from _text(cause, "", f"{after}{told['sentence']}.", "", width)
        who = " · ".join(f"{name.replace('_', ' ')} {value}" for name, value in told["who"].items())
        yield from _text(cause, "who", who, "", width)
        yield from _text(cause, "fix", told["advice"], "good", width)
        for number in told["evidence"]["exchanges"]:
            yield CauseLine(cause, [StyledText(f"{' ' * INDENT}→ ", "dim"), StyledText(f"#{number}", "name")], number)
        packets, fields = told["evidence"]["packets"], told["evidence"]["fields"]
        yield from _text(cause, "packets", ", ".join(map(str, packets)), "dim", width)
        yield from _text(cause, "fields", ", ".join(fields), "dim", width)
        yield from _text(cause, "alternatively", "; ".join(told["alternatives"]), "dim", width)
        yield from _text(cause, "milestone", told["milestone"], "dim", width)
        yield from _text(cause, "see", told["document"], "dim", width)

    def pieces(self, line: int, width: int) -> list[StyledText]:
        found = self.lines[line]
        if found.exchange is None or found.cause is None:
            return found.pieces
        return [*found.pieces, StyledText("  "), *self._texts.row(found.exchange, found.cause.file)]

    def fold(self, *, folded: bool | None = None) -> None:
        """Fold or unfold the cause under the cursor."""
        if self.line is not None and self.line.cause is not None:
            cause = self.line.cause
            cause.folded = not cause.folded if folded is None else folded
            self.refit()
            self.show_cursor()

    def side(self, direction: int) -> None:
        self.fold(folded=direction < 0)

    def enter(self) -> None:
        line = self.line
        if line is not None and line.cause is not None and line.exchange is not None:
            self.post_message(self.Wanted(line.cause.file, line.exchange))
        else:
            self.fold()

    def clicked(self, line: int, column: int) -> None:
        self.go(line)
        if self.lines[line].exchange is not None or column < 2:
            self.enter()

    def foot(self) -> Text:
        """Return what is said at the foot: what to change about the cause under the cursor."""
        cause = self.line.cause if self.line is not None else None
        return Text() if cause is None else Text("fix: ", "bold").append(escape(cause.case["advice"]), "not bold")


def _places(lines: list[CauseLine], key: tuple[Any, ...]) -> list[int]:
    """Return where the lines of a cause are."""
    return [at for at, one in enumerate(lines) if one.cause is not None and one.cause.key == key]


def _text(cause: Cause, label: str, text: str, style: str, width: int) -> Iterator[CauseLine]:
    """Yield a text in lines that fit; none of an empty one."""
    if not text:
        return
    whole = f"{label}: {escape(text)}" if label else escape(text)
    for part in wrap(whole, max(width - INDENT, NARROWEST), subsequent_indent="  " * bool(label)):
        yield CauseLine(cause, [StyledText(f"{' ' * INDENT}{part}", style)])
