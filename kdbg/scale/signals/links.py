"""The traces that records carry in their headers, as W3C writes it: https://www.w3.org/TR/trace-context/."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from ...exchanges.messages.exchange import Exchange
from ...payloads.records.sources import Records, carriers
from ...protocol.wire.readings.outline import Topics
from .attributes import Link

HEADER: Final = "traceparent"
CONTEXT: Final = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?", re.DOTALL)
FORBIDDEN: Final = b"ff"
PLAIN: Final = b"00"
"""The version of the form that ends behind its flags; later ones may go on."""
MOST: Final = 128
"""Links of a span, as many as OpenTelemetry's SDK keeps if nobody says otherwise."""


class Links(NamedTuple):
    """The spans that the records of an exchange come from, and how many more there are."""

    links: tuple[Link, ...] = ()
    more: int = 0


def parent_of(value: Any) -> tuple[bytes, bytes] | None:
    """Return the ids of trace and span that a header's value says; None where it says none."""
    found = CONTEXT.fullmatch(value) if isinstance(value, bytes) else None
    if found is None or found[1] == FORBIDDEN or (found[1] == PLAIN and found[4] is not None):
        return None
    trace, span = bytes.fromhex(found[2].decode()), bytes.fromhex(found[3].decode())
    return (trace, span) if any(trace) and any(span) else None


class Contexts:
    """Finds the links of exchanges that carry records; `names` tells the names of topic ids."""

    def __init__(self, names: Topics) -> None:
        self._records = Records(names)

    def of(self, exchange: Exchange) -> Links:
        """Return the links of an exchange, each once, in the order of its records."""
        if exchange.api is None or not carriers(exchange.api, exchange.version):
            return Links()
        found = dict[tuple[bytes, bytes], None]()
        for event in self._records.of(exchange):
            for name, value in getattr(event, "headers", ()):
                if name == HEADER and (context := parent_of(value)) is not None:
                    found.setdefault(context)
        return Links(tuple(Link(*context) for context in list(found)[:MOST]), max(len(found) - MOST, 0))
