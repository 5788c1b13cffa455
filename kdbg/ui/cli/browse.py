"""`kdbg browse`: exchanges to walk through on a terminal."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .options import HELP
from .output import values_option, without_values

if TYPE_CHECKING:
    from ...exchanges.filters.filter_set import Filters
    from ...views.render.style import Look


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…|DIR", type=click.Path(allow_dash=True))
@click.option("--follow", is_flag=True, help="Follow growing files and stay on the newest exchange.")
@click.option("--light", is_flag=True, help=HELP["light"])
@click.option("--local", is_flag=True, help="Show local time instead of UTC.")
@click.option("--show-secrets", is_flag=True, help=HELP["show-secrets"])
@values_option
@filter_options
@definitions_option
@memory_option
def command(files: tuple[str, ...], follow: bool, light: bool, local: bool, show_secrets: bool, hide_values: bool,
            **filters: Any) -> int:  # fmt: skip
    """Browse captures interactively: exchanges, fields, bytes.

    The top pane lists exchanges; below are the fields and bytes of the selected one, and the meaning of a field.
    Tables of kdbg pipeline open as well.

    Captures of any size open immediately; rows appear as they are decoded. Press ? to list the keys. The filter line
    (/) accepts an expression as in --where, or options: --topic orders --errors. Filters on the command line limit
    what is decoded.

    \b
    kdbg browse captures/errors.pcap
    kdbg browse captures/ --api produce
    kdbg browse tables/
    """
    from ...errors import InputError
    from ...extras import install

    wanted = take_filters(filters)
    if find_spec("textual") is None:
        raise InputError(f"kdbg browse needs the package textual; {install('tui')}")
    if not (sys.stdout.isatty() and sys.stdin is not None):
        raise InputError("kdbg browse needs a terminal; use kdbg decode for pipes and files")
    from ...views.render.style import Look
    from .browsing import WIDEST, browse
    from .reporting import holds_tables

    look = without_values(Look(width=WIDEST, full=False, show_secrets=show_secrets, local=local), hide_values)
    if any(map(holds_tables, files)):
        return of_tables(files, wanted, look, hide=hide_values, follow=follow, light=light)
    return browse(files, wanted, look, follow=follow, light=light)


def of_tables(files: tuple[str, ...], filters: Filters, look: Look, *, hide: bool, follow: bool, light: bool) -> int:
    """Show a folder of a pipeline's tables; return the exit status."""
    from .browse_tables import browse
    from .filters import EITHER, option_name

    if len(files) > 1:
        raise click.UsageError(EITHER)
    for name in filters.given:
        raise click.UsageError(
            f"{option_name(name)} applies to captures; to filter tables, press / and type an SQL condition"
        )
    if follow:
        raise click.UsageError("--follow works with captures, not with tables")
    return browse(files[0], look, hide=hide, light=light)
