"""Avro, Protobuf and JSON Schema values of real producers, with a real registry: shown as a consumer sees them."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.json_format import MessageToDict

from ..cli.calls import COMMAND, ENVIRONMENT, Outcome, spawn
from .broker import Broker
from .pool import needed
from .registry import registry as running

pytestmark = pytest.mark.nightly  # a registry takes half a minute to start; by day tests/values read what it would say

MONEY = json.dumps({"type": "record", "name": "Money", "namespace": "shop", "fields": [
    {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
    {"name": "currency", "type": "string"},
]})  # fmt: skip
ORDER = json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": [
    {"name": "id", "type": "long"}, {"name": "item", "type": "string"}, {"name": "price", "type": "shop.Money"},
    {"name": "note", "type": ["null", "string"], "default": None},
]})  # fmt: skip
INVOICE = json.dumps({
    "$schema": "http://json-schema.org/draft-07/schema#", "title": "Invoice", "type": "object",
    "properties": {"number": {"type": "integer"}, "lines": {"type": "array", "items": {"type": "string"}}},
    "required": ["number"],
})  # fmt: skip
PARCEL = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Pallet { int32 places = 1; }
message Parcel {
  int64 id = 1;
  repeated string marks = 2;
  google.protobuf.Timestamp sent = 3;
  message Label { string text = 1; }
  Label label = 4;
}
"""


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with needed(), running() as url:
        yield url


@pytest.fixture(scope="module")
def client(registry: str) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry}) as client:
        yield client


@pytest.fixture(scope="module")
def parcels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The classes of PARCEL's messages."""
    folder = tmp_path_factory.mktemp("proto")
    (folder / "parcel.proto").write_text(PARCEL)
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", f"--python_out={folder}", "parcel.proto"],
        check=True, cwd=folder,
    )  # fmt: skip
    spec = importlib.util.spec_from_file_location("parcel_pb2", folder / "parcel_pb2.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def topic(broker_4: Broker) -> str:
    return f"registered-{uuid.uuid4().hex[:8]}"


def produced(broker: Broker, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    for value in values:
        producer.produce(topic, value, key=b"k", partition=0)
    assert producer.flush(60) == 0


def consumed(broker: Broker, topic: str, count: int, read: Callable[..., Any]) -> list[Any]:
    """What a consumer with this deserializer sees."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": topic, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[Any] = []
    try:
        while len(found) < count:
            message = consumer.poll(60)
            assert message is not None
            assert message.error() is None
            found.append(read(message.value(), SerializationContext(topic, MessageField.VALUE)))
    finally:
        consumer.close()
    return found


def captured(broker: Broker, topic: str, tmp_path: Path) -> Path:
    """A capture of a session that fetched the topic."""
    path = tmp_path / "session.pcap"
    command = [*COMMAND, "send", "fetch", "--broker", broker.bootstrap, "--topic", topic, "--write", str(path)]
    subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT, timeout=120)
    return path


def shown(path: Path, *options: object) -> list[dict[str, Any]]:
    outcome: Outcome = spawn("records", path, "--format", "json", *options)
    assert outcome.err.count("\n") == 1, outcome.err
    return outcome.lines


def context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_avro_with_a_schema_that_uses_another(
    broker_4: Broker, registry: str, client: SchemaRegistryClient, topic: str, tmp_path: Path
) -> None:
    client.register_schema("money", Schema(MONEY, "AVRO"))
    order = Schema(ORDER, "AVRO", [SchemaReference("shop.Money", "money", 1)])
    write = AvroSerializer(client, order)
    orders = [
        {"id": 1 << 40, "item": "teapot", "price": {"amount": Decimal("12.30"), "currency": "EUR"}, "note": None},
        {"id": -1, "item": "größe", "price": {"amount": Decimal("-0.01"), "currency": "EUR"}, "note": "x"},
    ]
    produced(broker_4, topic, *(write(each, context(topic)) for each in orders))
    seen = consumed(broker_4, topic, 2, AvroDeserializer(client))
    assert seen == orders
    lines = shown(captured(broker_4, topic, tmp_path), "--registry", registry)
    assert [line["value"] for line in lines] == [
        {**each, "price": {**each["price"], "amount": str(each["price"]["amount"])}}
        for each in orders  # type: ignore[dict-item]
    ]
    assert all(line["value_about"] == f"avro shop.Order, schema id {line['value_schema_id']}" for line in lines)


def test_protobuf(
    broker_4: Broker, registry: str, client: SchemaRegistryClient, parcels: ModuleType, topic: str, tmp_path: Path
) -> None:
    write = ProtobufSerializer(parcels.Parcel, client, {"use.deprecated.format": False})
    made = [parcels.Parcel(id=7, marks=["fragile", "up"], label={"text": "größe"}), parcels.Parcel(id=8)]
    made[0].sent.FromSeconds(1_700_000_000)
    produced(broker_4, topic, *(write(each, context(topic)) for each in made))
    read = ProtobufDeserializer(parcels.Parcel, {"use.deprecated.format": False})
    seen = consumed(broker_4, topic, 2, read)
    assert seen == made
    capture = captured(broker_4, topic, tmp_path)
    for options in (("--registry", registry), ("--schema", f"{topic}={proto_file(tmp_path)}")):
        lines = shown(capture, *options)
        assert [line["value"] for line in lines] == [
            MessageToDict(each, preserving_proto_field_name=True) for each in seen
        ]
        assert all(line["value_about"].startswith("protobuf shop.Parcel, schema id ") for line in lines)


def proto_file(folder: Path) -> Path:
    path = folder / "parcel.proto"
    path.write_text(PARCEL)
    return path


def test_protobuf_that_is_registered_as_text(
    broker_4: Broker, registry: str, client: SchemaRegistryClient, parcels: ModuleType, topic: str, tmp_path: Path
) -> None:
    """As Java's serializers register it."""
    number = client.register_schema(f"{topic}-value", Schema(PARCEL, "PROTOBUF"))
    frame = b"\0" + number.to_bytes(4, "big")
    label, pallet = parcels.Parcel.Label(text="x"), parcels.Pallet(places=3)
    produced(
        broker_4, topic, frame + b"\x04\x02\x00" + label.SerializeToString(), frame + b"\0" + pallet.SerializeToString()
    )
    lines = shown(captured(broker_4, topic, tmp_path), "--registry", registry)
    assert [line["value"] for line in lines] == [{"text": "x"}, {"places": 3}]


def test_json_schema(broker_4: Broker, registry: str, client: SchemaRegistryClient, topic: str, tmp_path: Path) -> None:
    write = JSONSerializer(INVOICE, client)
    invoices = [{"number": 7, "lines": ["tea", "größe"]}, {"number": 8}]
    produced(broker_4, topic, *(write(each, context(topic)) for each in invoices))
    assert consumed(broker_4, topic, 2, JSONDeserializer(INVOICE)) == invoices
    capture = captured(broker_4, topic, tmp_path)
    lines = shown(capture, "--registry", registry)
    assert [line["value"] for line in lines] == invoices
    assert all(line["value_about"].startswith("json-schema Invoice, schema id ") for line in lines)


def test_a_wrong_schema_is_one_line_and_the_bytes(
    broker_4: Broker, registry: str, client: SchemaRegistryClient, topic: str, tmp_path: Path
) -> None:
    write = AvroSerializer(
        client, json.dumps({"type": "record", "name": "N", "fields": [{"name": "n", "type": "long"}]})
    )
    good = write({"n": 7}, context(topic))
    produced(broker_4, topic, good + b"\xff\xff", b"\0\0\x01\x86\x9f\xff", good)
    capture = captured(broker_4, topic, tmp_path)
    left, unknown, read = shown(capture, "--registry", registry)
    assert left["value_problem"].endswith("2 trailing bytes after N")
    assert unknown["value"] == {"base64": "AAABhp//"}
    assert unknown["value_problem"].startswith("schema id 99999: the Schema Registry returned an error: ")
    assert read["value"] == {"n": 7}
    lines = spawn("records", capture, "--registry", registry).out.splitlines()
    assert len(lines) == 3
    assert (good + b"\xff\xff").hex(" ") in lines[0]
    (tmp_path / "order.avsc").write_text(MONEY)
    wrong = shown(capture, "--schema", f"{topic}={tmp_path / 'order.avsc'}")
    assert all(line["value_problem"].startswith("not avro: ") for line in wrong)


def test_ids_and_trees(
    broker_4: Broker, registry: str, client: SchemaRegistryClient, topic: str, tmp_path: Path
) -> None:
    """What the registry lists, saved in a file, does as well; and `kdbg decode` reads by it."""
    produced(broker_4, topic, JSONSerializer(INVOICE, client)({"number": 7}, context(topic)))
    capture = captured(broker_4, topic, tmp_path)
    (number,) = (line["value_schema_id"] for line in shown(capture, "--registry", registry))
    saved = tmp_path / f"{number}.json"
    saved.write_text(json.dumps(client.get_schema(number).to_dict()))
    assert [line["value"] for line in shown(capture, "--registry", saved)] == [{"number": 7}]
    for view in ("tree", "hex"):
        shows = spawn("decode", capture, "--api", "fetch", "-f", view, "--registry", saved, "--full").out
        assert f'{{"number":7}}  json-schema Invoice, schema id {number}' in shows
