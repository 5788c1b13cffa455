"""What a broker makes of a request that a client wrote wrongly: an error code, a closed connection, or nothing at all.

The order of the checks, and what each leads to, is that of Kafka 3.9 and 4.4: `tests/brokers/test_mock.py` sends the
same requests to them. What is wrong in the bytes, the reading of the message says by its findings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

from ...exchanges.messages.message import Message
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import Stopped
from ...protocol.findings.mistakes import mistake_sentence
from ...protocol.findings.quirks import Sure
from ...protocol.findings.text import beside
from .batches import batch_mistake

INVALID_TOPIC, INVALID_ACKS, INCONSISTENT_PROTOCOL, INVALID_GROUP, INVALID_SESSION = 17, 21, 23, 24, 26
INVALID_REQUEST, NOT_AUTHORIZED = 42, 53
SESSION: Final = range(6000, 1_800_001)
"""Milliseconds of a session that brokers allow: group.min.session.timeout.ms and group.max.session.timeout.ms."""
SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""Names and versions of clients (KIP-511)."""
TOPIC: Final = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}$")
NEEDS_GROUP: Final = frozenset({"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"})
UNREADABLE: Final = frozenset({Kind.TRUNCATED, Kind.INVALID_LENGTH, Kind.INVALID_VALUE, Kind.UNEXPECTED_NULL})
"""Findings about fields at which a broker stops reading."""


class Reaction(Enum):
    """What a broker does other than respond with an error; the values end a sentence of which it is the subject."""

    ACCEPT = "accepts it"
    CLOSE = "closes the connection"
    SILENCE = "sends no response"


End: TypeAlias = int | Reaction
Place: TypeAlias = tuple[Any, int]
"""A topic, by its name or id, and a partition."""


class Rejection(NamedTuple):
    """What is wrong in a request, as a sentence without a full stop, and what a broker does.

    `place` is the partition that it is about, None for the whole request. `finding`: the text is that of a finding,
    which says what the bytes are, and not what was meant.
    """

    text: str
    end: End
    place: Place | None = None
    finding: bool = False


def rejections(message: Message, latest: int | None = None) -> list[Rejection]:
    """Return what is wrong in a request that has a known API and version; none for a valid one.

    `latest` is the highest timestamp of a record that the broker takes, milliseconds since 1970.
    """
    parts = list(_partitions(message))
    inside = tuple(f"{path}[" for path, _, _ in parts)
    errors = (one for one in message.findings if one.kind.is_error and one.kind is not Kind.ENCODING_MISTAKE)
    outside = (one for one in errors if not one.path.startswith(inside))
    found = [Rejection(text_beside(one), _end(one), finding=True) for one in outside]
    if any(one.end is Reaction.CLOSE for one in found):
        return found
    found += _rules(message)
    for path, place, records in parts:
        own = [one for one in message.findings if one.path.startswith(f"{path}[")]
        first = [one for one in own if one.path.startswith(f"{path}[0]")]
        odd = batch_mistake(records, (first, [one for one in own if one not in first]), message.version, latest)
        if odd is not None:
            end = Reaction.SILENCE if odd.code is None else odd.code or Reaction.ACCEPT
            found.append(Rejection(odd.text, end, place, odd.finding))
    return found


def text_beside(finding: Finding) -> str:
    """Return the text of a finding, with its field."""
    return finding.text if isinstance(finding.facts, Stopped) else beside(finding)


def _end(finding: Finding) -> Reaction:
    return Reaction.CLOSE if finding.kind in UNREADABLE else Reaction.ACCEPT


def _partitions(message: Message) -> Iterator[tuple[str, Place, Any]]:
    """Yield the path of each partition's records in a Produce request of batches, the partition, and the records."""
    if message.api.name != "Produce" or message.version < 3:
        return
    for i, topic in enumerate(message.body.get("topic_data") or ()):
        name = topic.get("name", topic.get("topic_id"))
        for j, part in enumerate(topic.get("partition_data") or ()):
            yield f"topic_data[{i}].partition_data[{j}].records", (name, part.get("index")), part.get("records")


def _rules(message: Message) -> Iterator[Rejection]:
    """Yield what the values of a request break, though each can be read."""
    api, body = message.api.name, message.body
    if api == "Produce":
        yield from _produce(body)
    if api == "ApiVersions" and message.version >= 3:
        for name in ("client_software_name", "client_software_version"):
            if not SOFTWARE.fullmatch(body[name]):
                yield Rejection(f"{name} is {body[name]!r}, expected letters, digits, - and .", INVALID_REQUEST)
    if api in NEEDS_GROUP and not body["group_id"]:
        yield Rejection("group_id is empty", INVALID_GROUP)
    elif api == "JoinGroup" and body["session_timeout_ms"] not in SESSION:
        text = f"session_timeout_ms is {body['session_timeout_ms']}, expected {SESSION[0]} to {SESSION[-1]}"
        yield Rejection(text, INVALID_SESSION)
    elif api == "JoinGroup" and not (body["protocols"] and body["protocol_type"]):
        yield Rejection("the member offers no protocol", INCONSISTENT_PROTOCOL)
    elif api == "FindCoordinator" and "key_type" in body and body["key_type"] not in (0, 1, 2):
        yield Rejection(f"key_type is {body['key_type']}, expected 0, 1 or 2", INVALID_REQUEST)


def _produce(body: Mapping[str, Any]) -> Iterator[Rejection]:
    if body.get("acks") not in (-1, 0, 1):
        text = mistake_sentence("unused-value", Sure.CERTAIN, path="acks", actual=body["acks"], expected="-1, 0 or 1")
        yield Rejection(text, INVALID_ACKS)
    batches = (
        batch for topic in body["topic_data"] for part in topic["partition_data"] for batch in part["records"] or ()
    )
    if body.get("transactional_id") is None and any(
        batch["attributes"] & 0x10 for batch in batches if "magic" in batch
    ):
        yield Rejection("a batch belongs to a transaction, and the request has no transactional_id", NOT_AUTHORIZED)


def is_topic(name: str) -> bool:
    """Return whether a topic may have this name."""
    return TOPIC.match(name) is not None
