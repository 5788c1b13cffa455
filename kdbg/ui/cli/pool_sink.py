"""Exchanges written by several processes (`--jobs`): copies of this one make texts, which come out in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ...exchanges.jobs import ExchangePool, Show
from ...exchanges.messages.exchange import Exchange
from ...protocol.wire.readings.outline import NamesThen
from ...views.render.views import ExchangeView, Text
from .output import encoded, joined
from .runner import Runner


class PoolSink(ExchangePool):
    """Shows the `texts` of exchanges in this process, which pairs all of them, and in `jobs - 1` copies, in order."""

    def __init__(
        self, runner: Runner, jobs: int, texts: Callable[..., Iterator[Text]], render: ExchangeView, names: NamesThen
    ) -> None:
        super().__init__(jobs - 1, names.topics, runner.writer.write)
        self._texts, self._render, self._names = texts, render, names
        self._findings = runner.findings

    def do(self, exchanges: list[Exchange], show: Show) -> Counter[str]:
        """Show exchanges; return what is odd in them."""
        before = Counter(self._findings)
        self._findings.clear()
        texts = self._texts(exchanges, self._render, self._names)
        if not hasattr(self._render, "pieces"):
            show(joined(list(texts)))
        else:
            for piece in texts:
                show(encoded(piece))
        found = Counter(self._findings)
        self._findings.clear()
        self._findings.update(before)
        return found

    def take(self, found: Counter[str]) -> None:
        """Count what is odd in exchanges that were shown."""
        self._findings.update(found)
