"""`kdbg grammar`: how messages are laid out, and what their versions changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from .options import color_option, format_option
from .output import Writer, look

if TYPE_CHECKING:
    from ..render.grammartext import Sheet
    from ..render.look import Look


@click.command(context_settings={"max_content_width": 100})
@click.argument("api", required=False)
@click.option("--version", "-v", type=int, metavar="N", help="Print the grammar of this version.")
@click.option("--diff", type=int, nargs=2, metavar="N M", help="Compare two versions.")
@click.option("--request", "direction", flag_value="request", help="Only the request.")
@click.option("--response", "direction", flag_value="response", help="Only the response.")
@format_option
@color_option
def command(api: str | None, version: int | None, diff: tuple[int, int] | None, direction: str | None,
            format: str, color: str) -> None:  # fmt: skip
    """Print the grammar of a message in the protocol guide's BNF, or what versions changed.

    API is a name, an alias or a key; or `header`, or `records`. With neither --version nor --diff: what the API is
    for, and what each version changed. Without API: all of them.

    \b
    kdbg grammar metadata
    kdbg grammar metadata --version 1
    kdbg grammar fetch --diff 12 13 --response
    kdbg grammar records
    """
    if version is not None and diff:
        raise click.UsageError("--version prints one version, --diff compares two: one of them, please")
    if api is None and (version is not None or diff or direction):
        raise click.UsageError("of which API? `kdbg apis` lists them")
    writer = Writer()
    for piece in pieces(api, version, diff, direction, look(color, True, False), format == "json"):
        writer.write(piece)
    writer.flush()


def pieces(
    api: str | None, version: int | None, diff: tuple[int, int] | None, direction: str | None, look: Look, json: bool
) -> Iterator[str | bytes]:
    """What is printed, piece by piece."""
    from .. import grammars
    from ..render.grammartext import special_sheets
    from .apis import listing

    special = special_sheets(api) if api is not None else None
    if api is None:
        yield from listing(look, json)
        if not json:
            yield "\n`kdbg grammar NAME` tells about one of them; also `header` and `records`.\n"
    elif diff:
        yield from compared(api, diff, direction, look, json)
    elif version is not None or special is not None:
        yield from printed(chosen(api, version, direction), look, json)
    else:
        yield summary(grammars.api(api), direction, look, json)


def summary(api: Any, direction: str | None, look: Look, json: bool) -> str | bytes:
    """One API, all versions."""
    from ..render.grammardiff import overview, overview_object
    from ..render.jsonlines import dump
    from ..wire.api import DIRECTIONS

    directions = [known for known in DIRECTIONS if direction in (None, known)]
    return dump(overview_object(api, directions)) if json else overview(api, directions, look)


def printed(sheets: list[Sheet], look: Look, json: bool) -> Iterator[str | bytes]:
    """Grammars whole, a blank line between them."""
    from ..render.grammartext import sheet_object, sheet_text
    from ..render.jsonlines import dump

    for i, sheet in enumerate(sheets):
        yield dump(sheet_object(sheet)) if json else "\n" * (i > 0) + sheet_text(sheet, look)


def compared(
    api: str, versions: tuple[int, int], direction: str | None, look: Look, json: bool
) -> Iterator[str | bytes]:
    """Two versions side by side, request and response each."""
    from ..render.grammardiff import diff_object, diff_text
    from ..render.jsonlines import dump

    old, new = (chosen(api, version, direction) for version in versions)
    pairs = [(one, other) for one in old for other in new if one.direction == other.direction]
    if not pairs:
        raise click.UsageError("nothing stands in both: the two are different things")
    for i, pair in enumerate(pairs):
        yield dump(diff_object(*pair)) if json else "\n" * (i > 0) + diff_text(*pair, look)


def chosen(name: str, version: int | None, direction: str | None) -> list[Sheet]:
    """The sheets that were asked for."""
    from .. import grammars
    from ..errors import InputError
    from ..render.grammartext import message_sheets, special_sheets

    special = special_sheets(name)
    if special is None:
        assert version is not None
        return [s for s in message_sheets(grammars.api(name), version) if direction in (None, s.direction)]
    found = [s for s in special if version in (None, s.version) and direction in (None, s.direction or direction)]
    if not found:
        known = ", ".join(dict.fromkeys(str(sheet.version) for sheet in special))
        raise InputError(f"no {name} of version {version}; there are {known}")
    return found
