"""`kdbg grammar`: how messages are laid out, and what their versions changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from ...errors import InputError
from . import UNDECODED
from .completion import api_or_payload, api_versions, grammar_names
from .options import color_option, definitions_option, format_option
from .output import look, write_out

if TYPE_CHECKING:
    from ...protocol.definitions import Declared
    from ...protocol.wire import Api
    from ...protocol.wire.language.payload import Payload
    from ...views.render.grammar import Sheet
    from ...views.render.style import Look

NOTATION, TYPES = ("notation", "bnf", "optional"), ("types", "type")
"""What the pages on the signs of the BNF, and on all types, are asked for by."""


@click.command(context_settings={"max_content_width": 100})
@click.argument("names", nargs=-1, metavar="[API]", shell_complete=grammar_names)
@click.option("--definition", "files", multiple=True, metavar="FILE", type=click.Path(),
              help="Print what this message definition file defines. Repeatable.")  # fmt: skip
@click.option(
    "--compatible", is_flag=True,
    help="Check a definition by Kafka's compatibility rules; give the files of all releases, oldest first.",
)  # fmt: skip
@click.option("--version", "-v", type=int, metavar="N", shell_complete=api_versions,
              help="Print the message schema of this version.")  # fmt: skip
@click.option("--diff", type=int, nargs=2, metavar="N M", shell_complete=api_versions, help="Compare two versions.")
@click.option("--all", "everything", is_flag=True,
              help="Print all schemas for programs, with --format json: see kdbg guide json schema.")  # fmt: skip
@click.option("--request", "direction", flag_value="request", help="Print only the request.")
@click.option("--response", "direction", flag_value="response", help="Print only the response.")
@format_option
@color_option
@definitions_option
def command(names: tuple[str, ...], files: tuple[str, ...], compatible: bool, version: int | None,
            diff: tuple[int, int] | None, everything: bool, direction: str | None, format: str,
            color: str) -> int:  # fmt: skip
    """Print a message schema, or compare two versions.

    The schema is printed in the BNF of Kafka's protocol guide. API is a name, an alias or a key; `frame`, `header`,
    `records` or `notation`; a payload (`payloads` lists them); or a type such as `int32` (`types` lists them). Without
    --version and --diff, kdbg prints what the API does, and what each version changed. Without API, it lists all APIs.

    \b
    kdbg grammar metadata
    kdbg grammar metadata --version 1
    kdbg grammar fetch --diff 12 13 --response
    kdbg grammar records
    kdbg grammar unsigned-varint
    kdbg grammar consumer-protocol-subscription --version 1
    kdbg grammar --definition FooRequest.json --definition FooResponse.json --version 2
    kdbg grammar --compatible 1.0/FooRequest.json 2.0/FooRequest.json 3.0/FooRequest.json
    kdbg grammar --all --format json > schema.jsonl
    """
    if everything:
        if names or files or compatible or version is not None or diff or direction:
            raise click.UsageError("--all can only be combined with --format json and --definitions")
        if format != "json":
            raise click.UsageError("--all requires --format json; kdbg grammar API prints one schema as text")
        write_out(schema())
        return 0
    if compatible and (files or version is not None or diff or direction):
        raise click.UsageError("--compatible can only be combined with --format")
    if len(names) > 1 and not compatible:
        raise click.UsageError("give one API; only --compatible accepts several files")
    api = names[0] if names else None
    if version is not None and diff:
        raise click.UsageError("use either --version or --diff, not both")
    if files and api is not None:
        raise click.UsageError(
            "--definition cannot be combined with an API; use --definitions to add to the known APIs"
        )
    if api is None and not files and not compatible and (version is not None or diff or direction):
        raise click.UsageError("an API is missing; list them with kdbg apis")
    asked = SchemaRequest(version, diff, direction, look(color, True, False), format == "json")
    if compatible:
        return check_compatible(names, asked)
    write_out(defined(files, asked) if files else texts(api, asked))
    return 0


class SchemaRequest(NamedTuple):
    """What is asked of a schema: one version, or two compared; a direction, None for both; and how it is printed."""

    version: int | None
    diff: tuple[int, int] | None
    direction: str | None
    look: Look
    json: bool


def texts(api: str | None, asked: SchemaRequest) -> Iterator[str | bytes]:
    """Yield what is printed of an API, a payload, a type or a special page; None is the list of all APIs."""
    from ...protocol.grammars import plain
    from ...protocol.grammars.payloads import payloads
    from ...views.render import typetext
    from ...views.render.grammar import special_sheets
    from ...views.render.grammar_versions import payload_listing, summary_object
    from ...views.render.jsonlines import dump
    from .reference import listing

    look, json = asked.look, asked.json
    if api is None:
        yield from listing(look, json)
        if not json:
            yield "\n`kdbg grammar NAME` describes one of them; also `frame`, `header`, `records`, `payloads`,\n"
            yield "`types` and `notation`.\n"
        return
    word, found = plain(api), typetext.type_named(api)
    if word == "payloads" and json:
        yield from (dump(summary_object(one)) for one in payloads())
    elif word == "payloads":
        yield from payload_listing(look)
        yield "\n`kdbg grammar NAME` describes one of them.\n"
    elif special := special_sheets(api):

        def sheets(version: int | None) -> list[Sheet]:
            side = asked.direction
            found = [one for one in special if version in (None, one.version) and side in (None, one.direction or side)]
            if not found:
                versions = ", ".join(dict.fromkeys(str(sheet.version) for sheet in special))
                raise InputError(f"no {api} of version {version}; known versions: {versions}")
            return found

        yield from printed(sheets, asked)
    elif found is not None or word in NOTATION or word in TYPES:
        if asked.version is not None or asked.diff or asked.direction:
            raise click.UsageError(f"{api} has neither versions nor directions")
        if word in NOTATION:
            yield dump(typetext.notation_object()) if json else typetext.notation_page(look)
        elif word in TYPES:
            yield from map(dump, map(typetext.type_object, typetext.types())) if json else [typetext.type_listing(look)]
        elif found is not None:
            yield dump(typetext.type_object(found)) if json else typetext.type_page(found, look)
    else:
        yield from grammar_texts(api_or_payload(api), asked)


def schema() -> Iterator[bytes]:
    """Yield the lines of the schema of all APIs."""
    from ...protocol.grammars import apis
    from ...views.render.jsonlines import dump
    from ...views.render.schema import schema_objects

    yield from map(dump, schema_objects(apis()))


def defined(files: tuple[str, ...], asked: SchemaRequest) -> Iterator[str | bytes]:
    """Yield what message definitions define, piece by piece: APIs first, like kdbg's own, then other messages.

    Without a version or two to compare, all versions of the other messages come. Raise `InputError` where no version of
    anything is valid.
    """
    from ...library import read_definitions
    from ...protocol.definitions import declare, pairs
    from ...protocol.wire.language import DIRECTIONS

    messages = [message for message in read_definitions(*files) if message.valid]
    others = [declare(message) for message in messages if message.kind not in DIRECTIONS]
    things: list[Api | Declared] = [*(pair.api() for pair in pairs(messages)), *others]
    if not things:
        raise InputError(f"{', '.join(files)}: nothing to print, as validVersions is none")
    for i, thing in enumerate(things):
        yield b"" if asked.json or not i else "\n"
        yield from grammar_texts(thing, asked)


def grammar_texts(thing: Api | Payload | Declared, asked: SchemaRequest) -> Iterator[str | bytes]:
    """Yield an API, a payload or another message: two versions compared, one version, or a summary.

    In place of a summary, a message that is neither API nor payload has all of its versions printed.
    """
    from ...protocol.definitions import Declared
    from ...protocol.wire.language import DIRECTIONS, Direction
    from ...protocol.wire.language.payload import Payload
    from ...views.render import grammar_versions as versions
    from ...views.render.jsonlines import dump

    look, json, direction = asked.look, asked.json, asked.direction

    def sheets(version: int | None) -> list[Sheet]:
        numbers = thing.versions if version is None else [version]
        return [sheet for number in numbers for sheet in sheets_of(thing, number, direction)]

    if asked.diff or asked.version is not None or isinstance(thing, Declared):
        yield from printed(sheets, asked)
    else:
        last, sides = thing.versions[-1], list[Direction]()
        if not isinstance(thing, Payload):
            sides += (side for side in DIRECTIONS if direction in (None, side) and thing.reads(side, last))
        yield dump(versions.overview_object(thing, sides)) if json else versions.overview(thing, sides, look)


def sheets_of(thing: Api | Payload | Declared, version: int, direction: str | None) -> list[Sheet]:
    """Return the sheets of one version of an API, a payload, or a message that is neither."""
    from ...protocol.wire import Api
    from ...protocol.wire.language.payload import Payload
    from ...views.render.grammar import message_sheet, message_sheets
    from ...views.render.grammar_versions import payload_sheet

    if isinstance(thing, Payload):
        return [payload_sheet(thing, version)]
    if not isinstance(thing, Api):
        return [message_sheet(thing.name, version, thing.at(version))]
    return [sheet for sheet in message_sheets(thing, version) if direction in (None, sheet.direction)]


def printed(sheets: Callable[[int | None], list[Sheet]], asked: SchemaRequest) -> Iterator[str | bytes]:
    """Yield the grammars of one version, or the differences of two, side by side, with a blank line between them.

    `sheets` returns those of a version, None for all. Raise `UsageError` for two that have no side in common.
    """
    from ...views.render.grammar import sheet_object, sheet_text
    from ...views.render.grammar_versions import diff_object, diff_text
    from ...views.render.jsonlines import dump

    look = asked.look
    if not asked.diff:
        for i, sheet in enumerate(sheets(asked.version)):
            yield dump(sheet_object(sheet)) if asked.json else "\n" * (i > 0) + sheet_text(sheet, look)
        return
    old, new = ([sheet for sheet in sheets(version) if not sheet.guide] for version in asked.diff)
    pairs = [(one, other) for one in old for other in new if one.direction == other.direction]
    if not pairs:
        raise click.UsageError("the two have no field in common")
    for i, pair in enumerate(pairs):
        yield dump(diff_object(*pair)) if asked.json else "\n" * (i > 0) + diff_text(*pair, look)


def check_compatible(files: tuple[str, ...], asked: SchemaRequest) -> int:
    """Compare definition files, oldest first, and print the outcome; return 1 where a rule is broken."""
    from pathlib import Path

    from ...library import read_definitions
    from ...protocol.definitions.compatible import history
    from ...views.render.grammar_versions import comparison_object, history_text
    from ...views.render.jsonlines import dump

    if len(files) < 2:
        raise click.UsageError("--compatible requires two or more definition files, oldest first")
    for path in filter(lambda path: Path(path).is_dir(), files):
        raise InputError(f"{path}: a folder; --compatible requires definition files")
    found = history([read_definitions(path)[0] for path in files])
    write_out(map(dump, map(comparison_object, found)) if asked.json else [history_text(found, asked.look)])
    return UNDECODED if any(comparison.broken for comparison in found) else 0
