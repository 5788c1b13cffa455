"""A decoder that knows nothing of Kafka but what `kdbg grammar --all --format json` prints and json.md says of it."""

from __future__ import annotations

import base64
import json
import struct
import uuid
from collections.abc import Iterable
from typing import Any

NUMBERS = {"INT8": ">b", "INT16": ">h", "INT32": ">i", "INT64": ">q", "UINT16": ">H", "UINT32": ">I",
           "FLOAT64": ">d", "BOOLEAN": ">?"}  # fmt: skip
Entry = dict[str, Any]


class Schema:
    """The entries, by what they are asked for by."""

    def __init__(self, lines: Iterable[str]) -> None:
        first, *entries = map(json.loads, lines)
        assert (first["format"], first["version"]) == ("kdbg-schema", 1)
        self.entries: list[Entry] = entries
        self.headers = {(one["direction"], one["version"]): one for one in self.of("header")}
        self.messages = {(one["api"], one["version"], one["direction"]): one for one in self.of("message")}
        self.sets = {one["magic"]: one for one in self.of("record_set")}
        (self.record,) = self.of("record")

    def of(self, entry: str) -> list[Entry]:
        return [one for one in self.entries if one["entry"] == entry]

    def message(self, data: bytes, api: str, version: int, direction: str) -> tuple[Entry, Entry]:
        """The values of a message's header and of its body."""
        layout, reader = self.messages[api, version, direction], Reader(self, data)
        header = reader.structure(self.headers[direction, layout["header_version"]])
        body = reader.structure(layout)
        assert reader.at == len(data), (api, version, direction)
        return header, body


class Reader:
    """Reads values from `data`, from the byte `at` on."""

    def __init__(self, schema: Schema, data: bytes, at: int = 0) -> None:
        self.schema, self.data, self.at = schema, data, at

    def take(self, size: int) -> bytes:
        self.at += size
        assert 0 <= size <= len(self.data) - self.at + size
        return self.data[self.at - size : self.at]

    def number(self, type: str) -> Any:
        if type in NUMBERS:
            return struct.unpack(NUMBERS[type], self.take(struct.calcsize(NUMBERS[type])))[0]
        value = shift = 0
        while (group := self.take(1)[0]) & 0x80:
            value, shift = value | (group & 0x7F) << shift, shift + 7
        value |= group << shift
        return value if type == "UNSIGNED_VARINT" else value >> 1 ^ -(value & 1)

    def length(self, type: str) -> int:
        return self.number(type) - (type == "UNSIGNED_VARINT")

    def structure(self, of: Entry) -> Entry:
        values: Entry = {}
        if "optional_fields" in of:
            while size := self.number("VARINT"):
                self.tagged(of["optional_fields"], self.number("UINT16"), size, values)
        values |= {field["name"]: self.value(field) for field in of["fields"]}
        if "tagged_fields" in of:
            for _ in range(self.number("UNSIGNED_VARINT")):
                tag, size = self.number("UNSIGNED_VARINT"), self.number("UNSIGNED_VARINT")
                self.tagged(of["tagged_fields"], tag, size, values)
        return values

    def tagged(self, fields: list[Entry], tag: int, size: int, values: Entry) -> None:
        data = self.take(size)
        for field in fields:
            if field["tag"] == tag:
                values[field["name"]] = Reader(self.schema, data).value(field)
                return
        values.setdefault("tagged_fields", {})[str(tag)] = encoded(data)

    def value(self, of: Entry) -> Any:
        type = of["type"]
        if type == "STRUCT":
            return self.structure(of)
        if type == "NULLABLE_STRUCT":
            return None if self.number("INT8") == of["null"] else self.structure(of)
        if type == "UUID":
            return str(uuid.UUID(bytes=self.take(16)))
        if "length" not in of:
            return self.number(type)
        length = self.length(of["length"])
        if length < 0:
            return None
        if "items" in of:
            return [self.value(of["items"]) for _ in range(length)]
        data = self.take(length)
        if type == "RECORD":
            return Reader(self.schema, data).structure(of)
        if type.endswith("RECORDS"):
            return Reader(self.schema, data).record_set()
        return data.decode() if type.endswith("STRING") else encoded(data)

    def record_set(self) -> list[Entry]:
        entries: list[Entry] = []
        while (left := len(self.data) - self.at) > 0:
            start = self.at
            if left < 17 or left < 12 + struct.unpack_from(">i", self.data, start + 8)[0]:
                return [*entries, {"partial": encoded(self.take(left))}]
            entry = self.structure(self.schema.sets[self.data[start + 16]])
            end = start + 12 + struct.unpack_from(">i", self.data, start + 8)[0]
            if entry["magic"] == 2 and not entry["attributes"] & 7:
                entry["records"] = [self.value(self.schema.record) for _ in range(entry["records_count"])]
            elif entry["magic"] == 2:
                entry["compressed_records"] = encoded(self.take(end - self.at))
            assert self.at == end
            entries.append(entry)
        return entries


def encoded(data: bytes) -> Entry:
    """Bytes as in JSON."""
    return {"base64": base64.b64encode(data).decode()}
