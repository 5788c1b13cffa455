"""`kdbg watch`: an interface in, exchanges out, while they happen."""

from __future__ import annotations

from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .output import (
    Writer,
    look,
    look_options,
    meanings_option,
    on_screen,
    tree_options,
    values_option,
    view_option,
    without_values,
)
from .readers import reader_options, take_readers
from .sizes import Rolling, Size
from .telemetry_options import metrics_option, otlp_option
from .tui_options import screen_options


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--interface",
    "-i",
    default="any",
    metavar="NAME",
    help="Capture on this interface; any is all of them (default: any).",
)
@click.option(
    "--bpf", metavar="EXPR", help="Set a capture filter in tcpdump's syntax (default: tcp, limited to --port)."
)
@click.option(
    "--via",
    metavar="METHOD:TARGET",
    help="Run tcpdump elsewhere: ssh:HOST, docker:NAME, podman:NAME, kubectl:POD[/CONTAINER], run:COMMAND.",
)
@click.option(
    "--pid",
    type=click.IntRange(1),
    multiple=True,
    metavar="PID",
    help="Show only connections of this process. Repeatable.",
)
@click.option(
    "--container",
    multiple=True,
    metavar="ID",
    help="Show only connections of this container or pod (ID prefix). Repeatable.",
)
@click.option("--write", "path", type=click.Path(), metavar="FILE", help="Save the captured packets as pcapng.")
@click.option(
    "--rotate",
    type=Rolling(),
    metavar="SIZE*N",
    help="Rotate the files of --write at this size and keep N of them, such as 100MB*10.",
)
@click.option(
    "--snaplen",
    type=click.IntRange(64),
    default=262_144,
    metavar="BYTES",
    help="Capture at most this many bytes of each packet (default: 262144).",
)
@click.option(
    "--buffer",
    type=Size(),
    default="128MB",
    metavar="SIZE",
    help="Set the size of the kernel's capture buffer (default: 128MB).",
)
@click.option("--diagnose", is_flag=True, help="Print diagnoses instead of exchanges.")
@otlp_option
@metrics_option
@screen_options
@view_option("summary")
@filter_options
@look_options
@values_option
@meanings_option
@reader_options
@tree_options("--no-pager")
@definitions_option
@memory_option
def command(interface: str, bpf: str | None, via: str | None, pid: tuple[int, ...], container: tuple[str, ...],
            path: str | None, rotate: Any, snaplen: int, buffer: int, format: str, color: str, full: bool,
            show_secrets: bool, hide_values: bool, meanings: bool, diagnose: bool, tui: bool, light: bool,
            otlp: str | None, metrics: str | None, **filters: Any) -> int:  # fmt: skip
    """Capture and decode live traffic on an interface.

    kdbg recognises Kafka on any port; --port makes the kernel discard all other ports. --write saves all captured
    packets, also those of exchanges that the filters hide. Press Ctrl-C to stop; kdbg then prints what it has
    captured so far.

    \b
    kdbg watch -i lo --port 9092
    kdbg watch --errors -f tree
    kdbg watch --port 9092 --diagnose
    kdbg watch --port 9092 --otlp http://127.0.0.1:4318 --metrics 9464
    kdbg watch --via ssh:broker-3 --port 9092
    kdbg watch --port 9092 --write night.pcapng --rotate 100MB*10 --where 'latency_ms > 1000'
    """
    from .decode import READ_IN
    from .interface import CaptureOptions, InterfaceRun, expression, feed, owners, screen
    from .telemetry_options import outlets, refuse_beside
    from .tui_options import needs_screen

    read = take_readers(filters)
    if read is not None and format not in READ_IN:
        raise click.UsageError(f"values cannot be deserialized with --format {format}; use --format tree or hex")
    if rotate is not None and path is None:
        raise click.UsageError("--rotate requires --write")
    shape = on_screen(look(color, full, show_secrets, meanings, read), format, filters)
    shape = without_values(shape, hide_values)
    chosen = take_filters(filters)
    if tui:
        refuse_beside("--tui", {"otlp": otlp, "metrics": metrics})
        needs_screen("kdbg watch")
    wanted = CaptureOptions(interface, expression(bpf, chosen.port or (), via), snaplen, buffer, path, rotate)
    known = owners(pid, container, via)
    with feed(wanted, via) as source:
        if tui:
            return screen(source, known, shape, chosen, light=light)
        with outlets(otlp, metrics, links=not hide_values) as beside:
            if diagnose:
                from .case_writer import Judge
                from .watch_diagnosis import DiagnosedRun

                judged = DiagnosedRun(format, shape, Writer(live=True), chosen, source, known)
                return judged.judged_by(Judge(format, shape, judged.writer)).beside(beside).run(wanted)
            return InterfaceRun(format, shape, Writer(live=True), chosen, source, known).beside(beside).run(wanted)
