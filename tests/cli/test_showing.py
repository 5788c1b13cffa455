"""Exchanges are shown in bulk, but few of them at a time, which may be large, are not held."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import kdbg
from kdbg.exchanges.engine.driver import FEW
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.protocol.wire.readings.outline import NamesThen
from kdbg.ui.cli.exchange_output import ExchangeOutput
from kdbg.ui.cli.output import FLUSH_AT, Writer
from kdbg.views.render.style import Look
from kdbg.views.render.views import Text, view

FIRST_CONTACT = Path(__file__).parents[2] / "captures" / "first-contact.pcap"


class Output(ExchangeOutput):
    """Shows texts that are long, and notes how much was written before each."""

    jobs, status = 1, 0

    def __init__(self) -> None:
        self.writer = Writer()
        self.writer.raw, self.writer.live = io.BytesIO(), False
        self.findings: Counter[str] = Counter()
        self.view, self.look = view("tree"), Look()
        self.begin(NamesThen({}))
        self.written: list[int] = []

    def texts(self, exchanges: Sequence[Exchange]) -> Iterator[Text]:
        for _ in exchanges:
            self.written.append(self.writer.raw.tell())
            yield b"x" * (FLUSH_AT + 1)


def shown(count: int) -> list[int]:
    exchanges = [*kdbg.read(FIRST_CONTACT)][:count]
    assert len(exchanges) == count
    output = Output()
    output.show(exchanges)
    assert output.writer.raw.tell() == count * (FLUSH_AT + 1)
    return output.written


def test_the_texts_of_few_exchanges_are_not_held() -> None:
    assert shown(3) == [0, FLUSH_AT + 1, 2 * (FLUSH_AT + 1)]


def test_the_texts_of_many_are_written_together() -> None:
    assert not any(shown(FEW))
