"""What a broker would answer that refuses a request: the body of a response with one error code everywhere.

Topics and partitions are those that the request names. So a client gets what Kafka's own classes make of an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ..errors import BuildError, GrammarError, InputError, WireError
from ..exchanges.messages.exchange import CapturedMessage, Exchange
from ..exchanges.messages.reshape import STEP, Assignment, assign, parse
from ..library import encode
from ..protocol.findings import Kind
from ..protocol.grammars.errors import find
from ..protocol.wire import Api
from ..protocol.wire.language import Direction
from ..protocol.wire.nodes import Node, NullableStruct, WireArray, WireStruct
from ..protocol.wire.readings.outline import PartitionOutline

ASKING = ("Describe", "List", "Get")
"""How the names of APIs begin that only ask, beside these."""
ONLY_ASK = frozenset({"Fetch", "Metadata", "FindCoordinator", "ApiVersions", "OffsetFetch", "OffsetForLeaderEpoch",
                      "ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"})  # fmt: skip


def only_asks(api: Api) -> bool:
    """Return whether a request of an API changes nothing: its real answer can be had, and changed."""
    return api.name in ONLY_ASK or api.name.startswith(ASKING)


def refusal(api: Api, version: int, asked: CapturedMessage, code: int) -> dict[str, Any] | None:
    """Return the body that refuses a request; None where nothing in it would say so.

    That is so where the response speaks of things, one by one, that are neither topics nor partitions.
    """
    if not api.reads("response", version):
        return None
    outline = asked.outline()
    body = skeleton(api, version, outline[0] if outline is not None else ())
    return body if with_error(api.at("response", version), body, code) else None


def skeleton(api: Api, version: int, rows: Sequence[PartitionOutline]) -> dict[str, Any]:
    """Return the body of a response that names the topics and partitions of a request, and says nothing of them."""
    return _struct(api.at("response", version), rows)


def _struct(node: WireStruct, rows: Sequence[PartitionOutline]) -> dict[str, Any]:
    return {field.name: _value(field.node, field.default, rows) for field in node.fields}


def _value(node: Node, default: Any, rows: Sequence[PartitionOutline]) -> Any:
    """Return the default of a field, the topic or partition that the rows are of, or an element for each of those."""
    if node.kind in ("topic", "topic_id", "partition"):
        topic, partition, *_ = rows[0] if rows else (None, None)
        if node.kind == "partition":
            return default if partition is None else partition
        is_id = not isinstance(topic, str)
        return topic if topic is not None and is_id == (node.kind == "topic_id") else default
    if isinstance(node, WireStruct):
        return _struct(node, rows)
    if not isinstance(node, WireArray) or not isinstance(node.item, WireStruct):
        return default
    kinds, item = {field.node.kind for field in node.item.members}, node.item
    if kinds & {"topic", "topic_id"}:
        topics = dict[Any, list[PartitionOutline]]()
        for row in rows:
            topics.setdefault(row[0], []).append(row)
        return [_struct(item, part) for topic, part in topics.items() if topic is not None]
    return [_struct(item, [row]) for row in rows if row[1] is not None] if "partition" in kinds else []


def with_error(node: Node, value: Any, code: int) -> bool:
    """Put an error code into a body, in place: of each part that it speaks of, else of the whole; return whether it
    had room for it."""
    if value is None:
        return False
    if isinstance(node, NullableStruct):
        return with_error(node.struct, value, code)
    if isinstance(node, WireArray):
        return max([with_error(node.item, item, code) for item in value], default=False)
    if not isinstance(node, WireStruct):
        return False
    below = [with_error(field.node, value[field.name], code) for field in node.members if field.name in value]
    own = [field.name for field in node.members if field.node.kind == "error"]
    if not any(below):
        value.update(dict.fromkeys(own, code))
    return any(below) or bool(own)


DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m)?")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, None: 1e-3}
RATE = re.compile(r"(\d+(?:\.\d+)?)([kMG]?)B/s", re.IGNORECASE)
SCALES = {"": 1, "k": 1000, "m": 1_000_000, "g": 1_000_000_000}
EVERY = re.compile(r"\[\]")
"""Every element of an array, in a path."""
ACTIONS = ("delay", "error", "drop", "close", "throttle", "set")


@dataclass
class Turn:
    """What becomes of a message: it waits for `seconds`, then goes as `data`, if it is not `dropped`.

    `refused`: kdbg answers with this body itself. `hang_up`: the connection is closed. `rate` is bytes a second, for
    the connection from here on.
    """

    exchange: Exchange
    direction: Direction
    data: bytes
    seconds: float = 0.0
    dropped: bool = False
    refused: Mapping[str, Any] | None = None
    hang_up: bool = False
    rate: float | None = None


class Action(NamedTuple):
    """What a fault does to a message of its direction: `apply` changes what becomes of it, and says whether it could.

    `to_responses`: whatever its direction is, it is done to responses as well.
    """

    direction: Direction
    apply: Callable[[Turn], bool]
    to_responses: bool = False


def _mark(
    turn: Turn, *, seconds: float = 0.0, dropped: bool = False, hang_up: bool = False, rate: float | None = None
) -> bool:
    """Note what becomes of a message; return that it could be done."""
    turn.seconds += seconds
    turn.dropped, turn.hang_up = turn.dropped or dropped, turn.hang_up or hang_up
    turn.rate = rate or turn.rate
    return True


def take_action(kind: str, words: list[str]) -> Action:
    """Make the action that a word of ACTIONS names; it takes its own words from those after it. Raise `InputError`."""
    if kind == "throttle":  # the connection's bytes are passed on no faster than this
        return Action("request", partial(_mark, rate=rate(_one(words, "throttle 100kB/s"))))
    if kind == "error":  # in the broker's place, or in its own answer where the request only asks
        name = _one(words, "error NOT_LEADER_OR_FOLLOWER")
        known = [error for error in find(name) if error.code]
        if len(known) != 1:
            raise InputError(f"unknown error {name!r}; list all with kdbg errors")
        return Action("request", partial(refuse, code=known[0].code), to_responses=True)
    side: Direction = "request" if kind == "close" else "response"
    if words and words[0] in ("request", "response"):
        side = "request" if words.pop(0) == "request" else "response"
    if kind == "delay":  # a message, and all after it on its connection
        return Action(side, partial(_mark, seconds=duration(_one(words, "delay 500ms"))))
    if kind == "drop":  # its connection gives no answers from then on, as after a broker that hangs
        return Action(side, partial(_mark, dropped=True))
    if kind == "close":  # instead of passing a message on
        return Action(side, partial(_mark, dropped=True, hang_up=True))
    text = _one(words, "set topics[0].error_code=LEADER_NOT_AVAILABLE")  # at a path as kdbg prints it
    parse(EVERY.sub("[0]", text))
    return Action(side, partial(put, text=text))


def refuse(turn: Turn, code: int) -> bool:
    """Answer a message with an error; return whether that could be done."""
    exchange = turn.exchange
    if turn.direction == "response":
        return _changed(turn, lambda grammar, body: with_error(grammar, body, code))
    if exchange.api is None or exchange.request is None or not exchange.answered or only_asks(exchange.api):
        return False
    turn.refused = refusal(exchange.api, exchange.version, exchange.request, code)
    return turn.refused is not None


def put(turn: Turn, text: str) -> bool:
    """Put values into a message; return whether that could be done."""

    def change(grammar: Any, body: dict[str, Any]) -> bool:
        given = expanded(text, body)
        for one in given:
            assign(body, one.suited(grammar))
        return bool(given)

    return _changed(turn, change)


def expanded(text: str, body: Any) -> list[Assignment]:
    """Return the assignments that a text stands for: one, or one for each element where it has `[]`."""
    path, equals, value = text.partition("=")
    found = EVERY.search(path)
    if found is None:
        return [parse(text)]
    try:
        place = value_at(path[: found.start()], body)
    except (LookupError, TypeError):
        return []
    count = len(place) if isinstance(place, list) else 0
    tail = path[found.end() :] + equals + value
    return [each for i in range(count) for each in expanded(f"{path[: found.start()]}[{i}]{tail}", body)]


def value_at(path: str, body: Any) -> Any:
    """Return what stands at a path of a body; raise `LookupError` or `TypeError` where nothing does."""
    for name, index in STEP.findall(path):
        body = body[name] if name else body[int(index)]
    return body


def _changed(turn: Turn, change: Callable[[Any, Any], bool]) -> bool:
    """Change the value of a message, and build it anew; return False where that cannot be."""
    exchange = turn.exchange
    half = exchange.request if turn.direction == "request" else exchange.response
    message = half.message() if half is not None else None
    if message is None or exchange.api is None:
        return False
    if any(one.kind is not Kind.TRAILING_BYTES and not one.kind.harmless for one in message.findings):
        return False  # bytes after a message are left out
    try:
        if not change(message.grammar, message.body):
            return False
        turn.data = encode(
            message.body, api=exchange.api.key, version=exchange.version, direction=turn.direction,
            header=message.header,
        )  # fmt: skip
    except (BuildError, GrammarError, WireError, InputError):
        return False
    return True


def duration(text: str) -> float:
    """Return seconds, of `500ms`, `1.5s`, `20us`, `2m`; a bare number is milliseconds."""
    found = DURATION.fullmatch(text)
    if found is None:
        raise InputError(f"invalid duration {text!r}; use 500ms, 1.5s or 2m")
    return float(found[1]) * UNITS[found[2]]


def rate(text: str) -> float:
    """Return bytes a second, of `100kB/s`."""
    found = RATE.fullmatch(text)
    if found is None or not float(found[1]):
        raise InputError(f"invalid rate {text!r}; use 100kB/s or 1MB/s")
    return float(found[1]) * SCALES[found[2].lower()]


def _one(words: list[str], example: str) -> str:
    if not words:
        raise InputError(f"incomplete action; use {example!r}")
    return words.pop(0)
