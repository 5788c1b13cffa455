"""How clients word Kafka's error codes, as far as that is not the code's name: sarama's texts and those of Java.

KafkaJS and kafka-python take Java's texts over. A text is known by its beginning, in lower case.
"""

from __future__ import annotations

TEXTS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (-1, ("unexpected (unknown?) server error", "the server experienced an unexpected error")),
    (1, ("the requested offset is outside the range", "the requested offset is not within the range")),
    (2, ("message contents does not match its crc", "this message has failed its crc checksum")),
    (3, ("request was for a topic or partition that does not exist", "this server does not host this topic-partition")),
    (4, ("the message has a negative size", "the requested fetch size is invalid")),
    (5, ("in the middle of a leadership election", "there is no leader for this topic-partition")),
    (6, ("tried to send a message to a replica that is not the leader", "for requests intended only for the leader",
         "this server is not the leader for that topic-partition")),
    (7, ("request exceeded the user-specified time limit", "the request timed out")),
    (9, ("replica information not available", "the replica is not available")),
    (10, ("message was too large, server rejected it", "the request included a message larger than")),
    (14, ("offset's topic has not yet been created", "the coordinator is loading", "offsets loading")),
    (15, ("the coordinator is not available", "group coordinator not available")),
    (16, ("request was for a consumer group that is not coordinated", "this is not the correct coordinator",
          "not coordinator for group")),
    (17, ("the request attempted to perform an operation on an invalid topic",)),
    (19, ("messages are rejected since there are fewer in-sync", "not enough in-sync replicas")),
    (22, ("the provided generation id is not the current", "specified group generation id is not valid")),
    (23, ("the provided protocol type is not compatible", "the group member's supported protocols are incompatible",
          "inconsistent group protocol")),
    (25, ("the provided member is not known", "the coordinator is not aware of this member", "unknown member")),
    (27, ("a rebalance for the group is in progress", "the group is rebalancing", "group rebalance in progress")),
    (29, ("the client is not authorized to access this topic", "not authorized to access topic")),
    (30, ("the client is not authorized to access this group", "not authorized to access group")),
    (33, ("the broker does not support the requested sasl mechanism",)),
    (35, ("the version of api is not supported", "local: required feature not supported")),
    (36, ("topic with this name already exists",)),
    (41, ("this is not the correct controller",)),
    (47, ("producer attempted an operation with an old epoch", "producer attempted to produce with an old epoch")),
    (58, ("sasl authentication failed",)),
    (74, ("leader epoch in the request is older", "the leader epoch in the request is older")),
    (82, ("the broker rejected this static consumer", "static consumer fenced")),
)  # fmt: skip


def code_of(text: str) -> int | None:
    """Return the error code whose text begins `text`; None where no client words a code so."""
    said = text.strip().lower()
    return next((code for code, texts in TEXTS if said.startswith(texts)), None)
