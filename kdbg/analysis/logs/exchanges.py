"""Protocol lines in, exchanges out: responses find their requests by connection and correlation id.

Fields as a log shows them become those of a message's grammar; what does not fit is left out.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from ...exchanges.messages.capture_points import UNNUMBERED, LogLine
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import UNTIMED, Message, grammar_of
from ...exchanges.messages.peers import Peers
from ...protocol.findings import Finding
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import (
    Field,
    Fixed,
    LengthPrefixed,
    Node,
    NullableStruct,
    Sized,
    UuidNode,
    Varint,
    WireArray,
    WireStruct,
)
from ...protocol.wire.readings.outline import ALWAYS, NamesThen, Outline
from .dialect import Fields
from .lines import ProtocolLine

OTHERS: Mapping[str, tuple[str, ...]] = {
    "name": ("topicname", "topic"),
    "topic": ("topicname", "name"),
    "topics": ("topicmetadata", "responses"),
    "responses": ("topics",),
    "partitions": ("partitionmetadata", "partitionresponses"),
    "partitionresponses": ("partitions",),
    "partitionindex": ("partitionid", "partition"),
    "index": ("partition",),
    "errorcode": ("topicerrorcode", "partitionerrorcode"),
    "throttletimems": ("throttletime",),
    "timeoutms": ("timeout",),
    "apikeys": ("apiversions",),
    "leaderid": ("leader",),
    "replicanodes": ("replicas",),
    "isrnodes": ("isr",),
    "protocolname": ("groupprotocol",),
    "leader": ("leaderid",),
    "logappendtimems": ("logappendtime",),
}
"""What programs call fields, beside Kafka's names; both without underscores."""
RANGES = {"b": 7, "h": 15, "i": 31, "q": 63}
"""Bits of signed integers by the letters of `struct`."""
NOTHING: Any = ...
"""In place of a value that does not fit."""


def fitting(grammar: WireStruct, fields: Fields) -> dict[str, Any]:
    """Return those of the fields that messages of the grammar have, as they have them."""
    found: dict[str, Any] = {}
    given = {_plain(name): value for name, value in fields.items()}
    for member, names in _members(grammar):
        name = next((name for name in names if name in given), None)
        value = NOTHING if name is None else _fit(member.node, given[name])
        if value is not NOTHING:
            found[member.name] = value
    return found


@cache
def _members(grammar: WireStruct) -> tuple[tuple[Field, tuple[str, ...]], ...]:
    """Return the fields of a structure with the names that they may have in a log, Kafka's first."""
    plain = {_plain(member.name) for member in grammar.members}
    return tuple(
        (member, (name, *(other for other in OTHERS.get(name, ()) if other not in plain)))
        for member in grammar.members
        for name in (_plain(member.name),)
    )


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _fit(node: Node, value: Any) -> Any:
    """Return a value as a node has it; `NOTHING` where it cannot be one of its."""
    if isinstance(node, WireStruct):
        if isinstance(value, str) and len(node.members) == 1:  # a topic's name that was all of it in older versions
            value = {node.members[0].name: value}
        return fitting(node, value) if isinstance(value, Mapping) else NOTHING
    if isinstance(node, LengthPrefixed):
        return _fit(node.item, value)
    if isinstance(node, NullableStruct):
        return None if value is None else _fit(node.struct, value)
    if isinstance(node, WireArray):
        if value is None:
            return None if node.nullable else NOTHING
        items = [_fit(node.item, item) for item in value] if isinstance(value, (list, tuple)) else [NOTHING]
        return NOTHING if any(item is NOTHING for item in items) else items
    if isinstance(node, Sized):
        return _sized(node, value)
    if isinstance(node, UuidNode) and isinstance(value, str):  # Kafka writes 22 letters of base64, others hex
        try:
            return UUID(bytes=base64.urlsafe_b64decode(f"{value}==")) if len(value) == 22 else UUID(value)
        except ValueError:
            return NOTHING
    if not isinstance(node, (Fixed, Varint)):
        return NOTHING
    code = "q" if isinstance(node, Varint) else "?" if node.boolean else node.code
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and value.isascii() and len(value) < 21:
        value = int(value)
    if code == "?":
        return value if type(value) is bool else NOTHING
    if code == "d":
        return float(value) if type(value) in (int, float) else NOTHING
    bits = RANGES.get(code, 64)
    return value if type(value) is int and -1 << bits <= value < 1 << bits else NOTHING


def _sized(node: Sized, value: Any) -> Any:
    if value is None:
        return None if node.nullable else NOTHING
    if node.text:
        return value if isinstance(value, str) else NOTHING
    if isinstance(value, Mapping) and value.get("type") == "Buffer":  # as Node.js prints bytes
        value = value.get("data")
    if isinstance(value, list) and all(type(byte) is int and -128 <= byte < 256 for byte in value):
        return bytes(byte & 0xFF for byte in value)
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except ValueError:
            return NOTHING
    return value if isinstance(value, bytes) else NOTHING


UNVERSIONED = -1
"""The version of an exchange whose version is unknown."""


class LoggedMessage(CapturedMessage):
    """A half of an exchange that a log tells: it has no bytes, and of its fields those that the log shows."""

    __slots__ = ("_size",)

    def __init__(self, line: ProtocolLine, direction: Direction) -> None:
        said = line.facts
        side = 0 if direction == "request" else 1
        time = said.time
        if said.half == "both" and direction == "request" and time != UNTIMED and said.latency is not None:
            time = max(time - said.latency, 0)  # such a line is written when all is done
        super().__init__(b"", (time, time), (0, 0), direction)
        self.api, self.version = said.api, UNVERSIONED if said.version is None else said.version
        self._size = said.sizes[side] or 0
        version = said.api.versions[-1] if said.version is None else said.version
        grammar = grammar_of(said.api, version, direction)
        body = fitting(grammar, said.fields[side])
        self._message = Message(said.api, version, direction, None, body, grammar, self._size)
        self._facts = False
        self.known_findings = ()

    @property
    def size(self) -> int:
        """Bytes on the wire, the 4-byte size included; 0 where the log does not say."""
        return self._size

    def message(self, *, shallow: bool = False) -> Message | None:
        """Return what the log tells of it."""
        return self._message

    def facts(self) -> Outline | None:
        """Return None: there are no bytes to tell."""
        return None

    def take(self) -> Message | None:
        """Return the message; there are no bytes to read it from again."""
        return self._message

    def forget(self) -> None:
        """Do nothing, as for `take`."""

    def findings(self, *, shallow: bool = False) -> Sequence[Finding]:
        """Return nothing: what a log leaves out is not odd."""
        return ()


def logged_exchange(line: ProtocolLine, peers: Peers) -> Exchange:
    """Return the exchange that a line tells of, with the halves that it speaks of."""
    said = line.facts
    version = UNVERSIONED if said.version is None else said.version
    correlation_id = UNNUMBERED if said.correlation_id is None else said.correlation_id
    exchange = Exchange(peers, said.api, version, correlation_id, said.client_id)
    add(exchange, line)
    return exchange


def add(exchange: Exchange, line: ProtocolLine) -> None:
    """Add to an exchange what a line says of it."""
    said = line.facts
    if said.half != "response":
        exchange.request = LoggedMessage(line, "request")
    if said.half != "request":
        exchange.response = LoggedMessage(line, "response")
    if said.latency is not None:
        exchange.logged_latency = said.latency
    exchange.lines += (line_of(line),)


def line_of(line: ProtocolLine, log: str = "", zone: int = 0) -> LogLine:
    """Return what is shown of a line beside its exchange; `zone` is how far times without one are ahead of UTC."""
    said = line.facts
    time = said.time if said.zoned or said.time == UNTIMED else said.time - zone
    return LogLine(line.dialect.name, line.number, said.half, time, log)


MOST_WAITING = 1 << 16
"""Requests whose responses are waited for; of more, the oldest are handed out without."""
MOST_CONNECTIONS = 1 << 16
"""Connections that are remembered: one that comes again after so many others has another number."""


class Conversations:
    """What is remembered between lines. Its attributes are those of `Engine`, so that one driver takes either."""

    def __init__(self) -> None:
        self.connections: int = 0
        self.other_connections: int = 0
        self.count: int = 0
        self.topic_names: dict[UUID, str] = ALWAYS.copy()
        self.names_then: NamesThen = NamesThen(self.topic_names)
        self.findings: list[tuple[Peers, Finding]] = []
        self._peers: dict[tuple[str, str, str | None], Peers] = {}
        self._waiting: dict[tuple[int, int], Exchange] = {}

    def chunks(self, blocks: Iterable[Sequence[ProtocolLine]]) -> Iterator[list[Exchange]]:
        """Yield the exchanges that lines complete, those of a block together; in the end those without a response."""
        for block in blocks:
            final = [exchange for line in block for exchange in self._take_line(line)]
            if final:
                yield self._numbered(final)
        left = list(self._waiting.values())
        self._waiting.clear()
        if left:
            yield self._numbered(left)

    def _take_line(self, line: ProtocolLine) -> Iterator[Exchange]:
        """Take the next line; yield the exchanges that are complete by it."""
        said = line.facts
        of = line.dialect.name, said.connection, said.client_id
        peers = self._peers.get(of)
        if peers is None:
            if len(self._peers) >= MOST_CONNECTIONS:
                del self._peers[next(iter(self._peers))]
            self.connections += 1
            peers = self._peers[of] = Peers(self.connections, said.client, said.broker)
        if said.correlation_id is None or said.half == "both":
            yield logged_exchange(line, peers)
            return
        key = peers.number, said.correlation_id
        asked = self._waiting.pop(key, None)
        if asked is not None and said.half == "response" and asked.api is said.api:
            add(asked, line)
            yield asked
            return
        if asked is not None:
            yield asked
        found = logged_exchange(line, peers)
        if said.half == "response":
            yield found
            return
        self._waiting[key] = found
        if len(self._waiting) > MOST_WAITING:
            yield self._waiting.pop(next(iter(self._waiting)))

    def _numbered(self, final: list[Exchange]) -> list[Exchange]:
        for exchange in final:
            self.count += 1
            exchange.number = self.count
        return final
