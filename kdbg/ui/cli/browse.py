"""`kdbg browse`: exchanges to walk through on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .filters import filter_options, folder_of_tables, take_filters
from .options import HELP, files_argument, input_options, need_screen, values_option
from .output import without_values

if TYPE_CHECKING:
    from ..tui.app import Browser


@click.command(context_settings={"max_content_width": 100})
@files_argument("FILE…|DIR")
@click.option("--follow", is_flag=True, help="Follow growing files and stay on the newest exchange.")
@click.option("--light", is_flag=True, help=HELP["light"])
@click.option("--local", is_flag=True, help="Show local time instead of UTC.")
@click.option("--show-secrets", is_flag=True, help=HELP["show-secrets"])
@values_option
@filter_options
@input_options
def command(files: tuple[str, ...], follow: bool, light: bool, local: bool, show_secrets: bool, hide_values: bool,
            **options: Any) -> int:  # fmt: skip
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
    filters = take_filters(options)
    need_screen("kdbg browse", "use kdbg decode for pipes and files")
    from ...views.render.style import Look
    from .browse_captures import WIDEST, Files, jobs, parsed, show_screen

    look = without_values(Look(width=WIDEST, full=False, show_secrets=show_secrets, local=local), hide_values)
    if folder := folder_of_tables(files, filters, "to filter tables, press / and type an SQL condition"):
        if follow:
            raise click.UsageError("--follow works with captures, not with tables")
        from .browse_tables import browse

        browse(folder, look, hide=hide_values, light=light)
        return 0
    from ..tui.feed import ExchangeFeed

    source = Files(files, filters, follow=follow)
    feed = ExchangeFeed(source, jobs(source.files, filters))

    def make() -> Browser:
        from ..tui.app import Browser  # in the copies of this process there is no need of it

        return Browser(feed, look, source.files, parsed, light=light, follow=follow)

    show_screen(feed, make)
    return 0
