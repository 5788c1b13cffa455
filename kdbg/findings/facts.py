"""The facts of findings and of wire errors: numbers and names, from which `text` makes the sentences.

A class stands for one sentence. What a finding says of itself (side, path, start, length) is not repeated here.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

# Of a connection: what is missing, or belongs to nobody


class BytesMissing(NamedTuple):
    """Bytes of one direction are not in the capture; `packet` is the number of the first one behind them."""

    packet: int


class BytesUnproved(NamedTuple):
    """Bytes of one direction belong to no frame that proves itself."""


class SizeCoversOthers(NamedTuple):
    """The size of a message covers bytes that are messages themselves."""


class BrokenOff(NamedTuple):
    """The end of a message is not in the capture, or was never sent."""


class RequestUnseen(NamedTuple):
    """The request of a response is not in the capture."""


class Foreign(NamedTuple):
    """A connection speaks another protocol."""

    protocol: str


class NoRequest(NamedTuple):
    """No request of Kafka stands at the beginning of a connection."""


# Of a message


class SizeWrong(NamedTuple):
    """The size in front of a message says `says` bytes, and `follow` follow."""

    says: int
    follow: int


class NoApi(NamedTuple):
    """No API of this key is known."""

    key: int


class NoVersion(NamedTuple):
    """This version of an API is not known."""

    api: str
    version: int


class NoSide(NamedTuple):
    """Of this version of an API the other direction is known, this one is not."""

    api: str
    version: int


class KnownForm(NamedTuple):
    """The layout is not this version's, but another one that is known."""

    name: str


class Leftover(NamedTuple):
    """So many bytes are left behind the message's last field."""

    length: int


class Stopped(NamedTuple):
    """Reading could not go on, at byte `at` of the buffer that was read."""

    at: int
    fault: Facts


class InPayload(NamedTuple):
    """Something is odd in a payload.

    `name` is what the payload should have been, where it is not that at all; "" otherwise. `whole` is true where it is
    in no field of the payload.
    """

    name: str
    fault: Facts
    whole: bool


class Prose(NamedTuple):
    """A problem in words."""

    problem: str


# Of a field


class TooFewBytes(NamedTuple):
    """A field wants `wanted` bytes, `left` are there."""

    type: str
    wanted: int
    left: int


class NoBoolean(NamedTuple):
    """A BOOLEAN is neither 0 nor 1."""

    value: int


class LongVarint(NamedTuple):
    """A number is written in more bytes than it needs."""

    value: int


class NullForbidden(NamedTuple):
    """A type that may not be null is."""

    type: str


class NotUtf8(NamedTuple):
    """The bytes of a string are not UTF-8."""

    type: str


class TagBehind(NamedTuple):
    """A tagged field stands behind one with the same or a higher tag."""

    tag: int
    last: int


class TagUnknown(NamedTuple):
    """The grammar names no field of this tag."""

    tag: int


# Of record sets


class ChecksumWrong(NamedTuple):
    """The checksum of `of` says `says`, its bytes give `gives`."""

    of: str
    algorithm: str
    says: int
    gives: int


class EndsInBatch(NamedTuple):
    """A record set ends inside a batch."""


class NoEntry(NamedTuple):
    """Bytes of a record set are neither a batch nor a message."""


# Of files of a broker's disk


class EntryCut(NamedTuple):
    """The file ends inside `what`, after `left` of its `size` bytes."""

    what: str
    left: int
    size: int


class Zeros(NamedTuple):
    """Bytes of zero stand where something should."""


class NoLogEntry(NamedTuple):
    """Bytes of a log are neither a batch nor a message."""


class CountWrong(NamedTuple):
    """A file announces `says` lines, and `follow` follow."""

    says: str
    follow: int


class NoLine(NamedTuple):
    """A line is none of a file of this kind."""

    title: str


class Behind(NamedTuple):
    """A number in a file is not greater than the one before it; `growing` are what only grows."""

    name: str
    number: int
    before: int
    growing: str


class EndsBehind(NamedTuple):
    """A transaction ends in front of the one before it."""

    offset: int
    before: int


# Of a capture


class CaptureTrouble(NamedTuple):
    """A capture is damaged: what the reader of the file said, and how often."""

    problem: str
    times: int = 1


Facts: TypeAlias = (
    BytesMissing | BytesUnproved | SizeCoversOthers | BrokenOff | RequestUnseen | Foreign | NoRequest
    | SizeWrong | NoApi | NoVersion | NoSide | KnownForm | Leftover | Stopped | InPayload | Prose
    | TooFewBytes | NoBoolean | LongVarint | NullForbidden | NotUtf8 | TagBehind | TagUnknown
    | ChecksumWrong | EndsInBatch | NoEntry
    | EntryCut | Zeros | NoLogEntry | CountWrong | NoLine | Behind | EndsBehind
    | CaptureTrouble
)  # fmt: skip
