"""kdbg for Python programs: one message decoded or encoded, a capture read.

Each function imports what it alone needs: to decode one message is to import little.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Unpack

from .errors import BuildError, CaptureError, DefinitionError, InputError, UnknownVersion
from .exchanges.messages.message import Message, header_grammar, strict
from .exchanges.messages.message import read as read_message
from .exchanges.messages.payloads import open_payloads
from .protocol import grammars
from .protocol.wire.language import DIRECTIONS, Direction
from .protocol.wire.nodes import build

if TYPE_CHECKING:
    from pathlib import Path

    from .exchanges.filters.table import Plain
    from .protocol.definitions import MessageDefinition
    from .protocol.wire import Api
    from .views.reading.exchange import Exchange
    from .views.reading.log import LogEntry
    from .views.reading.reading import Reading


def decode(
    data: bytes,
    *,
    api: str | int,
    version: int,
    direction: Direction,
    header: bool = True,
    errors: Literal["strict", "collect"] = "strict",
) -> Message:
    """Decode one message.

    `data` begins at the header, after the 4-byte size, or at the body with `header=False`. `api` is a name, an alias
    or a key. The message's `body` is plain dicts, lists, str, int, float, bool, bytes, None and uuid.UUID, its field
    names are Kafka's in snake_case; a record set is a list of batches with their records. `encode` turns the body
    back into the same bytes. Bytes inside it that are laid out by a grammar of their own, and that the message alone
    tells of, are `OpenedPayload`: bytes with a `name` and a `value`. What is odd but does no harm (an unknown
    tagged field, text that is not UTF-8, another known form of the message) stands in `findings`.

    Raises `GrammarError` for an API or version that kdbg does not know, `WireError` with field path and byte offset
    for bytes that do not follow the grammar: missing or trailing bytes, a null where none is allowed. With
    `errors="collect"` such bytes raise nothing: `body` has the fields up to them, `findings` say what is wrong and
    where. Where `data` begins at the header, findings of the kind "encoding-mistake" name the mistakes of the program
    that wrote the message, if kdbg recognises them: also those that break no field, such as acks 7 or a wrong last
    offset delta.
    A finding's `start` is an index in `data`; its `byte` and text count from the first byte of the size.
    """
    if errors not in ("strict", "collect"):
        raise InputError(f"errors must be 'strict' or 'collect', not {errors!r}")
    found = grammars.api(api)
    known(found, version, direction)
    data = bytes(data)
    message = read_message(found, version, direction, data, header=header)
    if errors == "strict":
        return open_payloads(strict(message), data)
    open_payloads(message, data)
    if header:
        from .exchanges.messages.mistakes import explained  # which valid messages do without

        message.findings = explained(message, data)
    return message


def encode(
    body: Mapping[str, Any],
    *,
    api: str | int,
    version: int,
    direction: Direction,
    header: Mapping[str, Any] | None = None,
) -> bytes:
    """Encode one message: its body, after its header if one is given.

    Fields that are missing take their defaults; `header` needs no `api_key` and `api_version`. Lengths are computed,
    and so are the checksums of batches that name none. Strings and bytes may be str, bytes or {"base64": "..."}, those
    of a payload {"payload": "ConsumerProtocolSubscription", "value": {...}} too. Numbers that have names may be given
    by name, bit sets as a list of names; case, dashes and underscores do not count. In the versions that Kafka's guides
    of 0.8 and 0.10.1 describe, fields may have the names that those give them.

    Raises `GrammarError` for an API or version that kdbg does not know, `BuildError` with the field path for an
    unknown field, a null where none is allowed, or a value that does not fit its type.
    """
    from .exchanges.messages.guide_names import understood
    from .exchanges.messages.reshape import may_hold_bytes, rebuild

    found = grammars.api(api)
    known(found, version, direction)
    if not isinstance(body, Mapping):
        raise BuildError("", f"{body!r} is not a structure (an object with fields)")
    grammar, body = understood(found, direction, version, body)
    data = build(grammar, rebuild(body) if may_hold_bytes(grammar) else body)
    if header is None or found.headerless:
        return data
    given = dict(header)
    if direction == "request":
        given = {"api_key": found.key, "api_version": version} | given
    return build(header_grammar(found, version, direction), given, "header") + data


def read(
    source: str | os.PathLike[str] | BinaryIO | Sequence[str | os.PathLike[str]],
    *,
    where: str | Callable[[Any], bool] | None = None,
    **filters: Unpack[Plain],
) -> Reading[Exchange]:
    """Read a capture (pcap or pcapng, also .gz and .zst; "-" is the standard input) or a file of a broker's disk.

    A capture gives its exchanges, a `kdbg.Exchange` each, in the order in which they were completed; a broker's file
    gives its entries, a `kdbg.LogEntry` each. `read_capture` and `read_log` are the same for those who know which it
    is, and want it to be checked. To a type checker, what comes back is a reading of exchanges: `read_log` has the type
    of entries. Streaming: memory does not grow with the file.

    `filters` are those of `kdbg decode`, by their names (exchanges/filters/table.py): `slower_than` is in milliseconds,
    `since` and `until` are datetimes, times of day of the capture's first day, or seconds since the epoch. `where`
    is an expression as `--where` takes it, or a function, and keeps what it is true for. `capture.pcap#17` is exchange
    17 of that capture.

    A list of captures that were recorded at several places of the same connections is read as one: each exchange has
    `places`, which say when each of them saw it. `InputError` if they have none in common.

    Raises `CaptureError` where the file cannot be read at all, or be asked a filter; `InputError` for a filter that
    there is not. Damage further on is in `problems`, and ends nothing that can be read.
    """
    from .exchanges.filters.filter_set import Filters
    from .views.reading.reading import open_reading

    if isinstance(where, str):
        return open_reading(source, Filters(where=where, **filters), None)
    return open_reading(source, Filters(**filters), where)


def read_capture(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    where: str | Callable[[Exchange], bool] | None = None,
    **filters: Unpack[Plain],
) -> Reading[Exchange]:
    """Read a capture, as `read` does; raise `CaptureError` for any other file."""
    return _read_only(True, source, where, filters)


def read_log(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    where: Callable[[LogEntry], bool] | None = None,
    **filters: Unpack[Plain],
) -> Reading[LogEntry]:
    """Read a file of a broker's disk, as `read` does; raise `CaptureError` for any other file."""
    return _read_only(False, source, where, filters)


def _read_only(capture: bool, source: Any, where: Any, filters: Plain) -> Reading[Any]:
    reading = read(source, where=where, **filters)
    if reading.is_capture is not capture:
        reading.close()
        raise CaptureError(
            reading.name, f"is {'not ' if capture else ''}a capture", "use kdbg.read, which accepts both"
        )
    return reading


def apis() -> list[Api]:
    """Return every API that kdbg knows, by its key, those of definitions in use among them."""
    return list(grammars.apis())


@contextmanager
def using_definitions(*paths: str | os.PathLike[str]) -> Iterator[tuple[str, ...]]:
    """Use Kafka's JSON message definitions beside kdbg's own grammars, in the whole process, while the context lasts.

    Each of `paths` is a definition file, or a folder whose `*.json` files are. An API that kdbg has never heard of, and
    new versions of one it knows, are decoded, encoded and found by name as its own are. Where a definition lays out a
    version otherwise than kdbg does, the definition is followed, and the value of the context, a tuple of notes, tells.

    Raises `DefinitionError` with file, line and field for a definition that is wrong, `InputError` for a path that
    cannot be read.
    """
    from .protocol.definitions import apis

    given = apis(read_definitions(*paths))
    with grammars.serving(given.apis):
        yield given.notes


def read_definitions(*paths: str | os.PathLike[str]) -> list[MessageDefinition]:
    """Read definition files, and `*.json` files of folders; `DefinitionError` or `InputError` for one that is wrong."""
    from pathlib import Path

    from .protocol.definitions import LARGEST, read

    definitions = []
    for path in (file for given in paths for file in _definition_files(Path(given))):
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                text = file.read(LARGEST + 1)
        except UnicodeDecodeError as error:
            raise DefinitionError(str(path), 1, "", f"is not UTF-8 at byte {error.start}") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
        definitions.append(read(text, str(path)))
    return definitions


def _definition_files(path: Path) -> list[Path]:
    try:
        found = sorted(path.glob("*.json")) if path.is_dir() else [path]
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not found:
        raise InputError(f"{path}: the folder contains no *.json files")
    return found


def known(api: Any, version: int, direction: str) -> None:
    """Raise `BuildError` for a direction that there is not, `UnknownVersion` for a version that kdbg does not know."""
    if direction not in DIRECTIONS:
        raise BuildError("", f"direction must be 'request' or 'response', not {direction!r}")
    if version not in api.versions:
        raise UnknownVersion(api.name, version, api.versions[0], api.versions[-1])
