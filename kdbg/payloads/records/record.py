"""What is known of one record that somebody produced or fetched, or that a broker's disk holds."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

Way: TypeAlias = Literal["produced", "fetched", "stored"]
Outcome: TypeAlias = Literal["committed", "aborted"]
Header: TypeAlias = tuple[str | None, bytes | None]


class Origin(NamedTuple):
    """Where a record was seen: in the exchange `number` of the connection `connection`, or in a file.

    `time` is when the message that carried it began, in nanoseconds since the epoch; None in a file.
    """

    way: Way
    client_id: str | None = None
    number: int | None = None
    connection: int | None = None
    time: int | None = None


class Producer(NamedTuple):
    """The producer of a batch, where the batch tells it: an idempotent or a transactional one."""

    id: int
    epoch: int
    transactional: bool


class CapturedRecord(NamedTuple):
    """A record, and what was seen to become of it.

    `topic` is None where only the id is known, and the id is None where only the name is. `offset` is None for a
    produced record whose offset no response told. `timestamp` is in milliseconds since the epoch, None where there is
    none. `key` and `value` are bytes, `OpenedPayload` for records of Kafka's own topics, `Hidden` for secrets; null
    is None. `control` names the type of a control record. `outcome` is that of the record's transaction, where it
    was seen by then. `error` is the broker's answer to a produced record. `sound` is false where the checksum does
    not match.
    """

    origin: Origin
    topic: str | None
    topic_id: UUID | None
    partition: int | None
    offset: int | None
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    codec: str
    producer: Producer | None = None
    sequence: int | None = None
    control: str | None = None
    outcome: Outcome | None = None
    error: int | None = None
    sound: bool = True

    @property
    def topic_text(self) -> str | None:
        """The topic's name, or its id where no name is known."""
        return self.topic if self.topic is not None or self.topic_id is None else str(self.topic_id)


class TransactionEnd(NamedTuple):
    """A producer's wish to end its transaction, as the broker accepted it."""

    origin: Origin
    transactional_id: str
    producer_id: int
    producer_epoch: int
    outcome: Outcome


Event: TypeAlias = CapturedRecord | TransactionEnd
"""What comes out, in the order in which it was seen."""


def as_id(topic: Any) -> UUID | None:
    """Return the topic's id if it is named by one that says something."""
    return topic if isinstance(topic, UUID) and topic.int else None
