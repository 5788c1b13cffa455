"""What a linter found, for people: party by party, a line for each thing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from ...analysis.diagnosis.lint import Party, Remark
from ...protocol.findings import amounts
from .clock import Clock
from .style import Look
from .values import escape
from .weights import MARKS

INDENT = "  "
NARROWEST = 40


class LintView:
    """Writes remarks."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.clock = Clock(local=look.local)

    def lines(self, remarks: Sequence[Remark]) -> Iterator[str]:
        """Yield the lines: a heading for each party, a line for each remark."""
        if not remarks:
            yield self.look.paint("good", "no violations found") + "\n"
        for party, some in groupby(remarks, key=lambda remark: remark.party):
            yield self.look.paint("heading", escape(named(party))) + "\n"
            for remark in some:
                yield from self._remark(remark)

    def _remark(self, remark: Remark) -> Iterator[str]:
        mark, style = MARKS[remark.lint.severity]
        times = amounts.times(remark.seen.count)
        first = remark.first
        at = ""
        if first is not None:
            at = f", first #{first.number}" + (f" at {self.clock.times[first.time // 1_000_000]}" if first.time else "")
        about = f" ({escape(remark.about)})" if remark.about else ""
        what = remark.lint.what if remark.mistake is None else escape(remark.mistake.text)
        said = f"{mark} {remark.lint.code}: {what}{about}; {times}{at} · {remark.lint.document}"
        width = max(self.look.width - len(INDENT), NARROWEST)
        pieces = [said] if self.look.long_lines else wrap(said, width, subsequent_indent="  ", break_long_words=False,
                                                                   break_on_hyphens=False)  # fmt: skip
        for piece in pieces:
            yield f"{INDENT}{self.look.paint(style, piece)}\n"


def named(party: Party) -> str:
    """Return who did it; not escaped."""
    if party.broker:
        return f"broker {party.broker}"
    name = f"client {party.client_id}" if party.client_id else "client without client.id"
    return f"{name} · {party.host} · {party.software or 'unknown software'}"
