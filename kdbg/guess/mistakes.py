"""Mistakes that programs make when they write messages: each is undone on the bytes, and believed if that makes sense.

A message that does not read is rewritten in each way that a typical mistake has to be undone; where the result reads
to its last byte, with values that a peer would write, the mistake is the likely cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

from ..grammars import find
from ..messages.message import grammar_of, header_grammar
from ..wire import Api
from ..wire.language.api import Direction
from .alone import Alone
from .begun import int32
from .reason import Reason
from .told import Guess
from .weigh import weigh

LONGEST = 1 << 12
"""Longer messages are not rewritten."""
TRIED = 3
"""Guesses that mistakes are looked for in."""
COSTS = 7.0
"""Bits for each byte that a message costs at most which makes sense."""


class Mistake(Enum):
    """What a program did wrong."""

    SIZE_COUNTS_ITSELF = auto()
    LITTLE_ENDIAN = auto()
    COMPACT_CLIENT_ID = auto()
    HEADER_WITHOUT_TAGS = auto()
    HEADER_WITH_TAGS = auto()
    OTHER_VERSION = auto()
    MISSING_TAGS = auto()
    SURPLUS_TAGS = auto()
    INT32_LENGTH = auto()
    INT16_LENGTH = auto()
    COMPACT_LENGTH = auto()


class Cause(NamedTuple):
    """A likely cause: `at` is the byte, counted from the message's size or first byte; `mended` are all bytes as they
    should be. `version` is the one that the bytes are laid out by. `body`: the body is there.
    """

    mistake: Mistake
    api: Api
    version: int
    direction: Direction
    at: int
    mended: bytes
    body: bool = True

    @property
    def name(self) -> str:
        """The message that was meant."""
        return f"a {self.api.name} {self.direction} v{self.version}"


def cause(data: bytes, guesses: Sequence[Guess]) -> Cause | None:
    """Return the mistake that explains best why bytes do not read; None where none does."""
    first = guesses[0] if guesses else None
    sound = first is not None and first.exact and not first.faults and not _is_any(first)
    if len(data) > LONGEST or sound:
        return None
    if (found := _little_endian(data)) is not None:
        return found
    meant = [*_claimed(data), *(_meant(guess) for guess in guesses if _is_known(guess))]
    for one in list(dict.fromkeys(meant))[:TRIED]:
        found = _of(data, one)
        if found is not None:
            return found
    return None


def _is_any(guess: Guess) -> bool:
    """Return whether a guess is that of a part of a message, which fits many bytes."""
    return isinstance(guess.api, Alone) and guess.reason is Reason.WHOLE


class Meant(NamedTuple):
    """A message that bytes may be meant to be: it begins at `start`, behind its size if it has one."""

    start: int
    size: int | None
    api: Api
    version: int
    direction: Direction


def _meant(guess: Guess) -> Meant:
    return Meant(guess.start, guess.size, guess.api, guess.version, guess.direction)


def _is_known(guess: Guess) -> bool:
    return guess.api.key >= 0 and guess.header and guess.api.reads(guess.direction, guess.version)


def _claimed(data: bytes) -> Iterator[Meant]:
    """Yield the request that a known key and version behind a size say, though the rest of its header does not read."""
    size = int32(data, 0)
    if len(data) < 16 or size not in (len(data), len(data) - 4):
        return
    api, version = find(int32(data, 4) >> 16), int32(data, 4) & 0xFFFF
    if api is not None and api.reads("request", version):
        yield Meant(4, size, api, version, "request")


def _of(data: bytes, meant: Meant) -> Cause | None:
    frame, known = data[meant.start :], (meant.api, meant.version, meant.direction)
    if meant.size is not None:
        if meant.size == len(frame) + 4 and _sound(*known, frame):
            return Cause(Mistake.SIZE_COUNTS_ITSELF, *known, 0, _sized(frame))
        if meant.size > len(frame) + 8:
            return None
    if _sound(*known, frame):
        return None
    for mistake, at, mended in _rewritten(*known, frame):
        whole = mended if meant.size is None else _sized(mended)
        if _sound(*known, mended):
            return Cause(mistake, *known, at + meant.start, whole)
        if mistake is Mistake.COMPACT_CLIENT_ID and _ends_behind_header(*known, mended):
            return Cause(mistake, *known, at + meant.start, whole, False)
        if mistake is Mistake.OTHER_VERSION and (version := _other_version(meant, frame)) is not None:
            return Cause(mistake, meant.api, version, meant.direction, meant.start + at, b"")
    return None


def _other_version(meant: Meant, frame: bytes) -> int | None:
    """Return the version that a request is laid out by though it says another; None where there is none."""
    if meant.direction == "response":
        return None
    others = [version for version in meant.api.versions if version != meant.version]
    nearest = sorted(others, key=lambda version: abs(version - meant.version))
    return next((version for version in nearest if _sound(meant.api, version, "request", frame)), None)


def _sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def _sound(api: Api, version: int, direction: Direction, frame: bytes) -> bool:
    """Return whether a message reads to its last byte and has values that a peer would write."""
    nodes = [header_grammar(api, version, direction), grammar_of(api, version, direction)]
    weight = weigh(nodes, frame, 0, COSTS * len(frame) + 24.0, len(frame))
    return weight is not None and not weight.cut and not weight.faults and weight.end == len(frame)


def _ends_behind_header(api: Api, version: int, direction: Direction, frame: bytes) -> bool:
    weight = weigh([header_grammar(api, version, direction)], frame, 0, COSTS * len(frame) + 24.0, len(frame))
    return weight is not None and not weight.cut and weight.end == len(frame)


def _rewritten(api: Api, version: int, direction: Direction, frame: bytes) -> Iterator[tuple[Mistake, int, bytes]]:
    """Yield (mistake, where it stands, the message without it)."""
    flexible, body = version >= api.flexible, 4
    if direction == "request":
        body = 10 + max(int.from_bytes(frame[8:10], "big", signed=True), 0)
        yield from _client_ids(frame, flexible)
    if flexible and body <= len(frame):
        yield Mistake.HEADER_WITHOUT_TAGS, body, frame[:body] + b"\0" + frame[body:]
    elif body < len(frame) and frame[body] == 0:
        yield Mistake.HEADER_WITH_TAGS, body, frame[:body] + frame[body + 1 :]
    yield Mistake.OTHER_VERSION, body, frame
    yield from _lengths(frame, body, flexible)
    if flexible:
        for at in range(len(frame), body, -1):
            yield Mistake.MISSING_TAGS, at, frame[:at] + b"\0" + frame[at:]
        for at in range(len(frame) - 1, body - 1, -1):
            if frame[at] == 0:
                yield Mistake.SURPLUS_TAGS, at, frame[:at] + frame[at + 1 :]


def _client_ids(frame: bytes, flexible: bool) -> Iterator[tuple[Mistake, int, bytes]]:
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
            yield Mistake.COMPACT_CLIENT_ID, at, front + b"\0" * flexible + behind


def _lengths(frame: bytes, body: int, flexible: bool) -> Iterator[tuple[Mistake, int, bytes]]:
    """Yield messages with one length of the other kind: plain in a flexible version, compact in another."""
    for at in range(body, len(frame)):
        if flexible and not frame[at]:
            if not any(frame[at : at + 3]) and at + 3 < len(frame) and 0 < frame[at + 3] < 127:
                yield Mistake.INT32_LENGTH, at, frame[:at] + bytes([frame[at + 3] + 1]) + frame[at + 4 :]
            if at + 1 < len(frame) and 0 < frame[at + 1] < 127:
                yield Mistake.INT16_LENGTH, at, frame[:at] + bytes([frame[at + 1] + 1]) + frame[at + 2 :]
        elif not flexible and 0 < frame[at] < 128:
            for width in (2, 4):
                length = (frame[at] - 1).to_bytes(width, "big")
                yield Mistake.COMPACT_LENGTH, at, frame[:at] + length + frame[at + 1 :]


def _little_endian(data: bytes) -> Cause | None:
    """Return the cause for a request whose numbers have their bytes in the wrong order."""
    if (
        len(data) < 16
        or int.from_bytes(data[:4], "little") not in (len(data), len(data) - 4)
        or data[:4] == data[3::-1]
    ):
        return None
    key, version = (int.from_bytes(data[at : at + 2], "little") for at in (4, 6))
    api = find(key)
    if api is None or not api.reads("request", version):
        big = find(int32(data, 4) >> 16)
        ordered = big is not None and big.reads("request", int32(data, 4) & 0xFFFF)
        if big is None or not ordered:
            return None
        return Cause(Mistake.LITTLE_ENDIAN, big, int32(data, 4) & 0xFFFF, "request", 0, _sized(data[4:]))
    length = data[12:14][::-1] if int.from_bytes(data[12:14], "little") < len(data) else data[12:14]
    mended = data[5:3:-1] + data[7:5:-1] + data[11:7:-1] + length + data[14:]
    return Cause(Mistake.LITTLE_ENDIAN, api, version, "request", 0, _sized(mended))
