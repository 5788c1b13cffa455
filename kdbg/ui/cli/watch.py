"""`kdbg watch`: an interface of this machine, or of another, in; exchanges out, while they happen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from ...errors import InputError, UnknownCapture
from . import REFUSED
from .failing import fail_on_option, status_of
from .filters import filter_options, take_filters
from .options import (
    Size,
    input_options,
    message_look_options,
    need_screen,
    reader_options,
    rotation,
    screen_options,
    take_view_readers,
    tree_options,
    view_option,
)
from .outlets import live_outlet, metrics_option, otlp_option, refuse_beside
from .output import Writer, say, take_look
from .tls_keys import key_source_options, take_key_sources

if TYPE_CHECKING:
    from ...exchanges.filters.filter_set import Filters
    from ...live.capture_process import CaptureOptions, CaptureProcess
    from ...live.socket_processes import Owners
    from ...views.render.style import Look
    from .exchange_output import ExchangeOutput
    from .live_stream import LiveStream
    from .runner import OpenFile, Runner

SSH_PORT = 22


@click.command(context_settings={"max_content_width": 100})
@click.option("--interface", "-i", default="any", metavar="NAME",
              help="Capture on this interface; any is all of them (default: any).")  # fmt: skip
@click.option(
    "--bpf", metavar="EXPR", help="Set a capture filter in tcpdump's syntax (default: tcp, limited to --port)."
)
@click.option("--via", metavar="METHOD:TARGET",
              help="Run tcpdump elsewhere: ssh:HOST, docker:NAME, podman:NAME, kubectl:POD[/CONTAINER], "
                   "run:COMMAND.")  # fmt: skip
@click.option("--container", multiple=True, metavar="ID",
              help="Show only connections of this container or pod (ID prefix). Repeatable.")  # fmt: skip
@click.option("--write", "path", type=click.Path(), metavar="FILE", help="Save the captured packets as pcapng.")
@click.option("--rotate", type=rotation, metavar="SIZE*N",
              help="Rotate the files of --write at this size and keep N of them, such as 100MB*10.")  # fmt: skip
@click.option("--snaplen", type=click.IntRange(64), default=262_144, metavar="BYTES",
              help="Capture at most this many bytes of each packet (default: 262144).")  # fmt: skip
@click.option("--buffer", type=Size(), default="128MB", metavar="SIZE",
              help="Set the size of the kernel's capture buffer (default: 128MB).")  # fmt: skip
@key_source_options
@click.option("--diagnose", is_flag=True, help="Print diagnoses instead of exchanges.")
@otlp_option
@metrics_option
@screen_options
@view_option("summary")
@filter_options
@message_look_options
@reader_options
@tree_options("--no-pager")
@fail_on_option("error; finding with --diagnose")
@input_options
def command(
    interface: str, bpf: str | None, via: str | None, container: tuple[str, ...], path: str | None, rotate: Any,
    snaplen: int, buffer: int, format: str, diagnose: bool, tui: bool, light: bool, otlp: str | None,
    metrics: str | None, attach: str | None, uprobes: bool, **options: Any,
) -> int:  # fmt: skip
    """Capture and decode live traffic on an interface.

    kdbg recognises Kafka on any port; --port makes the kernel discard all other ports. --write saves all captured
    packets, also those of exchanges that the filters hide. Press Ctrl-C to stop; kdbg then prints what it has
    captured so far.

    --pid and --container show only connections of a process. Those with TLS are decrypted with the keys in its memory.

    \b
    kdbg watch -i lo --port 9092
    sudo kdbg watch --pid 4711
    kdbg watch --errors -f tree
    kdbg watch --port 9092 --diagnose
    kdbg watch --port 9092 --otlp http://127.0.0.1:4318 --metrics 9464
    kdbg watch --via ssh:broker-3 --port 9092
    kdbg watch --port 9092 --write night.pcapng --rotate 100MB*10 --where 'latency_ms > 1000'
    """
    from functools import partial

    from ...live import remote
    from ...live.capture_process import CaptureOptions, CaptureProcess, capture
    from ...live.socket_processes import Owners
    from .exchange_output import ExchangeOutput, depth_of
    from .live_stream import LiveStream, ProcessFilter
    from .runner import Runner, ignore

    read, pid = take_view_readers(options, format), options.pop("pid")
    if rotate is not None and path is None:
        raise click.UsageError("--rotate requires --write")
    look, filters = take_look(options, format, read), take_filters(options)
    if tui:
        refuse_beside("--tui", {"otlp": otlp, "metrics": metrics})
        if attach is not None or uprobes:
            raise click.UsageError("use either --tui, or --attach and --uprobes, not both")
        need_screen("kdbg watch --tui")
    wanted = CaptureOptions(interface, expression(bpf, filters.port or (), via), snaplen, buffer, path, rotate)
    record: Callable[..., Any] = partial(capture, wanted)
    known = Owners(pid, container) if via is None else None  # else the processes at the ends are another machine's
    if via is not None:
        if pid or container:
            raise InputError("--pid and --container select local processes; they cannot be combined with --via")
        record = partial(remote.relay, remote.command(via, wanted), wanted)
    with (
        take_key_sources(pid, attach, uprobes=uprobes) as sources,
        CaptureProcess(via or interface, record) as source,
    ):
        if tui:
            return screen(source, known, look, filters, light=light)
        with live_outlet(otlp, metrics, links=not look.hide_values) as outlet:
            runner = Runner(
                filters, Writer(live=True), timed=outlet is not None, depth=depth_of(format), fails=not diagnose,
                at_once=True, outlet=outlet,
            )  # fmt: skip
            processes = None if known is None else ProcessFilter(known, runner.say, sources=sources)
            output = ExchangeOutput(runner, format, look, before=processes.name if processes is not None else ignore)
            stream = LiveStream(runner, source.name, source.stop, processes)

            def show(file: OpenFile) -> None:
                if diagnose:
                    diagnose_stream(stream, file, output, format)
                else:
                    stream.write(file, output)

            return watch(stream, source, wanted, show)


def watch(stream: LiveStream, source: CaptureProcess, wanted: CaptureOptions, read: Callable[[OpenFile], None]) -> int:
    """Say what is watched, and have it read; return the exit status."""
    from ...views.render.values import escape

    runner, name = stream.runner, escape(source.name)
    try:
        with stream.signals():  # before the line: who reads it may press Ctrl-C at once
            runner.say(f"capturing on {name} ({escape(wanted.expression)}); press Ctrl-C to stop")
            return stream.watch(source.stream, read, lambda: end(runner, source))
    except UnknownCapture:  # it ended before it had begun
        end(runner, source)
        return runner.status or REFUSED


def end(runner: Runner, source: CaptureProcess) -> None:
    """Count what is missing, which the process that captures knows better than its stream; say what was written."""
    from ...views.render.values import escape

    outcome = source.finish()
    if outcome.dropped is not None:
        runner.counts["dropped"] = outcome.dropped
    runner.counts["unread"] = max(outcome.captured - runner.counts["packets"], 0)
    if outcome.problem:
        runner.say(f"{escape(source.name)}: {escape(outcome.problem)}")
        runner.status = REFUSED
    if outcome.files:
        names = [escape(name) for name in outcome.files]
        runner.say("wrote " + (names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"))


def diagnose_stream(stream: LiveStream, file: OpenFile, output: ExchangeOutput, format: str) -> None:
    """Say causes when they are found, and all of them once more at the end, with what has become of them."""
    from ...analysis.diagnosis import diagnose
    from ...analysis.ledgers import Ledgers
    from ...protocol.findings import Severity
    from ...views.render.diagnosis import CaseView, case_line
    from .ledgers import looked_at

    runner, told = stream.runner, set[tuple[object, ...]]()
    ledgers: Ledgers

    def news() -> None:
        """Write the causes above a note that were not written before."""
        found = diagnose(ledgers, over=False)
        for case in found:
            key = (case.code, case.who.client_id, case.who.topic, case.who.group, case.who.transactional_id)
            if case.severity is not Severity.NOTE and key not in told:
                told.add(key)
                for line in [case_line(case)] if format == "json" else CaseView(output.look, "").one(case):
                    runner.writer.write(line)
        if runner.outlet is not None:
            runner.outlet.take_causes(found)
        runner.writer.flush()

    with stream.drive(file, output, through=lambda _, blocks: looked_at(file, blocks, lambda: ledgers, news)) as drive:
        ledgers = Ledgers(drive.engine.names_then)
        runner.left_over = ledgers.left_over
        for chunk in drive.chunks():
            ledgers.take(chunk)
            runner.hand_on(chunk)
    found = diagnose(ledgers)
    for line in map(case_line, found) if format == "json" else CaseView(output.look, "").lines(found):
        runner.writer.write(line)
    if not runner.status:
        runner.status = status_of((case.severity for case in found), "finding")
    if runner.outlet is not None:
        runner.outlet.take_causes(found)


def screen(source: CaptureProcess, known: Owners | None, look: Look, filters: Filters, *, light: bool) -> int:
    """Show what is captured on a screen until the user ends it; say what was lost, and written; return the status."""
    from ...protocol.findings.amounts import count
    from .inputs import LOST
    from .live_screen import Live, show

    show(Live(source.name, os.dup(source.stream.fileno()), filters, owners=known), look, light)
    outcome = source.finish()
    if outcome.problem:
        say(f"{source.name}: {outcome.problem}")
    if outcome.dropped:
        say(f"{source.name}: {count(outcome.dropped, 'packet')} {LOST['dropped']}")
    if outcome.files:
        say("wrote " + " to ".join(dict.fromkeys((outcome.files[0], outcome.files[-1]))))
    return REFUSED if outcome.problem else 0


def expression(bpf: str | None, ports: Iterable[int], via: str | None) -> str:
    """Return the filter for the kernel: what was given, else TCP on these ports, all if there are none.

    By ssh its own connection is left out, in which every packet that is captured would make another.
    """
    if bpf is not None:
        return bpf
    own = f" and not port {SSH_PORT}" if via is not None and via.startswith("ssh:") else ""
    return " or ".join(f"tcp port {port}" for port in ports) or f"tcp{own}"
