"""Every kind of finding: its name, how serious it is, what it means for the bytes around it, a sentence on it."""

from __future__ import annotations

from enum import Flag, StrEnum, auto


class Severity(StrEnum):
    """How serious a finding is: an error makes the exit status 1, the others leave it 0."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Trait(Flag):
    """What a kind of finding says beside its severity."""

    NONE = 0
    SHIFTS = auto()
    """No field after it can be trusted to hold what its name says: a wrong length moves all that follow."""
    BREAKS = auto()
    """The bytes are not what they were taken for."""
    HARMLESS = auto()
    """The message still means what it says: `kdbg.decode` does not raise for it."""
    UNREAD = auto()
    """Its bytes are kept, but not understood."""
    CUT = auto()
    """It follows from a message's end not being in the capture."""


_SHIFTS, _BREAKS = Trait.SHIFTS, Trait.BREAKS
_HARMLESS, _UNREAD, _CUT = Trait.HARMLESS, Trait.UNREAD, Trait.CUT
_ERROR, _WARNING, _NOTE = Severity


class Kind(StrEnum):
    """A kind of finding: its value is the name that is shown."""

    severity: Severity
    explanation: str
    """What every finding of this kind says, in one sentence."""
    traits: Trait

    GAP = "gap", "bytes of the TCP stream are missing from the capture"
    SKIPPED = "skipped", "bytes were passed over until a frame proved itself again"
    TRUNCATED = "truncated", "the message ends inside a field", _ERROR, _SHIFTS | _BREAKS | _CUT
    LEFTOVER = "leftover", "the message was complete before its length said so", _ERROR, _SHIFTS
    BAD_LENGTH = "bad-length", "a length or count that no message can have", _ERROR, _SHIFTS | _BREAKS
    BAD_VALUE = "bad-value", "a value that its type does not have", _ERROR, _SHIFTS | _BREAKS
    NULL = "null", "null where the grammar allows none", _ERROR, _SHIFTS
    NOT_UTF8 = "not-utf8", "a string that is not valid UTF-8", _ERROR, _HARMLESS
    NON_MINIMAL_VARINT = "non-minimal-varint", "a varint written in more bytes than it needs", _WARNING, _HARMLESS
    UNUSED_BITS = "unused-bits", "bits are set that have no meaning and should be 0", _WARNING, _HARMLESS
    UNKNOWN_API = "unknown-api", "an API key that kdbg has no grammar for", _ERROR, _UNREAD
    UNKNOWN_VERSION = "unknown-version", "a version of a known API that kdbg has no grammar for", _ERROR, _UNREAD
    UNKNOWN_TAG = "unknown-tag", "a tagged field that the grammar does not name", _NOTE, _HARMLESS | _UNREAD
    TAG_ORDER = "tag-order", "tagged fields out of order, or one of them twice", _ERROR, _SHIFTS
    CRC = "crc", "a checksum that does not match its record batch or message"
    COMPRESSION = "compression", "a compressed batch that does not decompress"
    ORDER = "order", "what comes in order does not: responses, or offsets and times in a file"
    RECORD_SET = "record-set", "bytes in a record set that are no batch and no message", _ERROR, _CUT
    PAYLOAD = "payload", "bytes inside a field or a record that are not what they should be", _ERROR, _HARMLESS
    DIALECT = "dialect", "not the layout of this version, but a known other form of it", _NOTE, _HARMLESS
    QUIRK = "quirk", "a known habit of some peers, which others understand", _NOTE, _HARMLESS
    MISTAKE = "mistake", "a mistake of the program that wrote the message", _ERROR, _HARMLESS
    SEARCH_LIMIT = "search-limit", "kdbg does not search this message for a mistake", _NOTE, _HARMLESS
    MIDSTREAM = "midstream", "the connection was open before the capture began", _NOTE
    TOO_LARGE = "too-large", "a request that is larger than brokers take"
    UNANSWERED = "unanswered", "no response was seen", _WARNING
    UNASKED = "unasked", "a response whose request was not seen, or wants none", _WARNING
    FAULT = "fault", "kdbg's proxy did something to it, as it was told to", _NOTE
    NOT_KAFKA = "not-kafka", "a connection that does not speak Kafka in the clear"
    REFUSED = "refused", "a connection was asked for and turned down", _WARNING
    UNREACHED = "unreached", "a connection was asked for again and again, and nobody answered", _WARNING
    ENCRYPTED = "encrypted", "a connection that speaks TLS and was not decrypted"
    CAPTURE = "capture", "the capture file itself is damaged"
    MEMORY = "memory", "given up, so that kdbg takes no more memory than it may", _ERROR, _UNREAD

    def __new__(
        cls, name: str, explanation: str = "", severity: Severity = Severity.ERROR, traits: Trait = Trait.NONE
    ) -> Kind:
        """Make a member of its line in the table."""
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.severity, kind.traits, kind.explanation = severity, traits, explanation
        kind.shifts, kind.breaks = Trait.SHIFTS in traits, Trait.BREAKS in traits
        kind.harmless, kind.unread, kind.cut = Trait.HARMLESS in traits, Trait.UNREAD in traits, Trait.CUT in traits
        return kind

    shifts: bool
    breaks: bool
    harmless: bool
    unread: bool
    cut: bool

    @property
    def is_error(self) -> bool:
        """Return whether something could not be decoded, or is not as it should be."""
        return self.severity is Severity.ERROR


ATTEMPTS = frozenset({Kind.REFUSED, Kind.UNREACHED})
"""What is said of a connection that never came to be."""
