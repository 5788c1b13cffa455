"""`kdbg errors`: what an error code means, and whether to try again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .completion import error_codes
from .options import color_option, format_option
from .output import look, write_out

if TYPE_CHECKING:
    from ...protocol.grammars.errors import Error
    from ...views.render.style import Look


@click.command(context_settings={"max_content_width": 100, "ignore_unknown_options": True})  # -1 is a code
@click.argument("errors", nargs=-1, metavar="[CODE|NAME]…", shell_complete=error_codes)
@format_option
@color_option
def command(errors: tuple[str, ...], format: str, color: str) -> None:
    """Look up error codes.

    Give a code, a name, a former name, the name of a Java exception, or a part of a name or text. Without an
    argument, kdbg lists all error codes.

    \b
    kdbg errors 6
    kdbg errors -1
    kdbg errors NotLeaderForPartitionException
    kdbg errors coordinator
    """
    from ...protocol.grammars.errors import ERRORS
    from ...views.render.errortext import error_object
    from ...views.render.jsonlines import dump

    found = [error for query in errors for error in search(query)] if errors else list(ERRORS.values())
    if format == "json":
        write_out(dump(error_object(error)) for error in found)
    else:
        write_out([text(found, look(color, True, False), whole=not errors, exact=len(found) == len(errors))])


def text(found: list[Error], look: Look, *, whole: bool, exact: bool) -> str:
    """Return errors as text: all of them (`whole`) as a list, each at full length (`exact`), or each of them once."""
    from ...views.render import errortext

    if exact and not whole:
        return "\n".join(errortext.one(error, look) for error in found)
    return errortext.several(dict.fromkeys(found), look)


def search(query: str) -> list[Error]:
    """Return the errors that a query means. Raise `InputError` where it means none."""
    from ...errors import InputError
    from ...protocol.grammars.errors import ERRORS, find
    from ...views.render.errortext import near

    if query.startswith("-") and not query[1:].isdecimal():
        raise click.NoSuchOption(query)
    found = find(query)
    if found:
        return found
    if query.strip().removeprefix("-").isdecimal():
        raise InputError(f"unknown error code {query}; codes are {min(ERRORS)} to {max(ERRORS)}")
    names = near(query)
    hint = f"did you mean {' or '.join(names)}?" if names else "list all with kdbg errors"
    raise InputError(f"unknown error {query!r}; {hint}")
