"""`kdbg index`: captures in, an index of each into the user's cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from . import DEFINITIONS, NO_INDEX, REFUSED, printable
from .options import files_argument, input_options

if TYPE_CHECKING:
    from ...capture import Capture
    from ...exchanges.filters.filter_set import Filters


@click.command(context_settings={"max_content_width": 100})
@files_argument("[FILE…]", required=False)
@click.option("--beside", is_flag=True, help="Write each index into the folder of its capture, as a hidden file.")
@click.option("--list", "listed", is_flag=True, help="List the indexes in the cache folder.")
@click.option("--clear", is_flag=True, help="Remove all indexes from the cache folder.")
@input_options
def command(files: tuple[str, ...], beside: bool, listed: bool, clear: bool) -> int:
    """Index large captures for decode to read only matches.

    kdbg decode itself writes and uses indexes of captures from 20 MB on, unless --no-index is given. See kdbg guide
    index.

    \b
    kdbg index captures/errors.pcap
    kdbg index --list
    """
    if bool(files) + listed + clear != 1:
        raise click.UsageError("give FILE, --list or --clear")
    if files:
        if DEFINITIONS in click.get_current_context().meta:
            raise click.UsageError("--definitions cannot be combined with an index")
        return write_indexes(files, beside=beside)
    from ...protocol.findings.amounts import count
    from ...views.index import cache
    from .inputs import amount

    for one in cache.clear() if clear else sorted(cache.kept(), key=lambda one: -one.used):
        summary = None if clear else cache.summary_of(one.path)
        of = f" · {printable(summary.name)} · {count(summary.exchanges, 'exchange')}" if summary is not None else ""
        click.echo(f"{'removed ' if clear else ''}{printable(str(one.path))} · {amount(one.size)}{of}")
    return 0


def with_index(capture: Capture, filters: Filters) -> tuple[Capture, bool]:
    """Return a capture, with its index where that can leave out exchanges, and whether it is to get an index.

    A command uses none without the option --no-index, and with --definitions.
    """
    from ...views.index.reader import indexed

    context = click.get_current_context(silent=True)
    given = context.meta if context is not None else {}
    may = given.get(NO_INDEX) is False and DEFINITIONS not in given
    return indexed(capture, filters) if may else (capture, False)


def write_indexes(files: Sequence[str], *, beside: bool) -> int:
    """Write the index of each file; print where it is, or why there is none."""
    from ...exchanges.filters.filter_set import Filters
    from ...protocol.findings.amounts import count
    from ...views.index.cache import path_beside
    from ...views.index.reader import resumed
    from ...views.index.writer import Recorded
    from ...views.reading import engine_of
    from .inputs import amount, read_captures
    from .output import say

    exchanges = refused = 0

    def read(capture: Capture, filters: Filters, named: str) -> None:
        nonlocal exchanges, refused
        path = path_beside(capture.name) if beside else None
        recorded = resumed(capture, path) or Recorded(engine_of(capture, filters, None), capture, path)
        for chunk in recorded.chunks(capture.blocks()) if not recorded.problem else ():
            exchanges += len(chunk)
        if recorded.path is None:
            refused += 1
            say(f"{capture.name}: no index: {recorded.problem}")
            return
        size = amount(recorded.path.stat().st_size)
        read = f"{count(recorded.count, 'exchange')} · {amount(capture.source.feed.count)}"
        click.echo(printable(f"{capture.name}: {read} · index {size} · {recorded.path}"))

    _, complete = read_captures(files, Filters(), read, lambda: exchanges)
    return 0 if complete and not refused else REFUSED
