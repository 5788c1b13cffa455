"""The option that says how much memory kdbg may take: `--max-memory`, of all commands that read what others made."""

from __future__ import annotations

import click

from ...budget import DEFAULT, LEAST, MEMORY, VARIABLE
from .sizes import Size


def _allow(ctx: click.Context, param: click.Parameter, value: int) -> None:
    MEMORY.allow(value)


memory_option = click.option(
    "--max-memory", type=Size(LEAST), default=DEFAULT, metavar="SIZE", envvar=VARIABLE, expose_value=False,
    callback=_allow,
    help="Limit the memory; data above the limit is dropped with a finding (default: 1GB).",
)  # fmt: skip
