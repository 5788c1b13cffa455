"""Every reader of keys and values: what it makes of good bytes, and what it says of others."""

from __future__ import annotations

import json
import struct
from typing import Any
from uuid import UUID

import fastavro
import msgpack
import pytest

from kdbg.payloads.schemas import ForTopic, TopicSchemas
from kdbg.payloads.values.chosen import Choice, ReaderChoice
from kdbg.payloads.values.readers import READERS
from kdbg.payloads.values.value import Reference, Schema, Value, ValueContext

from ..cases import for_each

VALUE = ValueContext("value", "orders")
ORDER = Schema("AVRO", json.dumps({
    "type": "record", "name": "Order", "namespace": "shop",
    "fields": [{"name": "id", "type": "int"}, {"name": "item", "type": "string"}],
}))  # fmt: skip
AVRO = b"\x0e\x0cteapot"
PROTO = Schema(
    "PROTOBUF",
    """
syntax = "proto3";
package shop;
message Order { int32 id = 1; string item = 2; message Line { int64 n = 1; } }
message Refund { string reason = 9; }
""",
)
PROTOBUF = b"\x08\x07\x12\x06teapot"
PARCEL = Schema("JSON", json.dumps({
    "title": "Parcel", "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
}))  # fmt: skip
ITEM = {"id": 7, "item": "teapot"}


def read(reader: str, data: bytes, *schemas: Schema) -> Value:
    given = TopicSchemas([ForTopic("*", "value", schema) for schema in schemas])
    return ReaderChoice([Choice("value", reader)], given)(data, VALUE)


class Registry:
    """A registry of these schemas, by their ids; counts what it was asked."""

    def __init__(self, schemas: dict[Any, Schema]) -> None:
        self.schemas, self.asked = schemas, list[Any]()

    def by_id(self, schema_id: int | UUID) -> Schema:
        from kdbg.payloads.values.value import Unread

        self.asked.append(schema_id)
        if schema_id not in self.schemas:
            raise Unread("is not known")
        return self.schemas[schema_id]


GOOD: list[tuple[str, bytes, tuple[Schema, ...], Any]] = [
    ("string", "größe".encode(), (), "größe"),
    ("json", b'{"a": 1.10, "n":\n 12345678901234567890123}', (), {"a": 1.1, "n": 1.2345678901234568e22}),
    ("hex", b"abc", (), b"abc"),
    ("base64", b"abc", (), "YWJj"),
    ("uuid", UUID(int=7).bytes, (), str(UUID(int=7))),
    ("uuid", str(UUID(int=7)).encode(), (), str(UUID(int=7))),
    ("int8", b"\xff", (), -1),
    ("int16", struct.pack(">h", -2), (), -2),
    ("int32", struct.pack(">i", -3), (), -3),
    ("int64", struct.pack(">q", -4), (), -4),
    ("uint8", b"\xff", (), 255),
    ("uint16", b"\xff\xff", (), 65535),
    ("uint32", b"\xff" * 4, (), 4294967295),
    ("uint64", b"\xff" * 8, (), 18446744073709551615),
    ("float32", struct.pack(">f", 0.5), (), 0.5),
    ("float64", struct.pack(">d", 0.1), (), 0.1),
    ("boolean", b"\x01", (), True),
    ("msgpack", msgpack.packb({"a": [1, b"\xff", None], 3: 1.5}), (), {"a": [1, {"base64": "/w=="}, None], "3": 1.5}),
    ("avro", AVRO, (ORDER,), ITEM),
    ("protobuf", PROTOBUF, (PROTO,), ITEM),
    ("json-schema", b'{"n": 3}', (PARCEL,), {"n": 3}),
]


@for_each(("reader", "data", "schemas", "expected"), GOOD, ids=lambda item: str(item)[:20])
def test_good_bytes(reader: str, data: bytes, schemas: tuple[Schema, ...], expected: Any) -> None:
    found = read(reader, data, *schemas)
    assert (found.data, found.problem) == (expected, "")


def test_every_reader_is_tried() -> None:
    assert {reader for reader, *_ in GOOD} == READERS.keys()


BAD: list[tuple[str, bytes, tuple[Schema, ...], str]] = [
    ("string", b"\xff", (), "not string: not valid UTF-8 at byte 0"),
    ("json", b"{", (), "not json: "),
    ("uuid", b"x", (), "not uuid: 1 byte: neither a UUID nor its text"),
    ("int64", b"abc", (), "not int64: 3 bytes, expected 8"),
    ("msgpack", b"\x01\x02", (), "not msgpack: 1 trailing byte"),
    ("msgpack", b"\x92\x01", (), "not msgpack: "),
    ("avro", AVRO[:-1], (ORDER,), "not avro: Expected 6 bytes, read 5"),
    ("avro", AVRO + b"\0", (ORDER,), "not avro: 1 trailing byte after shop.Order"),
    ("avro", AVRO, (PARCEL,), "not avro: the schema of this topic is for json-schema"),
    ("avro", AVRO, (Schema("AVRO", "{"),), "not avro: invalid Avro schema: "),
    ("protobuf", b"\x08", (PROTO,), "not protobuf: shop.Order: "),
    ("protobuf", b"\x4a\x01x", (PROTO,), "not protobuf: none of the fields of shop.Order is set"),
    (
        "protobuf",
        PROTOBUF,
        (PROTO._replace(message="Nope"),),
        "not protobuf: the schema has no message 'Nope'",
    ),
    ("protobuf", PROTOBUF, (Schema("PROTOBUF", "message {"),), "not protobuf: the schema does not compile: "),
    ("json-schema", b"no", (PARCEL,), "not json-schema: "),
]


@for_each(("reader", "data", "schemas", "why"), BAD, ids=lambda item: str(item)[:20])
def test_bad_bytes_are_shown_as_they_come_and_one_line_says_why(
    reader: str, data: bytes, schemas: tuple[Schema, ...], why: str
) -> None:
    found = read(reader, data, *schemas)
    assert found.problem.startswith(why)
    assert "\n" not in found.problem
    assert found.data in (data, data.decode("utf-8", "replace"))


class TestAvro:
    def test_logical_types_and_great_numbers_have_a_form_in_json(self) -> None:
        schema = {"type": "record", "name": "R", "fields": [
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "on", "type": {"type": "int", "logicalType": "date"}},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 2}},
            {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
            {"name": "raw", "type": "bytes"},
        ]}  # fmt: skip
        import datetime
        import decimal
        import io

        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, {
            "at": datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC), "on": datetime.date(2026, 11, 21),
            "price": decimal.Decimal("1234567890123456789012.30"), "id": UUID(int=7), "raw": b"\xff",
        })  # fmt: skip
        assert read("avro", out.getvalue(), Schema("AVRO", json.dumps(schema))).data == {
            "at": "2026-11-21T00:00:00Z", "on": "2026-11-21", "price": "1234567890123456789012.30",
            "id": str(UUID(int=7)), "raw": {"base64": "/w=="},
        }  # fmt: skip

    def test_schemas_that_use_others(self) -> None:
        basket = {"type": "record", "name": "Basket", "fields": [
            {"name": "orders", "type": {"type": "array", "items": "shop.Order"}},
        ]}  # fmt: skip
        schema = Schema("AVRO", json.dumps(basket), (Reference("shop.Order", ORDER),))
        assert read("avro", b"\x02" + AVRO + b"\0", schema).data == {"orders": [ITEM]}

    def test_a_schema_that_holds_itself_does_not_end_the_process(self) -> None:
        chain = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
        schema = Schema("AVRO", json.dumps(chain))
        assert read("avro", b"\x02\x00", schema).data == {"next": {"next": None}}
        assert "nested too deep" in read("avro", b"\x02" * 1_000_000 + b"\x00", schema).problem

    @pytest.mark.parametrize("items", ["null", {"type": "record", "name": "E", "fields": []},
                                       {"type": "fixed", "name": "F", "size": 0}])  # fmt: skip
    def test_a_few_bytes_do_not_make_billions_of_items(self, items: Any) -> None:
        schema = Schema("AVRO", json.dumps({"type": "array", "items": items}))
        assert "zero-length items" in read("avro", b"\xfe\xff\xff\xff\xff\x0f\x00", schema).problem


class TestProtobuf:
    def test_the_message_that_was_named(self) -> None:
        assert read("protobuf", b"\x4a\x01x", PROTO._replace(message="Refund")).data == {"reason": "x"}
        given = TopicSchemas([ForTopic("*", "value", PROTO)])
        assert ReaderChoice([Choice("value", "protobuf", "*", "shop.Refund")], given)(b"\x4a\x01x", VALUE).data == {
            "reason": "x"
        }

    @pytest.mark.parametrize(("indexes", "data", "expected"), [
        (b"\x00", PROTOBUF, ITEM), (b"\x02\x00", PROTOBUF, ITEM), (b"\x02\x02", b"\x4a\x01x", {"reason": "x"}),
        (b"\x04\x00\x00", b"\x08\x05", {"n": "5"}),
    ])  # fmt: skip
    def test_the_message_at_the_indexes(self, indexes: bytes, data: bytes, expected: Any) -> None:
        found = ReaderChoice([], TopicSchemas([], Registry({7: PROTO})))(b"\0\0\0\0\x07" + indexes + data, VALUE)
        assert (found.data, found.problem) == (expected, "")

    def test_fields_that_it_does_not_know_are_told_of(self) -> None:
        assert read("protobuf", PROTOBUF + b"\x4a\x01x", PROTO).about == "protobuf shop.Order, 1 unknown field"

    def test_files_that_it_imports(self) -> None:
        text = 'syntax = "proto3"; import "shop/order.proto"; import "google/protobuf/timestamp.proto";' \
               "message Basket { shop.Order order = 1; google.protobuf.Timestamp at = 2; }"  # fmt: skip
        schema = Schema("PROTOBUF", text, (Reference("shop/order.proto", PROTO),))
        data = b"\x0a" + bytes([len(PROTOBUF)]) + PROTOBUF + b"\x12\x02\x08\x01"
        assert read("protobuf", data, schema).data == {"order": ITEM, "at": "1970-01-01T00:00:01Z"}

    @pytest.mark.parametrize("name", ["../../escaped.proto", "/etc/escaped.proto", ""])
    def test_a_name_that_leads_elsewhere_is_refused(self, name: str) -> None:
        schema = Schema("PROTOBUF", 'syntax = "proto3";', (Reference(name, PROTO),))
        assert "not a file next to it" in read("protobuf", PROTOBUF, schema).problem


class TestJsonSchema:
    def test_what_does_not_follow_is_shown_with_what_is_wrong(self) -> None:
        found = read("json-schema", b'{"n": "3"}', PARCEL)
        assert (found.kind, found.data) == ("data", {"n": "3"})
        assert found.problem == "does not match the schema: $.n: '3' is not of type 'integer'"

    def test_schemas_that_use_others(self) -> None:
        schema = Schema("JSON", '{"$ref": "parcel.json"}', (Reference("parcel.json", PARCEL),))
        assert read("json-schema", b'{"n": 3}', schema).problem == ""
        assert "'n' is a required property" in read("json-schema", b"{}", schema).problem

    def test_nothing_is_fetched(self) -> None:
        schema = Schema("JSON", '{"$ref": "http://127.0.0.1:9/schema.json"}')
        assert "cannot be applied" in read("json-schema", b"{}", schema).problem


class TestIds:
    GUID = UUID("5a9e9f36-5f8e-4a0d-8a4c-6a7d9f6b3c21")

    def test_in_front_of_the_data(self) -> None:
        found = ReaderChoice([], TopicSchemas([], Registry({7: ORDER, self.GUID: ORDER})))(
            b"\0\0\0\0\x07" + AVRO, VALUE
        )
        assert (found.data, found.about, found.schema_id) == (ITEM, "avro shop.Order, schema id 7", 7)

    @pytest.mark.parametrize("header", [b"\0\0\0\0\x07", b"\x01" + GUID.bytes])
    def test_in_a_header(self, header: bytes) -> None:
        read = ReaderChoice([], TopicSchemas([], Registry({7: ORDER, self.GUID: ORDER})))
        headers = (("__value_schema_id", header),)
        assert read(AVRO, ValueContext("value", "orders", headers)).data == ITEM
        assert read(AVRO, ValueContext("key", "orders", headers)).kind == "text"

    def test_indexes_of_protobuf_in_a_header(self) -> None:
        headers = (("__value_schema_id", b"\x01" + self.GUID.bytes + b"\x02\x02"),)
        read = ReaderChoice([], TopicSchemas([], Registry({self.GUID: PROTO})))
        assert read(b"\x4a\x01x", ValueContext("value", "orders", headers)).data == {"reason": "x"}

    def test_what_is_not_known_is_asked_for_once_and_comes_as_bytes(self) -> None:
        registry = Registry({})
        read = ReaderChoice([], TopicSchemas([], registry))
        for _ in range(3):
            found = read(b"\0\0\0\0\x07" + AVRO, VALUE)
            assert found.problem == "schema id 7: is not known"
            assert found.schema_id == 7
        assert registry.asked == [7]

    def test_eight_bytes_may_be_a_number_or_framed(self) -> None:
        read = ReaderChoice([], TopicSchemas([], Registry({7: PROTO})))
        assert read(b"\0\0\0\0\x07\0\x08\x03", VALUE).data == {"id": 3}
        number = read(struct.pack(">q", 1 << 34), VALUE)
        assert (number.kind, number.problem) == ("text", "")

    def test_a_schema_from_a_file_reads_data_with_and_without_an_id(self) -> None:
        for data in (AVRO, b"\0\0\0\0\x07" + AVRO):
            assert read("avro", data, ORDER).data == ITEM

    def test_without_a_registry_and_a_schema_the_id_is_named(self) -> None:
        found = ReaderChoice([], TopicSchemas())(b"\0\0\0\0\x07\xff", VALUE)
        assert (found.data, found.about) == (b"\0\0\0\0\x07\xff", "schema id 7")
        assert ReaderChoice([], TopicSchemas())(struct.pack(">q", 1 << 34), VALUE).about == ""


def test_null_stays_null_whatever_reads() -> None:
    for reader in READERS:
        assert (
            ReaderChoice([Choice("value", reader)], TopicSchemas([ForTopic("*", "value", ORDER)]))(None, VALUE).kind
            == "null"
        )


def test_the_last_choice_that_fits_the_topic_counts() -> None:
    read = ReaderChoice(
        [Choice("value", "hex"), Choice("value", "string", "ord*"), Choice("key", "int8")], TopicSchemas()
    )
    assert read(b"a", VALUE).kind == "text"
    assert read(b"a", ValueContext("value", "parcels")).kind == "bytes"
    assert read(b"a", ValueContext("key", "orders")).data == 97
