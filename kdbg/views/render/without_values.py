"""What users put into records, by its length alone: for `--hide-values`, which every view and command knows.

Keys, values and headers of all records are hidden, those of Kafka's own topics too, and bytes of record sets in which
they may stand: compressed ones, and those that could not be read.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ...exchanges.messages.message import Message
from ...exchanges.messages.secrets import headers_without, without_values
from ...payloads.records.record import CapturedRecord
from ...protocol.wire.readings.inspection import Inspection
from ...protocol.wire.readings.secrets import Hidden
from ...protocol.wire.records import RecordsNode
from .style import Look

INSIDE: Final = re.compile(r"\.(?:key|value|headers\[\d+\])(?:\.|$)")
"""The path of a key, a value or a header, or of what was read in it, after that of an entry."""


def shown_body(message: Message, look: Look) -> Any:
    """Return the body of a message as a look may show it: without secrets, and without values."""
    body = message.body if look.show_secrets else message.open_body
    return without_values(message.grammar, body) if look.hide_values else body


def record_without(record: CapturedRecord) -> CapturedRecord:
    """Return a record with its key, value and headers hidden."""
    key, value = (None if data is None else Hidden(len(data)) for data in (record.key, record.value))
    return record._replace(key=key, value=value, headers=tuple(headers_without(record.headers)))


def conceal_values(inspection: Inspection, *, entry: bool = False) -> None:
    """Make secret the spans of what users put into records, and of bytes that could not be read beside them.

    `entry`: it is one entry of a log, whose fields have no path in front.
    """
    sets = tuple(span.path for span in inspection.spans if isinstance(span.node, RecordsNode))
    for number, span in enumerate(inspection.spans):
        paths = [f".{span.path}"] if entry else [
            span.path[len(front) :] for front in sets if span.path.startswith(f"{front}[")
        ]  # fmt: skip
        for path in paths:
            found = INSIDE.search(path)
            if span.role == "raw" or (found is not None and (span.role == "value" or found.end() < len(path))):
                inspection.spans[number] = span._replace(secret=True)
