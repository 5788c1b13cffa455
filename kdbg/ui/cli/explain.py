"""`kdbg explain`: bytes in, in any form, what they mean out."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import InputError
from ...views.render.views import view
from .completion import api_names, api_versions, finding_kinds
from .options import input_options, value_look_options, view_option
from .output import Writer, look, without_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...analysis.pasted.search import Bare
    from ...exchanges.guess.candidates import Hints
    from ...exchanges.guess.structures import Structure
    from ...protocol.findings import Kind
    from ...views.render.phrases import Statement
    from ...views.render.style import Look

MOST = 128 << 20
"""Bytes that are read of a file or a pipe: no message is larger."""
NUMBER = re.compile(r"\s*([+-]?)([0-9]+)\s*")
MOST_TEXT = 8 << 20
"""More is no pasted text."""


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
    help="Set the API by name, alias or key; a payload, or a type of stored data.",
)
@click.option(
    "--version",
    "-v",
    type=click.IntRange(0, 32767),
    metavar="N",
    shell_complete=api_versions,
    help="Set the API version.",
)
@click.option("--request", "direction", flag_value="request", help="Treat the bytes as a request.")
@click.option("--response", "direction", flag_value="response", help="Treat the bytes as a response.")
@click.option("--no-header", is_flag=True, help="Treat the bytes as a body only, without size and header.")
@view_option("hex", lambda view: view.explained is not None)
@click.option(
    "--explain-fields",
    "--verbose",
    "meanings",
    is_flag=True,
    help="Describe each field (-v does the same unless --api is given).",
)
@value_look_options
@input_options
@click.pass_context
def command(ctx: click.Context, bytes_given: tuple[str, ...], api: str | None, version: int | None,
            direction: Any, no_header: bool, format: str, color: str, full: bool,
            show_secrets: bool, hide_values: bool, meanings: bool) -> int:  # fmt: skip
    """Identify and annotate bytes: hex, base64, hexdump, file.

    kdbg shows the field of each byte, or why the bytes cannot be decoded. Give the bytes as hex (spaces are ignored),
    base64, a bytes literal of Python or Java, a hexdump (xxd, hexdump -C, od, tcpdump -X, Wireshark), @FILE, or - for
    stdin. A file may also contain raw bytes.

    Without --api, kdbg recognises a request by its header, and a response by the layouts that decode it to the last
    byte. It explains several messages one by one if each begins with its size.

    --api also accepts a payload (ConsumerProtocolSubscription, OffsetCommitValue, ControlRecordKey, TopicRecord …:
    `kdbg grammar payloads` lists them) and stored data: RecordBatch, MessageSet, Record, Message, OffsetIndex,
    TimeIndex, TransactionIndex.

    For a kind of finding, such as trailing-bytes, kdbg prints its section of the guide. It also explains a decimal
    number, or a line of an error log with a size in it. Digits are a decimal number if they do not begin with 0, are
    at most 2147483647, and no option describes the bytes; otherwise they are hex.

    \b
    kdbg explain 00000017 0003 0001 00000002 0004 6b646267 00000001 0003 666f6f
    kdbg explain @response.bin --api metadata --version 1 --response
    xxd message.bin | kdbg explain
    kdbg explain 369295616
    """
    from ...exchanges.guess.candidates import Hints
    from ...exchanges.guess.structures import api_or_structure
    from ...protocol import grammars
    from ...protocol.findings import Kind

    if not bytes_given and sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        return 2
    if version is not None and api is None:
        raise click.UsageError("--version requires --api")
    known, named = api_or_structure(api, grammars.api) if api is not None else (None, None)
    told = Hints(known, version, direction, not no_header)
    raw, bare = _given(bytes_given)
    shape, writer = without_values(look(color, full, show_secrets, meanings), hide_values), Writer()
    kind = Kind.named(bytes_given[0]) if len(bytes_given) == 1 and api is None and told == Hints() else None
    if kind is not None:
        return _finding(kind, format, color)
    value = as_number(bare.text) if bare is not None and api is None and told == Hints() else None
    if value is None:
        clean = _bytes(raw, bare, told, named, format, shape, writer)
    else:  # as an INT32 that was read from the wire
        from ...views.render.jsonlines import dump
        from ...views.render.numbers import number_facts, number_text

        what, advice, clean = number_facts(value)
        notes = [what, *filter(None, [advice])]
        writer.write(dump({"number": value, "notes": notes}) if view(format).data else number_text(value, shape)[0])
    writer.flush()
    return 0 if clean else 1


def _finding(kind: Kind, format: str, color: str) -> int:
    """Show the manual's section on a kind of finding, with `json` as an object."""
    from .guide import show, wanted

    text = wanted("findings", kind)
    if format == "json":
        from ...views.render.jsonlines import dump

        facts = {
            "kind": kind.value, "old_kind": kind.old_name, "severity": kind.severity.value,
            "explanation": kind.explanation, "text": text,
        }  # fmt: skip
        sys.stdout.buffer.write(dump(facts))
    else:
        show(text, False, color)
    return 0


def _given(words: tuple[str, ...]) -> tuple[str | bytes, Bare | None]:
    """Return the given words, or a file or pipe, as it came; if that may be text, also without what surrounds it."""
    from ...analysis.pasted.hex_text import text_of
    from ...analysis.pasted.search import Bare
    from ...views.reading import CAPTURES

    raw: str | bytes = " ".join(words)
    name = "stdin"
    if not words or words == ("-",):
        raw = sys.stdin.buffer.read(MOST + 1)
    elif len(words) == 1 and words[0].startswith("@"):
        name = words[0][1:]
        try:
            with Path(name).open("rb") as file:
                raw = file.read(MOST + 1)
        except (OSError, ValueError) as error:
            raise InputError(f"{name!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        from ...payloads.segments import named_kind

        kind = named_kind(name, raw)
        if kind is not None:
            raise InputError(f"{name!r} is a {kind.title}; use kdbg decode")
    if isinstance(raw, bytes) and raw.startswith(CAPTURES):
        raise InputError(f"{name!r} is a capture; use kdbg decode")
    if isinstance(raw, bytes) and len(raw) > MOST:
        limit = f"{MOST >> 20} MiB, the limit of explain"
        raise InputError(f"{name!r} is larger than {limit}; use kdbg decode for captures")
    text = text_of(raw) if len(raw) < MOST_TEXT else None
    return raw, Bare(text) if text is not None else None


def as_number(text: str) -> int | None:
    """Return the number that digits stand for by the rule in the command's help; None for hex and for other text."""
    from ...exchanges.engine.foreign import looks_like, number

    found = NUMBER.fullmatch(text)
    if found is None or len(found[2]) > 10:
        return None
    value = int(found[1] + found[2])
    if found[1] or number(value) is not None:
        return value
    if (found[2][0] == "0" and len(found[2]) > 1) or value >= 1 << 31:
        return None
    return value if len(found[2]) % 2 or not looks_like(bytes.fromhex(found[2])) else None


def _statements(said: Sequence[Statement], format: str, look: Look, writer: Writer) -> bool:
    """Show what the phrases in a text state."""
    from ...views.render.jsonlines import dump
    from ...views.render.phrases import phrases_text

    if not view(format).data:
        writer.write(phrases_text(said, look))
    else:
        for one in said:
            facts = {"number": one.number, "phrase": one.format, "notes": [one.head, *filter(None, [one.advice])]}
            writer.write(dump(facts))
    return all(one.known for one in said)


def _without_lines(text: str, format: str, look: Look, writer: Writer) -> tuple[str, str]:
    """Show the exchanges of the protocol lines in a text; return (the text with these lines empty, these lines)."""
    from ...analysis.logs.clients import on_one_line
    from ...analysis.logs.exchanges import Conversations
    from ...analysis.logs.lines import Lines

    text = on_one_line(text)
    told = Lines().take(text.encode("utf-8", "replace"), end=True)
    if not told:
        return text, ""
    pairing = Conversations()
    render = view("tree" if format == "hex" else format).exchange(look, pairing.names_then)
    for chunk in pairing.chunks([told]):
        for exchange in chunk:
            writer.write(render(exchange))
    said = {line.number for line in told}
    lines = text.split("\n")
    left = "\n".join("" if number in said else line for number, line in enumerate(lines, 1))
    return left, "\n".join(line for number, line in enumerate(lines, 1) if number in said)


def _bytes(
    raw: str | bytes, bare: Bare | None, told: Hints, named: Structure | None, format: str, look: Look, writer: Writer
) -> bool:
    """Explain the exchanges, the bytes and the phrases in what was given; raise `InputError` where there are none."""
    from ...analysis.pasted.hex_text import NoBytes
    from ...analysis.pasted.search import takes_of
    from ...exchanges.guess.candidates import words_of
    from ...exchanges.guess.pieces import pieces_of
    from ...views.render.explanation import alone, input_line
    from ...views.render.phrases import statements, unrecognised

    shown, told_lines = False, ""
    if bare is not None:
        bare.text, told_lines = _without_lines(bare.text, format, look, writer)
        shown = bool(told_lines)
    try:
        takes = takes_of(raw if bare is None else bare)
    except InputError as error:
        said = statements(bare.text) if bare is not None else []
        said += [one for one in statements(told_lines) if one.error] if shown else []
        if not said and not shown:
            unknown = unrecognised(bare.text) if bare is not None and isinstance(error, NoBytes) else None
            raise unknown or error from None
        return _statements(said, format, look, writer)
    if not takes[0].data:
        raise InputError("no bytes to explain; give hex, base64, @FILE, or - for stdin")
    form, plainly, clean = view(format), alone(takes, bare), True
    assert form.explained is not None, "--format offers no other"
    told = told._replace(named=words_of(bare.text if bare is not None else None))
    pieces = pieces_of([(take.data, take.cut) for take in takes], told, named)
    for number, (take, found) in enumerate(zip(takes, pieces, strict=True)):
        writer.write("\n" if number and not form.data else "")
        if not plainly and not form.data and bare is not None:
            writer.write(input_line(take, bare, look))
        for place, piece in enumerate(found):
            text, whole = form.explained(take.data, piece, look)
            clean = clean and whole
            writer.write("\n" if place and not form.data else "")
            writer.write(text)
        clean = clean and take.odd < 0
    beside = [one for one in statements(bare.text) if one.format != "any"] if bare is not None and not plainly else []
    if beside:
        writer.write("\n" * (format != "json"))
        clean = _statements(beside, format, look, writer) and clean
    return clean
