"""`kdbg explain`: bytes in, in whatever form somebody has them, what they mean out."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..errors import InputError
from .completing import api_names, api_versions, finding_kinds
from .definitions import definitions_option
from .memory import memory_option
from .output import Writer, look, look_options, values_option, view_option, without_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..guess.named import Structure
    from ..guess.told import Told
    from ..pasted.numbers import Logged
    from ..pasted.take import Take
    from ..render.look import Look
    from ..render.views import View

MOST = 128 << 20
"""Bytes that are read of a file or a pipe: no message is larger."""
NUMBER = re.compile(r"\s*([+-]?)([0-9]+)\s*")
MOST_TEXT = 8 << 20
"""More is no text that somebody pasted."""


class NumbersToo(click.Command):
    """Takes a negative number for what it is, not for an option; and -v without a version for --verbose."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        api = any(word in ("-a", "--api") or word.startswith(("-a", "--api=")) for word in args)
        args = [
            "--verbose" if word == "-v" and not (api and re.fullmatch("[0-9]+", after)) else word
            for word, after in zip(args, [*args[1:], ""], strict=False)
        ]
        numbers = [word for word in args if re.fullmatch("-[0-9]+", word)]
        if numbers and "--" not in args:
            args = [*(word for word in args if word not in numbers), "--", *numbers]
        return super().parse_args(ctx, args)


@click.command(cls=NumbersToo, context_settings={"max_content_width": 100})
@click.argument("bytes_given", nargs=-1, metavar="[HEX|-|@FILE|FINDING]", shell_complete=finding_kinds)
@click.option(
    "--api",
    "-a",
    shell_complete=api_names,
    help="The API, by name, alias or key; or what stands alone: "
    "a payload (ConsumerProtocolSubscription, OffsetCommitValue, ControlRecordKey, TopicRecord …: `kdbg grammar "
    "payloads` lists them), RecordBatch, MessageSet, Record, Message, OffsetIndex, TimeIndex, TransactionIndex.",
)
@click.option(
    "--version",
    "-v",
    type=click.IntRange(0, 32767),
    metavar="N",
    shell_complete=api_versions,
    help="The API's version.",
)
@click.option("--request", "direction", flag_value="request", help="It is a request.")
@click.option("--response", "direction", flag_value="response", help="It is a response.")
@click.option("--no-header", is_flag=True, help="The bytes are a body alone: no size and no header in front.")
@view_option("hex", lambda view: view.explained is not None)
@click.option(
    "--explain-fields",
    "--verbose",
    "meanings",
    is_flag=True,
    help="Say what each field means; so does -v without --api.",
)
@look_options
@values_option
@definitions_option
@memory_option
@click.pass_context
def command(ctx: click.Context, bytes_given: tuple[str, ...], api: str | None, version: int | None,
            direction: Any, no_header: bool, format: str, color: str, full: bool,
            show_secrets: bool, hide_values: bool, meanings: bool) -> int:  # fmt: skip
    """Explain bytes: every one of them with its field, or why they cannot be read.

    Give them as hex (spaces do not matter), base64, a bytes literal of Python or Java, a hexdump (xxd, hexdump -C,
    od, tcpdump -X, Wireshark's copy), @FILE, or - for the standard input; files may hold the bytes themselves. With
    nothing said about them kdbg finds out what they are: a request by its header, a response by which layouts read it
    to the last byte. Several messages one after the other, each behind its size, are explained one by one.

    A kind of finding, such as leftover, is explained by the manual.

    A decimal number, or the line of an error log with a size in it, is explained as well: digits are a number if they
    do not begin with 0, are at most 2147483647, and nothing is said about them; any others are hex.

    \b
    kdbg explain 00000017 0003 0001 00000002 0004 6b646267 00000001 0003 666f6f
    kdbg explain @response.bin --api metadata --version 1 --response
    xxd message.bin | kdbg explain
    kdbg explain 369295616
    """
    from ..findings import Kind
    from ..guess.told import Told

    if not bytes_given and sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        return 2
    if version is not None and api is None:
        raise click.UsageError("--version N of which API? Say so with --api")
    known, named = _api_or_structure(api)
    told = Told(known, version, direction, not no_header)
    given = _given(bytes_given)
    shape, writer = without_values(look(color, full, show_secrets, meanings), hide_values), Writer()
    if len(bytes_given) == 1 and api is None and told == Told() and bytes_given[0] in set(Kind):
        return _finding(bytes_given[0], format, color)
    value = as_number(given.text) if given.text is not None and api is None and told == Told() else None
    if value is not None:
        from ..pasted.numbers import Logged, Role

        clean = _numbers([Logged(value, Role.NUMBER)], "", format, shape, writer)
    else:
        clean = _bytes(given, told, named, format, shape, writer)
    writer.flush()
    return 0 if clean else 1


def _finding(kind: str, format: str, color: str) -> int:
    """Show what the manual says of a kind of finding, with `json` as an object."""
    from ..findings import Kind
    from .guide import of_finding, show

    text, found = of_finding(kind), Kind(kind)
    if format == "json":
        from ..render.jsonlines import dump

        facts = {"kind": kind, "severity": found.severity.value, "explanation": found.explanation, "text": text}
        sys.stdout.buffer.write(dump(facts))
    else:
        show(text, False, color)
    return 0


def _api(name: str | None) -> Any:
    from .. import grammars

    return grammars.api(name) if name is not None else None


def _api_or_structure(name: str | None) -> tuple[Any, Structure | None]:
    """Return the API of a name, or the structure that stands alone."""
    from .. import grammars
    from ..errors import UnknownApi

    try:
        return _api(name), None
    except UnknownApi:
        from ..guess.named import api_or_structure

        return api_or_structure(name or "", grammars.api)


class Given(NamedTuple):
    """What the user gave: as it came, and as text if it may be some."""

    raw: str | bytes
    text: str | None


def _given(words: tuple[str, ...]) -> Given:
    """Return the words of the command line joined, or the content of the file or pipe that they name."""
    if not words or words == ("-",):
        raw = _limited(sys.stdin.buffer.read(MOST + 1), "the standard input")
    elif len(words) == 1 and words[0].startswith("@"):
        raw = _file(words[0][1:])
    else:
        return Given(" ".join(words), " ".join(words))
    return Given(raw, raw.decode("utf-8", "replace") if len(raw) < MOST_TEXT else None)


def _file(name: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            data = file.read(MOST + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{name!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    from ..segments import named_kind

    kind = named_kind(name, data)
    if kind is not None:
        raise InputError(f"{name!r} is a {kind.title}: `kdbg decode` shows what is in it")
    return _limited(data, name)


def _limited(data: bytes, name: str) -> bytes:
    """Return the bytes. Raise `InputError` if they are a capture, or more than any message has."""
    from ..reading.files import CAPTURES

    if data.startswith(CAPTURES):
        raise InputError(f"{name!r} is a capture: `kdbg decode` shows what was said in it")
    if len(data) > MOST:
        raise InputError(f"{name!r} has more than {MOST >> 20} MiB, which no message has")
    return data


def as_number(text: str) -> int | None:
    """Return the number that digits stand for by the rule in the command's help; None for hex and for other text."""
    from ..engine.foreign import looks_like, number

    found = NUMBER.fullmatch(text)
    if found is None or len(found[2]) > 10:
        return None
    value = int(found[1] + found[2])
    if found[1] or number(value) is not None:
        return value
    if (found[2][0] == "0" and len(found[2]) > 1) or value >= 1 << 31:
        return None
    return value if len(found[2]) % 2 or not looks_like(bytes.fromhex(found[2])) else None


def _numbers(numbers: Sequence[Logged], text: str, format: str, look: Look, writer: Writer) -> bool:
    """Explain numbers of a log, each by what its line says of it."""
    from ..render.jsonlines import dump
    from ..render.numbers import number_facts, number_text
    from ..render.views import view

    all_clean = True
    for position, told in enumerate(numbers):
        if view(format).data:
            what, advice, clean = number_facts(told.value, told, text)
            writer.write(dump({"number": told.value, "notes": [what, *filter(None, [advice])]}))
        else:
            words, clean = number_text(told.value, look, told, text)
            writer.write("\n" * (position > 0) + words)
        all_clean = all_clean and clean
    return all_clean


def _bytes(given: Given, told: Told, named: Structure | None, format: str, look: Look, writer: Writer) -> bool:
    """Explain the bytes in what was given, piece by piece; without any, the numbers in it."""
    from ..guess.told import words_of
    from ..pasted.search import takes_of
    from ..render.taken import alone, taken_line
    from ..render.views import view
    from .logged import without_lines

    left = without_lines(given.raw, format, look, writer)
    if left is None:
        return True
    given = (
        given if left is given.raw else Given(left, left if isinstance(left, str) else left.decode("utf-8", "replace"))
    )
    try:
        takes = takes_of(given.raw)
    except InputError:
        from ..pasted.numbers import logged

        if (refused := _refused(given.text or "", look)) and not view(format).data:
            writer.write(refused)
            return True
        numbers = logged(given.text or "")
        if not numbers:
            raise
        return _numbers(numbers, given.text or "", format, look, writer)
    if not takes[0].data:
        raise InputError("there are no bytes to explain")
    shown = view(format)
    plainly = alone(takes, given.text)
    clean = True
    for number, take in enumerate(takes):
        writer.write("\n" if number and not shown.data else "")
        if not plainly and not shown.data:
            writer.write(taken_line(take, given.text or "", look))
        of_take = told._replace(cut=take.cut, named=words_of(given.text))
        if named is not None:
            from ..guess.named import told_as

            of_take = told_as(named, take.data, of_take)
        clean = _take(take, of_take, shown, look, writer) and clean
    return clean


def _refused(text: str, look: Look) -> str:
    """Return what a broker's log says of a request that it could not read; "" where it says nothing of one."""
    from ..errors import UnknownApi
    from ..pasted.refused import refusal
    from ..render.refused import refused_text

    found = refusal(text)
    try:
        api = _api(found.api) if found is not None else None
    except UnknownApi:
        return ""
    if found is None or api is None or found.version not in api.versions:
        return ""
    return refused_text(found, api, look)


def _take(take: Take, told: Told, shown: View, look: Look, writer: Writer) -> bool:
    """Explain bytes that were taken from a text; return whether all of them could be."""
    from ..guess.pieces import pieces

    assert shown.explained is not None, "--format offers no other"
    clean = True
    for number, piece in enumerate(pieces(take.data, told)):
        text, whole = shown.explained(take.data, piece, look)
        clean = clean and whole
        writer.write("\n" if number and not shown.data else "")
        writer.write(text)
    return clean and take.odd < 0
