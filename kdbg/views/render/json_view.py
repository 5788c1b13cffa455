"""The view of exchanges as JSON Lines: clean ones straight from their bytes, all others by their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from orjson import dumps

from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import NO_HEADER, grammar_of, header_grammar
from ...exchanges.messages.peers import Peers, connection_object
from ...protocol.findings import Finding
from ...protocol.grammars.payloads import SPECIAL
from ...protocol.wire import Api
from ...protocol.wire.language.api import Direction
from ...protocol.wire.readings.anomalies import Odd
from ...protocol.wire.readings.codegen import UNREADABLE
from .findings import finding_object, note
from .json_source import JsonWriter, json_writer
from .jsonlines import DELETE, Topics, dump, errors_of, has_uuids, json_line, points_object, printable, record_sets
from .style import Look
from .times import SECOND, iso_seconds

MOST = 4096
"""Beginnings of lines that are remembered."""
BEGINNING = b'{"time":%b,"time_utc":"%b.%09dZ","packets":[%d,%d],"size":%d,"body":'
MIDDLE = b'},"response":' + BEGINNING
UNANSWERED = b'},"response":null}\n'
NO_FINDINGS = b'"notes":[],"findings":[]'


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
        self._heads: dict[tuple[Any, ...], bytes] = {}

    def __call__(self, exchange: Exchange) -> bytes:
        """Return the line of an exchange, newline included."""
        line = self._straight(exchange)
        return json_line(exchange, self.topics, self.look) if line is None else line

    def _straight(self, exchange: Exchange) -> bytes | None:
        """Return the line made without values; None for what is odd, or cannot be said without them."""
        request, response, api = exchange.request, exchange.response, exchange.api
        if request is None or request.missing or api is None or exchange.lines or exchange.timing:
            return None
        if response is not None and response.missing:
            return None
        writers = self._writers.get((api, exchange.version)) or self._compiled(api, exchange.version)
        if writers.request is None or (writers.response is None and response is not None):
            return None
        names = self._names(exchange) if writers.by_id else b""
        if names is None:
            return None
        if exchange.capture_points:
            points = dumps(points_object(exchange))
            names += b',"capture_points":%b,"places":%b' % (points, points)
        out = [b""]
        try:
            failed, findings = self._bodies(request, response, writers, out)
        except UNREADABLE:
            return None
        if exchange.findings:
            findings = (*exchange.findings, *findings)
        latency = b"null" if response is None else dumps((response.first_time - request.last_time) / 1e6)
        errors = dumps(errors_of(exchange, self.topics)) if failed else b"[]"
        said = noted(findings) if findings else NO_FINDINGS
        values = exchange.number, exchange.correlation_id, latency, errors, said, names, *_beginning(request)
        out[0] = self._head(exchange, api) % values
        line = b"".join(out)
        return line if line.isascii() and DELETE not in line else printable(line[:-1]) + b"\n"

    def _bodies(
        self, request: CapturedMessage, response: CapturedMessage | None, writers: Writers, out: list[bytes]
    ) -> tuple[bool, tuple[Finding, ...]]:
        """Add the bodies, and what is around them; return whether they have an error code, and what is odd in them.

        Raise one of `UNREADABLE` where only values tell.
        """
        odd: list[Odd] = []
        failed = writers.request(request.data, out, odd)  # type: ignore[misc]
        findings = request.prove(odd)
        if response is None:
            out.append(UNANSWERED)
            return failed, findings
        if findings:
            odd = []
        out.append(MIDDLE % _beginning(response))
        failed = writers.response(response.data, out, odd) or failed  # type: ignore[misc]
        out.append(b"}}\n")
        return failed, findings + response.prove(odd)

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

    def _names(self, exchange: Exchange) -> bytes | None:
        """Return the field with the names of topics that are named by id alone; None where payloads may be opened."""
        known: dict[UUID, str] = {}
        for rows, _, _ in exchange.outlines():
            for topic, *_ in rows:
                if type(topic) is UUID and self.topics.get(topic, topic) in SPECIAL:
                    return None
                if type(topic) is UUID and topic in self.topics:
                    known[topic] = self.topics[topic]
        return b',"topic_names":' + dumps({str(topic): name for topic, name in known.items()}) if known else b""

    def _head(self, exchange: Exchange, api: Api) -> bytes:
        """Return the template of the beginning of a line, up to the body of the request."""
        peers = exchange.peers
        key = peers.number, peers.processes, api, exchange.version, exchange.client_id
        found = self._heads.get(key)
        if found is None:
            if len(self._heads) >= MOST:
                self._heads.clear()
            found = self._heads[key] = self._template(peers, *key[2:])
        return found

    def _template(self, peers: Peers, api: Api, version: int, client_id: str | None) -> bytes:
        connection = connection_object(peers)
        spoken = api.key >= 0
        said = {"connection": connection, "api": api.name, "api_key": api.key if spoken else None,
                "api_version": version if spoken else None}  # fmt: skip
        texts = [dumps(said)[:-1], dumps(client_id)]
        before, client = (text.replace(b"%", b"%%") for text in texts)
        return (
            b'%b,"number":%%d,"correlation_id":%%%b,"client_id":%b,"latency_ms":%%b,"errors":%%b,%%b%%b,"request":%b'
        ) % (before, b"d" if spoken else b".0snull", client, BEGINNING)


def _beginning(half: CapturedMessage) -> tuple[bytes, bytes, int, int, int, int]:
    """Return what fills the template of what stands in front of a half's body."""
    time = half.first_time
    return (
        dumps(time / 1e9), iso_seconds[time // SECOND], time % SECOND,
        half.first_packet, half.last_packet, len(half.data) + 4,
    )  # fmt: skip


def noted(findings: Sequence[Finding]) -> bytes:
    """Return the two fields that tell of findings."""
    return dump({"notes": [*map(note, findings)], "findings": [*map(finding_object, findings)]})[1:-2]
