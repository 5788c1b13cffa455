"""The option that says how much memory kdbg may take: `--max-memory`, of all commands that read what others made."""

from __future__ import annotations

from typing import Any

import click

from ..budget import DEFAULT, MEMORY, VARIABLE, size_of
from ..errors import InputError


class Size(click.ParamType):  # type: ignore[type-arg]
    """A size such as 512MB, in bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else size_of(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


def _allow(ctx: click.Context, param: click.Parameter, value: int) -> None:
    MEMORY.allow(value)


memory_option = click.option(
    "--max-memory", type=Size(), default=DEFAULT, metavar="SIZE", envvar=VARIABLE, expose_value=False, callback=_allow,
    help="Memory that may be taken, such as 512MB (1GB unless told); what would take more is given up, with a finding.",
)  # fmt: skip
