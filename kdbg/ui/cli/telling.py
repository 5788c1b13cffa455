"""One run of `kdbg story`: captures through an engine into ledgers, of which stories are told."""

from __future__ import annotations

from typing import Any

import orjson

from ...analysis.diagnosis.stories import subjects, tell
from ...analysis.diagnosis.stories.text import event_object
from ...analysis.ledgers import Ledgers
from ...exchanges.filters.filter_set import Filters
from ...views.render.diagnosis import StoryView
from ...views.render.style import Look
from ...views.render.values import escape
from . import REFUSED
from .ledger_run import LedgerRun
from .output import Writer


class StoryRun(LedgerRun):
    """Tells the story of what is `wanted`, kind and name; lists what there are stories of where that is None."""

    def __init__(
        self, format: str, look: Look, writer: Writer, wanted: tuple[str, str] | None, several: bool = False,
        filters: Filters | None = None,
    ) -> None:  # fmt: skip
        super().__init__(format, look, writer, several, filters)
        self.wanted: tuple[str, str] | None = wanted
        self.told: bool = False

    def judge(self, ledgers: Ledgers, file: str) -> None:
        """Tell the story, as far as a capture has it."""
        view = StoryView(self.look)
        if self.wanted is None:
            self.told = True
            found = list(subjects(ledgers))
            if self.format == "json":
                for kind, subject in found:
                    self._object({"story": kind, "of": subject.name, "facts": dict(subject.facts)}, file)
                return
            self.headed(file)
            for line in view.listing(found):
                self.writer.write(line)
            return
        events = tell(ledgers, *self.wanted)
        if events is None:
            return
        self.told = True
        if self.format == "json":
            for event in events:
                self._object(event_object(*self.wanted, event), file)
            return
        self.headed(file)
        for line in view.lines(events):
            self.writer.write(line)

    def _object(self, found: dict[str, Any], file: str) -> None:
        named = {"file": file} if self.several else {}
        self.writer.write(orjson.dumps({**found, **named}) + b"\n")

    def finish(self) -> int:
        """Return the exit status; say so where nothing is called as was asked."""
        if not self.told and self.wanted is not None and not self.status:
            kind, name = self.wanted
            self.say(f"unknown {kind} {escape(name)}; kdbg story FILE lists all")
            return REFUSED
        return self.status
