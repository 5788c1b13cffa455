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
from .screened import screen_options
from .signalling import metrics_option, otlp_option
from .sizes import Rolling, Size


@click.command(context_settings={"max_content_width": 100})
@click.option("--interface", "-i", default="any", metavar="NAME", help="Which interface; any, the default, is all.")
@click.option("--bpf", metavar="EXPR", help="tcpdump-style capture filter (default: tcp, limited to --port).")
@click.option(
    "--via",
    metavar="WAY:WHERE",
    help="Run tcpdump elsewhere: ssh:HOST, docker:NAME, podman:NAME, kubectl:POD[/CONTAINER], run:COMMAND.",
)
@click.option("--pid", type=click.IntRange(1), multiple=True, help="Only connections of this process.")
@click.option("--container", multiple=True, metavar="ID", help="Only connections of this container or pod (ID prefix).")
@click.option("--write", "path", type=click.Path(), metavar="FILE", help="Write what is captured, as pcapng.")
@click.option(
    "--rotate", type=Rolling(), metavar="SIZE*N", help="Rotate files at this size and keep N of them: 100MB*10."
)
@click.option(
    "--snaplen",
    type=click.IntRange(64),
    default=262_144,
    metavar="BYTES",
    help="Snapshot length: maximum bytes captured per packet.",
)
@click.option(
    "--buffer", type=Size(), default="128MB", metavar="SIZE", help="Size of the ring of packets in the kernel."
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
    """Show what is said on an interface, while it is said. Ctrl-C ends it, and what is left is shown.

    Kafka is recognised on any port; --port has the kernel leave out all others. --write writes all that is captured,
    whatever the filters show.

    \b
    kdbg watch -i lo --port 9092
    kdbg watch --errors -f tree
    kdbg watch --port 9092 --diagnose
    kdbg watch --port 9092 --otlp http://127.0.0.1:4318 --metrics 9464
    kdbg watch --via ssh:broker-3 --port 9092
    kdbg watch --port 9092 --write night.pcapng --rotate 100MB*10 --where 'latency_ms > 1000'
    """
    from .decode import READ_IN
    from .interface import InterfaceRun, Wanted, expression, feed, owners, screen
    from .screened import needs_screen
    from .signalling import outlets, refuse_beside

    read = take_readers(filters)
    if read is not None and format not in READ_IN:
        raise click.UsageError(f"--format {format} shows values as they came: trees and hexdumps show them read")
    if rotate is not None and path is None:
        raise click.UsageError("--rotate is for files: name one by --write")
    shape = on_screen(look(color, full, show_secrets, meanings, read), format, filters)
    shape = without_values(shape, hide_values)
    chosen = take_filters(filters)
    if tui:
        refuse_beside("--tui", {"otlp": otlp, "metrics": metrics})
        needs_screen("kdbg watch")
    wanted = Wanted(interface, expression(bpf, chosen.port or (), via), snaplen, buffer, path, rotate)
    known = owners(pid, container, via)
    with feed(wanted, via) as source:
        if tui:
            return screen(source, known, shape, chosen, light=light)
        with outlets(otlp, metrics, links=not hide_values) as beside:
            if diagnose:
                from .diagnosed import DiagnosedRun
                from .judging import Judge

                judged = DiagnosedRun(format, shape, Writer(live=True), chosen, source, known)
                return judged.judged_by(Judge(format, shape, judged.writer)).beside(beside).run(wanted)
            return InterfaceRun(format, shape, Writer(live=True), chosen, source, known).beside(beside).run(wanted)
