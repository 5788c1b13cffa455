"""kafka-python agrees: its classes, made from Kafka's definitions, in every version that they call valid.

Both ways: random instances of its own classes, written by kafka-python and read by kdbg; random values of kdbg's
grammars, written by kdbg and read by kafka-python. The values are the same each time, and so are the bytes.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any
from uuid import UUID
from warnings import catch_warnings, simplefilter

from kdbg.protocol.wire.nodes import Node, NullableStruct, WireArray, WireStruct

from ..cases import fewer_by_day, for_each
from .dice import Dice, Message, RandomMaker, all_fields, comparable

with catch_warnings():
    simplefilter("ignore", DeprecationWarning)  # it finds its definitions by a function that Python 3.11 deprecates
    for home in ("admin", "consumer", "metadata", "producer", "sasl"):
        import_module(f"kafka.protocol.{home}")
    from kafka.protocol.api_message import ApiMessage
    from kafka.protocol.schemas import ArrayField, BaseField, StructArrayField, StructField

ROUNDS = fewer_by_day(10, 3)
NUMBERS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H", "float64": "d"}

CLASSES = {(kind.API_KEY, kind.type): kind for kind in ApiMessage.__subclasses__() if kind._class_version is None}
MESSAGES = [
    Message(key, direction, version)
    for (key, direction), kind in sorted(CLASSES.items())
    for version in range(kind.valid_versions[0], kind.valid_versions[1] + 1)
]
every_message = for_each("message", MESSAGES, by=lambda message: message.name[0])
V0_ON_ERROR = (18, "response")
"""ApiVersions, whose response kafka-python reads as version 0 whenever it holds an error. Brokers write it so for one
error, UNSUPPORTED_VERSION (KIP-511); Java reads the version asked for, and version 0 only if that fails."""


def class_of(message: Message) -> type[ApiMessage]:
    return CLASSES[message.key, message.direction]


def random_struct(kind: Any, struct: StructField, version: int, dice: Dice) -> Any:
    """An instance of one of kafka-python's classes, `kind`, which holds what `struct` says."""
    here = [field for field in struct.fields.values() if field.for_version_q(version)]
    return kind(version=version, **{field.name: random_field(field, version, dice) for field in here})


def random_field(field: BaseField, version: int, dice: Dice) -> Any:
    if field.nullable_for_version_q(version) and dice.random() < 0.3:
        return None
    return random_value(field, version, dice)


def random_value(field: BaseField, version: int, dice: Dice) -> Any:
    match field:
        case StructArrayField():
            return [random_struct(field.data_class, field, version, dice) for _ in range(dice.length())]
        case ArrayField():
            return [random_value(field.array_of, version, dice) for _ in range(dice.length())]
        case StructField():
            return random_struct(field.data_class, field, version, dice)
    match field.type_str:
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
        case "bitfield":
            return {bit for bit in range(31) if dice.random() < 0.2}
        case number:
            return dice.number(NUMBERS[number])


def plain(node: Node, value: Any, field: BaseField, version: int) -> Any:
    """A value of kafka-python's as kdbg has it. Fields are matched by their place or tag: it has renamed some."""
    if isinstance(node, NullableStruct):
        return None if value is None else plain(node.struct, value, field, version)
    if isinstance(node, WireStruct):
        if value is None:
            return comparable(node, node.default())
        here = [inner for inner in field.fields.values() if inner.for_version_q(version)]
        tags = {inner.tag: inner for inner in here if inner.tagged_field_q(version)}
        places = [inner for inner in here if not inner.tagged_field_q(version)]
        assert tags.keys() == set(node.tags or ())
        matched = zip(all_fields(node), [*places, *(tags[tag] for tag in node.tags or ())], strict=True)
        return {ours.name: plain(ours.node, getattr(value, theirs.name), theirs, version) for ours, theirs in matched}
    if isinstance(node, WireArray):
        inner = field.array_of
        return None if value is None else [plain(node.item, item, inner, version) for item in value]
    if field.type_str == "bitfield":
        bits = sum(1 << bit for bit in value) if value is not None else 1 << 31
        return bits - (1 << 32) if bits >> 31 else bits
    if field.type_str == "uuid":
        return value or UUID(int=0)
    return bytes(value) if isinstance(value, memoryview) else value


def test_kafka_python_knows_what_a_client_needs() -> None:
    assert len(MESSAGES) > 300


@every_message
def test_what_kafka_python_writes_is_read(message: Message) -> None:
    grammar, kind = message.grammar, class_of(message)
    for i in range(ROUNDS):
        written = random_struct(kind, kind._struct, message.version, Dice(f"{message} {i}"))
        data = written.encode(version=message.version)
        body = message.decode(data)
        assert comparable(grammar, body) == plain(grammar, written, kind._struct, message.version)
        assert message.encode(body) == data


@every_message
def test_what_is_written_kafka_python_reads(message: Message) -> None:
    grammar, kind = message.grammar, class_of(message)
    for i in range(ROUNDS):
        value = RandomMaker(Dice(f"{message} {i}")).value(grammar)
        if (message.key, message.direction) == V0_ON_ERROR:
            value["error_code"] = 0
        data = message.encode(value)
        found = kind.decode(data, version=message.version)
        assert plain(grammar, found, kind._struct, message.version) == comparable(grammar, value)
