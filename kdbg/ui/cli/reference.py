"""`kdbg apis`, `coverage`, `errors`: what kdbg knows of the protocol, to be looked up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .completion import api_names, error_codes
from .options import color_option, definitions_option, format_option
from .output import look, write_out

if TYPE_CHECKING:
    from ...protocol.grammars.errors import Error
    from ...views.render.style import Look

WIDEST = 30
"""Letters of a name that the table makes room for: one API's name is longer than that of all others."""
HEADINGS = ("key", "name", "version", "flexible", "aliases")
SPECIAL = "payloads"


@click.command(context_settings={"max_content_width": 100})
@format_option
@color_option
@definitions_option
def apis_command(format: str, color: str) -> None:
    """List API keys, versions and aliases.

    Each row contains the key, the name, the versions, the first flexible version and other names of an API.

    \b
    kdbg apis
    kdbg apis --format json
    """
    write_out(listing(look(color, True, False), format == "json"))


def listing(look: Look, json: bool) -> Iterator[str | bytes]:
    """Yield the table of APIs, or with `json` an object a line."""
    from ...protocol.grammars import aliases, apis
    from ...views.render.columns import aligned
    from ...views.render.grammar_versions import span, summary_object
    from ...views.render.jsonlines import dump
    from ...views.render.values import escape

    if json:
        yield from (dump(summary_object(api)) for api in apis())
        return
    rows = []
    for api in apis():
        flexible = f"from {api.flexible}" if api.flexible in api.versions else "no"
        files = f"defined by {', '.join(map(escape, api.given))}" if api.given else ""
        also = "; ".join(filter(None, [", ".join(aliases(api)), files]))
        rows.append((str(api.key), api.name, span(api.versions).replace(" to ", "-"), flexible, also))
    yield "\n".join(aligned([HEADINGS, *rows], look, ("dim", "name", "", "", "dim"), right=(0,), widest=WIDEST)) + "\n"


@click.command(context_settings={"max_content_width": 100})
@click.argument("api", required=False, shell_complete=api_names)
@format_option
@color_option
@definitions_option
def coverage_command(api: str | None, format: str, color: str) -> None:
    """List supported API versions and how each was verified.

    Without API, each API is one row, with the Kafka releases that support it. API is a name, an alias or a key: each
    version is one row. `payloads` lists the data inside bytes fields and inside the records of internal topics. The
    verification comes from kdbg's own tests.

    \b
    kdbg coverage
    kdbg coverage fetch
    kdbg coverage payloads
    """
    from ...protocol import grammars
    from ...views.render import coverage
    from ...views.render.jsonlines import dump

    shape, json = look(color, True, False), format == "json"
    if api == SPECIAL:
        write_out(map(dump, coverage.payload_objects()) if json else [coverage.payloads(shape)])
        return
    apis = [grammars.api(api)] if api is not None else list(grammars.apis())
    if json:
        write_out(map(dump, coverage.objects(apis)))
    elif api is not None:
        write_out([coverage.one(apis[0], shape)])
    else:
        write_out([coverage.overview(apis, shape)])


@click.command(context_settings={"max_content_width": 100, "ignore_unknown_options": True})  # -1 is a code
@click.argument("errors", nargs=-1, metavar="[CODE|NAME]…", shell_complete=error_codes)
@format_option
@color_option
def errors_command(errors: tuple[str, ...], format: str, color: str) -> None:
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
    from ...views.render import errortext
    from ...views.render.jsonlines import dump

    found = [error for query in errors for error in search(query)] if errors else list(ERRORS.values())
    if format == "json":
        write_out(dump(errortext.error_object(error)) for error in found)
        return
    shape = look(color, True, False)
    if errors and len(found) == len(errors):  # each is exactly one
        text = "\n".join(errortext.one(error, shape) for error in found)
    else:
        text = errortext.several(dict.fromkeys(found), shape)
    write_out([text])


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
