"""Exchanges as JSON Lines, by the contract: one object a line, lossless, secrets hidden.

Bytes are {"base64": "..."}; the key, value and header values of a record are strings where they are valid UTF-8. A
string that is not valid UTF-8 is {"base64": "..."} too. Bytes that were opened have beside it what they are,
{"base64": "...", "payload": "ConsumerProtocolSubscription", "value": {...}}. `kdbg encode` takes a body back to the
same bytes.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson

from ...exchanges.messages.capture_points import UNNUMBERED, Bounds, Half, Split, Tcp, Timing, split_object, tcp_object
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import UNTIMED, Message, errors_in
from ...exchanges.messages.peers import Attempts, connection_object, endpoint
from ...protocol.findings import Finding
from ...protocol.wire.language.payload import OpenedPayload
from ...protocol.wire.nodes import Node, WireStruct, children
from ...protocol.wire.readings.layout import layout
from ...protocol.wire.readings.outline import outline
from ...protocol.wire.readings.secrets import Hidden, veil
from ...protocol.wire.records import RecordsNode
from .exchange_header import findings_of
from .findings import finding_object, note_of
from .style import Look
from .values import Memo, iso
from .without_values import shown_body

Path = tuple[str, ...]
Json = dict[str, Any]
Topics = Mapping[UUID, str]
NO_TOPICS: Topics = {}
HIDDEN = Look()
"""Secrets are hidden unless something else is said."""
DELETE = b"\x7f"
"""The one control character of ASCII that JSON does not escape."""


def json_line(exchange: Exchange, topics: Topics = NO_TOPICS, look: Look = HIDDEN) -> bytes:
    """Return one exchange as one line of JSON, newline included; `topics` maps topic ids to names."""
    request, odd, names = _half(exchange.request, topics, look)
    response, more, more_names = _half(exchange.response, topics, look)
    findings, errors = (*exchange.findings, *odd, *more), errors_of(exchange, topics)
    found = exchange_object(exchange, request, response, findings, errors, names | more_names)
    return dump(found, show_secrets=look.show_secrets)


def exchange_object(
    exchange: Exchange, request: Json | None, response: Json | None, findings: Sequence[Finding], errors: list[Json],
    names: dict[str, str],
) -> Json:  # fmt: skip
    """Return an exchange as a JSON object around its halves; `names` are those of topics that it names only by id."""
    latency, objects = exchange.latency, [*map(finding_object, findings)]
    differing = Differing(
        exchange.number, exchange.correlation_id if has_number(exchange) else None,
        None if latency is None else latency / 1e6, split_object(exchange.timing), tcp_object(exchange.timing),
        errors, [*map(note_of, objects)], objects,
    )  # fmt: skip
    return arranged(exchange, differing, names, request, response)


class Differing(NamedTuple):
    """The values that differ between exchanges of one connection, API, version and client id, or places for them."""

    number: Any
    correlation_id: Any
    latency_ms: Any
    split: Any
    tcp: Any
    errors: Any
    notes: Any
    findings: Any


def has_number(exchange: Exchange) -> bool:
    """Return whether the correlation id of an exchange is known; SASL tokens without a header have none."""
    return (exchange.api is None or exchange.api.key >= 0) and exchange.correlation_id != UNNUMBERED


def arranged(exchange: Exchange, differing: Differing, names: Any, request: Json | None, response: Json | None) -> Json:
    """Return the JSON object of an exchange: its keys, in their order."""
    api = exchange.api
    return {
        "connection": connection_object(exchange.peers),
        "api": api.name if api is not None else None,
        "api_key": api.key if api is not None and api.key >= 0 else None,
        "api_version": exchange.version if api is not None and api.key >= 0 <= exchange.version else None,
        "number": differing.number,
        "correlation_id": differing.correlation_id,
        "client_id": exchange.client_id,
        "latency_ms": differing.latency_ms,
        **({"split": differing.split, "tcp": differing.tcp} if exchange.timing is not None else {}),
        "errors": differing.errors,
        "notes": differing.notes,
        "findings": differing.findings,
        **({"topic_names": names} if names else {}),
        **(dict.fromkeys(("capture_points", "places"), points_object(exchange)) if exchange.capture_points else {}),
        **({"log": [{
            **({"file": line.log} if line.log else {}), "dialect": line.dialect, "line": line.number,
            "half": line.half, "time_utc": iso(line.time) if line.time != UNTIMED else None,
        } for line in exchange.lines]} if exchange.lines else {}),
        "request": request,
        "response": response,
    }  # fmt: skip


@lru_cache(4096)
def tcp_json(tcp: Tcp | None) -> bytes:
    """Return what TCP tells of a connection, which is the same of most of its exchanges, as JSON."""
    return orjson.dumps(tcp_object(Timing(Split(), tcp)))


def attempts_json(found: Sequence[Attempts], look: Look = HIDDEN) -> bytes:
    """Return one object per line: as for exchanges, with `attempts` in place of the messages."""
    return b"".join(dump({
        "connection": {"client": one.host, "broker": endpoint(one.broker), "id": one.number},
        "api": None, "api_key": None, "api_version": None, "number": None, "correlation_id": None, "client_id": None,
        "latency_ms": None, "errors": [], "notes": [note_of(finding)], "findings": [finding],
        "attempts": {
            "outcome": one.kind.value, "old_outcome": one.kind.old_name, "connections": one.connections,
            "tries": one.tries, "since": one.since / 1e9, "until": one.until / 1e9, "first_packet": one.first_packet,
        },
        "request": None, "response": None,
    }) for one in found for finding in [finding_object(one.finding)])  # fmt: skip


def _half(
    half: CapturedMessage | None, topics: Topics, look: Look
) -> tuple[dict[str, Any] | None, list[Finding], dict[str, str]]:
    """Return (one half as a JSON object, its findings, the names of topics that it names only by id)."""
    if half is None:
        return None, [], {}
    shown = half_object(half, None)
    message = half.take()  # record keys and values are turned into text in place
    if message is None:
        return shown, [], {}
    names: dict[str, str] = {}
    grammars = [(message.grammar, message.body), *((payload.grammar, payload.value) for payload in message.payloads)]
    for grammar, value in grammars:
        if has_type(grammar, "uuid"):
            rows, _, _ = outline(grammar)(value)
            names |= {str(topic): topics[topic] for topic, *_ in rows if topic in topics}
    if half.data or message.body:  # of a half without bytes a log may tell no field at all
        shown["body"] = json_body(message, look)
    return shown, findings_of(half, message), names


def half_object(half: CapturedMessage, body: Any) -> Json:
    """Return a half as a JSON object."""
    timed = half.first_time != UNTIMED
    return arranged_half(
        half.first_time / 1e9 if timed else None, iso(half.first_time) if timed else None,
        (half.first_packet, half.last_packet) if half.data or half.missing else None,
        half.size or None, body,
    )  # fmt: skip


def arranged_half(time: Any, time_utc: Any, packets: Any, size: Any, body: Any) -> Json:
    """Return the JSON object of a half: its keys, in their order."""
    return {"time": time, "time_utc": time_utc, "packets": packets, "size": size, "body": body}


def points_object(exchange: Exchange) -> Json:
    """Return where an exchange was seen, and what became of its time; durations are milliseconds."""
    points = exchange.capture_points
    assert points is not None, "not merged"
    times = []
    for point in points.seen:
        ends = {"client": point.client, "broker": point.broker} if point.client else {}
        halves = {"request": _half_object(point.request), "response": _half_object(point.response)}
        times.append({"file": point.file, **ends, "latency_ms": _ms(point.latency), **halves})
    return {
        "times": times,
        "identity": "certain" if points.certain else "likely",
        "network_ms": _ms(points.network),
        "broker_ms": _ms(points.broker),
        "there_ms": _bounds(points.there),
        "back_ms": _bounds(points.back),
        "clock_ahead_ms": _bounds(points.ahead),
    }


def _half_object(half: Half | None) -> Json | None:
    if half is None:
        return None
    return {
        "first_utc": iso(half.first_time), "last_utc": iso(half.last_time),
        "packets": (half.first_packet, half.last_packet),
    }  # fmt: skip


def _bounds(bounds: Bounds | None) -> Json | None:
    """Return what is likely, and what is certain of it."""
    if bounds is None:
        return None
    return {"likely": bounds.middle / 1e6, "at_least": bounds.low / 1e6, "at_most": bounds.high / 1e6}


def _ms(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6


def errors_of(exchange: Exchange, topics: Topics) -> list[dict[str, Any]]:
    """Return the error codes of an exchange that are not 0 as JSON objects; a topic by its id where that is all."""
    outlines = (half.open_outline() for half in (exchange.request, exchange.response) if half is not None)
    return [
        {"code": error.code, "name": error.name, "topic": topic_text(error.topic, topics), "partition": error.partition}
        for outline in outlines
        if outline is not None
        for error in errors_in(outline)
    ]


def topic_text(topic: str | UUID | None, topics: Topics) -> str | None:
    """Return a topic's name, or its id as text where no name is known."""
    return topics.get(topic) or str(topic) if isinstance(topic, UUID) else topic


def json_body(message: Message, look: Look = HIDDEN) -> Any:
    """Return a message's body in a form for `dump`; changes the record sets of `message` in place."""
    body = shown_body(message, look)
    for path in record_sets(message.grammar):
        _texts(body, path)
    return plain(body) if has_type(message.grammar, "float64") else body


def message_json(message: Message, look: Look, topics: Topics) -> bytes:
    """Return the body of one message as a line of JSON."""
    return dump(json_body(message, look), show_secrets=look.show_secrets)


def dump(value: Any, *, show_secrets: bool = False) -> bytes:
    """Return a value as one line of JSON, newline included, with characters that are not printable as escapes."""
    return printable(encoded(value, show_secrets=show_secrets))


def encoded(value: Any, *, show_secrets: bool = False) -> bytes:
    """Return a value as one line of JSON, newline included.

    What orjson refuses (strings that are not valid UTF-8, tags as keys) is converted by `plain` first. Raises
    `TypeError` for a value without a JSON form.
    """
    default = as_json if show_secrets else _veiled
    try:
        return orjson.dumps(value, default, orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return orjson.dumps(plain(value), default, orjson.OPT_APPEND_NEWLINE)


def printable(line: bytes) -> bytes:
    """Return JSON with escapes in place of characters that are not printable, so that none reaches a terminal.

    A newline may end it.
    """
    if line.isascii() and DELETE not in line:
        return line
    text = line.decode()
    return line if text[:-1].isprintable() else text.translate(ESCAPED).encode()


def _escaped(code: int) -> str:
    """Return a character of JSON, as an escape unless it is printable."""
    letter = chr(code)
    if letter.isprintable() or letter == "\n":
        return letter
    return json.dumps(letter)[1:-1] if letter != "\x7f" else "\\u007f"


ESCAPED: Final = Memo(_escaped)


def _veiled(value: Any) -> Any:
    veiled = veil(value)
    if isinstance(veiled, OpenedPayload) and veiled.secret:
        return {**redacted(len(veiled)), "payload": veiled.name, "value": plain(veiled.value)}
    return as_json(veiled)


def redacted(size: int) -> dict[str, int]:
    """Return the object in place of a redacted value, with its former key for two releases."""
    return {"redacted": size, "hidden": size}


def as_json(value: Any) -> Any:
    if isinstance(value, Hidden):
        return redacted(len(value))
    if isinstance(value, OpenedPayload):
        return {"base64": base64.b64encode(value).decode(), "payload": value.name, "value": plain(value.value)}
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def plain(value: Any) -> Any:
    """Return the value with keys as strings, and invalid strings and numbers that JSON lacks as base64 and strings."""
    if isinstance(value, str):
        if value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value):
            return value
        return as_json(value.encode("utf-8", "surrogateescape"))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


@cache
def has_type(grammar: WireStruct, type: str) -> bool:
    """Return whether messages of this grammar may hold a "uuid" (an id of a topic) or a "float64" (NaN)."""
    return any(row.type == type for row in layout(grammar))


@cache
def record_sets(grammar: Node) -> tuple[Path, ...]:
    """Return the paths of the record sets in a grammar, as field names; items of arrays add nothing to a path."""
    if isinstance(grammar, RecordsNode):
        return ((),)
    return tuple((*filter(None, [child.key]), *path) for child in children(grammar) for path in record_sets(child.node))


def _texts(value: Any, path: Path) -> None:
    """Make the records of the record sets at this path readable; lists on the way are gone through."""
    if isinstance(value, list):
        for item in value:
            _texts(item, path)
    elif isinstance(value, dict):
        if path:
            _texts(value.get(path[0]), path[1:])
        else:
            _entry_texts(value)


def _entry_texts(entry: dict[str, Any]) -> None:
    """Turn keys and values of the records in a batch or message, and values of their headers, into text in place.

    Bytes that are not valid UTF-8 stay bytes.
    """
    records = entry.get("records")
    if "magic" not in entry:
        return
    if entry["magic"] != 2:
        entry["key"] = text(entry.get("key"))
        if records is None:
            entry["value"] = text(entry.get("value"))
        for record in records or ():
            _entry_texts(record)
        return
    for record in records or ():
        record["key"] = text(record["key"])
        record["value"] = text(record["value"])
        for header in record["headers"] or ():
            header["value"] = text(header["value"])


def text(data: bytes | None) -> str | bytes | None:
    """Return bytes as text if they are valid UTF-8; an opened payload and anything else is returned unchanged."""
    try:
        return data.decode() if type(data) is bytes else data
    except UnicodeDecodeError:
        return data
