"""What is copied of an exchange: the bytes of a field, JSON, the command that sends the request again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import endpoint
from ...views.render.jsonlines import json_line
from ...views.render.style import Look
from ...views.render.values import escape
from .fields import ByteRange, OpenedExchange

MOST = 1 << 20
"""Bytes that are copied: terminals take no more of OSC 52, and many less."""


@dataclass(frozen=True)
class ClipboardContext:
    """What is at hand when somebody copies: `places` are the bytes that are lit; `file` is "" for a live stream."""

    file: str
    exchange: Exchange
    opened: OpenedExchange
    places: list[ByteRange]
    topics: Mapping[UUID, str]
    look: Look


def hexed(taken: ClipboardContext) -> str | None:
    """Return the bytes of the field in hex; None where it has none, or they hold what is hidden."""
    if not taken.places:
        return None
    parts = []
    for place in taken.places[:1]:
        buffer = taken.opened.buffers[place.buffer]
        if any(one.hidden and one.place is not None and _meet(one.place, place) for one in buffer.fields):
            return None
        parts.append(buffer.data[place.start : place.end].hex(" "))
    return " ".join(parts)


def _meet(one: ByteRange, other: ByteRange) -> bool:
    return one.start < other.end and other.start < one.end


def json(taken: ClipboardContext) -> str | None:
    """Return the exchange as `kdbg decode -f json` prints it."""
    look = Look(show_secrets=taken.look.show_secrets, hide_values=taken.look.hide_values)
    return json_line(taken.exchange, dict(taken.topics), look).decode().rstrip("\n")


def send(taken: ClipboardContext) -> str | None:
    """Return the command that sends the request again, to the broker that got it; None where there is no request."""
    exchange = taken.exchange
    if exchange.request is None or exchange.api is None or exchange.api.headerless:
        return None
    if not taken.file:
        return _raw(taken, exchange)
    source = shlex.quote(f"{taken.file}#{exchange.number}")
    return escape(f"kdbg send --from {source} --broker {endpoint(exchange.peers.broker)}")


def _raw(taken: ClipboardContext, exchange: Exchange) -> str | None:
    """Return the command for a request that stands in no file; None where something in it is hidden."""
    request = exchange.request
    hidden = any(one.hidden for part in taken.opened.parts if part.name == "request" for one in part.fields)
    if request is None or request.missing or hidden:
        return None
    data = (len(request.data)).to_bytes(4, "big") + request.data
    return f"kdbg send --raw {data.hex()} --broker {endpoint(exchange.peers.broker)}"


COPIES: dict[str, tuple[str, Callable[[ClipboardContext], str | None]]] = {
    "hex": ("the bytes of the field", hexed),
    "json": ("the exchange as JSON", json),
    "send": ("the command that sends the request again", send),
}
"""What can be copied: what it is called, and how it is made."""
