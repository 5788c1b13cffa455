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


class FaultKind(Enum):
    """A fault with one number or name: what text.py takes words from, in which that is `value`."""

    NULL_FORBIDDEN = "{value} must not be null"
    NOT_UTF8 = "{value} is not valid UTF-8"
    MARK_MISSING = "expected {value!r} here"
    LONG_LENGTH_OF_LENGTH = "the DER length field has {value:byte}, too many"
    NEGATIVE_FIELD_LENGTH = "an optional field has the invalid length {value}"
    NESTED_TOO_DEEP = "compressed messages nested more than {value} deep"
    UNKNOWN_CODEC = "unknown compression codec {value}"
    STREAM_TOO_SHORT = "{value:trailing byte} after the end of the compressed stream"
    NO_FRAME = "expected a zstd frame at byte {value}"
    LIBRARY_REFUSED = "{value}"
    NO_TELEMETRY = "not OpenTelemetry protobuf: {value}"
    NO_TOKEN = "not a valid {value} token"
    UNKNOWN_CONTROL = "unknown control record type {value}"
    MEMORY_SPENT = "not decoded further: over {value:,} MiB of decoded data in one message; raise --max-memory"

    def of(self, value: int | str) -> ValueFault:
        """Return the fault with its number or name; sizes of memory are MiB."""
        return ValueFault(self, value)


class ValueFault(NamedTuple):
    """A fault with one number or name."""

    kind: FaultKind
    value: int | str


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


class NoMarker(NamedTuple):
    """A nullable structure begins with neither `null` nor 1."""

    null: int
    value: int


class LengthUnfilled(NamedTuple):
    """A length that the item after it does not fill."""

    length: int


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


# Of record sets


class ChecksumWrong(NamedTuple):
    """The checksum of `of` says `says`, its bytes give `gives`."""

    of: str
    algorithm: str
    says: int
    gives: int


# Of compression


class CodecFault(NamedTuple):
    """Something is wrong in what this codec has compressed."""

    codec: str
    fault: Fault


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


# Of payloads


class UnknownRecord(NamedTuple):
    """A record of a topic is of a kind (`key type` or `record`) that is not known."""

    what: str
    number: int
    topic: str


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


Fault: TypeAlias = (
    PlainFault | ValueFault | NoApi | NoVersion | NoSide | Leftover | TooFewBytes | NoBoolean | BitsSet | LongVarint
    | EndlessVarint | WideVarint | NegativeLength | NoMarker | LengthUnfilled | TagBehind | TagUnknown | TagUnfilled
    | ChecksumWrong | CodecFault | TooMuchInside | BlockCut | BlockTooLarge | BlockImplausible | UnknownRecord
    | UnknownPayloadVersion | UnknownRequest | NothingNear
)  # fmt: skip
