"""`kdbg browse`: exchanges to walk through on a terminal."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .output import values_option, without_values


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@click.option("--follow", is_flag=True, help="Go on as files grow, and stay at the last exchange.")
@click.option("--light", is_flag=True, help="Colours for a light terminal; d changes them.")
@click.option("--local", is_flag=True, help="Show when messages were sent in local time.")
@click.option("--show-secrets", is_flag=True, help="Show passwords, tokens and other secrets.")
@values_option
@filter_options
@definitions_option
@memory_option
def command(files: tuple[str, ...], follow: bool, light: bool, local: bool, show_secrets: bool, hide_values: bool,
            **filters: Any) -> int:  # fmt: skip
    """Walk through captures: exchanges above, the fields and the bytes of one below, their meaning at the foot.

    Captures of any size open at once; rows come as they are read. ? shows the keys. The filter line (/) takes what
    --where takes, or options: --topic orders --errors. Filters on the command line choose what is read at all.

    \b
    kdbg browse captures/errors.pcap
    kdbg browse captures/ --api produce
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

    look = without_values(Look(width=WIDEST, full=False, show_secrets=show_secrets, local=local), hide_values)
    return browse(files, wanted, look, follow=follow, light=light)
