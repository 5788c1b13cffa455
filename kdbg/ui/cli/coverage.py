"""`kdbg coverage`: which versions kdbg knows, since which release of Kafka, and what has proved them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .completion import api_names
from .options import color_option, definitions_option, format_option
from .output import look, write_out

if TYPE_CHECKING:
    from ...views.render.style import Look

PROOFS = ("any", "layouts", "java", "kio", "kafka-python", "brokers", "clients", "vectors")

SPECIAL = "payloads"


@click.command(context_settings={"max_content_width": 100})
@click.argument("api", required=False, shell_complete=api_names)
@click.option("--missing", type=click.Choice(PROOFS), help="List the versions that lack this verification.")
@format_option
@color_option
@definitions_option
def command(api: str | None, missing: str | None, format: str, color: str) -> None:
    """List supported API versions and how each was verified.

    Without API, each API is one row, with the Kafka releases that support it. API is a name, an alias or a key: each
    version is one row. `payloads` lists the data inside bytes fields and inside the records of internal topics. The
    verification comes from kdbg's own tests.

    \b
    kdbg coverage
    kdbg coverage fetch
    kdbg coverage payloads
    kdbg coverage --missing brokers
    """
    if api == SPECIAL and missing is not None:
        raise click.UsageError("--missing cannot be combined with payloads")
    write_out(pieces(api, missing, look(color, True, False), format == "json"))


def pieces(api: str | None, missing: str | None, look: Look, json: bool) -> Iterator[str | bytes]:
    """Yield what is printed, piece by piece: one API, all of them, what is `missing`, or the payloads."""
    from ...protocol import grammars
    from ...views.render import coverage
    from ...views.render.jsonlines import dump

    if api == SPECIAL:
        yield from map(dump, coverage.payload_objects()) if json else [coverage.payloads(look)]
        return
    apis = [grammars.api(api)] if api is not None else list(grammars.apis())
    if json:
        yield from map(dump, coverage.objects(apis, missing))
    elif missing is not None:
        yield coverage.missing(apis, missing, look)
    elif api is not None:
        yield coverage.one(apis[0], look)
    else:
        yield coverage.overview(apis, look)
