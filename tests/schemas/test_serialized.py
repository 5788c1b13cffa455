"""What Confluent's Python serializers do otherwise than Java's: Protobuf's descriptors in base64, ids in headers."""

from __future__ import annotations

import base64
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.type_pb2 import Type

from kdbg.payloads.schemas import TopicSchemas
from kdbg.payloads.values.chosen import ReaderChoice
from kdbg.payloads.values.value import Reference, Schema, Unread, ValueContext

VALUE = ValueContext("value", "orders")
FRAME = b"\0\0\0\0\x07\0"


def registered(message: Any) -> Schema:
    return Schema("PROTOBUF", base64.b64encode(message.DESCRIPTOR.file.serialized_pb).decode())


class One:
    """A registry of one schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def by_id(self, schema_id: int | UUID) -> Schema:
        return self.schema


@pytest.mark.parametrize(("message", "expected"), [
    (Timestamp(seconds=1), "1970-01-01T00:00:01Z"), (Type(name="shop.Order"), {"name": "shop.Order"}),
], ids=["alone", "uses others"])  # fmt: skip
def test_descriptors_in_base64(message: Any, expected: Any) -> None:
    read = ReaderChoice([], TopicSchemas([], One(registered(message))))
    assert read(FRAME + message.SerializeToString(), VALUE).data == expected


def test_what_it_refers_to_may_be_text_or_descriptors() -> None:
    own = FileDescriptorProto(name="b.proto", dependency=["a.proto"], syntax="proto3")
    own.message_type.add(name="B").field.add(name="a", number=1, label=1, type=11, type_name=".A")
    text = 'syntax = "proto3"; message A { string s = 1; }'
    used = FileDescriptorProto(name="other.proto", syntax="proto3")
    used.message_type.add(name="A").field.add(name="s", number=1, label=1, type=9)
    lonely = Schema("PROTOBUF", base64.b64encode(own.SerializeToString()).decode())
    for reference in (text, base64.b64encode(used.SerializeToString()).decode()):
        schema = lonely._replace(references=(Reference("a.proto", Schema("PROTOBUF", reference)),))
        read = ReaderChoice([], TopicSchemas([], One(schema)))
        assert read(FRAME + b"\x0a\x03\x0a\x01x", VALUE).data == {"a": {"s": "x"}}
    problem = ReaderChoice([], TopicSchemas([], One(lonely)))(FRAME, VALUE).problem
    assert "uses a.proto without a reference to it" in problem


def test_a_guid_in_a_header() -> None:
    """By the serializer of confluent-kafka, and the mock of its registry's client, which gives GUIDs."""
    client = SchemaRegistryClient.new_client({"url": "mock://"})
    schema = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
    write = AvroSerializer(client, schema, conf={"schema.id.serializer": header_schema_id_serializer})
    context = SerializationContext("orders", MessageField.VALUE, [])
    data = write({"id": 7}, context)
    headers = tuple(context.headers)
    assert [name for name, _ in headers] == ["__value_schema_id"]

    class Asking:
        def by_id(self, schema_id: int | UUID) -> Schema:
            if not isinstance(schema_id, UUID):
                raise Unread("no GUID")
            return Schema("AVRO", client.get_schema_by_guid(str(schema_id)).schema_str)

    found = ReaderChoice([], TopicSchemas([], Asking()))(data, ValueContext("value", "orders", headers))
    assert (found.data, found.problem) == ({"id": 7}, "")
    assert found.about.startswith("avro Order, schema GUID ")
