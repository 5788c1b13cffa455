"""Stories for people: a line for each event, the time in front; and what there are stories of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from ...analysis.diagnosis.stories import Event, Subject
from ...analysis.diagnosis.stories.text import about, sentence
from ...protocol.findings.kinds import Severity
from .clock import Clock
from .style import Look
from .values import escape

STYLES = {Severity.ERROR: "bad", Severity.WARNING: "note", Severity.NOTE: "dim"}
NARROWEST = 40


class StoryView:
    """Writes stories, and lists of them."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.clock = Clock(local=look.local)

    def lines(self, events: Sequence[Event]) -> Iterator[str]:
        """Yield the lines of a story."""
        for event in events:
            at = self.clock.times[event.time // 1_000_000] if event.time > 0 else "            "
            yield from self._event(at, event)

    def _event(self, at: str, event: Event) -> Iterator[str]:
        text = escape(sentence(event))
        numbers = " ".join(f"#{number}" for number in event.exchanges[:1])
        style = STYLES[event.case.severity] if event.case is not None else "bad" if event.kind == "error" else ""
        whole = f"{text}  {numbers}" if numbers else text
        indent = " " * (len(at) + 1)
        if self.look.long_lines:
            pieces = [whole]
        else:
            pieces = wrap(
                whole, max(self.look.width - len(indent), NARROWEST), break_long_words=False, break_on_hyphens=False
            )
        for number, piece in enumerate(pieces):
            head = self.look.paint("dim", at) + " " if not number else indent
            yield f"{head}{self.look.paint(style, piece) if style else piece}\n"

    def listing(self, subjects: Iterable[tuple[str, Subject]]) -> Iterator[str]:
        """Yield a line for everything there is a story of, as the option that tells it."""
        rows = [(f"--{kind} {escape(subject.name)}", about(subject)) for kind, subject in subjects]
        widest = min(max((len(option) for option, _ in rows), default=0), 48)
        for option, what in rows:
            yield f"{self.look.paint('name', option.ljust(widest))}  {self.look.paint('dim', what)}\n"
