"""kafka-python's older classes agree too: written by hand, a class a version, from Kafka 0.8 on.

Both ways, as in test_kafka_python.py. They do not say what may be null and read tagged fields as bytes; of nulls and
tags there are those that kdbg writes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any
from uuid import UUID
from warnings import catch_warnings, simplefilter

from kdbg.protocol.wire.nodes import Node, NullableStruct, WireArray, WireStruct

from ..cases import fewer_by_day, for_each
from .dice import Dice, Message, RandomMaker, comparable

with catch_warnings():
    simplefilter("ignore", DeprecationWarning)
    from kafka.protocol import old
    from kafka.protocol.old import types
    from kafka.protocol.old.api import RequestResponse

    for module in iter_modules(old.__path__):
        import_module(f"{old.__name__}.{module.name}")

ROUNDS = fewer_by_day(10, 3)
RECORDS = ("records", "message_set")
NUMBERS = {types.Int8: "b", types.Int16: "h", types.Int32: "i", types.Int64: "q", types.Float64: "d"}


def concrete(kind: type) -> Iterator[type]:
    """The classes below `kind` that stand for one version."""
    for below in kind.__subclasses__():
        if isinstance(below.API_VERSION, int):
            yield below
        yield from concrete(below)


CLASSES = {
    Message(kind.API_KEY, "request" if kind.is_request() else "response", kind.API_VERSION): kind.SCHEMA
    for kind in concrete(RequestResponse)
}
CLASSIC = "version 2 is flexible (KIP-482): Java's ApiMessageType says so; they write it as version 1"
WRONG = {
    "DescribeAcls-request-v2": CLASSIC,
    "DescribeAcls-response-v2": CLASSIC,
    "DescribeLogDirs-request-v0": "the partitions of a topic are an array; here they are one number",
}
"""Classes that Kafka's own contradict: test_java_messages.py has the versions right in both directions."""
MESSAGES = sorted(message for message in CLASSES if str(message) not in WRONG)
every_message = for_each("message", MESSAGES, by=lambda message: message.name[0])


def random_value(type: Any, name: str, dice: Dice) -> Any:
    """A random value of one of kafka-python's types, for the field of that name."""
    if isinstance(type, types.Schema):
        return tuple(random_value(inner, name, dice) for name, inner in zip(type.names, type.fields, strict=True))
    if isinstance(type, types.Array):
        return [random_value(type.array_of, name, dice) for _ in range(dice.length())]
    if isinstance(type, types.String):
        return dice.text()
    if type in NUMBERS:
        return dice.number(NUMBERS[type])
    if type in (types.Bytes, types.CompactBytes):
        return dice.records() if name in RECORDS else dice.blob()
    if type is types.Boolean:
        return dice.random() < 0.5
    if type is types.BitField:
        return {bit for bit in range(31) if dice.random() < 0.2}
    assert type in (types.UUID, types.TaggedFields), type
    return dice.uuid() if type is types.UUID else {}


def plain(node: Node, value: Any, type: Any) -> Any:
    """A value of kafka-python's as kdbg has it, fields by their place."""
    if isinstance(node, NullableStruct):
        return None if value is None else plain(node.struct, value, type)
    if isinstance(node, WireStruct) and isinstance(type, types.Schema):
        return struct(node, list(value), type)
    if isinstance(node, WireStruct):  # of one field, which stands for itself
        (field,) = node.fields
        return {field.name: plain(field.node, value, type)}
    if isinstance(node, WireArray):
        return None if value is None else [plain(node.item, item, type.array_of) for item in value]
    if type is types.BitField:
        bits = sum(1 << bit for bit in value) if value is not None else 1 << 31
        return bits - (1 << 32) if bits >> 31 else bits
    return UUID(int=0) if type is types.UUID and value is None else value


def struct(node: WireStruct, values: list[Any], schema: Any) -> Any:
    kinds = list(schema.fields)
    tags: dict[int, bytes] = {}
    if kinds and kinds[-1] is types.TaggedFields:
        kinds.pop()
        tags = values.pop() if len(values) > len(kinds) else {}
    assert (node.tags is not None) == (len(kinds) < len(schema.fields))
    given = [pair for kind, value in zip(kinds, values, strict=True) for pair in spread(kind, value)]
    matched = zip(node.fields, given, strict=True)
    found = {ours.name: plain(ours.node, value, kind) for ours, (kind, value) in matched}
    known = node.tags or {}
    return found | {known[tag].name: known[tag].node.parse(data) for tag, data in tags.items()}


def spread(kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """A field, or the fields of a structure that there is in theirs alone: CreatePartitions has one."""
    return list(zip(kind.fields, value, strict=True)) if isinstance(kind, types.Schema) else [(kind, value)]


def test_they_go_back_to_the_first_versions() -> None:
    assert len(MESSAGES) > 250
    assert {Message(key, "request", 0) for key in (0, 1, 2, 3, 8, 9)} <= set(MESSAGES)
    assert {str(message) for message in CLASSES} >= set(WRONG)


@every_message
def test_what_they_write_is_read(message: Message) -> None:
    grammar, schema = message.grammar, CLASSES[message]
    for i in range(ROUNDS):
        written = random_value(schema, "", Dice(f"{message} {i}"))
        data = schema.encode(written)
        body = message.decode(data)
        assert comparable(grammar, body) == comparable(grammar, plain(grammar, written, schema))
        assert message.encode(body) == data


@every_message
def test_what_is_written_they_read(message: Message) -> None:
    grammar, schema = message.grammar, CLASSES[message]
    for i in range(ROUNDS):
        value = RandomMaker(Dice(f"{message} {i}")).value(grammar)
        data = message.encode(value)
        stream = io.BytesIO(data)
        found = schema.decode(stream)
        assert stream.read() == b""
        assert comparable(grammar, plain(grammar, found, schema)) == comparable(grammar, value)
        assert schema.encode(found) == data
