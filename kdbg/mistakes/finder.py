"""The smallest change that makes a message valid: each typical mistake is undone, and the result is read."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings.quirks import Sure
from ..grammars import find
from ..messages.message import grammar_of, header_grammar
from ..messages.weigh import weigh
from ..wire import Api
from ..wire.language.api import Direction
from .mistake import Mistake

LONGEST = 1 << 12
"""Longer messages are not rewritten."""
COSTS = 7.0
"""Bits for each byte that a message costs at most which makes sense."""
Change = tuple[str, int, bytes]
"""(kind of the mistake, where it is, the message without it)."""


def find_mistake(
    frame: bytes,
    *,
    api: Api,
    version: int,
    direction: Direction,
    size: int | None = None,
    rejected: str | None = None,
) -> Mistake | None:
    """Return the mistake that explains best why a message is not valid; None for a valid one, or where none does.

    `frame` begins at the header and is complete; `size` is the INT32 before it, None where there is none. `rejected` is
    why the peer rejects the message (`INVALID_RECORD`, `closed`), though it reads to its last byte.
    """
    if len(frame) > LONGEST or not api.reads(direction, version):
        return None
    if size is not None and size == len(frame) + 4 and _reads(api, version, direction, frame):
        found = Mistake("size-counts-itself", api.name, version, direction, "size", -4, 4, str(size), str(size - 4))
        return found._replace(sure=Sure.CERTAIN, corrected=sized(frame))
    if (size or 0) > len(frame) + 8 or _reads(api, version, direction, frame):
        return None
    for kind, at, corrected in _changes(api, version, direction, frame):
        found = Mistake(kind, api.name, version, direction, start=at, sure=Sure.LIKELY, corrected=sized(corrected))
        if kind == "other-version-body":
            other = _other_version(api, version, direction, frame)
            if other is not None:
                return found._replace(actual=str(other), expected=str(version), corrected=b"")
        elif _reads(api, version, direction, corrected) or (
            kind == "compact-client-id" and _ends_after_header(api, version, direction, corrected)
        ):
            return found
    return None


def _other_version(api: Api, version: int, direction: Direction, frame: bytes) -> int | None:
    """Return the version whose layout a request has though it names another; None where there is none."""
    if direction == "response":
        return None
    others = sorted((other for other in api.versions if other != version), key=lambda other: abs(other - version))
    return next((other for other in others if _reads(api, other, "request", frame)), None)


def sized(frame: bytes) -> bytes:
    """Return a message with its size."""
    return len(frame).to_bytes(4, "big") + frame


def _reads(api: Api, version: int, direction: Direction, frame: bytes) -> bool:
    """Return whether a message reads to its last byte and has values that a peer would write."""
    nodes = [header_grammar(api, version, direction), grammar_of(api, version, direction)]
    weight = weigh(nodes, frame, 0, COSTS * len(frame) + 24.0, len(frame))
    return weight is not None and not weight.cut and not weight.faults and weight.end == len(frame)


def _ends_after_header(api: Api, version: int, direction: Direction, frame: bytes) -> bool:
    weight = weigh([header_grammar(api, version, direction)], frame, 0, COSTS * len(frame) + 24.0, len(frame))
    return weight is not None and not weight.cut and weight.end == len(frame)


def _changes(api: Api, version: int, direction: Direction, frame: bytes) -> Iterator[Change]:
    """Yield (mistake, where it stands, the message without it)."""
    flexible, body = version >= api.flexible, 4
    if direction == "request":
        body = 10 + max(int.from_bytes(frame[8:10], "big", signed=True), 0)
        yield from _client_ids(frame, flexible)
    if flexible and body <= len(frame):
        yield "missing-header-tags", body, frame[:body] + b"\0" + frame[body:]
    elif body < len(frame) and frame[body] == 0:
        yield "unexpected-header-tags", body, frame[:body] + frame[body + 1 :]
    yield "other-version-body", body, frame
    yield from _lengths(frame, body, flexible)
    if flexible:
        for at in range(len(frame), body, -1):
            yield "missing-tagged-fields", at, frame[:at] + b"\0" + frame[at:]
        for at in range(len(frame) - 1, body - 1, -1):
            if frame[at] == 0:
                yield "surplus-tagged-fields", at, frame[:at] + frame[at + 1 :]


def _client_ids(frame: bytes, flexible: bool) -> Iterator[Change]:
    """Yield requests whose client id was written as a compact string, with tagged fields before or behind it."""
    for tags in (0, 1):
        at = 8 + tags
        if len(frame) <= at or (tags and frame[8]):
            continue
        length = frame[at] - 1
        name = frame[at + 1 : at + 1 + length]
        if not 0 < length == len(name) or not name.isascii() or not name.decode("ascii").isprintable():
            continue
        front, rest = frame[:8] + length.to_bytes(2, "big") + name, frame[at + 1 + length :]
        for behind in dict.fromkeys((rest, rest[1:] if rest[:1] == b"\0" else rest, rest.lstrip(b"\0"))):
            yield "compact-client-id", at, front + b"\0" * flexible + behind


def _lengths(frame: bytes, body: int, flexible: bool) -> Iterator[Change]:
    """Yield messages with one length of the other kind: plain in a flexible version, compact in another."""
    for at in range(body, len(frame)):
        if flexible and not frame[at]:
            if not any(frame[at : at + 3]) and at + 3 < len(frame) and 0 < frame[at + 3] < 127:
                yield "int32-length", at, frame[:at] + bytes([frame[at + 3] + 1]) + frame[at + 4 :]
            if at + 1 < len(frame) and 0 < frame[at + 1] < 127:
                yield "int16-length", at, frame[:at] + bytes([frame[at + 1] + 1]) + frame[at + 2 :]
        elif not flexible and 0 < frame[at] < 128:
            for width in (2, 4):
                length = (frame[at] - 1).to_bytes(width, "big")
                yield "compact-length", at, frame[:at] + length + frame[at + 1 :]


def find_frame_mistake(data: bytes) -> Mistake | None:
    """Return the mistake in the size or header of the message that bytes begin with; None where there is none.

    `data` begins at the size.
    """
    if (
        len(data) < 16
        or int.from_bytes(data[:4], "little") not in (len(data), len(data) - 4)
        or data[:4] == data[3::-1]
    ):
        return None
    for order in ("big", "little"):
        key, version = (int.from_bytes(data[at : at + 2], order) for at in (4, 6))
        api = find(key)
        if api is not None and api.reads("request", version):
            kind = f"little-endian-{'size' if order == 'big' else 'header'}"
            corrected = data[4:] if order == "big" else _swapped(data)
            size = str(int.from_bytes(data[:4], "big", signed=True))
            return Mistake(
                kind,
                api.name,
                version,
                "request",
                "size",
                -4,
                4,
                size,
                str(len(corrected)),
                Sure.LIKELY,
                sized(corrected),
            )
    return None


def _swapped(data: bytes) -> bytes:
    """Return a message, without its size, with the bytes of the header's integers in the other order."""
    length = data[12:14][::-1] if int.from_bytes(data[12:14], "little") < len(data) else data[12:14]
    return data[5:3:-1] + data[7:5:-1] + data[11:7:-1] + length + data[14:]
