"""The known quirks of peers: what some write that is not to the letter, or odd at first sight, and others understand.

One entry each in `QUIRKS`. A finding of one holds its code, who wrote it and how sure that is (`facts.KnownQuirk`).
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

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

    `side` of API `key` in `versions` has it; where that is by bytes behind the last field, `spare` is their pattern.
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


class QuirkSubject(Protocol):
    """What of a finding tells whether it is of a quirk."""

    @property
    def facts(self) -> Facts | None: ...


def quirk_of(finding: QuirkSubject) -> KnownQuirk | None:
    """Return the facts of a finding that is of a known quirk, in a message or in a payload; None for any other."""
    facts = finding.facts.fault if isinstance(finding.facts, InPayload) else finding.facts
    return facts if isinstance(facts, KnownQuirk) else None


def is_spare(finding: QuirkSubject) -> bool:
    """Return whether a finding is of bytes behind a message's last field that follow a known pattern."""
    known = quirk_of(finding)
    return known is not None and known.code in QUIRKS and bool(QUIRKS[known.code].spare)


def is_known(code: str, body: object) -> bool:
    """Return whether a body read as this quirk has it is one, by the values that it must have."""
    when = QUIRKS[code].when
    return not when or (isinstance(body, dict) and all(body.get(name, when) == value for name, value in when))


def has_spare(side: str, key: int, version: int, left: bytes) -> str:
    """Return the code of the quirk by which these bytes may stand behind the last field of a message; "" for none."""
    for code, quirk in QUIRKS.items():
        here = quirk.spare and quirk.side == side and quirk.key == key and version in quirk.versions
        if here and re.fullmatch(quirk.spare, left):
            return code
    return ""


def spare(side: str, key: int, version: int, body: object, left: bytes) -> str:
    """Return the same for a message whose body is known, too."""
    code = has_spare(side, key, version, left)
    return code if code and is_known(code, body) else ""
