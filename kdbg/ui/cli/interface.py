"""One run of `kdbg watch`: an interface of this machine, or of another, captured on and shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import click

from ...errors import InputError, UnknownCapture
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...live.capture_child import CaptureOptions, capture
from ...live.capture_process import CaptureProcess
from ...live.remote import command, relay
from ...live.socket_processes import Owners
from ...protocol.findings.amounts import count
from ...protocol.wire.readings.topics import NamesThen
from ...views.render.style import Look
from ...views.render.values import escape
from ...views.render.views import ExchangeView, Text
from . import REFUSED
from .output import Writer
from .process_filter import ProcessFilter
from .runner import LOST
from .watching import Watching

__all__ = ["CaptureOptions", "InterfaceRun", "expression", "feed", "owners", "screen"]
SSH_PORT = 22


class InterfaceRun(Watching):
    """Shows what is captured; says at the end what the kernel dropped, and what was written."""

    feed: CaptureProcess

    def __init__(
        self, format: str, look: Look, writer: Writer, filters: Filters, feed: CaptureProcess, owners: Owners | None
    ) -> None:
        super().__init__(format, look, writer, filters, feed.name, feed.stop)
        self.feed = feed
        self.owned = None if owners is None else ProcessFilter(owners, self.say)

    def run(self, wanted: CaptureOptions) -> int:
        """Say what is watched, and show it; return the exit status."""
        try:
            with self.heard():  # before the line: who reads it may press Ctrl-C at once
                self.say(f"capturing on {escape(self.name)} ({escape(wanted.expression)}); press Ctrl-C to stop")
                return self.watch(self.feed.stream)
        except UnknownCapture:  # it ended before it had begun
            self.ended()
            return self.status or REFUSED

    def show(self, exchanges: Sequence[Exchange], render: ExchangeView, names: NamesThen) -> Iterator[Text]:
        """Yield the texts of exchanges, which know the processes at their ends."""
        if self.owned is not None:
            self.owned.name(exchanges)
        return super().show(exchanges, render, names)

    def ended(self) -> None:
        """Count what is missing: what the process that captures says is known better than by its stream."""
        outcome = self.feed.finish()
        if outcome.dropped is not None:
            self.counts["dropped"] = outcome.dropped
        self.counts["unread"] = max(outcome.taken - self.counts["packets"], 0)
        if outcome.problem:
            self.say(f"{escape(self.name)}: {escape(outcome.problem)}")
            self.status = REFUSED
        if outcome.files:
            names = [escape(name) for name in outcome.files]
            self.say("wrote " + (names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"))


def screen(source: CaptureProcess, known: Owners | None, look: Look, filters: Filters, *, light: bool) -> int:
    """Show what is captured on a screen until somebody ends it; say what was lost, and written; return the status."""
    from .live_screen import Live, show

    show(Live(source.name, os.dup(source.stream.fileno()), filters, owners=known), look, light)
    outcome = source.finish()
    said = [f"{source.name}: {outcome.problem}"] if outcome.problem else []
    if outcome.dropped:
        said.append(f"{source.name}: {count(outcome.dropped, 'packet')} {LOST['dropped']}")
    if outcome.files:
        said.append("wrote " + " to ".join(dict.fromkeys((outcome.files[0], outcome.files[-1]))))
    for line in said:
        click.echo(f"kdbg: {escape(line)}", err=True)
    return REFUSED if outcome.problem else 0


def owners(pids: Iterable[int], containers: Iterable[str], via: str | None) -> Owners | None:
    """Return what finds processes; None where those at the ends are another machine's."""
    if via is None:
        return Owners(pids, containers)
    if pids or containers:
        raise InputError("--pid and --container select local processes; they cannot be combined with --via")
    return None


def feed(wanted: CaptureOptions, via: str | None) -> CaptureProcess:
    """Return what captures: here, or, as `--via` says, elsewhere."""
    if via is None:
        return CaptureProcess(wanted.interface, partial(capture, wanted))
    return CaptureProcess(via, partial(relay, command(via, wanted), wanted))


def expression(bpf: str | None, ports: Iterable[int], via: str | None) -> str:
    """Return the filter for the kernel: what was given, else TCP on these ports, all if there are none.

    By ssh its own connection is left out, in which every packet that is captured would make another.
    """
    if bpf is not None:
        return bpf
    own = f" and not port {SSH_PORT}" if via is not None and via.startswith("ssh:") else ""
    return " or ".join(f"tcp port {port}" for port in ports) or f"tcp{own}"
