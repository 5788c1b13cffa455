"""Exchanges as bytes: paired, not decoded. One process packs them, another unpacks them and reads what they say.

What is packed is what an `Exchange` is made of: the bytes of both halves, when and in which packets they came, what
was found odd while they were paired, and what the connection had told by then. Numbers have their places, the bytes lie
one after the other, and what many exchanges have in common is written once.
"""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, pairwise
from typing import Any
from uuid import UUID

from ...protocol.findings import Kind
from ...protocol.findings import pack as pack_finding
from ...protocol.findings import unpack as unpack_finding
from ...protocol.grammars import find
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from .exchange import CapturedMessage, Exchange
from .known import Known
from .message import opaque_api
from .mistakes import Searches
from .peers import Decrypted, Peers, Process, Via
from .rejection import note_rejection

NUMBERS = struct.Struct("<IqqiBI" + "qqqqqq" * 2 + "I")
"""The place of what it has in common with others, its number, how many names were known, correlation id, whether it is
answered, how many like it came before; of both halves bytes (-1: there is none), times, packets and missing bytes;
bytes of findings, which are JSON after those of the halves."""
NO_HALF = (-1, 0, 0, 0, 0, 0)
_pack = NUMBERS.pack
SIZES = struct.Struct("<QQQ")


def places(numbers: bytes) -> list[int]:
    """Return where the bytes of each exchange begin that was packed, and where the last ends."""
    found = [0]
    for *_, asked, _, _, _, _, _, answered, _, _, _, _, _, findings in NUMBERS.iter_unpack(numbers):
        found.append(found[-1] + max(asked, 0) + max(answered, 0) + findings)
    return found


class Packed:
    """Takes exchanges, until they are taken away as bytes."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._common: dict[tuple[int | str | None, ...], int] = {}
        self._kept: list[tuple[int, Exchange, Known | None]] = []
        self._numbers: list[bytes] = []
        self._data: list[bytes] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, exchange: Exchange, capture: int = 0) -> None:
        """Pack an exchange of a capture, which has a number."""
        request, response, findings = exchange.request, exchange.response, b""
        half = request if request is not None else response
        known = half.known if half is not None else None
        # by the places of objects, which `_kept` holds: to hash what is in them takes longer than all else
        key = capture, id(exchange.peers), id(exchange.api), exchange.version, exchange.client_id, id(known)
        place = self._common.get(key)
        if place is None:
            place = self._common[key] = len(self._kept)
            self._kept.append((capture, exchange, known))
        if request is not None:
            self._data.append(request.data)
        if response is not None:
            self._data.append(response.data)
        if exchange.findings:
            findings = json.dumps([*map(pack_finding, exchange.findings)]).encode()
            self._data.append(findings)
        self._numbers.append(
            _pack(
                place, exchange.number, half.names if half is not None else 0, exchange.correlation_id,
                exchange.answered, exchange.repeats, *_numbers(request), *_numbers(response), len(findings),
            )
        )  # fmt: skip

    def take(self) -> tuple[bytes, bytes, list[bytes]]:
        """Return, and forget, `NUMBERS` of each exchange, JSON of what they share, and the halves' bytes, in parts."""
        common = json.dumps([
            [capture, one.peers, None if one.api is None else one.api.key, one.version, one.client_id,
             {} if known is None else known.facts]
            for capture, one, known in self._kept
        ]).encode()  # fmt: skip
        taken = b"".join(self._numbers), common, self._data
        self._begin()
        return taken


def _numbers(half: CapturedMessage | None) -> tuple[int, ...]:
    if half is None:
        return NO_HALF
    return len(half.data), half.first_time, half.last_time, half.first_packet, half.last_packet, half.missing


def unpack(
    exchanges: bytes,
    common: bytes,
    data: bytes,
    topics: dict[UUID, str],
    place: int = 0,
    searches: Searches | None = None,
) -> Iterator[tuple[int, Exchange]]:
    """Yield (capture, exchange) of all, as they were packed; the bytes of halves begin at `place` in the data.

    `topics` are the names of topic ids; `searches` bounds those for mistakes.
    """
    searches = searches or Searches()
    all_shared = [in_common(each, topics, searches) for each in json.loads(common)]
    for shared, number, names, correlation_id, answered, repeats, *rest in NUMBERS.iter_unpack(exchanges):
        capture, peers, api, version, client_id, known = all_shared[shared]
        exchange = Exchange(peers, api, version, correlation_id, client_id)
        exchange.number, exchange.answered, exchange.repeats = number, bool(answered), repeats
        asked = place + max(rest[0], 0)
        told = asked + max(rest[6], 0)
        found = told + rest[12]
        exchange.request = _half(data[place:asked], rest[:6], "request", exchange, known, names)
        exchange.response = _half(data[asked:told], rest[6:12], "response", exchange, known, names)
        if found > told:
            exchange.findings = [*map(unpack_finding, json.loads(data[told:found]))]
            for finding in exchange.findings:
                half = exchange.request if finding.side == "request" else exchange.response
                if finding.kind is Kind.INVALID_LENGTH and half is not None:
                    half.excess = finding.length
        note_rejection(exchange)
        place = found
        yield capture, exchange


class Parcels:
    """Exchanges as bytes for copies of this process, which know what it knew when they were made.

    `topics` are the names of topic ids: a copy is told those that were learnt since.
    """

    def __init__(self, topics: dict[UUID, str]) -> None:
        self.topics: dict[UUID, str] = topics
        self._known: dict[int, int] = {}
        self.searches: Searches = Searches()

    def copied(self, copy: int) -> None:
        """Take note that the copy of this number is made now."""
        self._known[copy] = len(self.topics)

    def pack(self, exchanges: Sequence[Exchange], copy: int) -> list[bytes]:
        """Return exchanges for the copy of this number, as bytes in parts."""
        packed, known = Packed(), self._known.get(copy, len(self.topics))
        self._known[copy] = len(self.topics)
        for exchange in exchanges:
            packed.add(exchange)
        names = pickle.dumps(list(islice(self.topics.items(), known, None)))
        numbers, common, data = packed.take()
        return [SIZES.pack(len(names), len(numbers), len(common)), names, numbers, common, *data]

    def unpack(self, packed: bytes) -> list[Exchange]:
        """Return the exchanges, in the copy, which then has all names that were known when they were packed."""
        ends = [*accumulate(SIZES.unpack_from(packed), initial=SIZES.size)]
        names, numbers, common = (packed[start:end] for start, end in pairwise(ends))
        self.topics.update(pickle.loads(names))  # what `pack` made
        return [exchange for _, exchange in unpack(numbers, common, packed, self.topics, ends[-1], self.searches)]


def in_common(
    common: list[Any], topics: dict[UUID, str], searches: Searches
) -> tuple[int, Peers, Api | None, int, str | None, Known]:
    """Return what exchanges have in common, as they hold it: the capture, then their own, and what was known."""
    capture, peers, key, version, client_id, facts = common
    api = None if key is None else api_of(key)
    return capture, peers_of(peers), api, version, client_id, Known(topics, facts, searches)


def api_of(key: int) -> Api:
    """Return the API of a key: that of SASL tokens, one of Kafka's, or one of which only the header is understood."""
    return SASL_TOKEN if key == SASL_TOKEN.key else find(key) or opaque_api(key)


def peers_of(packed: list[Any]) -> Peers:
    """Return the peers that JSON has as a list."""
    number, client, broker, first_packet, tls, via, ends, start = packed
    decrypted = Decrypted(tls[0], tls[1], tls[2], tuple(tls[3])) if tls is not None else None
    said = Via(*via) if via is not None else None
    processes = None
    if ends is not None:
        near, far = (Process(*end) if end is not None else None for end in ends)
        processes = near, far
    return Peers(number, tuple(client), tuple(broker), first_packet, decrypted, said, processes, start)


def _half(
    data: bytes, numbers: list[int], direction: Direction, exchange: Exchange, known: Known, names: int
) -> CapturedMessage | None:
    size, first_time, last_time, first_packet, last_packet, missing = numbers
    if size < 0:
        return None
    half = CapturedMessage(data, (first_time, last_time), (first_packet, last_packet), direction, missing)
    half.api, half.version, half.names = exchange.api, exchange.version, names
    if exchange.api is not None:
        half.known = known
        half.asked = exchange.request if direction == "response" else None
    return half
