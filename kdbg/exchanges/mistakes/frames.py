"""Mistakes in the size and the header's integers: what bytes begin with before a message is known."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from ...protocol.findings.quirks import Sure
from ...protocol.grammars import find
from ...protocol.wire import Api
from ..messages.weigh import Impossible
from .mistake import Mistake, Subject, sized
from .search import Budget, MistakeReader, beginning

Order: TypeAlias = Literal["big", "little"]
ORDERS: Final[tuple[Order, ...]] = get_args(Order)
SHORTEST: Final = 16
"""Bytes of a size and a request's header that are looked at."""


def find_frame_mistake(data: bytes) -> Mistake | None:
    """Return the mistake in the size or header of the request that bytes begin with; None where there is none.

    `data` begins at the size, and holds nothing but the request.
    """
    little = int.from_bytes(data[:4], "little", signed=True)
    if len(data) < SHORTEST or little not in (len(data), len(data) - 4) or data[:4] == data[3::-1]:
        return None
    if (known := _named(data[4:8], "big")) is not None and int.from_bytes(data[12:14], "big", signed=True) < len(data):
        return _mistake("little-endian-size", known, data, data[4:])
    known = _named(data[4:8], "little")
    return _mistake("little-endian-header", known, data, _swapped(data)) if known is not None else None


def find_missing_size(data: bytes) -> Mistake | None:
    """Return the mistake of a request without its size; None for any other bytes.

    `data` begins where a connection's next size is expected, and ends with the request or goes on with another one.
    """
    known = _named(data[:4], "big")
    end = _end(data, *known) if known is not None else 0
    if known is None or not end or (end < len(data) and not _begins(data, end)):
        return None
    api, version = known
    frame = data[:end]
    return (
        Subject(frame, api, version, "request")
        .mistake("size-missing")
        ._replace(path="size", start=0, length=0, expected=str(end), sure=Sure.LIKELY, corrected=sized(frame))
    )


class Misframed(NamedTuple):
    """The first of several messages, whose size is missing or wrong: where it ends, and its mistake.

    The mistake is None where the message alone shows it.
    """

    end: int
    mistake: Mistake | None = None


def find_misframed(data: bytes, *, after: bool) -> Misframed | None:
    """Return the message that bytes begin with if its size is missing or wrong and more messages show that.

    `after`: they come after another message. None where nothing comes before or after them, or the size is right.
    """
    missing = find_missing_size(data)
    if missing is not None:
        end = len(missing.corrected) - 4
        return Misframed(end, missing) if after or end < len(data) else None
    big, little = int.from_bytes(data[:4], "big"), int.from_bytes(data[:4], "little")
    for end in (little + 4, little):
        frame = data[:end]
        if SHORTEST <= end < len(data) and _begins(data, end) and find_frame_mistake(frame) is not None:
            return Misframed(end)
    known = _named(data[4:8], "big")
    itself = known is not None and SHORTEST <= big < len(data) and _end(data[4:], *known) == big - 4
    return Misframed(big) if itself and _begins(data, big) else None


def _begins(data: bytes, at: int) -> bool:
    """Return whether a request with a client id begins there, with its size or without."""
    return any(_is_header(data[place:], order) for place in (at, at + 4) for order in ORDERS)


def _is_header(data: bytes, order: Order) -> bool:
    length = int.from_bytes(data[8:10], order)
    name = data[10 : 10 + length]
    return (
        _named(data[:4], order) is not None
        and 0 < len(name) == length
        and name.isascii()
        and name.decode().isprintable()
    )


def _end(data: bytes, api: Api, version: int) -> int:
    """Return where the request that begins there ends; 0 where it is not valid or names no client."""
    reader = MistakeReader(data, Budget())
    reader.todo = beginning(Subject(data, api, version, "request").nodes)
    length = int.from_bytes(data[8:10], "big")
    try:
        reader.run()
    except (Impossible, RecursionError):
        return 0
    return reader.at if length > 1 and not reader.faults and data[10 : 10 + length].isascii() else 0


def _named(data: bytes, order: Order) -> tuple[Api, int] | None:
    """Return the API and version that the first four bytes of a header name; None for an unknown one."""
    key, version = (int.from_bytes(data[at : at + 2], order) for at in (0, 2))
    api = find(key)
    return (api, version) if api is not None and api.reads("request", version) else None


def _mistake(kind: str, known: tuple[Api, int], data: bytes, corrected: bytes) -> Mistake:
    api, version = known
    size = int.from_bytes(data[:4], "big", signed=True)
    return Mistake(
        kind, api.name, version, "request", "size", -4, 4, str(size), str(len(corrected)), Sure.CERTAIN,
        sized(corrected),
    )  # fmt: skip


def _swapped(data: bytes) -> bytes:
    """Return a message, without its size, with the bytes of the header's integers in the other order."""
    length = data[12:14][::-1] if int.from_bytes(data[12:14], "little") < len(data) else data[12:14]
    return data[5:3:-1] + data[7:5:-1] + data[11:7:-1] + length + data[14:]
