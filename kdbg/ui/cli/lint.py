"""`kdbg lint`: captures in, what clients and brokers do against the protocol out."""

from __future__ import annotations

from typing import Any

import click

from .decode import is_live
from .definitions import definitions_option
from .filters import connection_filter_options, take_filters
from .memory import memory_option
from .output import Writer, look, look_options


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@click.option(
    "--format", "-f", "format", type=click.Choice(["text", "json"]), default="text",
    help="Set the output format: text, or json with one object per line (default: text).",
)  # fmt: skip
@click.option("--notes/--no-notes", default=True, help="Include notes (default: notes).")
@look_options
@connection_filter_options
@definitions_option
@memory_option
def command(
    files: tuple[str, ...], format: str, notes: bool, color: str, full: bool, show_secrets: bool,
    **filters: Any,
) -> int:  # fmt: skip
    """Report protocol violations and bad practices.

    Each violation is listed by client id, host and software, with its number of occurrences and the first exchange.
    The exit status is 1 if there is a violation above a note.

    \b
    kdbg lint captures/first-contact.pcap
    kdbg lint captures/old-versions.pcap --no-notes --format json
    """
    from .linting import LintRun

    live = any(is_live(file) for file in files)
    run = LintRun(
        format, look(color, full, show_secrets), Writer(live=live), notes, len(files) > 1, take_filters(filters)
    )
    run.captures(files)
    return run.status
