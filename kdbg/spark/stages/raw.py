"""Exchanges between two stages: paired, not decoded. One half of the pipeline writes these rows, the other reads them.

What is in a row is what an `Exchange` is made of: the bytes of both halves, when and in which packets they came, what
was found odd while they were paired, and what the connection had told by then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pyarrow as pa

from ...findings import pack as pack_finding
from ...findings import unpack as unpack_finding
from ...grammars import find
from ...grammars.sasl import api as SASL_TOKEN
from ...messages.exchange import CapturedMessage, Exchange, Known, Peers
from ...messages.message import opaque_api
from ...wire import Api
from ...wire.language.api import Direction

HALF = {
    "data": pa.large_binary(),
    "first_time": pa.int64(),
    "last_time": pa.int64(),
    "first_packet": pa.int64(),
    "last_packet": pa.int64(),
    "missing": pa.int64(),
}
SCHEMA = pa.schema({
    "capture": pa.int32(),
    "connection": pa.int64(),
    "client_host": pa.string(),
    "client_port": pa.int32(),
    "broker_host": pa.string(),
    "broker_port": pa.int32(),
    "api_key": pa.int16(),
    "version": pa.int16(),
    "correlation_id": pa.int32(),
    "client_id": pa.binary(),  # may hold bytes that are no UTF-8
    "answered": pa.bool_(),
    "mechanism": pa.string(),
    "findings": pa.binary(),  # JSON
    **{f"request_{name}": kind for name, kind in HALF.items()},
    **{f"response_{name}": kind for name, kind in HALF.items()},
})  # fmt: skip
NO_HALF = (None,) * len(HALF)
RawRow = tuple[Any, ...]


def pack(exchange: Exchange, capture: int) -> RawRow:
    """Return one exchange as a row; `peers.number` is the connection's number in the capture."""
    peers, client_id, api = exchange.peers, exchange.client_id, exchange.api
    return (
        capture,
        peers.number,
        *peers.client,
        *peers.broker,
        None if api is None else api.key,
        exchange.version,
        exchange.correlation_id,
        None if client_id is None else client_id.encode("utf-8", "surrogateescape"),
        exchange.answered,
        _mechanism(exchange.request),
        json.dumps([*map(pack_finding, exchange.findings)]).encode() if exchange.findings else None,
        *_pack_half(exchange.request),
        *_pack_half(exchange.response),
    )


def _mechanism(half: CapturedMessage | None) -> str | None:
    """Return the SASL mechanism that the connection told, by which tokens are read."""
    return None if half is None or half.known is None else half.known.facts.get("mechanism")


def _pack_half(half: CapturedMessage | None) -> RawRow:
    if half is None:
        return NO_HALF
    return half.data, half.first_time, half.last_time, half.first_packet, half.last_packet, half.missing


def batch(rows: list[RawRow]) -> pa.RecordBatch:
    """Return rows as an Arrow batch."""
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def unpack(rows: pa.RecordBatch, topics: dict[UUID, str]) -> Iterator[tuple[int, Exchange]]:
    """Yield (capture, exchange) of each row, as they were packed; `topics` are the names of topic ids."""
    number = 0
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        capture, connection, client, client_port, broker, broker_port, key, version, correlation_id = row[:9]
        client_id, answered, mechanism, findings = row[9:13]
        peers = Peers(connection, (client, client_port), (broker, broker_port))
        name = None if client_id is None else client_id.decode("utf-8", "surrogateescape")
        exchange = Exchange(peers, _api(key), version, correlation_id, name)
        exchange.number = number = number + 1
        exchange.answered = answered
        if findings is not None:
            exchange.findings = [*map(unpack_finding, json.loads(findings))]
        known = Known(topics, {} if mechanism is None else {"mechanism": mechanism})
        exchange.request = _half(row[13:19], "request", exchange, known)
        exchange.response = _half(row[19:25], "response", exchange, known)
        yield capture, exchange


def _api(key: int | None) -> Api | None:
    """Return the API as the engine knew it."""
    if key is None:
        return None
    return SASL_TOKEN if key == SASL_TOKEN.key else find(key) or opaque_api(key)


def _half(row: RawRow, direction: Direction, exchange: Exchange, known: Known) -> CapturedMessage | None:
    data, first_time, last_time, first_packet, last_packet, missing = row
    if data is None:
        return None
    half = CapturedMessage(data, (first_time, last_time), (first_packet, last_packet), direction, missing)
    half.api, half.version = exchange.api, exchange.version
    if exchange.api is not None:
        half.known = known
        half.asked = exchange.request if direction == "response" else None
    return half
