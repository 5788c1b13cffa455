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


class Sentence(Enum):
    """A fact with numbers and names: what text.py takes words from, in which an only one is `value`."""

    def of(self, value: int | str = "", /, **values: int | str) -> ValueFact:
        """Return the fact with its number or name, or those that its sentence has; sizes of memory are MiB."""
        return ValueFact(self, tuple(values.items()) or (("value", value),))


class ValueFact(NamedTuple):
    """A fact with its numbers and names, each with what its sentence calls it."""

    kind: Sentence
    values: tuple[tuple[str, int | str], ...]


class FaultKind(Sentence):
    """A fault with numbers and names."""

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
    NO_API = "unknown API key {key}; {left:body byte} not decoded"
    NO_VERSION = "unknown version {version} of {api}; {left:body byte} not decoded"
    NO_SIDE = "no {side} layout for {api} v{version}; {left:body byte} not decoded"
    LEFTOVER = "{value:trailing byte} after the last field"
    NO_BOOLEAN = "BOOLEAN must be 0 or 1, found {value}"
    LONG_VARINT = "{value} is encoded in {size:byte}, more than necessary"
    ENDLESS_VARINT = "{type} does not end within {size:byte}"
    WIDE_VARINT = "{type} has more than {bits} bits"
    NO_MARKER = "a nullable structure must start with {null} (null) or 1, found {value}"
    LENGTH_UNFILLED = "the length is {value}, but the content is shorter"
    TAG_BEHIND = "tag {tag} follows tag {last}; tags must be unique and ascending"
    TAG_UNKNOWN = "unknown tag {tag}, {size:byte}"
    TAG_UNFILLED = "tag {tag} declares {size:byte}, but its value has {taken:,}"
    CHECKSUM_WRONG = "{of}: stored {algorithm} 0x{says:08x}, computed 0x{gives:08x}"
    TOO_MUCH_INSIDE = "decompresses to more than {value:byte}"
    BLOCK_CUT = "a block declares {size:byte}, only {left:,} left"
    BLOCK_TOO_LARGE = "a block declares {claims:decompressed byte} (limit {most:,})"
    BLOCK_IMPLAUSIBLE = "a block of {size:byte} cannot decompress to {claims:,}"
    UNKNOWN_RECORD = "unknown {what} {number} of topic {topic}"
    UNKNOWN_PAYLOAD_VERSION = "unsupported version {version} of {name} (kdbg supports {lowest} to {highest})"
    UNKNOWN_REQUEST = "unknown version {version} of API key {key}"


class TooFewBytes(NamedTuple):
    """A field wants `wanted` bytes, `left` are there."""

    type: str
    wanted: int
    left: int


class BitsSet(NamedTuple):
    """Bits of a number are set that have no meaning; `bits` are those alone, as a number."""

    bits: int


class NegativeLength(NamedTuple):
    """A length is below 0, and not the one that means null."""

    type: str
    length: int


class CodecFault(NamedTuple):
    """Something is wrong in what this codec has compressed."""

    codec: str
    fault: Fault


class NothingNear(NamedTuple):
    """No field that could tell what the bytes are stands near them: `names` are those it goes by."""

    names: tuple[str, ...]


Fault: TypeAlias = PlainFault | ValueFact | TooFewBytes | BitsSet | NegativeLength | CodecFault | NothingNear
