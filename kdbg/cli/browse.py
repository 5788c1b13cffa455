"""`kdbg browse`: exchanges to walk through on a terminal."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .output import values_option, without_values

if TYPE_CHECKING:
    from ..filters.chosen import Filters
    from ..render.look import Look


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…|DIR", type=click.Path(allow_dash=True))
@click.option("--follow", is_flag=True, help="Follow growing files and stay on the newest exchange.")
@click.option("--light", is_flag=True, help="Use the light theme (press d to switch).")
@click.option("--local", is_flag=True, help="Show when messages were sent in local time.")
@click.option("--show-secrets", is_flag=True, help="Show passwords, tokens and other secrets.")
@values_option
@filter_options
@definitions_option
@memory_option
def command(files: tuple[str, ...], follow: bool, light: bool, local: bool, show_secrets: bool, hide_values: bool,
            **filters: Any) -> int:  # fmt: skip
    """Walk through captures, or tables of kdbg pipeline: exchanges above, fields and bytes of one below, their
    meaning at the foot.

    Captures of any size open at once; rows come as they are read. ? shows the keys. The filter line (/) takes what
    --where takes, or options: --topic orders --errors. Filters on the command line choose what is read at all.

    \b
    kdbg browse captures/errors.pcap
    kdbg browse captures/ --api produce
    kdbg browse tables/
    """
    from ..errors import InputError
    from ..extras import install

    wanted = take_filters(filters)
    if find_spec("textual") is None:
        raise InputError(f"kdbg browse needs textual: {install('tui')}")
    if not (sys.stdout.isatty() and sys.stdin is not None):
        raise InputError("kdbg browse needs a terminal: kdbg decode prints into pipes and files")
    from ..render.look import Look
    from .browsing import WIDEST, browse
    from .reporting import holds_tables

    look = without_values(Look(width=WIDEST, full=False, show_secrets=show_secrets, local=local), hide_values)
    if any(map(holds_tables, files)):
        return of_tables(files, wanted, look, hide=hide_values, follow=follow, light=light)
    return browse(files, wanted, look, follow=follow, light=light)


def of_tables(files: tuple[str, ...], filters: Filters, look: Look, *, hide: bool, follow: bool, light: bool) -> int:
    """Show a folder of a pipeline's tables; return the exit status."""
    from .filters import option_name
    from .tabled import browse

    if len(files) > 1:
        raise click.UsageError("Captures, or one folder of tables: not both, and not several folders")
    for name in filters.given:
        raise click.UsageError(f"{option_name(name)} is for captures; over tables / takes a condition in SQL")
    if follow:
        raise click.UsageError("--follow works with captures, not with tables")
    return browse(files[0], look, hide=hide, light=light)
