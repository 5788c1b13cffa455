"""What is odd in the traffic, as data: a finding never stops the decoding around it."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Any, Literal, NamedTuple, get_args

from .facts import FactKind, Facts
from .faults import FaultKind

__all__ = ["Finding", "Kind", "Severity", "Side", "pack", "unpack"]


class Severity(StrEnum):
    """How serious a finding is: an error makes the exit status 1, the others leave it 0."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


_ERROR, _WARNING, _NOTE = Severity


class Kind(StrEnum):
    """A kind of finding: its value is the name that is shown. `Kind(name)` accepts a name of `OLD_NAMES` as well."""

    severity: Severity
    explanation: str
    """What every finding of this kind means, in at most 60 characters."""
    shifts: bool
    """No field after it can be trusted to hold what its name says: a wrong length moves all that follow."""
    breaks: bool
    """The bytes are not what they were taken for."""
    harmless: bool
    """The message still means what it says: `kdbg.decode` does not raise for it."""
    unread: bool
    """Its bytes are kept, but not understood."""
    cut: bool
    """It follows from a message's end not being in the capture."""

    TCP_GAP = "tcp-gap", "the capture lacks bytes of the TCP stream"
    UNDECODED_BYTES = "undecoded-bytes", "bytes skipped until the next decodable frame"
    TRUNCATED = "truncated", "the message ends in the middle of a field", _ERROR, "shifts breaks cut"
    TRAILING_BYTES = "trailing-bytes", "the message has bytes after its last field", _ERROR, "shifts"
    INVALID_LENGTH = "invalid-length", "a length or count is impossible", _ERROR, "shifts breaks"
    INVALID_VALUE = "invalid-value", "a value is not valid for its type", _ERROR, "shifts breaks"
    UNEXPECTED_NULL = "unexpected-null", "a non-nullable field is null", _ERROR, "shifts"
    INVALID_UTF8 = "invalid-utf8", "a string is not valid UTF-8", _ERROR, "harmless"
    NON_MINIMAL_VARINT = "non-minimal-varint", "a varint uses more bytes than necessary", _WARNING, "harmless"
    RESERVED_BITS = "reserved-bits", "reserved bits are set", _WARNING, "harmless"
    UNKNOWN_API = "unknown-api", "kdbg does not know this API key", _ERROR, "unread"
    UNKNOWN_VERSION = "unknown-version", "kdbg does not know this version of the API", _ERROR, "unread"
    UNKNOWN_TAG = "unknown-tag", "kdbg does not know this tagged field", _NOTE, "harmless unread"
    TAG_ORDER = "tag-order", "tagged fields are out of order or duplicated", _ERROR, "shifts"
    CRC_MISMATCH = "crc-mismatch", "the checksum of a record batch or message does not match"
    DECOMPRESSION_FAILED = "decompression-failed", "a compressed batch cannot be decompressed"
    OUT_OF_ORDER = "out-of-order", "responses, or entries of a file, are out of order"
    MALFORMED_RECORD_SET = (
        "malformed-record-set", "a record set has bytes that are not a batch or message", _ERROR, "cut"
    )  # fmt: skip
    MALFORMED_PAYLOAD = "malformed-payload", "a payload in a field or record is malformed", _ERROR, "harmless"
    KNOWN_VARIANT = "known-variant", "the message uses a known variant of the version's layout", _NOTE, "harmless"
    KNOWN_QUIRK = "known-quirk", "a known client or broker deviation that peers tolerate", _NOTE, "harmless"
    ENCODING_MISTAKE = "encoding-mistake", "a program encoded the message incorrectly", _ERROR, "harmless"
    SEARCH_LIMIT = "search-limit", "kdbg does not search this message for mistakes", _NOTE, "harmless"
    MIDSTREAM = "midstream", "the connection was established before the capture started", _NOTE
    REQUEST_TOO_LARGE = "request-too-large", "the request exceeds the default socket.request.max.bytes"
    NO_RESPONSE = "no-response", "the capture contains no response to this request", _WARNING
    UNSOLICITED_RESPONSE = (
        "unsolicited-response", "the capture contains no request that expects this response", _WARNING
    )  # fmt: skip
    INJECTED_FAULT = "injected-fault", "a fault rule of kdbg proxy changed this exchange", _NOTE
    NOT_KAFKA = "not-kafka", "the connection does not carry plaintext Kafka"
    CONNECTION_REFUSED = "connection-refused", "the connection attempt was refused (RST)", _WARNING
    CONNECTION_TIMEOUT = "connection-timeout", "repeated connection attempts got no reply", _WARNING
    NOT_DECRYPTED = "not-decrypted", "the connection uses TLS and was not decrypted"
    DAMAGED_CAPTURE = "damaged-capture", "the capture file is damaged"
    MEMORY_LIMIT = "memory-limit", "data was dropped to stay within --max-memory", _ERROR, "unread"

    def __new__(cls, name: str, explanation: str = "", severity: Severity = Severity.ERROR, traits: str = "") -> Kind:
        """Make a member of its line in the table; `traits` are the words that are true of it."""
        kind = str.__new__(cls, name)
        kind._value_, kind.severity, kind.explanation = name, severity, explanation
        given = dict.fromkeys(traits.split(), True)
        for trait in ("shifts", "breaks", "harmless", "unread", "cut"):
            setattr(kind, trait, given.pop(trait, False))
        assert not given, f"{name}: unknown traits {[*given]}"  # a misspelled one would be without effect
        return kind

    @classmethod
    def _missing_(cls, value: object) -> Kind | None:
        return OLD_NAMES.get(value) if isinstance(value, str) else None

    @classmethod
    def named(cls, name: str) -> Kind | None:
        """Return the kind of a name or an old name, or None."""
        try:
            return cls(name)
        except ValueError:
            return None

    @property
    def old_name(self) -> str | None:
        """Return the name that the kind had before, or None."""
        return _FORMER.get(self)

    @property
    def is_error(self) -> bool:
        """Return whether something could not be decoded, or is not as it should be."""
        return self.severity is Severity.ERROR


ATTEMPTS = frozenset({Kind.CONNECTION_REFUSED, Kind.CONNECTION_TIMEOUT})
"""The kinds of a connection that was never established."""
OLD_NAMES: dict[str, Kind] = {
    "gap": Kind.TCP_GAP, "skipped": Kind.UNDECODED_BYTES, "leftover": Kind.TRAILING_BYTES,
    "bad-length": Kind.INVALID_LENGTH, "bad-value": Kind.INVALID_VALUE, "null": Kind.UNEXPECTED_NULL,
    "not-utf8": Kind.INVALID_UTF8, "unused-bits": Kind.RESERVED_BITS, "crc": Kind.CRC_MISMATCH,
    "compression": Kind.DECOMPRESSION_FAILED, "order": Kind.OUT_OF_ORDER, "record-set": Kind.MALFORMED_RECORD_SET,
    "payload": Kind.MALFORMED_PAYLOAD, "dialect": Kind.KNOWN_VARIANT, "quirk": Kind.KNOWN_QUIRK,
    "mistake": Kind.ENCODING_MISTAKE, "too-large": Kind.REQUEST_TOO_LARGE, "unanswered": Kind.NO_RESPONSE,
    "unasked": Kind.UNSOLICITED_RESPONSE, "fault": Kind.INJECTED_FAULT, "refused": Kind.CONNECTION_REFUSED,
    "unreached": Kind.CONNECTION_TIMEOUT, "encrypted": Kind.NOT_DECRYPTED, "capture": Kind.DAMAGED_CAPTURE,
    "memory": Kind.MEMORY_LIMIT,
}  # fmt: skip
"""By the names that kinds had up to kdbg 0.1, which are accepted for two more releases."""
_FORMER = {kind: name for name, kind in OLD_NAMES.items()}


Side = Literal["request", "response", ""]
"""The message of an exchange that a finding is of, or the direction; "" where it is of a connection or a file."""
FACTS: dict[str, Any] = {facts.__name__: facts for facts in (*get_args(Facts), FactKind, FaultKind)}
"""The classes of facts, and of what they hold, by their names."""


class Finding(NamedTuple):
    """One odd thing, as data.

    `path` is the field, where one can be named. `start` is the index of its first byte in the bytes that were read,
    which begin at the header of a message (the size is at -4), and None where the place is in no message; `byte` is the
    same as views count it. `length` is in bytes. `facts` are what the kind alone does not say. Nothing is ever told
    from `text`: it is for people.
    """

    kind: Kind
    side: Side = ""
    path: str = ""
    start: int | None = None
    length: int = 0
    facts: Facts | None = None

    @property
    def severity(self) -> Severity:
        """Return how serious the finding is, by its kind."""
        return self.kind.severity

    @property
    def byte(self) -> int | None:
        """Return the first byte in the frame, whose first is that of the size; without a `side`, in what was read."""
        from .text import origin_of

        return None if self.start is None else origin_of(self).first + self.start

    @property
    def text(self) -> str:
        """Return what the finding says, as a sentence without a full stop; not escaped."""
        from .text import text_of

        return text_of(self)

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def pack(finding: Finding) -> list[Any]:
    """Return the finding as lists, strings and numbers, which JSON can hold."""
    return [*finding[:5], _pack_facts(finding.facts)]


def _pack_facts(facts: Any) -> Any:
    if isinstance(facts, Enum) and type(facts).__name__ in FACTS:
        return [type(facts).__name__, facts.value]
    if not isinstance(facts, tuple):
        return facts
    return [type(facts).__name__, *map(_pack_facts, facts)]


def unpack(packed: list[Any]) -> Finding:
    """Return the finding that was packed."""
    kind, side, path, start, length, facts = packed
    return Finding(Kind(kind), side, path, start, length, _unpack_facts(facts))


def _unpack_facts(packed: Any) -> Any:
    if not isinstance(packed, list):
        return packed
    name, *values = packed
    values = [_unpack_facts(value) for value in values]
    return tuple(values) if name == "tuple" else FACTS[name](*values)
