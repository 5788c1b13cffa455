"""A producer sends a batch that is larger than the topic allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...grammars.errors import error_name
from ..by_error import by_error
from ..case import Rule

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ..looking import Failures

PRODUCE = 0


def how_large(book: Ledgers, one: Failures) -> Mapping[str, Any]:
    """Return the size of the largest request of the connection, and the name of the error."""
    return {"size": one.session.used(PRODUCE).size, "name": error_name(one.code)}


rule: Rule = by_error(
    "message-too-large",
    "batch exceeds max.message.bytes",
    (
        "client {client_id} sends a batch larger than topic {topic} accepts: {name}, {times} (largest "
        "request: {size:,} bytes)"
    ),
    (
        "Raise max.message.bytes on topic {topic} (and message.max.bytes, replica.fetch.max.bytes, "
        "and fetch.max.bytes on consumers), or send smaller batches: smaller records, compression, "
        "a producer max.request.size below the limit."
    ),
    "Topic configs: max.message.bytes",
    errors=(10, 18),  # MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE
    apis=(0,),
    facts=how_large,
)
