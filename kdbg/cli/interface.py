"""One run of `kdbg watch`: an interface of this machine, or of another, captured on and shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from ..capture import Capture
from ..engine.driver import Fits, Pairing
from ..errors import InputError, UnknownCapture
from ..filters.chosen import Filters
from ..live.apart import Feed
from ..live.capturing import Wanted, capture
from ..live.owners import Owners
from ..live.remote import command, relay
from ..logs.log import Log
from ..render.look import Look
from ..render.values import escape
from ..tcp.table import Connection
from . import REFUSED
from .output import Writer
from .owned import Owned
from .watching import Watching

__all__ = ["InterfaceRun", "Wanted", "expression", "feed", "owners"]
SSH_PORT = 22


class InterfaceRun(Watching):
    """Shows what is captured; says at the end what the kernel dropped, and what was written."""

    feed: Feed

    def __init__(
        self, format: str, look: Look, writer: Writer, filters: Filters, feed: Feed, owners: Owners | None
    ) -> None:
        super().__init__(format, look, writer, filters, feed.name, feed.stop)
        self.feed = feed
        self.owned = None if owners is None else Owned(owners, self.say)

    def run(self, wanted: Wanted) -> int:
        """Say what is watched, and show it; return the exit status."""
        self.say(f"watching {escape(self.name)} ({escape(wanted.expression)}); Ctrl-C ends it")
        try:
            return self.watch(self.feed.stream)
        except UnknownCapture:  # it ended before it had begun
            self.ended()
            return self.status or REFUSED

    def met(self, connection: Connection, client: int | None) -> None:
        """Find the processes of a connection, once it proves to be Kafka."""
        if self.owned is not None and client is not None:
            self.owned.met(connection, client)

    def blocks(self, capture: Capture | Log) -> Iterator[list[Any]]:
        """Yield the packets; look again for processes that were not found."""
        for packets in super().blocks(capture):
            yield packets
            if self.owned is not None:
                self.owned.look(idle=not packets)

    def choose(self, capture: Capture | Log, engine: Pairing) -> Fits | None:
        """Return the filters as one, with that of processes."""
        fits, owned = super().choose(capture, engine), self.owned
        if owned is None or not owned.owners.narrowed:
            return fits
        wants = owned.wants
        return wants if fits is None else lambda exchange: wants(exchange) and fits(exchange)

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
            self.say("written: " + (names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"))


def owners(pids: Iterable[int], containers: Iterable[str], via: str | None) -> Owners | None:
    """Return what finds processes; None where those at the ends are another machine's."""
    if via is None:
        return Owners(pids, containers)
    if pids or containers:
        raise InputError("--pid and --container are for this machine's processes, and not for --via")
    return None


def feed(wanted: Wanted, via: str | None) -> Feed:
    """Return what captures: here, or, as `--via` says, elsewhere."""
    if via is None:
        return Feed(wanted.interface, partial(capture, wanted))
    return Feed(via, partial(relay, command(via, wanted), wanted))


def expression(bpf: str | None, ports: Iterable[int], via: str | None) -> str:
    """Return the filter for the kernel: what was given, else TCP on these ports, all if there are none.

    By ssh its own connection is left out, in which every packet that is captured would make another.
    """
    if bpf is not None:
        return bpf
    own = f" and not port {SSH_PORT}" if via is not None and via.startswith("ssh:") else ""
    return " or ".join(f"tcp port {port}" for port in ports) or f"tcp{own}"
