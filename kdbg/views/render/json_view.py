"""The view of exchanges as JSON Lines: bodies of clean ones straight from their bytes, all others by their values."""

from __future__ import annotations

from typing import TypeAlias
from uuid import UUID

from orjson import Fragment

from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import NO_HEADER, grammar_of, header_grammar
from ...protocol.findings import Finding
from ...protocol.grammars.payloads import SPECIAL
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS
from ...protocol.wire.readings.codegen import UNREADABLE
from ...protocol.wire.readings.runtime import Odd
from .json_source import JsonWriter, json_writer
from .jsonlines import Json, Topics, dump, errors_of, exchange_object, half_object, has_type, json_line, record_sets
from .style import Look

Writers: TypeAlias = tuple[JsonWriter | None, JsonWriter | None, bool]
"""What writes requests and responses of one API and version, and whether they name topics by ids."""


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
        write, write_response, by_id = self._writers.get((api, exchange.version)) or self._compiled(
            api, exchange.version
        )
        if write is None or (write_response is None and response is not None):
            return None
        names: dict[str, str] = {}
        for rows, _, _ in exchange.outlines() if by_id else ():
            for topic, *_ in rows:
                if type(topic) is UUID and self.topics.get(topic, topic) in SPECIAL:
                    return None  # payloads may be opened
                if type(topic) is UUID and topic in self.topics:
                    names[str(topic)] = self.topics[topic]
        answer: Json | None = None
        erring, more = False, tuple[Finding, ...]()
        try:
            asked, failed, odd = _write(request, write)
            if response is not None and write_response is not None:
                answer, erring, more = _write(response, write_response)
        except UNREADABLE:
            return None
        errors = errors_of(exchange, self.topics) if failed or erring else []
        return dump(exchange_object(exchange, asked, answer, (*exchange.findings, *odd, *more), errors, names))

    def _compiled(self, api: Api, version: int) -> Writers:
        """Return the writers of an API's version, made on first use."""
        sides = grammar_of(api, version, "request"), grammar_of(api, version, "response")
        writers: list[JsonWriter | None] = [None, None]
        if version in api.versions and not (self.look.hide_values and any(map(record_sets, sides))):
            for side, direction in enumerate(DIRECTIONS):
                header = NO_HEADER if api.headerless else header_grammar(api, version, direction)
                writers[side] = json_writer(header, sides[side]) if api.reads(direction, version) else None
        request, response = writers
        found = self._writers[api, version] = request, response, any(has_type(grammar, "uuid") for grammar in sides)
        return found


def _write(half: CapturedMessage, write: JsonWriter) -> tuple[Json, bool, tuple[Finding, ...]]:
    """Return a half as a JSON object, whether it has an error code, and what is odd in it.

    Raise one of `UNREADABLE` where only its value tells.
    """
    out, odd = list[bytes](), list[Odd]()
    failed = write(half.data, out, odd)
    return half_object(half, Fragment(b"".join(out))), failed, half.prove(odd)
