"""`kdbg diagnose`: captures in, causes out."""

from __future__ import annotations

from typing import Any

import click

from .decode import is_live
from .definitions import definitions_option
from .filters import connection_filter_options, option_name, take_filters
from .memory import memory_option
from .output import Writer, look, look_options


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…|DIR", type=click.Path(allow_dash=True))
@click.option(
    "--format", "-f", "format", type=click.Choice(["text", "json"]), default="text",
    help="Output format: text (default), or json (one object per line, most severe first).",
)  # fmt: skip
@click.option("--notes/--no-notes", default=True, help="Include after-effects and notes.")
@look_options
@connection_filter_options
@definitions_option
@memory_option
def command(
    files: tuple[str, ...], format: str, notes: bool, color: str, full: bool, show_secrets: bool,
    **filters: Any,
) -> int:  # fmt: skip
    """Say why it does not work: the cause, who, since when, the evidence, and what to change.

    Each capture is judged by itself. A cause is certain, likely or a guess. The exit status is 1 where something above
    a note was found. Of a folder of tables it tells what `kdbg pipeline --diagnose` found in its captures.

    \b
    kdbg diagnose captures/errors.pcap
    kdbg diagnose broken.pcap --format json
    kdbg diagnose tables/
    """
    from .diagnosing import DiagnoseRun
    from .reporting import holds_tables

    tables = [file for file in files if holds_tables(file)]
    if tables and len(files) > 1:
        raise click.UsageError("Captures, or one folder of tables: not both, and not several folders")
    chosen = take_filters(filters)
    for name in chosen.given if tables else ():
        raise click.UsageError(f"{option_name(name)} is for captures: kdbg pipeline has it for its tables")
    if tables:
        from .rejudging import of_tables

        return of_tables(tables[0], format, look(color, full, show_secrets), notes)
    live = any(is_live(file) for file in files)
    run = DiagnoseRun(format, look(color, full, show_secrets), Writer(live=live), notes, len(files) > 1, chosen)
    run.captures(files)
    return run.status
