"""`kdbg apis`: every API by its key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .options import color_option, definitions_option, format_option
from .output import look, write_out

if TYPE_CHECKING:
    from ...protocol.wire import Api
    from ...views.render.style import Look

WIDEST = 30
"""Letters of a name that the table makes room for: one API's name is longer than that of all others."""
HEADINGS = ("key", "name", "version", "flexible", "aliases")


@click.command(context_settings={"max_content_width": 100})
@format_option
@color_option
@definitions_option
def command(format: str, color: str) -> None:
    """List API keys, versions and aliases.

    Each row contains the key, the name, the versions, the first flexible version and other names of an API.

    \b
    kdbg apis
    kdbg apis --format json
    """
    write_out(listing(look(color, True, False), format == "json"))


def listing(look: Look, json: bool) -> Iterator[str | bytes]:
    """Yield the table of APIs, or with `json` an object a line."""
    from ...protocol.grammars import apis
    from ...views.render.columns import aligned
    from ...views.render.grammar_versions import api_object, span
    from ...views.render.jsonlines import dump

    if json:
        yield from (dump(api_object(api)) for api in apis())
        return
    rows = [
        (
            str(api.key), api.name, span(api.versions).replace(" to ", "-"),
            f"from {api.flexible}" if api.flexible in api.versions else "no", also(api),
        )
        for api in apis()
    ]  # fmt: skip
    yield "\n".join(aligned([HEADINGS, *rows], look, ("dim", "name", "", "", "dim"), right=(0,), widest=WIDEST)) + "\n"


def also(api: Api) -> str:
    """Return an API's other names, and the files that define it or a part of it where kdbg's own grammars do not."""
    from ...protocol.grammars import aliases
    from ...views.render.values import escape

    files = [f"defined by {', '.join(map(escape, api.given))}"] if api.given else []
    return "; ".join(filter(None, [", ".join(aliases(api)), *files]))
