"""What diagnosis found, for people: causes with their evidence, the weightiest first; and as JSON Lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from textwrap import wrap

from ...analysis.diagnosis import Case
from ...analysis.diagnosis.text import advice, alternatives, case_object, sentence
from ...protocol.findings.kinds import Severity
from .clock import Clock
from .style import Look
from .values import escape
from .weights import MARKS, seen

INDENT = "    "
NARROWEST = 40


class CaseView:
    """Writes cases; `file` is the capture as a command takes it, for those that show the evidence; "" where none is."""

    def __init__(self, look: Look, file: str) -> None:
        self.look, self.file = look, file
        self.clock = Clock(local=look.local)

    def lines(self, cases: Sequence[Case]) -> Iterator[str]:
        """Yield the lines of all cases: causes one by one, after-effects and notes in a line each behind them."""
        loud = [case for case in cases if case.severity is not Severity.NOTE]
        if not loud:
            yield self.look.paint("good", "no root cause found") + "\n"
        for case in loud:
            yield from self.one(case)
        for case in cases:
            if case.severity is Severity.NOTE:
                yield from self._note(case)

    def one(self, case: Case) -> Iterator[str]:
        """Yield the lines of a cause."""
        mark, style = MARKS[case.severity]
        paint = self.look.paint
        head = f"{paint(style, f'{mark} {case.code}')}  {paint('dim', case.certainty)}"
        yield f"{head}  {paint('dim', escape(seen(self.clock.times, case.since, case.until, case.count)))}\n"
        yield from self._text("", f"{sentence(case)}.", "")
        yield from self._text("fix", advice(case), "good")
        if shown := evidence_text(case, self.file):
            yield from self._text("evidence", shown, "name", whole=True)
        if others := alternatives(case):
            yield from self._text("alternatively", "; ".join(others), "dim")
        yield from self._text("see", case.rule.document, "dim")
        yield "\n"

    def _note(self, case: Case) -> Iterator[str]:
        mark, style = MARKS[case.severity]
        after = f" (after-effect of {case.because})" if case.because else ""
        yield from self._text("", f"{mark} {case.code}{after}: {sentence(case)}", style, indent="")

    def _text(self, label: str, text: str, style: str, *, whole: bool = False, indent: str = INDENT) -> Iterator[str]:
        """Yield a text in lines that fit; `whole` is never broken."""
        prefix = f"{label}: " if label else ""
        text = escape(text)
        room = max(self.look.width - len(indent), NARROWEST)
        if self.look.long_lines or whole:
            pieces = [prefix + text]
        else:
            pieces = wrap(prefix + text, room, subsequent_indent="  " if label else "", break_long_words=False,
                          break_on_hyphens=False)  # fmt: skip
        for piece in pieces:
            yield f"{indent}{self.look.paint(style, piece) if style else piece}\n"


def command(case: Case, file: str) -> str:
    """Return the command that shows the first exchange of the evidence; "" where there is none, or no file."""
    numbers = case.evidence.exchanges
    return f"kdbg decode {shlex.quote(file)}#{numbers[0]}" if numbers and file else ""


def evidence_text(case: Case, file: str) -> str:
    """Return the command that shows an exchange of the evidence, and where else to look."""
    numbers, packets, shown = case.evidence.exchanges, case.evidence.packets, command(case, file)
    parts = []
    if numbers:
        others = ", ".join(f"#{number}" for number in numbers[1 if shown else 0 :])
        parts.append(" ".join(filter(None, (shown, f"(and {others})" if shown and others else others))))
    if packets:
        parts.append(f"packet{'s' * (len(packets) > 1)} {', '.join(map(str, packets))}")
    if case.evidence.fields and numbers:
        parts.append(f"fields {', '.join(case.evidence.fields)}")
    return " · ".join(parts)


def case_line(case: Case, file: str | None = None) -> bytes:
    """Return a case as a line of JSON; `file` names the capture where there are several."""
    import orjson  # which texts do without

    found = dict(case_object(case))
    if file is not None:
        found["file"] = file
    return orjson.dumps(found) + b"\n"
