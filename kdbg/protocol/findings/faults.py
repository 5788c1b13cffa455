"""The facts of bytes that do not follow their grammar: what findings and wire errors about them are made of.

A class stands for one sentence (text.py). Where the bytes are, the finding or the error says.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, TypeAlias


class PlainFault(Enum):
    """A fault that its sentence says in full: what text.py takes words from, as its value."""

    NO_OBJECT_ID = "expected an object identifier here"
    ZEROS_IN_OBJECT_ID = "an object identifier component has leading zeros"
    ENDS_IN_BATCH = "the record set ends in the middle of a batch"
    NO_ENTRY = "not a record batch or message"
    NO_MESSAGE_INSIDE = "a compressed message does not contain messages"
    BATCH_UNFILLED = "the records end before the batch does"
    MESSAGE_UNFILLED = "the message ends before its size does"
    STREAM_EMPTY = "the stream is empty"
    STREAM_CUT = "the compressed stream is cut short"
    STREAM_CUT_IN_HEADER = "the compressed stream ends in its header"
    NO_METRICS = "not OpenTelemetry metrics"


# Of a whole message


class NoApi(NamedTuple):
    """No API of this key is known; `left` bytes of body stay unread."""

    key: int
    left: int


class NoVersion(NamedTuple):
    """This version of an API is not known; `left` bytes of body stay unread."""

    api: str
    version: int
    left: int


class NoSide(NamedTuple):
    """Of this version of an API the `side` is not known, the other one is; `left` bytes of body stay unread."""

    api: str
    version: int
    side: str
    left: int


class Leftover(NamedTuple):
    """So many bytes are left behind the message's last field."""

    length: int


# Of a field


class TooFewBytes(NamedTuple):
    """A field wants `wanted` bytes, `left` are there."""

    type: str
    wanted: int
    left: int


class NoBoolean(NamedTuple):
    """A BOOLEAN is neither 0 nor 1."""

    value: int


class BitsSet(NamedTuple):
    """Bits of a number are set that have no meaning; `bits` are those alone, as a number."""

    bits: int


class LongVarint(NamedTuple):
    """A number is written in `size` bytes, more than it needs."""

    value: int
    size: int


class EndlessVarint(NamedTuple):
    """A varint goes on after the `size` bytes that are the most."""

    type: str
    size: int


class WideVarint(NamedTuple):
    """A varint has more than `bits` bits."""

    type: str
    bits: int


class NegativeLength(NamedTuple):
    """A length is below 0, and not the one that means null."""

    type: str
    length: int


class NullForbidden(NamedTuple):
    """A type that may not be null is."""

    type: str


class NotUtf8(NamedTuple):
    """The bytes of a string are not UTF-8."""

    type: str


class NoMarker(NamedTuple):
    """A nullable structure begins with neither `null` nor 1."""

    null: int
    value: int


class LengthUnfilled(NamedTuple):
    """A length that the item after it does not fill."""

    length: int


class MarkMissing(NamedTuple):
    """A mark that a text begins with is not there."""

    mark: str


class LongLengthOfLength(NamedTuple):
    """A DER length takes more bytes than any is written in."""

    size: int


# Of tagged fields


class TagBehind(NamedTuple):
    """A tagged field follows one with the same or a higher tag."""

    tag: int
    last: int


class TagUnknown(NamedTuple):
    """The grammar names no field of this tag."""

    tag: int
    size: int


class TagUnfilled(NamedTuple):
    """A tagged field says `size` bytes, its value takes `taken`."""

    tag: int
    size: int
    taken: int


class NegativeFieldLength(NamedTuple):
    """The length of an optional field is below 0."""

    length: int


# Of record sets


class ChecksumWrong(NamedTuple):
    """The checksum of `of` says `says`, its bytes give `gives`."""

    of: str
    algorithm: str
    says: int
    gives: int


class NestedTooDeep(NamedTuple):
    """Compressed messages stand inside one another more than `most` deep."""

    most: int


# Of compression


class UnknownCodec(NamedTuple):
    """No codec has this number."""

    number: int


class CodecFault(NamedTuple):
    """Something is wrong in what this codec has compressed."""

    codec: str
    fault: Fault


class StreamTooShort(NamedTuple):
    """The compressed stream ends so many bytes before the data."""

    left: int


class TooMuchInside(NamedTuple):
    """More bytes come out than are allowed."""

    most: int


class BlockCut(NamedTuple):
    """A block says `size` bytes, `left` are there."""

    size: int
    left: int


class BlockTooLarge(NamedTuple):
    """A block claims to hold more bytes than are allowed."""

    claims: int
    most: int


class BlockImplausible(NamedTuple):
    """A block claims to hold more bytes than its `size` bytes can."""

    size: int
    claims: int


class NoFrame(NamedTuple):
    """No frame of zstd begins at this byte."""

    at: int


class Lz4Refused(NamedTuple):
    """The library of lz4 gives this code."""

    code: str


class LibraryRefused(NamedTuple):
    """A library says what is wrong, in its own words."""

    reason: str


# Of payloads


class NoTelemetry(NamedTuple):
    """Bytes are no protobuf of OpenTelemetry, for this reason of the library's."""

    reason: str


class NoToken(NamedTuple):
    """No token of this SASL mechanism looks like this."""

    mechanism: str


class UnknownRecord(NamedTuple):
    """A record of a topic is of a kind (`key type` or `record`) that is not known."""

    what: str
    number: int
    topic: str


class UnknownControl(NamedTuple):
    """The type of a control record is not known."""

    number: int


class UnknownPayloadVersion(NamedTuple):
    """A payload is of a version that is not known."""

    name: str
    version: int
    lowest: int
    highest: int


class UnknownRequest(NamedTuple):
    """A request inside another one is of an API or a version that is not known."""

    key: int
    version: int


class NothingNear(NamedTuple):
    """No field that could tell what the bytes are stands near them: `names` are those it goes by."""

    names: tuple[str, ...]


# Of what kdbg may take


class MemorySpent(NamedTuple):
    """What stands here would take more memory than is left of the `most` bytes that one message may take."""

    most: int


Fault: TypeAlias = (
    PlainFault | NoApi | NoVersion | NoSide | Leftover | TooFewBytes | NoBoolean | BitsSet | LongVarint
    | EndlessVarint | WideVarint | NegativeLength | NullForbidden | NotUtf8 | NoMarker | LengthUnfilled | MarkMissing
    | LongLengthOfLength | TagBehind | TagUnknown | TagUnfilled | NegativeFieldLength | ChecksumWrong | NestedTooDeep
    | UnknownCodec | CodecFault | StreamTooShort | TooMuchInside | BlockCut | BlockTooLarge | BlockImplausible
    | NoFrame | Lz4Refused | LibraryRefused | NoTelemetry | NoToken | UnknownRecord | UnknownControl
    | UnknownPayloadVersion | UnknownRequest | NothingNear | MemorySpent
)  # fmt: skip
