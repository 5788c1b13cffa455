"""Exchanges between two stages: paired, not decoded. One half of the pipeline packs them, the other unpacks them.

What is packed is what an `Exchange` is made of: the bytes of both halves, when and in which packets they came, what
was found odd while they were paired, and what the connection had told by then. Numbers have their places, the bytes lie
one behind the other, and what many exchanges have in common is written once: to make columns of them costs more than
to make their rows.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple
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

SCHEMA = pa.schema({"exchanges": pa.binary(), "common": pa.binary(), "data": pa.large_binary()})
"""Many exchanges in one row: `NUMBERS` of each, JSON of what they have in common, and the bytes of all halves."""
NUMBERS = struct.Struct("<IiB" + "qqqqqq" * 2 + "I")
"""The place of what it has in common with others, correlation id, whether it is answered; of both halves bytes (-1:
there is none), times, packets and missing bytes; bytes of findings, which are JSON behind those of the halves."""
NO_HALF = (-1, 0, 0, 0, 0, 0)


class Common(NamedTuple):
    """What exchanges of a connection have in common; `api` is its key, `mechanism` that of SASL."""

    capture: int
    peers: Peers
    api: int | None
    version: int
    client_id: str | None
    mechanism: str | None


class Packed:
    """Takes exchanges, until they are taken away as one row."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._common: dict[Common, int] = {}
        self._numbers: list[bytes] = []
        self._data: list[bytes] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, exchange: Exchange, capture: int) -> None:
        """Pack an exchange; `peers.number` is the connection's number in the capture."""
        api, request, response = exchange.api, exchange.request, exchange.response
        mechanism = None if request is None or request.known is None else request.known.facts.get("mechanism")
        common = Common(
            capture, exchange.peers, None if api is None else api.key, exchange.version, exchange.client_id, mechanism
        )
        findings = json.dumps([*map(pack_finding, exchange.findings)]).encode() if exchange.findings else b""
        place = self._common.setdefault(common, len(self._common))
        halves = *_numbers(request), *_numbers(response)
        self._numbers.append(NUMBERS.pack(place, exchange.correlation_id, exchange.answered, *halves, len(findings)))
        self._data += [half.data for half in (request, response) if half is not None]
        self._data.append(findings)

    def take(self) -> pa.RecordBatch:
        """Return what was packed, and begin anew."""
        common, numbers, data = json.dumps([*self._common]).encode(), b"".join(self._numbers), b"".join(self._data)
        self._begin()
        return pa.RecordBatch.from_pydict({"exchanges": [numbers], "common": [common], "data": [data]}, schema=SCHEMA)


def _numbers(half: CapturedMessage | None) -> tuple[int, ...]:
    if half is None:
        return NO_HALF
    return len(half.data), half.first_time, half.last_time, half.first_packet, half.last_packet, half.missing


def unpack(rows: pa.RecordBatch, topics: dict[UUID, str]) -> Iterator[tuple[int, Exchange]]:
    """Yield (capture, exchange) of all in a batch, as they were packed; `topics` are the names of topic ids."""
    for row in rows.to_pylist():
        common = [_shared(each, topics) for each in json.loads(row["common"])]
        yield from _unpacked(row["exchanges"], row["data"], common)


class _Shared(NamedTuple):
    """What exchanges have in common, as they hold it."""

    capture: int
    peers: Peers
    api: Api | None
    version: int
    client_id: str | None
    known: Known


def _shared(common: list[Any], topics: dict[UUID, str]) -> _Shared:
    """Return what exchanges have in common; `common` is a `Common` as JSON has it."""
    capture, (number, client, broker), key, version, client_id, mechanism = common
    known = Known(topics, {} if mechanism is None else {"mechanism": mechanism})
    return _Shared(capture, Peers(number, _end(*client), _end(*broker)), _api(key), version, client_id, known)


def _end(address: str, port: int) -> tuple[str, int]:
    return address, port


def _unpacked(numbers: bytes, data: bytes, common: list[_Shared]) -> Iterator[tuple[int, Exchange]]:
    place = 0
    for number, (shared, correlation_id, answered, *rest) in enumerate(NUMBERS.iter_unpack(numbers), 1):
        capture, peers, api, version, client_id, known = common[shared]
        exchange = Exchange(peers, api, version, correlation_id, client_id)
        exchange.number, exchange.answered = number, bool(answered)
        asked = place + max(rest[0], 0)
        told = asked + max(rest[6], 0)
        found = told + rest[12]
        exchange.request = _half(data[place:asked], rest[:6], "request", exchange, known)
        exchange.response = _half(data[asked:told], rest[6:12], "response", exchange, known)
        if found > told:
            exchange.findings = [*map(unpack_finding, json.loads(data[told:found]))]
        place = found
        yield capture, exchange


def _api(key: int | None) -> Api | None:
    """Return the API as the engine knew it."""
    if key is None:
        return None
    return SASL_TOKEN if key == SASL_TOKEN.key else find(key) or opaque_api(key)


def _half(
    data: bytes, numbers: list[int], direction: Direction, exchange: Exchange, known: Known
) -> CapturedMessage | None:
    size, first_time, last_time, first_packet, last_packet, missing = numbers
    if size < 0:
        return None
    half = CapturedMessage(data, (first_time, last_time), (first_packet, last_packet), direction, missing)
    half.api, half.version = exchange.api, exchange.version
    if exchange.api is not None:
        half.known = known
        half.asked = exchange.request if direction == "response" else None
    return half
