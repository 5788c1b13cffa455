"""Types with a meaning of their own: a field of such a type needs no text to be understood."""

from __future__ import annotations

from typing import Any

from kdbg.protocol import wire
from kdbg.protocol.wire.language.types import At, Struct

from ...cases import for_each


@for_each(
    ("type", "kind", "about"),
    [
        (wire.ErrorCode, "error", "what went wrong, 0 if nothing did"),
        (wire.ApiKey, "api", "number of the kind of request"),
        (wire.Partition, "partition", "number of the partition within its topic, from 0"),
        (wire.TopicName, "topic", "name of the topic"),
        (
            wire.TopicId,
            "topic_id",
            "id of the topic, which a topic of the same name created later does not share",
        ),
        (wire.GroupId, "group", "name of the group (group.id)"),
        (wire.Duration, "duration", ""),
        (wire.Duration64, "duration", ""),
        (wire.Timestamp, "timestamp", ""),
        (wire.SecretRemainder, "secret", ""),
        (wire.Remainder, "", ""),
    ],
)
def test_a_field_takes_kind_and_meaning_from_its_type(type: Any, kind: str, about: str) -> None:
    (field,) = Struct("field" / type).structure(At(0, False)).fields
    assert (field.node.kind, field.about) == (kind, about)
    (field,) = Struct("field" / type * "what it is here").structure(At(0, False)).fields
    assert (field.node.kind, field.about) == (kind, "what it is here")
