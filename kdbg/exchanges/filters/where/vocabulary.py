"""The names an expression may use: those of `decode --format json`, and handy ones; one entry each.

To add a name, add its `Term`: the type in the library's notation, how it is read from an exchange, what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from ....protocol.grammars import apis, headers, kept
from ....protocol.wire import nodes
from ....protocol.wire.language import Direction
from ....protocol.wire.records import RecordsNode
from ...messages.capture_points import SPLIT_NAMES, split_object, tcp_object
from ...messages.exchange import CapturedMessage, Exchange
from ...messages.message import grammar_of
from ...messages.peers import connection_object, endpoint
from ...messages.requested_wait import asked_to_wait, beyond_wait
from ..filter import Topics
from .library import BOOL, BYTES, LIST, MAP, NUMBER, TEXT, TIME, Call, Constant, Name, Node

Words = Literal["", "api", "error", "code", "finding"]


@dataclass(slots=True, eq=False)
class Shape:
    """The kinds of values in a place, the `fields` of structures there, the `items` of lists.

    `open`: there may be more than is known, as in payloads and records. `words`: which names its texts may be; "code"
    stands for error codes, which are numbers but go by names as well.
    """

    kinds: set[str] = field(default_factory=set)
    fields: dict[str, Shape] = field(default_factory=dict)
    items: Shape | None = None
    open: bool = False
    words: Words = ""


OPEN = Shape(open=True)
OWN: Mapping[str, tuple[Shape, Callable[[CapturedMessage], Any]]] = {
    "time": (Shape({NUMBER}), lambda half: half.first_time / 1e9),
    "time_utc": (Shape({TEXT}), lambda half: utc(half.first_time)),
    "packets": (Shape({LIST}, items=Shape({NUMBER})), lambda half: [half.first_packet, half.last_packet]),
    "size": (Shape({NUMBER}), lambda half: half.size),
}
"""What a half has beside its body and its header, and how that is read."""


@kept
def half(direction: Direction) -> Shape:
    """Return the shape of requests or responses: what stands beside the body, and the fields of body and header."""
    body, header = Shape({MAP}), Shape({MAP})
    for api in apis():
        for version in api.versions:
            add(body, grammar_of(api, version, direction))
    for grammar in headers.REQUEST if direction == "request" else headers.RESPONSE:
        add(header, grammar)
    own = {name: shape for name, (shape, _) in OWN.items()}
    return Shape({MAP}, {**header.fields, **body.fields, **own, "body": body, "header": header})


def add(shape: Shape, node: nodes.Node) -> None:
    """Add what values of a node hold to a shape."""
    match node:
        case nodes.WireStruct():
            shape.kinds.add(MAP)
            for member in node.members:
                add(shape.fields.setdefault(member.name, Shape()), member.node)
            if node.tags is not None:
                shape.fields[nodes.TAGGED] = OPEN
        case nodes.NullableStruct():
            add(shape, node.struct)
        case nodes.LengthPrefixed():
            add(shape, node.item)
        case nodes.WireArray():
            shape.kinds.add(LIST)
            shape.items = shape.items or Shape()
            add(shape.items, node.item)
        case RecordsNode():
            shape.kinds.add(LIST)
            shape.items = OPEN
        case nodes.UuidNode():
            shape.kinds.add(TEXT)
        case nodes.Sized() if "STRING" in node.bnf:
            shape.kinds.add(TEXT)
        case nodes.Fixed():
            shape.kinds.add(BOOL if node.bnf == "BOOLEAN" else NUMBER)
            if node.kind == "error":
                shape.words = "code"
        case _:
            shape.kinds.add(BYTES)
            shape.open = True


Read: TypeAlias = "Callable[[Exchange, Topics], Any]"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STRING, INT = "google.protobuf.StringValue", "google.protobuf.Int64Value"
"""Types whose values may be null."""


class Term(NamedTuple):
    """A name: its type, how it is read, what stands in it, what it means.

    `bodies`: messages are read for it. `archives`: it has a meaning where exchanges and connections have no numbers.
    """

    type: str
    read: Read
    about: str
    shape: Shape | None
    """None for a half, whose shape is made of all grammars when it is asked for."""
    bodies: bool = False
    archives: bool = True


def whole(half: CapturedMessage | None) -> dict[str, Any] | None:
    """Return a half as one structure: as JSON has it, with its header, and with the fields of both."""
    if half is None:
        return None
    message = half.message()
    header, body = (message.header or {}, message.body) if message is not None else ({}, {})
    own = {name: read(half) for name, (_, read) in OWN.items()}
    return {**header, **body, "header": header, "body": body, **own}


def utc(nanoseconds: int) -> str:
    """Return a time as JSON has it: ISO 8601, to the nanosecond."""
    return f"{EPOCH + timedelta(seconds=nanoseconds // 10**9):%Y-%m-%dT%H:%M:%S}.{nanoseconds % 10**9:09d}Z"


def topic_name(topic: Any, topics: Topics) -> Any:
    """Return a topic by name, by its id where no name is known."""
    return topics.get(topic) or str(topic) if isinstance(topic, UUID) else topic


def _errors(exchange: Exchange, topics: Topics) -> list[dict[str, Any]]:
    return [
        {"code": one.code, "name": one.name, "topic": topic_name(one.topic, topics), "partition": one.partition}
        for one in exchange.errors
    ]


def _findings(exchange: Exchange, topics: Topics) -> list[dict[str, Any]]:
    return [
        {"kind": one.kind.value, "old_kind": one.kind.old_name, "severity": one.severity.value,
         "side": one.side, "path": one.path, "offset": one.byte, "text": one.text}
        for one in exchange.all_findings()
    ]  # fmt: skip


def _topics(exchange: Exchange, topics: Topics) -> list[str]:
    rows = (row for rows, _, _ in exchange.outlines() for row in rows)
    return list(dict.fromkeys(topic_name(topic, topics) for topic, *_ in rows if topic is not None))


def _topic_names(exchange: Exchange, topics: Topics) -> dict[str, str]:
    ids = {topic for rows, _, _ in exchange.outlines() for topic, *_ in rows if isinstance(topic, UUID)}
    return {str(topic): name for topic in ids if (name := topics.get(topic)) is not None}


def _partitions(exchange: Exchange, topics: Topics) -> list[int]:
    return list(dict.fromkeys(one for rows, _, _ in exchange.outlines() for _, one, *_ in rows if one is not None))


def _groups(exchange: Exchange, topics: Topics) -> list[str]:
    return list(dict.fromkeys(group for _, groups, _ in exchange.outlines() for group in groups))


def _packets(exchange: Exchange, topics: Topics) -> list[int]:
    """Return the first and last packet of each half."""
    halves = [half for half in (exchange.request, exchange.response) if half is not None]
    return list(dict.fromkeys(one for half in halves for one in (half.first_packet, half.last_packet)))


def _late(exchange: Exchange, topics: Topics) -> float | None:
    late = beyond_wait(exchange)
    return None if late is None else late / 1e6


def _is(kind: str, words: Words = "") -> Shape:
    return Shape({kind}, words=words)


def _list(kind: str, words: Words = "") -> Shape:
    return Shape({LIST}, items=Shape({kind}, words=words))


def _fields(**kinds: Shape) -> Shape:
    return Shape({MAP}, dict(kinds))


ENDS = {"client": _is(TEXT), "broker": _is(TEXT)}
NUMBERS_OF_ENDS = _fields(client=_is(NUMBER), broker=_is(NUMBER))
TCP = _fields(round_trip_ms=_is(NUMBER), syns=_is(NUMBER), resent=NUMBERS_OF_ENDS, zero_windows=NUMBERS_OF_ENDS,
              closed=_is(TEXT), reset=_is(BOOL))  # fmt: skip
ERROR = _fields(code=_is(NUMBER, "code"), name=_is(TEXT, "error"), topic=_is(TEXT), partition=_is(NUMBER))
FINDING = _fields(
    kind=_is(TEXT, "finding"), offset=_is(NUMBER),
    **{name: _is(TEXT) for name in ("old_kind", "severity", "side", "path", "text")},
)  # fmt: skip
SPLIT = _fields(**{name: _is(NUMBER) for name in ("behind", *SPLIT_NAMES)})


def _known(exchange: Exchange) -> bool:
    return exchange.api is not None and exchange.api.key >= 0


TERMS: Mapping[str, Term] = {
    "api": Term(STRING, lambda e, t: e.api.name if e.api is not None else None, "name of the API", _is(TEXT, "api")),
    "api_key": Term(INT, lambda e, t: e.api.key if e.api and _known(e) else None, "key of the API", _is(NUMBER)),
    "api_version": Term(INT, lambda e, t: e.version if _known(e) else None, "version of the API", _is(NUMBER)),
    "client_id": Term(STRING, lambda e, t: e.client_id, "client.id", _is(TEXT)),
    "correlation_id": Term(
        INT, lambda e, t: e.correlation_id if e.api is None or e.api.key >= 0 else None,
        "correlation id of the request", _is(NUMBER),
    ),
    "number": Term("int", lambda e, t: e.number, "number of the exchange", _is(NUMBER), archives=False),
    "connection": Term(
        "map(string, dyn)", lambda e, t: connection_object(e.peers), "client, broker, id (7 of c7)",
        _fields(**ENDS, id=_is(NUMBER)),
    ),
    "client": Term("string", lambda e, t: endpoint(e.peers.client), "address:port of the client", _is(TEXT)),
    "broker": Term("string", lambda e, t: endpoint(e.peers.broker), "address:port of the broker", _is(TEXT)),
    "tls": Term(
        STRING, lambda e, t: e.peers.tls.version if e.peers.tls is not None else None,
        'version of the decrypted TLS, such as "TLS 1.3"; null for plaintext', _is(TEXT),
    ),
    "address": Term("string", lambda e, t: e.peers.client[0], "address of the client, without the port", _is(TEXT)),
    "time": Term(
        "timestamp", lambda e, t: EPOCH + timedelta(microseconds=e.time // 1000),
        'time of the first byte: time > timestamp("2026-11-21T12:30:00Z")', _is(TIME),
    ),
    "latency_ms": Term("dyn", lambda e, t: e.latency_ms, "time to the response; null if there is none", _is(NUMBER)),
    "excess_latency_ms": Term(
        "dyn", _late, "latency minus the wait that the request allows", _is(NUMBER), bodies=True
    ),
    "allowed_wait_ms": Term(
        "dyn", lambda e, t: asked_to_wait(e), "maximum time the request lets the broker wait", _is(NUMBER), bodies=True
    ),
    "late_ms": Term("dyn", _late, "old name of excess_latency_ms", _is(NUMBER), bodies=True),
    "waited_ms": Term("dyn", lambda e, t: asked_to_wait(e), "old name of allowed_wait_ms", _is(NUMBER), bodies=True),
    "split": Term(
        "dyn", lambda e, t: split_object(e.timing),
        "parts of the latency: waiting_ms, broker_ms, held_ms …; null if unknown",
        SPLIT, bodies=True, archives=False,
    ),
    "tcp": Term(
        "dyn", lambda e, t: tcp_object(e.timing),
        "TCP facts: round_trip_ms, resent, zero_windows, closed …; or null",
        TCP, archives=False,
    ),
    "size": Term("int", lambda e, t: e.size, "bytes of request and response", _is(NUMBER)),
    "request_size": Term(
        INT, lambda e, t: e.request.size if e.request is not None else None, "bytes of the request", _is(NUMBER)
    ),
    "response_size": Term(
        INT, lambda e, t: e.response.size if e.response is not None else None, "bytes of the response", _is(NUMBER)
    ),
    "packet": Term(
        "int", lambda e, t: (_packets(e, t) or [0])[0], "first packet of the exchange", _is(NUMBER), archives=False
    ),
    "packets": Term(
        "list(int)", _packets, "first and last packets of request and response", _list(NUMBER), archives=False
    ),
    "topics": Term("list(string)", _topics, "names of all topics", _list(TEXT), bodies=True),
    "topic_names": Term("map(string, string)", _topic_names, "topic names by topic id", OPEN, bodies=True),
    "partitions": Term("list(int)", _partitions, "numbers of all partitions", _list(NUMBER), bodies=True),
    "groups": Term("list(string)", _groups, "all consumer groups", _list(TEXT), bodies=True),
    "errors": Term("list(map(string, dyn))", _errors, "code, name, topic, partition of each error",
                   Shape({LIST}, items=ERROR), True),
    "error_names": Term(
        "list(string)", lambda e, t: [one.name for one in e.errors], "names of the errors", _list(TEXT, "error"),
        bodies=True,
    ),
    "findings": Term(
        "list(map(string, dyn))", _findings, "kind, severity, side, path, offset, text of each finding",
        Shape({LIST}, items=FINDING), True,
    ),
    "finding_kinds": Term(
        "list(string)", lambda e, t: [one.kind.value for one in e.all_findings()], "kinds of the findings",
        _list(TEXT, "finding"), bodies=True,
    ),
    "notes": Term(
        "list(string)", lambda e, t: [str(one) for one in e.all_findings()], "findings as sentences", _list(TEXT),
        bodies=True,
    ),
    "request": Term("dyn", lambda e, t: whole(e.request), "time, size, packets and all fields", None, bodies=True),
    "response": Term(
        "dyn", lambda e, t: whole(e.response), "the same of the response; null if there is none", None, bodies=True
    ),
}  # fmt: skip
"""The names, each with what it is."""
HALVES = ("request", "response")
TIMED = frozenset({"split", "tcp"})
"""Names of what is worked out only where it is asked for."""


def null_test(node: Node) -> str | None:
    """Return which half a node asks about being there, as `response == null` does; None for any other node."""
    if isinstance(node, Call) and node.function in ("_==_", "_!=_"):
        half, null = node.args if isinstance(node.args[0], Name) else node.args[::-1]
        if isinstance(half, Name) and half.name in HALVES and isinstance(null, Constant) and null.value is None:
            return half.name
    return None
