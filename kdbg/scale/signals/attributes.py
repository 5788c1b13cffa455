"""A span as data: what it is called, when it was, what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from ...exchanges.messages.capture_points import UNNUMBERED, split_object, tcp_object
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Peers
from ...exchanges.messages.rejection import is_normal_step
from ...protocol.wire.readings.outline import Topics
from ...views.render.values import escape
from ...views.tables.message_columns import WantedRows, merged, message_columns
from ...views.tables.message_columns import partitions_of as partition_columns

Value: TypeAlias = str | bool | int | float | tuple[str, ...] | tuple[int, ...]
Attributes: TypeAlias = Mapping[str, Value]
NOTHING: Attributes = MappingProxyType({})
LATEST = (1 << 64) - 1
"""The last nanosecond since 1970 that OTLP can say."""


class SpanSide(IntEnum):
    """Whose side a span tells, by the numbers of OTLP."""

    INTERNAL = 1
    CLIENT = 3


class Event(NamedTuple):
    """What happened at a moment, in nanoseconds since 1970, while a span lasted."""

    name: str
    time: int
    attributes: Attributes = NOTHING


class Link(NamedTuple):
    """Another trace's span, or an earlier one, that this one has to do with; `remote`: another program made that."""

    trace: bytes
    span: bytes
    remote: bool = True
    attributes: Attributes = NOTHING


class Span(NamedTuple):
    """A span: ids are of 16 bytes for its trace, of 8 for itself and its parent, b"" where it has none.

    Times are nanoseconds since 1970. `error` says what went wrong, "" for nothing.
    """

    trace: bytes
    id: bytes
    parent: bytes
    name: str
    kind: SpanSide
    start: int
    end: int
    attributes: Attributes
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    error: str = ""


def moment(time: int) -> int:
    """Return the nearest time that OTLP can say."""
    return min(max(time, 0), LATEST)


LONGEST: Final = 256
"""Letters of a name that are kept."""
NO_RECORDS: Final = WantedRows()
MOST: Final = 100
"""Topics, groups and errors of an exchange that are named."""
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.44.0"
"""The version of OpenTelemetry's conventions that names follow: https://opentelemetry.io/docs/specs/semconv/messaging."""
OPERATIONS: Final = {
    0: ("send", "send"), 1: ("poll", "receive"), 8: ("commit", "settle"), 28: ("commit", "settle"),
    78: ("poll", "receive"), 79: ("acknowledge", "settle"),
}  # fmt: skip
"""API key → the name and the type of the operation on messages in the conventions; other APIs have none."""


def clean(text: str) -> str:
    """Return captured text so that it can be shown anywhere: escaped, and not endless."""
    return escape(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


def known_attributes(given: Mapping[str, Any]) -> dict[str, Value]:
    """Return attributes without those of which nothing is known."""
    return {name: value for name, value in given.items() if value is not None and value != () and value != ""}


def of_peers(peers: Peers) -> dict[str, Value]:
    """Return what is said of the ends of a connection."""
    client, broker = peers.client, peers.broker
    named = clean(peers.tls.server_name) if peers.tls is not None else ""
    return known_attributes({
        "messaging.system": "kafka", "network.protocol.name": "kafka", "network.transport": "tcp",
        "network.type": "ipv6" if ":" in broker[0] else "ipv4",
        "server.address": named or broker[0], "server.port": broker[1] or None,
        "network.peer.address": broker[0], "network.peer.port": broker[1] or None,
        "client.address": client[0], "client.port": client[1] or None,
        "kafka.connection": peers.number or None,
    })  # fmt: skip


def of_exchange(exchange: Exchange, about: SpanSubject) -> dict[str, Value]:
    """Return what is said of an exchange; `about` is what it is about."""
    api, request, response = exchange.api, exchange.request, exchange.response
    spoken = api is None or api.key >= 0
    numbered = spoken and exchange.correlation_id != UNNUMBERED
    name, kind = OPERATIONS.get(api.key, (None, None)) if api is not None else (None, None)
    return of_peers(exchange.peers) | known_attributes({
        "messaging.client.id": None if exchange.client_id is None else clean(exchange.client_id),
        "messaging.operation.name": name, "messaging.operation.type": kind,
        "messaging.destination.name": about.topic, "messaging.kafka.offset": about.offset,
        "messaging.destination.partition.id": None if about.partition is None else str(about.partition),
        "messaging.consumer.group.name": _only(about.groups),
        "messaging.batch.message_count": about.records if about.records > 1 else None,
        "error.type": about.failed[0] if about.failed else None,
        "kafka.exchange": exchange.number or None,
        "kafka.api": None if api is None else api.name,
        "kafka.api_key": api.key if api is not None and spoken else None,
        "kafka.api_version": exchange.version if api is not None and spoken else None,
        "kafka.correlation_id": exchange.correlation_id if numbered else None,
        "kafka.topics": about.topics[:MOST], "kafka.groups": about.groups[:MOST],
        "kafka.transactional_id": about.transactional_id,
        "kafka.errors": about.errors[:MOST], "kafka.error_codes": about.codes[:MOST],
        "kafka.request.size": None if request is None else request.size,
        "kafka.response.size": None if response is None else response.size,
        "kafka.latency_ms": exchange.latency_ms,
    } | {f"kafka.{name}": value for name, value in (split_object(exchange.timing) or {}).items()})  # fmt: skip


def of_connection(exchange: Exchange) -> dict[str, Value]:
    """Return what is said of the connection of an exchange: its ends, its TLS, who is at its ends, what TCP tells."""
    peers = exchange.peers
    tls, processes = peers.tls, peers.processes or (None, None)
    tcp = tcp_object(exchange.timing) or {}
    protocol, _, version = ("" if tls is None else tls.version).lower().partition("v")
    found: dict[str, Any] = {
        "tls.protocol.name": protocol, "tls.protocol.version": version,
        "tls.cipher": None if tls is None else tls.cipher,
        "kafka.proxy": None if peers.via is None else peers.via.protocol,
        "kafka.tcp.round_trip_ms": tcp.get("round_trip_ms"), "kafka.tcp.syns": tcp.get("syns"),
        "kafka.tcp.closed": tcp.get("closed"), "kafka.tcp.reset": tcp.get("reset"),
    }  # fmt: skip
    for end in ("client", "broker"):
        found[f"kafka.tcp.resent.{end}"] = tcp["resent"][end] if tcp else None
        found[f"kafka.tcp.zero_windows.{end}"] = tcp["zero_windows"][end] if tcp else None
    for end, process in zip(("client", "broker"), processes, strict=True):
        if process is not None:
            found |= {f"kafka.{end}.pid": process.pid, f"kafka.{end}.process": clean(process.name)}
    return of_peers(peers) | known_attributes(found)


def partitions_of(exchange: Exchange) -> Iterator[tuple[Any, int, str | None, int | None, int | None]]:
    """Yield (topic, partition, group, offset, high watermark) of each partition without an error code.

    The offset is that of the last record, or that which is committed. A message that may show secrets has none.
    """
    api = exchange.api.name if exchange.api is not None else ""
    told = {message.direction: message for message in exchange.messages(shallow=True) if not message.misaligned}
    halves = [message_columns(told[side], NO_RECORDS) if side in told else None for side in ("request", "response")]
    for (topic, partition, group), asked, answer in partition_columns(*halves):
        code, (offset, high_watermark, *_), held, _ = merged(asked, answer)
        if api in ("Produce", "Fetch"):  # in a request, offsets of records count from 0
            base = 0 if api == "Fetch" else offset
            offset = None if base is None or base < 0 or held.last_offset is None else base + held.last_offset
        if not code:
            yield topic, partition, group, None if offset is None or offset < 0 else offset, high_watermark


class SpanSubject:
    """What an exchange is about: names of topics and groups, records, errors; `failed` are those but normal steps.

    Of a message that may show secrets there are error codes alone.
    """

    def __init__(self, exchange: Exchange, names: Topics) -> None:
        halves = [half for half in (exchange.request, exchange.response) if half is not None]
        outlines = [found for half in halves if (found := half.open_outline()) is not None]
        rows = [row for outline in outlines for row in outline[0]]
        topics = (row[0] for row in rows if row[0] is not None)
        self.topics = _distinct(
            clean(names.get(topic, str(topic)) if isinstance(topic, UUID) else str(topic)) for topic in topics
        )
        partitions = {row[1] for row in rows if row[1] is not None}
        one = len(partitions) == 1 and len(self.topics) == 1
        self.partition: int | None = partitions.pop() if one else None
        self.topic: str | None = _only(self.topics)
        self.groups: tuple[str, ...] = _distinct(clean(group) for outline in outlines for group in outline[1] if group)
        self.records: int = sum(row[3] for row in rows if row[3])
        errors = exchange.errors
        self.errors: tuple[str, ...] = _distinct(error.name for error in errors)
        self.codes: tuple[int, ...] = tuple(dict.fromkeys(error.code for error in errors))
        failed = (error.name for error in errors if not is_normal_step(exchange.api, error.code))
        self.failed: tuple[str, ...] = _distinct(failed)
        name, kind = OPERATIONS.get(exchange.api.key, ("", "")) if exchange.api is not None else ("", "")
        is_single = one and kind and (self.records == 1 or name == "commit")
        self.offset = next((offset for *_, offset, _ in partitions_of(exchange)), None) if is_single else None
        request = exchange.request
        found = None if request is None else request.fields(("transactional_id",)).get("transactional_id")
        self.transactional_id = clean(found) if isinstance(found, str) else None


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


def _only(names: tuple[str, ...]) -> str | None:
    return names[0] if len(names) == 1 else None
