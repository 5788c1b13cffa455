"""Exchanges written by several processes (`--jobs`): copies of this one make texts, which come out in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from ...exchanges.jobs import ExchangePool, Show
from ...exchanges.messages.exchange import Exchange
from ...protocol.wire.readings.outline import NamesThen
from ...views.render.views import ExchangeView, Text
from .counts import CountedFindings
from .output import encoded, joined
from .runner import Runner

Texts: TypeAlias = Callable[[list[Exchange], ExchangeView, NamesThen], Iterator[Text]]
"""Yields the texts of exchanges in a view, and counts what is odd in them."""


class PoolSink(ExchangePool):
    """Shows exchanges in this process, which pairs all of them, and in `jobs - 1` copies of it; in their order."""

    def __init__(self, runner: Runner, jobs: int, texts: Texts, render: ExchangeView, names: NamesThen) -> None:
        super().__init__(jobs - 1, names.topics, runner.writer.write)
        self._texts, self._render, self._names = texts, render, names
        self._findings = runner.findings

    def do(self, exchanges: list[Exchange], show: Show) -> CountedFindings:
        """Show exchanges; return what is odd in them."""
        before = self._findings.clear()
        texts = self._texts(exchanges, self._render, self._names)
        if not hasattr(self._render, "pieces"):
            show(joined(list(texts)))
        else:
            for piece in texts:
                show(encoded(piece))
        found = self._findings.clear()
        self._findings.add(before)
        return found

    def take(self, found: CountedFindings) -> None:
        """Count what is odd in exchanges that were shown."""
        self._findings.add(found)
