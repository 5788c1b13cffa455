"""One run of `kdbg replay`: captures are read, their requests sent again, and what comes of each is shown."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from time import monotonic
from typing import Any, Self
from uuid import UUID

from ...analysis.compare.answers import Judge, ReplayedRequest, Verdict
from ...analysis.compare.value_mapping import Counterparts
from ...analysis.logs.log import ApplicationLog
from ...budget import MEMORY
from ...capture import Capture
from ...errors import ClientError
from ...exchanges.filters.filter_set import Filters
from ...live.client.settings import Settings
from ...live.replaying.plan import Plan, ReplayStep
from ...live.replaying.replay import How, Replay
from ...live.replaying.request_adapter import wanted
from ...views.render import comparison
from ...views.render.style import Look
from ...views.render.values import escape
from . import INTERRUPTED, REFUSED, UNDECODED, printable
from .output import Writer
from .runner import Captures
from .sending.live import addresses, tap
from .sending.options import SendOptions as SendOptions
from .sending.security import reach

LARGEST = 100 << 20
"""Bytes of the largest answer that is taken."""
ELSEWHERE = {"client_id", "format", "write", "color", "full", "show_secrets", "hide_values"}
"""Options of `kdbg send` that mean something else here."""


@dataclass(frozen=True)
class ReplayOptions:
    """What was said about the run."""

    broker: str
    settings: Settings
    speed: float | None
    create: bool
    write: str | None


def options_of(given: dict[str, Any]) -> ReplayOptions:
    """Take the options of the run out of those given; raise `InputError` for what cannot be."""
    said: dict[str, Any] = {field.name: None for field in fields(SendOptions)}
    said |= {name: given.pop(name) for name in said.keys() & given.keys() - ELSEWHERE}
    broker, settings = reach(SendOptions(**said | {"max_response": LARGEST}))
    speed = given.pop("speed")
    return ReplayOptions(
        broker, settings, None if speed == "max" else speed, given.pop("create_topics"), given.pop("write")
    )


def run(files: Sequence[str], options: ReplayOptions, format: str, look: Look, filters: Filters) -> int:
    """Read captures, send their requests again, show what comes of them; return the exit status."""
    gathered = Gathered(filters, Writer()).of(files)
    if gathered.status in (REFUSED, INTERRUPTED) or not gathered.has_read:
        return gathered.status
    look = look if sys.stdout.isatty() else replace(look, long_lines=True)
    with addresses(options.broker) as bootstrap, tap(options.write) as tapped:
        shown = Shown(gathered, format, look)
        judge = Judge(Counterparts(gathered.names), secrets=look.show_secrets, values=not look.hide_values)
        steps = gathered.plan.order().steps
        how = How(options.speed, wanted(steps, gathered.names) if options.create else None)
        replay = Replay(
            gathered.plan, bootstrap, options.settings, judge, how, told=shown.told, say=shown.say, tap=tapped
        )
        return shown.through(replay)


class Gathered(Captures):
    """Reads captures, and gathers the exchanges that are wanted: `files_read` has their names, `names` of topic ids."""

    counts_itself = True  # not at all: what is gathered has no closing line

    def __init__(self, filters: Filters, writer: Writer) -> None:
        super().__init__(filters, writer)
        self.plan: Plan = Plan(MEMORY.connections)
        self.names: dict[UUID, str] = {}
        self.files_read: list[str] = []

    def of(self, files: Sequence[str]) -> Self:
        """Read the files; return this."""
        self.captures(files)
        return self

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Gather the exchanges of a capture."""
        self.files_read.append(name)
        with self.driven(capture, name) as drive:
            for exchange in drive:
                self.plan.add(exchange, len(self.files_read) - 1)
        self.names |= self.engine.topic_names

    def close(self) -> None:
        """Say nothing: what comes of the requests is the answer."""


class Shown:
    """Shows outcomes as they come, and counts them."""

    def __init__(self, gathered: Gathered, format: str, look: Look) -> None:
        self.writer = Writer(live=True)
        self._files = gathered.files_read
        names = [self._name(step) for step in gathered.plan.steps]
        self._render = comparison.replay_view(format, look, max(map(len, names), default=0))
        self._counts: Counter[Verdict] = Counter()
        self._talks = {step.talk for step in gathered.plan.steps}

    def told(self, step: ReplayStep, outcome: ReplayedRequest) -> None:
        """Show what came of a step."""
        self._counts[outcome.verdict] += 1
        self.writer.write(self._render(outcome, self._name(step)))

    def _name(self, step: ReplayStep) -> str:
        """Return how an exchange is called: by its number, of several captures behind the name of its own."""
        number = str(step.exchange.number)
        return number if len(self._files) == 1 else f"{Path(self._files[step.talk[0]]).stem}#{number}"

    def say(self, text: str) -> None:
        """Print a line on stderr."""
        self.writer.say(f"kdbg: {escape(text)}")

    def through(self, replay: Replay) -> int:
        """Send all, and close with the counts; return the exit status."""
        begun, status = monotonic(), 0
        try:
            asyncio.run(interruptible(replay))
        except asyncio.CancelledError:
            status = INTERRUPTED
        except ClientError as error:
            self.writer.say(f"kdbg: {printable(str(error))}")
            status = UNDECODED
        self.writer.flush()
        if not status and (self._counts[Verdict.DIFFERS] or self._counts[Verdict.FAILED]):
            status = UNDECODED
        if self._counts or status != UNDECODED:
            self.writer.say(comparison.closing(self._counts, len(self._talks), monotonic() - begun))
        return status


async def interruptible(replay: Replay) -> None:
    """Run until all is sent, or Ctrl-C comes."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    await replay.run()
