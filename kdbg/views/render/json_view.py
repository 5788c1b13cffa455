"""The view of exchanges as JSON Lines: bodies of clean ones straight from their bytes, all others by their values."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from orjson import Fragment

from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import NO_HEADER, grammar_of, header_grammar
from ...protocol.findings import Finding
from ...protocol.grammars.payloads import SPECIAL
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.readings.codegen import UNREADABLE
from ...protocol.wire.readings.runtime import Odd
from .json_source import JsonWriter, json_writer
from .jsonlines import Json, Topics, dump, errors_of, exchange_object, half_object, has_uuids, json_line, record_sets
from .style import Look


class Writers(NamedTuple):
    """What writes the bodies of one API and version, and whether they name topics by ids."""

    request: JsonWriter | None
    response: JsonWriter | None
    by_id: bool


class JsonView:
    """Renders exchanges, each as one line of JSON."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.topics, self.look = topics, look
        self._writers: dict[tuple[Api, int], Writers] = {}

    def __call__(self, exchange: Exchange) -> bytes:
        """Return the line of an exchange, newline included."""
        line = self._straight(exchange)
        return json_line(exchange, self.topics, self.look) if line is None else line

    def _straight(self, exchange: Exchange) -> bytes | None:
        """Return the line made without values; None for what is odd, or cannot be said without them."""
        request, response, api = exchange.request, exchange.response, exchange.api
        if request is None or request.missing or api is None or exchange.lines or (response and response.missing):
            return None
        writers = self._writers.get((api, exchange.version)) or self._compiled(api, exchange.version)
        if writers.request is None or (writers.response is None and response is not None):
            return None
        names = self._names(exchange) if writers.by_id else {}
        if names is None:
            return None
        answer: Json | None = None
        erring, more = False, tuple[Finding, ...]()
        try:
            asked, failed, odd = _write(request, writers.request)
            if response is not None and writers.response is not None:
                answer, erring, more = _write(response, writers.response)
        except UNREADABLE:
            return None
        errors = errors_of(exchange, self.topics) if failed or erring else []
        return dump(exchange_object(exchange, asked, answer, (*exchange.findings, *odd, *more), errors, names))

    def _compiled(self, api: Api, version: int) -> Writers:
        """Return the writers of an API's version, made on first use."""
        sides = grammar_of(api, version, "request"), grammar_of(api, version, "response")
        if version not in api.versions or (self.look.hide_values and any(map(record_sets, sides))):
            found = Writers(None, None, False)
        else:
            asks, answers = (self._writer(api, version, side) for side in ("request", "response"))
            found = Writers(asks, answers, any(map(has_uuids, sides)))
        self._writers[api, version] = found
        return found

    def _writer(self, api: Api, version: int, direction: Direction) -> JsonWriter | None:
        if not api.reads(direction, version):
            return None
        header = NO_HEADER if api.headerless else header_grammar(api, version, direction)
        return json_writer(header, grammar_of(api, version, direction))

    def _names(self, exchange: Exchange) -> dict[str, str] | None:
        """Return the names of topics that are named by id alone; None where payloads may be opened."""
        known: dict[str, str] = {}
        for rows, _, _ in exchange.outlines():
            for topic, *_ in rows:
                if type(topic) is UUID and self.topics.get(topic, topic) in SPECIAL:
                    return None
                if type(topic) is UUID and topic in self.topics:
                    known[str(topic)] = self.topics[topic]
        return known


def _write(half: CapturedMessage, write: JsonWriter) -> tuple[Json, bool, tuple[Finding, ...]]:
    """Return a half as a JSON object, whether it has an error code, and what is odd in it.

    Raise one of `UNREADABLE` where only its value tells.
    """
    out, odd = list[bytes](), list[Odd]()
    failed = write(half.data, out, odd)
    return half_object(half, Fragment(b"".join(out))), failed, half.prove(odd)
