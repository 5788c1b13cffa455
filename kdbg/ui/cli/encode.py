"""`kdbg encode`: JSON in, the bytes of messages out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from .completion import api_names, api_versions
from .options import definitions_option
from .output import Writer, write_out

if TYPE_CHECKING:
    from ...protocol.wire.language import Direction

FORMATS = ("hex", "raw", "base64")


@click.command(context_settings={"max_content_width": 100})
@click.argument("api", default="-", metavar="[API|-|@FILE]", shell_complete=api_names)
@click.option("--version", "-v", type=int, metavar="N", shell_complete=api_versions, help="Set the API version.")
@click.option("--request", "direction", flag_value="request", help="Encode a request (the default).")
@click.option("--response", "direction", flag_value="response", help="Encode a response.")
@click.option(
    "--body", metavar="JSON|@FILE|-", help="Set the body as JSON; omitted fields get their defaults (default: {})."
)
@click.option(
    "--header", metavar="JSON", help='Prepend a header, for example {"correlation_id": 1, "client_id": "me"}.'
)
@click.option("--size", is_flag=True, help="Prepend the 4-byte size.")
@click.option(
    "--format", "-f", "format", type=click.Choice(FORMATS), default="hex", help="Set the output format (default: hex)."
)
@definitions_option
def command(api: str, version: int | None, direction: Direction | None, body: str | None, header: str | None,
            size: bool, format: str) -> int:  # fmt: skip
    """Encode JSON into a Kafka message.

    With -, kdbg encodes the exchanges that `kdbg decode --format json` prints. Input and output are JSON Lines:
    {"request": "0003…", "response": null}. Each message has its header; null is a message that the exchange lacks.
    Bytes in JSON are {"base64": "…"}; a string is encoded as UTF-8. Named values may be written by name
    ("resource_type": "topic"), bit sets as a list of names; case and dashes are ignored. Fields may have the names
    that Kafka's guides of 0.8 and 0.10.1 use ("timeout") in the versions of these guides.

    \b
    kdbg encode metadata --version 1 --body '{"topics": [{"name": "orders"}]}'
    kdbg encode metadata --version 1 --header '{"correlation_id": 7}' --size | kdbg explain -
    kdbg decode captures/first-contact.pcap --format json --show-secrets | kdbg encode -
    """
    if api == "-" or api.startswith("@"):
        if version is not None or direction or body is not None or header is not None or format == "raw":
            raise click.UsageError("--version, --request, --response, --body, --header and --format raw require an API")
        if api == "-" and sys.stdin.isatty():
            raise click.UsageError("nothing to encode: give an API, or pipe exchanges to stdin")
        return exchanges(api, size, format)
    data = encoded(one(api, version, direction or "request", body, header), size, format)
    write_out([data, b"" if format == "raw" else b"\n"])
    return 0


def one(api: str, version: int | None, direction: Direction, body: str | None, header: str | None) -> bytes:
    """Return the bytes of the message that the options describe."""
    from ... import encode
    from ...protocol.grammars import api as find
    from .reencode import guarded, parse

    known = find(api)
    if version is None:
        raise click.UsageError(
            f"--version is missing; {known.name} has versions {known.versions[0]} to {known.versions[-1]}"
        )
    value = parse(text(body) if body is not None else b"{}", "--body")
    head = None if header is None else parse(text(header), "--header")
    if head is not None and not isinstance(head, Mapping):
        raise click.BadParameter("requires a JSON object", param_hint="--header")
    return guarded(lambda: encode(value, api=known.key, version=version, direction=direction, header=head))


def exchanges(source: str, size: bool, format: str) -> int:
    """Encode both halves of each exchange; what came before a mistake is written."""
    from ...views.render.jsonlines import dump
    from .reencode import Reencoder

    writer = Writer()
    reencoder = Reencoder(lambda problem: click.echo(f"kdbg: {problem}", err=True))
    try:
        for halves in reencoder.lines(lines(source)):
            texts: dict[str, str | None] = {}
            for side, data in halves.items():
                texts[side] = None if data is None else encoded(data, size, format).decode()
            writer.write(dump(texts))
    finally:
        writer.flush()
    reencoder.close()
    return 1 if reencoder.refused else 0


def encoded(data: bytes, size: bool, format: str) -> bytes:
    """Return the bytes in the format that the user wants, after their size where `size` is set."""
    import base64

    if size:
        data = len(data).to_bytes(4, "big") + data
    if format == "hex":
        return data.hex().encode()
    return base64.b64encode(data) if format == "base64" else data


def text(given: str) -> bytes:
    """Return what an option gives: itself, or with @ the content of a file, or for - the standard input."""
    return b"".join(lines(given)) if given == "-" or given.startswith("@") else given.encode("utf-8", "surrogateescape")


def lines(source: str) -> Iterator[bytes]:
    """Yield the lines of the standard input (-), or of a file (@NAME). Raise `InputError` where it cannot be read."""
    from ...errors import InputError

    if source == "-":
        yield from sys.stdin.buffer
        return
    try:
        with open(source[1:], "rb") as file:  # noqa: PTH123  "" is no path, and says so
            yield from file
    except (OSError, ValueError) as error:
        raise InputError(f"{source}: {getattr(error, 'strerror', None) or error}") from None
