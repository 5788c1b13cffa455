"""kio agrees: Aiven's dataclasses, made from Kafka's definitions, in every version of every message that they have.

Both ways: random instances of kio's own types, written by kio and read by kdbg; random values of kdbg's grammars,
written by kdbg and read by kio. The values are the same each time, and so are the bytes that each side writes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import Field, fields
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any, get_args, get_origin

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map, schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import UnexpectedNull
from kio.static.constants import EntityType, uuid_zero

from kdbg.protocol.wire.language import DIRECTIONS
from kdbg.protocol.wire.nodes import Node, NullableStruct, WireArray, WireStruct

from ..cases import fewer_by_day, for_each
from .dice import Dice, Message, RandomMaker, all_fields, comparable

ROUNDS = fewer_by_day(10, 3)
FIRST = datetime.fromtimestamp(0, UTC)
MILLISECOND = timedelta(milliseconds=1)
NUMBERS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H", "uint32": "I"}
NARROW = {
    "h": [code.value for code in ErrorCode],
    "q": [0, 1, 1_700_000_000_000, 1 << 40],
}
"""What kio can read: error codes that it knows, times that Python's datetime and timedelta can hold."""
NO_NULL_TAG = {("Fetch", "request"): "cluster_id", ("FetchSnapshot", "request"): "cluster_id"}
"""Tagged strings in which kio refuses the null that Kafka's definition allows: it takes no tagged field to be nullable.
Java reads that null; it never writes it, null being the default."""


def known() -> Iterator[Message]:
    """Every request and response that kio has a type for."""
    for key, name in api_key_map.items():
        for version, types in schema_name_map[name].items():
            for direction in DIRECTIONS:
                if EntityType[direction] in types:
                    yield Message(key, direction, version)


def entity(message: Message) -> Any:
    load = load_request_schema if message.direction == "request" else load_response_schema
    return load(message.key, message.version)


def random_entity(kind: Any, dice: Dice) -> Any:
    """An instance of one of kio's types."""
    return kind(**{field.name: random_field(field, field.type, dice) for field in fields(kind)})


def random_field(field: Field[Any], type: Any, dice: Dice) -> Any:
    """A value of a field; `type` is the field's, or what is left of it behind "or null" and "many of"."""
    args = get_args(type)
    if NoneType in args:
        nothing = dice.random() < 0.3 and "tag" not in field.metadata
        return None if nothing else random_field(field, next(arg for arg in args if arg is not NoneType), dice)
    if get_origin(type) is tuple:
        return tuple(random_field(field, args[0], dice) for _ in range(dice.length()))
    match field.metadata.get("kafka_type"):
        case None:
            return random_entity(type, dice)
        case "bool":
            return dice.random() < 0.5
        case "string":
            return dice.text()
        case "bytes":
            return dice.blob()
        case "records":
            return dice.records()
        case "uuid":
            return dice.uuid()
        case "float64":
            return dice.number("d")
        case "error_code":
            return dice.choice(list(ErrorCode))
        case "timedelta_i32":
            return dice.number("i") * MILLISECOND
        case "timedelta_i64":
            return dice.randint(-(1 << 40), 1 << 40) * MILLISECOND
        case "datetime_i64":
            return FIRST + dice.randint(0, 1 << 40) * MILLISECOND
        case number:
            return dice.number(NUMBERS[number])


def plain(node: Node, value: Any) -> Any:
    """A value of kio's as kdbg has it. Fields are matched by their place or tag: kio has names of its own for some."""
    if isinstance(node, NullableStruct):
        return None if value is None else plain(node.struct, value)
    if isinstance(node, WireStruct):
        theirs = {field.metadata.get("tag"): field for field in fields(value) if "tag" in field.metadata}
        places = [field for field in fields(value) if "tag" not in field.metadata]
        assert theirs.keys() == set(node.tags or ())
        matched = zip(all_fields(node), [*places, *(theirs[tag] for tag in node.tags or ())], strict=True)
        return {ours.name: plain(ours.node, getattr(value, field.name)) for ours, field in matched}
    if isinstance(node, WireArray):
        return None if value is None else [plain(node.item, item) for item in value]
    if isinstance(value, timedelta):
        return value // MILLISECOND
    if isinstance(value, datetime):
        return (value - FIRST) // MILLISECOND
    if value is None and node.bnf == "UUID":
        return uuid_zero
    if value is None and node.bnf == "INT64":
        return -1
    return value


MESSAGES = list(known())
every_message = for_each("message", MESSAGES, by=lambda message: message.name[0])


def test_kio_knows_most_of_the_protocol() -> None:
    assert len(MESSAGES) > 500


@every_message
def test_what_kio_writes_is_read(message: Message) -> None:
    grammar, kind = message.grammar, entity(message)
    for i in range(ROUNDS):
        written = random_entity(kind, Dice(f"{message} {i}"))
        buffer = io.BytesIO()
        entity_writer(kind)(buffer, written)
        body = message.decode(buffer.getvalue())
        assert comparable(grammar, body) == plain(grammar, written)
        assert message.encode(body) == buffer.getvalue()


@every_message
def test_what_is_written_kio_reads(message: Message) -> None:
    grammar, kind = message.grammar, entity(message)
    for i in range(ROUNDS):
        dice = Dice(f"{message} {i}")
        dice.numbers = NARROW
        value = RandomMaker(dice).value(grammar)
        data = message.encode(value)
        if value.get(NO_NULL_TAG.get((message.name, message.direction)), ...) is None:
            with pytest.raises(UnexpectedNull):
                entity_reader(kind)(data, 0)
            continue
        found, size = entity_reader(kind)(data, 0)
        assert size == len(data)
        assert plain(grammar, found) == comparable(grammar, value)
