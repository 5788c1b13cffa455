"""The process that relays for `kdbg proxy`, and what it tells the one that shows: packets, faults that were done."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import click
import orjson

from ...errors import CaptureError, KdbgError
from ...exchanges.messages.exchange import Exchange
from ...live.bounded_pipe import Files, Outflow
from ...live.client.mock import mock_cluster
from ...live.client.settings import Settings, addresses, is_local
from ...live.faults import Applied, Faults
from ...live.holds import End, Office
from ...live.listeners import Listening
from ...live.proxy import PipeTap, Proxy, SavingTap
from ...protocol.findings import Finding, Kind
from ...protocol.findings.amounts import count
from ...protocol.findings.facts import FactKind
from ...views.render.values import escape
from . import INTERRUPTED, REFUSED

PATIENCE = 5.0
"""Seconds in which the display must take some of what is left when the proxy ends."""
LOOK = 0.5
"""Seconds between two looks at whether anybody still wants what is shown."""
BEHIND = 10
"""How much less the display matters to the system than clients, brokers, and what relays between them."""
READY = b"\n"
"""What the relaying process says once it listens."""
MOST = 100_000
"""Faults that wait for their exchange to be shown; beyond that the oldest are forgotten."""


class Pipes(NamedTuple):
    """Where the process that relays writes packets, that it listens, and faults; where a screen holds messages."""

    packets: int
    marks: int
    control: End | None = None


@dataclass(frozen=True)
class ProxyOptions:
    """What was said about the proxy itself."""

    brokers: str
    listening: Listening
    settings: Settings
    change: bool
    rules: tuple[str, ...]
    seed: int | None
    fault_log: str | None
    write: str | None
    max_brokers: int


class Relaying(NamedTuple):
    """The process that relays, and what this one reads of it."""

    child: int
    shown: int
    marked: int


def relay_process(
    options: ProxyOptions, control: End | None = None, started: Callable[[], None] = lambda: None
) -> Relaying | int:
    """Start the process that relays, which holds messages as it is told by `control`; return its exit
    status where it cannot, which it says. `started` is called in that process."""
    shown, told = os.pipe()
    marked, marks = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(shown)
        os.close(marked)
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that shows hears it, and says when to end
            started()
            status = relay(options, Pipes(told, marks, control))
        except KdbgError as error:
            say(escape(str(error)))
            status = REFUSED
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(told)
    os.close(marks)
    os.nice(BEHIND)
    if not os.read(marked, len(READY)):
        _, code = os.waitpid(child, 0)  # it has said why
        return os.waitstatus_to_exitcode(code)
    return Relaying(child, shown, marked)


def end(child: int) -> None:
    """Have the relaying process end."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGTERM)


def end_of(child: int) -> int:
    """Have the relaying process end; return REFUSED where a file could not be written, else 0."""
    end(child)
    return REFUSED if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == REFUSED else 0


def relay(options: ProxyOptions, pipes: Pipes | None) -> int:
    """Relay until a signal comes, or nobody looks any more; return the exit status."""
    with ExitStack() as stack:
        brokers = addresses(stack.enter_context(mock_cluster(options.brokers)))
        log = stack.enter_context(closing(FaultLog(options.fault_log, pipes.marks if pipes is not None else None)))
        log.warn = tell = log.say if pipes is not None and pipes.control is not None else say
        saved = SavingTap(options.write, lambda line: tell(escape(line))) if options.write is not None else None
        stack.enter_context(saved or nullcontext())
        faults = Faults(options.rules, seed=options.seed, tell=log.tell) if options.rules else None
        if faults is not None:
            log.write({"seed": faults.seed, "rules": [rule.text for rule in faults.rules]})  # which make the run again
            if options.seed is None and any(rule.chance < 1 for rule in faults.rules):
                say(f"random seed {faults.seed}: repeat with --seed {faults.seed}")
        status = asyncio.run(serve(options, brokers, saved, faults, log, pipes))
    return REFUSED if log.failed or (saved is not None and saved.failed) else status


async def serve(
    options: ProxyOptions, brokers: Sequence[tuple[str, int]], saved: SavingTap | None, faults: Faults | None,
    log: FaultLog, pipes: Pipes | None,
) -> int:  # fmt: skip
    """Serve until told to end."""
    control = pipes.control if pipes is not None else None
    tell = say if control is None else log.say
    office = Office(log.tell) if control is not None else None
    if office is not None and control is not None:
        await office.open(control)
    out = Outflow(pipes.packets) if pipes is not None else None
    pipe = PipeTap(out) if out is not None else None
    taps = [tap for tap in (pipe, saved) if tap is not None]
    proxy = Proxy(
        options.listening, options.settings, taps=taps, change=options.change,
        faults=faults, say=lambda line: tell(escape(line)), desk=office.desk if office is not None else None,
        most=options.max_brokers,
    )  # fmt: skip
    proxy.listen(brokers)
    if not is_local(options.listening.host):
        tell(f"warning: any host that can reach {escape(options.listening.host)} can use this proxy; "
             "use --listen 127.0.0.1 for local use only")  # fmt: skip
    if control is not None:
        nothing = os.open(os.devnull, os.O_RDWR)  # the terminal is a screen's
        for file in (1, 2):
            os.dup2(nothing, file)
        os.close(nothing)
    if pipes is not None:
        log.ready()
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        if pipes is None or number == signal.SIGTERM:
            loop.add_signal_handler(number, over.set)
    parent = os.getppid()
    while not over.is_set() and (out is None or not (out.closed or os.getppid() != parent)):
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), LOOK)
    if office is not None:
        office.close()
    await proxy.close()
    if pipe is not None:
        if left := await pipe.close(PATIENCE):
            say(f"{count(left, 'byte')} of captured packets not shown: the terminal was blocked for {PATIENCE:.0f} s")
    elif over.is_set():
        say(f"proxied {count(proxy.connections, 'connection')}")
        return INTERRUPTED
    return 0


def say(text: str) -> None:
    """Print a line on stderr."""
    click.echo(f"kdbg: {text}", err=True)


class FaultLog:
    """Writes JSON lines to a file and to a pipe, as far as there are any: the rules, then each fault that was done.

    A file that the system takes no more of ends after its last complete line, which `warn` is told once.
    """

    failed: bool = False
    """Whether the file lacks lines."""

    def __init__(self, path: str | None, pipe: int | None) -> None:
        self._pipe, self._file = pipe, Files(path) if path is not None else None
        self.warn: Callable[[str], None] = lambda line: None
        self._is_ready = False
        self._early: list[str] = []
        if pipe is not None:
            os.set_blocking(pipe, False)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def tell(self, applied: Applied) -> None:
        """Write a fault that was done."""
        self.write(applied._asdict())
        self._hand_on(applied._asdict())

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
            self._hand_on({"said": text})
        else:
            self._early.append(text)

    def write(self, value: Any) -> None:
        """Write a line into the file, or none of it."""
        if self._file is None or self.failed:
            return
        try:
            self._file.add(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))
            self._file.flush()
        except CaptureError as error:
            self.failed = True
            self.warn(f"{error}; kdbg does not log later faults")

    def _hand_on(self, value: Any) -> None:
        if self._pipe is not None:
            with suppress(OSError):  # nobody looks, or not for long: what is shown then lacks a mark
                os.write(self._pipe, orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))


class FaultMarks:
    """What the log of faults wrote into a pipe: marks for exchanges, and lines for `say`."""

    def __init__(self, pipe: int, say: Callable[[str], object] = lambda text: None) -> None:
        os.set_blocking(pipe, False)
        self._pipe, self._say, self._rest = pipe, say, b""
        self._done: dict[tuple[tuple[str, int], int], list[tuple[int, str]]] = {}

    def mark(self, exchanges: Sequence[Exchange]) -> None:
        """Add what was done to exchanges to their findings."""
        self.take()
        for exchange in exchanges if self._done else ():
            key = exchange.peers.client, exchange.correlation_id
            request, response = exchange.request, exchange.response
            done = self._done.pop(key, [])  # also what is older: a client may use its port and its ids again
            if response is not None and (later := [one for one in done if one[0] > response.last_time]):
                self._done[key] = later
            for time, rule in done:
                if (request is None or time >= request.first_time) and (response is None or time <= response.last_time):
                    exchange.findings.append(Finding(Kind.INJECTED_FAULT, facts=FactKind.FAULT_DONE.of(rule)))

    def take(self) -> None:
        """Take what the pipe holds."""
        with suppress(BlockingIOError):
            while data := os.read(self._pipe, 1 << 16):
                *lines, self._rest = (self._rest + data).split(b"\n")
                for said in map(orjson.loads, filter(None, lines)):
                    if "said" in said:
                        self._say(said["said"])
                        continue
                    host, port = said["client"]
                    done = self._done.setdefault(((host, port), said["correlation_id"]), [])
                    done.append((said["time"], said["fault"]))
        while len(self._done) > MOST:
            del self._done[next(iter(self._done))]
