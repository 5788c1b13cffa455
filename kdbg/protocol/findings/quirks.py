"""The known quirks of peers, and the mistakes of programs that write messages: the words on each, by its name.

A quirk is what some write that is not to the letter, or odd at first sight, and others understand: one entry each in
`QUIRKS`. A finding of one holds its code, who wrote it and how sure that is (`facts.KnownQuirk`). Mistakes are in
`MISTAKES`, by their kinds: kdbg/exchanges/mistakes finds them; findings, views and `kdbg explain KIND` take the words
from here.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

from .facts import Facts, InPayload, KnownQuirk

FALLBACK: Final = "api-versions-fallback"


class Sure(StrEnum):
    """How sure it is who wrote something: the connection says it; its client id, or the quirk alone, does; or not."""

    CERTAIN = "certain"
    LIKELY = "likely"
    GUESS = "guess"


class Sender(NamedTuple):
    """A program that is known for a quirk; `client_id` is a pattern of the client id that it has by default."""

    name: str
    client_id: str = ""


class Quirk(NamedTuple):
    """One quirk: in a sentence, and who is known for it; nobody where every peer of a release does it.

    `side` of API `key` in `versions` has it; where that is by bytes after the last field, `spare` is their pattern.
    `when` are fields of the body and their values without which it is something else.
    """

    says: str
    senders: tuple[Sender, ...]
    side: str = ""
    key: int = -1
    versions: range = range(0)
    spare: bytes = b""
    when: tuple[tuple[str, object], ...] = ()


LIBRDKAFKA: Final = "rdkafka"
QUIRKS: Final[dict[str, Quirk]] = {
    "all-topics-count": Quirk(
        'null array for "all topics" in 4 bytes instead of 1; brokers ignore the extra bytes',
        (Sender("librdkafka 2.1 or later", LIBRDKAFKA),),
        "request", 3, range(9, 14), rb"(?:[\x00\x01][\x00\x01]\x00|\x00)",
        (("topics", None), ("allow_auto_topic_creation", False), ("include_topic_authorized_operations", False)),
    ),
    "api-versions-array": Quirk(
        "an empty array of an early protocol draft after the message; brokers ignore it",
        (Sender("librdkafka before 1.5", LIBRDKAFKA),),
        "request", 18, range(3), rb"\x00{4}",
    ),
    "scram-tags-twice": Quirk(
        "the empty tagged-fields section is written twice; brokers ignore the second",
        (Sender("librdkafka 2.2 or later", LIBRDKAFKA),),
        "request", 51, range(1), rb"\x00",
    ),
    FALLBACK: Quirk(
        "the broker does not support this version and responds with v0, as KIP-511 requires",
        (), "response", 18, range(1, 1 << 15), when=(("error_code", 35),),
    ),
    "subscription-v1-as-v0": Quirk(
        "a v1 subscription encoded like v0, without owned_partitions",
        (
            Sender("kafka-go", r"segmentio/kafka-go"), Sender("KafkaJS 1", "kafkajs"), Sender("Kayrock"),
            Sender("sarama-cluster", "sarama"),
        ),
    ),
}  # fmt: skip


class FindingSubject(Protocol):
    """What of a finding its words are made of; its `kind` has an `explanation`."""

    @property
    def kind(self) -> Any: ...
    @property
    def side(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def start(self) -> int | None: ...
    @property
    def length(self) -> int: ...
    @property
    def facts(self) -> Facts | None: ...


def quirk_of(finding: FindingSubject) -> KnownQuirk | None:
    """Return the facts of a finding that is of a known quirk, in a message or in a payload; None for any other."""
    facts = finding.facts.fault if isinstance(finding.facts, InPayload) else finding.facts
    return facts if isinstance(facts, KnownQuirk) else None


def is_spare(finding: FindingSubject) -> bool:
    """Return whether a finding is of bytes after a message's last field that follow a known pattern."""
    known = quirk_of(finding)
    return known is not None and known.code in QUIRKS and bool(QUIRKS[known.code].spare)


def is_known(code: str, body: object) -> bool:
    """Return whether a body read as this quirk has it is one, by the values that it must have."""
    when = QUIRKS[code].when
    return not when or (isinstance(body, dict) and all(body.get(name, when) == value for name, value in when))


def has_spare(side: str, key: int, version: int, left: bytes) -> str:
    """Return the code of the quirk by which these bytes may follow the last field of a message; "" for none."""
    for code, quirk in QUIRKS.items():
        here = quirk.spare and quirk.side == side and quirk.key == key and version in quirk.versions
        if here and re.fullmatch(quirk.spare, left):
            return code
    return ""


def spare(side: str, key: int, version: int, body: object, left: bytes) -> str:
    """Return the same for a message whose body is known, too."""
    code = has_spare(side, key, version, left)
    return code if code and is_known(code, body) else ""


class MistakeKind(NamedTuple):
    """One kind of mistake: a sentence with the fields of a `Mistake` in braces, and what every one of them means."""

    sentence: str
    explanation: str


MISTAKES: Final[dict[str, MistakeKind]] = {
    "size-counts-itself": MistakeKind(
        "the size counts its own 4 bytes: {actual}, expected {expected}",
        "The INT32 size before a message counts the bytes after it, without its own 4 bytes.",
    ),
    "size-missing": MistakeKind(
        "the size is missing: the message begins with its API key",
        "Each message begins with an INT32 size, the number of bytes after it.",
    ),
    "wrong-size": MistakeKind(
        "the size is {actual}, expected {expected}",
        "The INT32 size before a message is the number of bytes after it.",
    ),
    "little-endian-size": MistakeKind(
        "the size is little-endian: {actual}, expected {expected}",
        "Kafka's integers are big-endian (network byte order).",
    ),
    "little-endian-header": MistakeKind(
        "the integers of the header are little-endian",
        "Kafka's integers are big-endian (network byte order).",
    ),
    "little-endian-length": MistakeKind(
        "the length of {path} is little-endian: {actual}, expected {expected}",
        "Kafka's lengths and counts are big-endian (network byte order).",
    ),
    "little-endian-integer": MistakeKind(
        "{path} is little-endian: {actual}, expected {expected}",
        "Kafka's integers are big-endian (network byte order).",
    ),
    "compact-client-id": MistakeKind(
        "the client id is a COMPACT_STRING; in a header it has an INT16 length",
        "The client id of a header is a NULLABLE_STRING with an INT16 length, in flexible versions too.",
    ),
    "compact-client-id-without-body": MistakeKind(
        "the client id is a COMPACT_STRING, expected an INT16 length, and the body is missing",
        "The client id of a header is a NULLABLE_STRING with an INT16 length; the request ends after its header.",
    ),
    "missing-header-tags": MistakeKind(
        "the header lacks its tagged fields: {api} {direction} v{version} is flexible",
        "The header of a flexible version ends with tagged fields: byte 00 where there are none.",
    ),
    "unexpected-header-tags": MistakeKind(
        "the header has tagged fields: the header of {api} {direction} v{version} has none",
        "Only headers of flexible versions end with tagged fields; ApiVersions responses never do.",
    ),
    "other-version-body": MistakeKind(
        "the body is that of v{actual}, expected v{expected}",
        "The body must have the layout of the version that the request header names.",
    ),
    "missing-tagged-fields": MistakeKind(
        "the tagged fields of {path} are missing: v{version} is flexible",
        "Every structure of a flexible version ends with tagged fields: byte 00 where there are none.",
    ),
    "surplus-tagged-fields": MistakeKind(
        "extra 00 byte at {path}: there are no tagged fields here",
        "Tagged fields end a structure once, in flexible versions only; not a string, an array or a number.",
    ),
    "compact-length-without-one": MistakeKind(
        "the compact length of {path} lacks its + 1: {actual}, expected {expected}",
        "A compact length or count is N + 1; 0 is null.",
    ),
    "wrong-length": MistakeKind(
        "the length of {path} is {actual}, expected {expected}",
        "A length is the number of bytes after it.",
    ),
    "wrong-count": MistakeKind(
        "the count of {path} is {actual}, expected {expected}",
        "A count is the number of elements after it.",
    ),
    "int16-length": MistakeKind(
        "the length of {path} is an INT16, expected a {expected}",
        "Flexible versions have compact lengths; before them, strings have INT16, bytes and arrays INT32 lengths.",
    ),
    "int32-length": MistakeKind(
        "the length of {path} is an INT32, expected a {expected}",
        "Flexible versions have compact lengths; before them, strings have INT16, bytes and arrays INT32 lengths.",
    ),
    "compact-length": MistakeKind(
        "the length of {path} is compact, expected an {expected}: v{version} is not flexible",
        "Only flexible versions have compact lengths.",
    ),
    "null-not-allowed": MistakeKind(
        "{path} is null, which {api} {direction} v{version} does not allow",
        "Only nullable fields may be null; an empty string or array has length 0 (compact: 1).",
    ),
    "unused-value": MistakeKind(
        "{path} is {actual}, expected {expected}",
        "The field has a value that no implementation of Kafka uses.",
    ),
    "missing-zigzag": MistakeKind(
        "{path} is a VARINT without zigzag: {actual}, expected {expected}",
        "VARINT and VARLONG are zigzag-encoded: 1 is 02, -1 is 01.",
    ),
    "wrong-batch-length": MistakeKind(
        "the batch length is {actual}, expected {expected}",
        "The batch length counts the bytes after itself: all but the first 12 bytes of the batch.",
    ),
    "wrong-record-count": MistakeKind(
        "the record count of the batch is {actual}, expected {expected}",
        "The record count of a batch is the number of records after it.",
    ),
    "wrong-last-offset-delta": MistakeKind(
        "the last offset delta of the batch is {actual}, expected {expected}",
        "The last offset delta of a produced batch is the number of its records minus 1.",
    ),
    "wrong-base-offset": MistakeKind(
        "the base offset of the batch is {actual}, expected {expected}",
        "A producer writes base offset 0; the broker assigns the offsets.",
    ),
    "wrong-record-length": MistakeKind(
        "the record length of {path} is {actual}, expected {expected}",
        "The length of a record counts the bytes after it: attributes, deltas, key, value and headers.",
    ),
    "wrong-crc-range": MistakeKind(
        "the CRC covers the batch from {actual}, expected from {expected}",
        "The CRC-32C of a batch covers the bytes from attributes to the end of the batch.",
    ),
    "wrong-crc-kind": MistakeKind(
        "the CRC is {actual}, expected {expected}",
        "Record batches (magic 2) have a CRC-32C; messages of magic 0 and 1 have a CRC-32.",
    ),
    "undeclared-codec": MistakeKind(
        "the records are compressed with {expected}; the attributes declare {actual}",
        "Bits 0 to 2 of a batch's attributes name the codec of its records.",
    ),
    "message-set": MistakeKind(
        "the records are a message set of magic {actual}, expected record batches (magic 2)",
        "Produce v3 and later takes record batches only.",
    ),
    "raw-sasl-token": MistakeKind(
        "a raw SASL token after SaslHandshake v1, expected a SaslAuthenticate request",
        "After SaslHandshake v0 tokens follow without a Kafka header; after v1, in SaslAuthenticate requests.",
    ),
    "sasl-authenticate-after-v0": MistakeKind(
        "a SaslAuthenticate request after SaslHandshake v0, expected a raw SASL token",
        "After SaslHandshake v0 tokens follow without a Kafka header; after v1, in SaslAuthenticate requests.",
    ),
    "reused-correlation-id": MistakeKind(
        "correlation id {actual} is that of another request in flight",
        "A correlation id belongs to one request until its response arrives.",
    ),
}  # fmt: skip
PREFIXES: Final[dict[str, str]] = {Sure.CERTAIN: "", Sure.LIKELY: "probably ", Sure.GUESS: "possibly "}


def mistake_sentence(kind: str, sure: str, others: int = 0, **values: object) -> str:
    """Return the sentence of a mistake: `probably` is its first word if it is likely, `possibly` if it is a guess.

    `others` counts the other fields with the same mistake.
    """
    also = f"; {others:,} more {'field has' if others == 1 else 'fields have'} it" if others else ""
    return PREFIXES[sure] + MISTAKES[kind].sentence.format(**values) + also
