"""Faults of the proxy at the command line: rules from options and files, a log of what was done, marks in the views."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from ...errors import InputError
from ...exchanges.messages.exchange import Exchange
from ...live.faults import Applied, Faults
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import FaultDone
from ...protocol.wire.readings.topics import NamesThen
from ...views.render.views import ExchangeView, Text
from .watching import Watching

READY = b"\n"
"""What the relaying process says once it listens."""
MOST = 100_000
"""Faults that wait for their exchange to be shown; beyond that the oldest are forgotten."""


def rules_of(rules: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """Return the rules of options and files; in a file an empty line, and one that begins with #, is none."""
    found = list(rules)
    for name in files:
        try:
            lines = Path(name).read_text("utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise InputError(f"{name}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
        found += [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    Faults(found)  # what is wrong is said before anything is listened on
    return tuple(found)


class FaultLog:
    """Writes JSON lines to a file and to a pipe, as far as there are any: the rules, then each fault that was done.

    A file that the system takes no more of ends after its last complete line, which `warn` is told once.
    """

    failed: bool = False
    """Whether the file lacks lines."""

    def __init__(self, path: str | None, pipe: int | None) -> None:
        self._pipe, self._path = pipe, path
        self.warn: Callable[[str], None] = lambda line: None
        self._file: int | None = None
        self._is_ready = False
        self._early: list[str] = []
        if path is not None:
            try:
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            except OSError as error:
                raise InputError(f"{path}: cannot be written: {error.strerror}") from None
        if pipe is not None:
            os.set_blocking(pipe, False)

    def __enter__(self) -> FaultLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            os.close(self._file)

    def begin(self, faults: Faults) -> None:
        """Write the rules of the run and its seed, which make it again."""
        self._write(_line({"seed": faults.seed, "rules": [rule.text for rule in faults.rules]}))

    def tell(self, applied: Applied) -> None:
        """Write a fault that was done."""
        line = _line(applied._asdict())
        self._write(line)
        self._hand_on(line)

    def ready(self) -> None:
        """Write into the pipe that the proxy listens, which stands before all else in it."""
        if self._pipe is not None:
            os.write(self._pipe, READY)
            self._is_ready = True
            for text in self._early:
                self.say(text)

    def say(self, text: str) -> None:
        """Write a line about the proxy itself into the pipe, as soon as it listens."""
        if self._is_ready:
            self._hand_on(_line({"said": text}))
        else:
            self._early.append(text)

    def _write(self, line: bytes) -> None:
        """Write a line into the file, or none of it."""
        if self._file is None or self.failed:
            return
        written = 0
        try:
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            self.failed = True
            with suppress(OSError):  # a pipe or device
                os.ftruncate(self._file, os.lseek(self._file, 0, os.SEEK_CUR) - written)
            self.warn(f"{self._path}: cannot be written further: {error.strerror}; kdbg does not log later faults")

    def _hand_on(self, line: bytes) -> None:
        if self._pipe is not None:
            with suppress(OSError):  # nobody looks, or not for long: what is shown then lacks a mark
                os.write(self._pipe, line)


class Marks:
    """What the log of faults wrote into a pipe: marks for exchanges, and lines for `say`."""

    def __init__(self, pipe: int, say: Callable[[str], object] = lambda text: None) -> None:
        os.set_blocking(pipe, False)
        self._pipe, self._say, self._rest = pipe, say, b""
        self._done: dict[tuple[tuple[str, int], int], list[tuple[int, str]]] = {}

    def mark(self, exchanges: Sequence[Exchange]) -> None:
        """Add what was done to exchanges to their findings."""
        self.take()
        for exchange in exchanges if self._done else ():
            for rule in self._done_to(exchange):
                exchange.findings.append(Finding(Kind.INJECTED_FAULT, facts=FaultDone(rule)))

    def _done_to(self, exchange: Exchange) -> Iterator[str]:
        """Take out what was done to an exchange, and what is older: a client may use its port and its ids again."""
        key = exchange.peers.client, exchange.correlation_id
        request, response = exchange.request, exchange.response
        done = self._done.pop(key, [])
        if response is not None and (later := [one for one in done if one[0] > response.last_time]):
            self._done[key] = later
        for time, rule in done:
            if (request is None or time >= request.first_time) and (response is None or time <= response.last_time):
                yield rule

    def take(self) -> None:
        """Take what the pipe holds."""
        with suppress(BlockingIOError):
            while data := os.read(self._pipe, 1 << 16):
                *lines, self._rest = (self._rest + data).split(b"\n")
                for line in filter(None, lines):
                    self._take(orjson.loads(line))
        while len(self._done) > MOST:
            del self._done[next(iter(self._done))]

    def _take(self, said: dict[str, Any]) -> None:
        if "said" in said:
            self._say(said["said"])
        else:
            host, port = said["client"]
            done = self._done.setdefault(((host, port), said["correlation_id"]), [])
            done.append((said["time"], said["fault"]))


class Marked(Watching):
    """Shows a stream in which faults were done: those are findings of their exchanges. `marks` is the log's pipe."""

    def __init__(self, *given: Any) -> None:
        *shown, marks = given
        super().__init__(*shown)
        self._marks = Marks(marks)

    def show(self, exchanges: Sequence[Exchange], render: ExchangeView, names: NamesThen) -> Iterator[Text]:
        """Yield the texts of exchanges, marked with what was done to them."""
        self._marks.mark(exchanges)
        return super().show(exchanges, render, names)


def _line(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
