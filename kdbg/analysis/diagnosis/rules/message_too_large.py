"""A producer sends a batch that is larger than the topic allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ....protocol.grammars.errors import error_name
from ..by_error import by_error
from ..case import Rule

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ..queries import Failures

PRODUCE = 0


def how_large(book: Ledgers, one: Failures) -> Mapping[str, Any]:
    """Return the size of the largest request of the connection, and the name of the error."""
    return {"size": one.session.used(PRODUCE).size, "name": error_name(one.code)}


rule: Rule = by_error(
    "message-too-large",
    "batch exceeds max.message.bytes",
    (
        "broker {broker} rejects a batch of client {client_id} with {name}, {times}: the batch exceeds "
        "max.message.bytes of topic {topic} (the largest request has {size:byte})"
    ),
    (
        "Raise max.message.bytes on topic {topic} and replica.fetch.max.bytes on the brokers, or send "
        "smaller batches: lower max.request.size (librdkafka: message.max.bytes), set compression.type."
    ),
    "Topic configs: max.message.bytes",
    errors=(10, 18),  # MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE
    apis=(0,),
    facts=how_large,
)
