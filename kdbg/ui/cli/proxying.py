"""One run of `kdbg proxy`: a process that relays, and this one, which shows what it is told of."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NamedTuple, NoReturn

import click

from ...errors import InputError, KdbgError
from ...exchanges.filters.filter_set import Filters
from ...live.bounded_pipe import Outflow
from ...live.client import tls as client_tls
from ...live.client.settings import Settings, addresses
from ...live.faults import Faults, Meddling
from ...live.holds import End, Office
from ...live.listeners import Listening, is_local
from ...live.packet_tap import PipeTap, SavingTap, Taps, saving
from ...live.proxy import Proxy, Upstream
from ...protocol.findings.amounts import count
from ...views.render.style import Look
from ...views.render.values import escape
from . import INTERRUPTED, REFUSED
from .fault_options import READY, FaultLog, Marked, rules_of
from .outlets import Outlet
from .output import Writer
from .sending.live import addresses as clusters
from .sending.options import SendOptions as SendOptions
from .sending.security import NOWHERE, sasl, tls

PATIENCE = 5.0
"""Seconds in which the display must take some of what is left when the proxy ends."""
LOOK = 0.5
"""Seconds between two looks at whether anybody still wants what is shown."""
BEHIND = 10
"""How much less the display matters to the system than clients, brokers, and what relays between them."""
KEPT = {"broker", "write", "format", "color", "full", "show_secrets", "explain_fields", "depth", "only_errors", "local",
        "no_pager", "timeout", "client_id"}  # fmt: skip
"""Options of `kdbg send` that mean something of their own here."""


class Pipes(NamedTuple):
    """Where the process that relays writes: packets, and first that it listens, then the faults that were done."""

    packets: int
    marks: int
    control: End | None = None
    """Where a screen holds messages."""


@dataclass(frozen=True)
class ProxyOptions:
    """What was said about the proxy itself."""

    brokers: str
    listening: Listening
    upstream: Upstream
    change: bool
    rules: tuple[str, ...]
    seed: int | None
    fault_log: str | None
    write: str | None
    decode: bool
    max_brokers: int


def options_of(given: dict[str, Any]) -> ProxyOptions:
    """Take the proxy's own options out of those given; raise `InputError` for what cannot be."""
    broker = given.pop("broker") or os.environ.get("KDBG_BROKER")
    if not broker:
        raise InputError(NOWHERE)
    host, port = addresses(given.pop("listen"))[0]
    certificate, key = given.pop("listen_cert"), given.pop("listen_key")
    said: dict[str, Any] = {field.name: None for field in fields(SendOptions)}
    said |= {name: given.pop(name) for name in said.keys() & given.keys() - KEPT}
    secure = tls(SendOptions(**said), None)
    said_sasl = sasl(SendOptions(**said), None)
    advertise, authority = given.pop("advertise") or "", given.pop("listen_ca")
    clients = client_tls.server_context(certificate, key) if certificate else None
    if authority and clients is None:
        names = dict.fromkeys(filter(None, (advertise, host, "localhost", "127.0.0.1")))
        clients = client_tls.made_context(tuple(names), authority)
    return ProxyOptions(
        brokers=broker,
        listening=Listening(host, port, advertise, clients),
        upstream=Upstream(
            tls=client_tls.context(secure) if secure else None,
            server_name=secure.server_name if secure else "",
            settings=Settings(tls=secure, sasl=said_sasl, trust_advertised=bool(said["trust_advertised"])),
        ),
        change=not given.pop("keep_addresses"),
        rules=rules_of(given.pop("faults"), given.pop("fault_files")),
        seed=given.pop("seed"),
        fault_log=given.pop("fault_log"),
        write=given.pop("write"),
        decode=not given.pop("no_decode"),
        max_brokers=given.pop("max_brokers"),
    )


class Relaying(NamedTuple):
    """The process that relays, and what this one reads of it."""

    child: int
    shown: int
    marked: int


def relay_process(options: ProxyOptions, control: End | None = None) -> Relaying | int:
    """Start the process that relays, which holds messages as it is told by `control`; return its exit
    status where it cannot, which it says."""
    shown, told = os.pipe()
    marked, marks = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(shown)
        os.close(marked)
        in_child(options, Pipes(told, marks, control))
    os.close(told)
    os.close(marks)
    os.nice(BEHIND)
    if not os.read(marked, len(READY)):
        _, code = os.waitpid(child, 0)  # it has said why
        return os.waitstatus_to_exitcode(code)
    return Relaying(child, shown, marked)


def on_screen(options: ProxyOptions, look: Look, filters: Filters, *, light: bool) -> int:
    """Relay, and show what is said on a screen until somebody ends it; return the exit status."""
    from .tui_options import needs_screen

    needs_screen("kdbg proxy")
    from .live_screen import Hand, Live, channel, show  # needs textual

    ours, theirs = channel()
    relaying = relay_process(options, theirs)
    theirs.close()
    if isinstance(relaying, int):
        return relaying
    child, shown, marked = relaying
    try:
        show(Live("proxy", shown, filters, marked), look, light, Hand(ours))
    finally:
        relayed = end_of(child)
    return relayed


def run(
    options: ProxyOptions, format: str, look: Look, filters: Filters,
    outlets: Callable[[], AbstractContextManager[Sequence[Outlet]]] = lambda: nullcontext(()),
) -> int:  # fmt: skip
    """Relay until Ctrl-C, and show what is said unless that is not wanted; return the exit status.

    `outlets` makes those that exchanges go to beside, once the process that relays is another one.
    """
    if not options.decode:
        return relay(options, None)
    relaying = relay_process(options)
    if isinstance(relaying, int):
        return relaying
    child, shown, marked = relaying
    marking = Marked(format, look, Writer(live=True), filters, "proxy", partial(end, child), marked)
    try:
        with outlets() as beside:
            status = marking.beside(beside).watch(os.fdopen(shown, "rb", buffering=0))
    finally:
        relayed = end_of(child)
    return relayed or status


def be_silent() -> None:
    """Write nothing more on the terminal, which is a screen's."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in (1, 2):
        os.dup2(nothing, file)
    os.close(nothing)


def warn(options: ProxyOptions, tell: Callable[[str], None]) -> None:
    """Say that others may connect, where they may."""
    if not is_local(options.listening.host):
        tell(f"warning: any host that can reach {escape(options.listening.host)} can use this proxy; "
             "use --listen 127.0.0.1 for local use only")  # fmt: skip


def end(child: int) -> None:
    """Have the relaying process end."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGTERM)


def end_of(child: int) -> int:
    """Have the relaying process end; return its exit status where a file could not be written, else 0."""
    end(child)
    _, code = os.waitpid(child, 0)
    return REFUSED if os.waitstatus_to_exitcode(code) == REFUSED else 0


def in_child(options: ProxyOptions, pipes: Pipes) -> NoReturn:
    """Relay, and write packets and faults to two pipes; end the process."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that shows hears it, and says when to end
        status = relay(options, pipes)
    except KdbgError as error:
        say(escape(str(error)))
        status = REFUSED
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def relay(options: ProxyOptions, pipes: Pipes | None) -> int:
    """Relay until a signal comes, or nobody looks any more; return the exit status."""
    with ExitStack() as stack:
        brokers = addresses(stack.enter_context(clusters(options.brokers)))
        log = stack.enter_context(FaultLog(options.fault_log, pipes.marks if pipes is not None else None))
        log.warn = tell = log.say if pipes is not None and pipes.control is not None else say
        saved = stack.enter_context(saving(options.write, lambda line: tell(escape(line))))
        faults = Faults(options.rules, seed=options.seed, tell=log.tell) if options.rules else None
        if faults is not None:
            log.begin(faults)
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
        options.listening, options.upstream, tap=Taps(taps) if taps else None, change=options.change,
        faults=(lambda peers: Meddling(faults, peers)) if faults is not None else (lambda peers: None),
        say=lambda line: tell(escape(line)), desk=office.desk if office is not None else None,
        most=options.max_brokers,
    )  # fmt: skip
    proxy.listen(brokers)
    warn(options, tell)
    if control is not None:
        be_silent()
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
