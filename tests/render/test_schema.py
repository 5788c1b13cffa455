"""`kdbg grammar --all --format json`: nothing of the grammars is missing, and a program can decode messages by it."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import kdbg
from kdbg.protocol.grammars import apis, headers
from kdbg.protocol.grammars.errors import ERRORS
from kdbg.protocol.grammars.payloads import payloads
from kdbg.protocol.wire.language import DIRECTIONS
from kdbg.protocol.wire.nodes import WireStruct, join
from kdbg.protocol.wire.readings.layout import LayoutRow, layout, walk
from kdbg.ui.guide import section

from ..cases import for_each
from ..cli.calls import SHIPPED, call
from .schema_decoder import Entry, Reader, Schema

STRUCTURE = {"fields", "tagged_fields"}
VALUES = {"name", "about", "tag", "default", "type", "nullable", "length", "meaning", "values", "items", "null",
          "secret_if", "payloads", "payload_by", *STRUCTURE}  # fmt: skip
RARE = {"optional_fields"}
"""Keys that only definitions of the draft of KIP-482 have."""


@cache
def schema() -> Schema:
    return Schema(call("grammar", "--all", "--format", "json").out.splitlines())


def rows(entry: Entry, path: str = "") -> Iterator[LayoutRow]:
    """The rows of a structure, as `layout` has them of a grammar."""
    for field in entry["fields"]:
        yield from of_type(field, join(path, field["name"]))
    if "tagged_fields" in entry:
        tags = tuple((field["tag"], field["name"]) for field in entry["tagged_fields"])
        yield LayoutRow(join(path, "~"), "tagged_fields", tags)
        for field in entry["tagged_fields"]:
            yield from of_type(field, join(path, f"~{field['tag']}:{field['name']}"))


def of_type(entry: Entry, path: str) -> Iterator[LayoutRow]:
    yield LayoutRow(path, entry["type"].lower())
    item = entry.get("items")
    if item is not None and "fields" not in item:
        yield from of_type(item, f"{path}[]")
    elif item is not None or "fields" in entry:
        yield from rows(item or entry, f"{path}[]" if item is not None else path)


def same(entry: Entry, struct: WireStruct) -> None:
    """An entry has the fields of a structure, with their types, tags, defaults, values and descriptions."""
    assert list(rows(entry)) == list(layout(struct))
    described = dict(fields_of(entry))
    for path, field, _ in walk(struct):
        found = described.pop(path)
        assert (found.get("tag"), found["about"]) == (field.tag, field.about), path
        assert "default" not in found or found["default"] == field.initial, path
        assert found["nullable"] == ("NULLABLE" in field.node.bnf), path
        node = getattr(field.node, "item", field.node)
        names = (found.get("items") or found).get("values") or {}
        assert {int(value): name for value, name in names.items()} == (node.names or {}), path
    assert described == {}


def fields_of(entry: Entry, path: str = "") -> Iterator[tuple[str, Entry]]:
    for field in (*entry.get("fields", ()), *entry.get("tagged_fields", ())):
        here = join(path, field["name"])
        yield here, field
        yield from fields_of(field.get("items") or field, f"{here}[]" if "items" in field else here)


def test_every_layout_of_every_api_is_in_it() -> None:
    known = dict(schema().messages)
    for api in apis():
        for direction in DIRECTIONS:
            for version in api.versions:
                entry = known.pop((api.name, version, direction))
                assert (entry["api_key"], entry["header_version"]) == (api.key, api.header_version(direction, version))
                same(entry, api.at(direction, version))
    assert known == {}
    assert len(schema().messages) == 736


def test_headers_payloads_and_errors_are_in_it() -> None:
    for direction, layouts in (("request", headers.REQUEST), ("response", headers.RESPONSE)):
        for version, struct in enumerate(layouts):
            same(schema().headers[direction, version], struct)
    versions = {(one["payload"], one["version"]): one for one in schema().of("payload_version")}
    for payload in payloads():
        for version in payload.versions:
            same(versions.pop((payload.name, version)), payload.framed(version))
    assert versions == {}
    assert {one["code"]: one["name"] for one in schema().of("error")} == {n: each.name for n, each in ERRORS.items()}
    assert [one["api"] for one in schema().of("api")] == [api.name for api in apis()]


def types_in(entry: Any) -> Iterator[Entry]:
    if isinstance(entry, dict):
        if "type" in entry and "entry" not in entry:
            yield entry
        for value in entry.values():
            yield from types_in(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from types_in(value)


def test_every_type_is_described_and_lengths_are_as_the_page_has_them() -> None:
    described = {one["type"] for one in schema().of("type")}
    used = {(one["type"], one.get("length")) for entry in schema().entries for one in types_in(entry)}
    assert {type for type, _ in used} - described <= {"STRUCT", "REST"}
    assert {length for _, length in used} == {None, "INT16", "INT32", "VARINT", "UNSIGNED_VARINT"}
    assert {type.startswith("COMPACT") for type, length in used if length == "UNSIGNED_VARINT"} == {True}


def test_every_key_is_described_and_every_described_key_is_there() -> None:
    def documented(heading: str) -> set[str]:
        return set(re.findall(r"^\| `(\w+)` \|", section("json", heading) or "", re.MULTILINE))

    by_entry: dict[str, set[str]] = {}
    for entry in schema().entries:
        by_entry.setdefault(entry["entry"], set()).update(entry.keys() - {"entry"} - VALUES)
    table = section("json", "Schema") or ""
    for name, keys in by_entry.items():
        (row,) = re.findall(rf"^\| `{name}` \| .* \| (.*) \|$", table, re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", row)) - VALUES == keys - {"defined_by"}, name
    used = {key for entry in schema().entries for one in types_in(entry) for key in one}
    assert used == VALUES == documented("A field of the schema") - RARE


def plain(value: Any) -> Any:
    """What kdbg decodes, as the decoder has it: records as they are on the wire, payloads as bytes."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "payload" in value:
        return {"base64": value["base64"]}
    if "magic" in value:
        kept = {"records"} if value["magic"] == 2 and not value["attributes"] & 7 else set()
        entry = {name: each for name, each in value.items() if name not in {"records", "raw_records"} - kept}
        if kept:
            entry["records"] = [on_wire(record, value) for record in value["records"]]
        elif value["magic"] < 2:
            entry |= {name: as_bytes(value[name]) for name in ("key", "value")}
        return entry
    return {name: plain(each) for name, each in value.items()}


def on_wire(record: Entry, batch: Entry) -> Entry:
    appended = batch["attributes"] & 8
    return {
        "attributes": record["attributes"], "offset_delta": record["offset"] - batch["base_offset"],
        "timestamp_delta": 0 if appended else record["timestamp"] - batch["base_timestamp"],
        "key": as_bytes(record["key"]), "value": as_bytes(record["value"]),
        "headers": [{"key": one["key"], "value": as_bytes(one["value"])} for one in record["headers"]],
    }  # fmt: skip


def as_bytes(value: Any) -> Any:
    """Text or bytes of JSON as bytes of JSON."""
    if isinstance(value, str):
        return {"base64": base64.b64encode(value.encode()).decode()}
    return {"base64": value["base64"]} if value else value


@for_each("capture", SHIPPED)
def test_a_program_decodes_captures_by_the_schema_alone(capture: Any) -> None:
    options = ("--format", "json", "--show-secrets", "--no-index")
    shown = {one["number"]: one for one in call("decode", capture, *options).lines if not one["findings"]}
    decoded = Counter[str]()
    for exchange in kdbg.read(capture):
        one = shown.get(exchange.number)
        if one is None or one["api"] is None or one["api_key"] is None:
            continue
        for direction in DIRECTIONS:
            half, expected = getattr(exchange, direction), one[direction]
            if half is not None and expected["body"] is not None:
                header, body = schema().message(half.data, one["api"], one["api_version"], direction)
                assert header["correlation_id"] == one["correlation_id"]
                assert body == plain(expected["body"]), (one["api"], one["api_version"], direction)
                decoded[direction] += 1
                check_payloads(expected["body"])
    assert decoded.keys() == set(DIRECTIONS)


def check_payloads(value: Any) -> None:
    """One version of each payload, by the schema, has the values that kdbg decodes."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_payloads(each)
    if isinstance(value, dict) and "payload" in value:
        data = base64.b64decode(value["base64"])
        versions = [one for one in schema().of("payload_version") if one["payload"] == value["payload"]]
        assert not versions or any(read_payload(one, data) == plain(value["value"]) for one in versions)


def read_payload(entry: Entry, data: bytes) -> Any:
    try:
        return Reader(schema(), data).structure(entry)
    except (AssertionError, ValueError, OverflowError, MemoryError):
        return None
