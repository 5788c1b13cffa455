"""The option --definitions: message definitions served beside kdbg's own grammars, as long as a command runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

GIVEN = "kdbg.definitions"
"""Where a click context keeps the paths, for a command whose work other processes do."""


def definitions_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option --definitions; click hands it to `serve`, not to the command itself."""
    return click.option(
        "--definitions",
        multiple=True,
        metavar="DIR|FILE",
        type=click.Path(),
        envvar="KDBG_DEFINITIONS",
        expose_value=False,
        is_eager=True,
        callback=serve,
        help="Load Kafka JSON message definitions, in addition to the built-in ones (default: $KDBG_DEFINITIONS). "
        "Repeatable.",
    )(command)


def serve(context: click.Context, option: click.Parameter, paths: tuple[str, ...]) -> None:
    """Read the definitions before anything asks for an API; they are forgotten when the command ends."""
    if not paths:
        return
    context.meta[GIVEN] = paths
    from ...library import using_definitions
    from . import printable

    quiet = context.resilient_parsing  # a shell is asking what could come next
    for note in context.with_resource(using_definitions(*paths)):
        if not quiet:
            click.echo(f"kdbg: {printable(note)}", err=True)
