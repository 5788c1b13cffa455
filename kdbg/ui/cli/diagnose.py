"""`kdbg diagnose`: captures in, causes out."""

from __future__ import annotations

from typing import Any

import click

from .decode import is_live
from .definitions import definitions_option
from .filters import CAPTURES_ONLY, EITHER, connection_filter_options, option_name, take_filters
from .memory import memory_option
from .output import Writer, look, look_options


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…|DIR", type=click.Path(allow_dash=True))
@click.option(
    "--format", "-f", "format", type=click.Choice(["text", "json"]), default="text",
    help="Set the output format: text, or json with one object per line, most severe first (default: text).",
)  # fmt: skip
@click.option("--notes/--no-notes", default=True, help="Include after-effects and notes (default: notes).")
@look_options
@connection_filter_options
@definitions_option
@memory_option
def command(
    files: tuple[str, ...], format: str, notes: bool, color: str, full: bool, show_secrets: bool,
    **filters: Any,
) -> int:  # fmt: skip
    """Find root causes of failures, with evidence and fixes.

    Each cause names what happens, the client or broker concerned, since when, the evidence, and what to change. A
    cause is certain, likely or a guess. Each capture is diagnosed separately. For a folder of tables, kdbg prints
    the causes that `kdbg pipeline --diagnose` found. The exit status is 1 if there is a cause above a note.

    \b
    kdbg diagnose captures/errors.pcap
    kdbg diagnose broken.pcap --format json
    kdbg diagnose tables/
    """
    from .diagnosing import DiagnoseRun
    from .reporting import holds_tables

    tables = [file for file in files if holds_tables(file)]
    if tables and len(files) > 1:
        raise click.UsageError(EITHER)
    chosen = take_filters(filters)
    for name in chosen.given if tables else ():
        raise click.UsageError(CAPTURES_ONLY.format(option=option_name(name)))
    if tables:
        from .table_diagnosis import of_tables

        return of_tables(tables[0], format, look(color, full, show_secrets), notes)
    live = any(is_live(file) for file in files)
    run = DiagnoseRun(format, look(color, full, show_secrets), Writer(live=live), notes, len(files) > 1, chosen)
    run.captures(files)
    return run.status
