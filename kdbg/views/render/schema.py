"""The schema of the protocol for programs (`kdbg grammar --all --format json`): one JSON object for each entry.

Generators of code and other tools read it: what a message consists of, without BNF or sentences that need parsing. The
page json.md documents the keys. `VERSION` grows when a key changes its meaning or is removed; keys may be added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ... import __version__
from ...protocol.grammars import about, headers, records
from ...protocol.grammars.errors import ERRORS
from ...protocol.grammars.payloads import HintedHolding, SoleHolding, payloads
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS
from ...protocol.wire.nodes import NO_DEFAULT, Field, LengthPrefixed, Node, NullableStruct, Sized, WireArray, WireStruct
from .errortext import error_object
from .grammar import nullable
from .grammar_versions import summary_object
from .typetext import type_object, types

FORMAT, VERSION = "kdbg-schema", 1

Json = dict[str, Any]


def schema_objects(served: Iterable[Api]) -> Iterator[Json]:
    """Yield the format and its version, then the types, headers, messages of these APIs, records, payloads, errors."""
    yield {"format": FORMAT, "version": VERSION, "kdbg": __version__}
    yield from ({"entry": "type"} | type_object(each) for each in types())
    for direction, layouts in (("request", headers.REQUEST), ("response", headers.RESPONSE)):
        for version, layout in enumerate(layouts):
            yield {"entry": "header", "direction": direction, "version": version} | structure_object(layout)
    for api in served:
        yield {"entry": "api"} | summary_object(api) | {"about": about(api)}
        yield from message_objects(api)
    yield from record_objects()
    for payload in payloads():
        yield {"entry": "payload"} | summary_object(payload) | {"version_field": payload.version_field or None}
        for version in payload.versions:
            head = {"entry": "payload_version", "payload": payload.name, "version": version}
            yield head | structure_object(payload.framed(version))
    yield from ({"entry": "error"} | error_object(error) for error in ERRORS.values())


def message_objects(api: Api) -> Iterator[Json]:
    """Yield the layouts of an API, version by version; a definition file may have one direction only."""
    for version in api.versions:
        for direction in DIRECTIONS:
            if api.reads(direction, version):
                yield {
                    "entry": "message", "api_key": api.key, "api": api.name, "version": version,
                    "direction": direction, "header_version": api.header_version(direction, version),
                } | structure_object(api.at(direction, version))  # fmt: skip


def record_objects() -> Iterator[Json]:
    """Yield what stands in record sets, by the magic byte: messages, batches, and the records of a batch."""
    formats = records.record_format
    for magic, layout in enumerate(formats.messages):
        whole = WireStruct((*formats.front, *layout.fields), None)
        yield {"entry": "record_set", "magic": magic} | structure_object(whole)
    yield {"entry": "record_set", "magic": 2} | structure_object(formats.batch)
    yield {"entry": "record", "magic": 2} | node_object(formats.records.item)


def structure_object(struct: WireStruct) -> Json:
    """Return the fields of a structure; no tagged fields where it has no section for them."""
    found: Json = {"fields": [field_object(field) for field in struct.fields]}
    if struct.tags is not None:
        tagged = [field_object(field) for _, field in sorted(struct.tags.items())]
        found["optional_fields" if struct.front else "tagged_fields"] = tagged
    return found


def field_object(field: Field) -> Json:
    """Return a field: its name, its tag if it has one, its type, default and description."""
    head = {"name": field.name} | ({} if field.tag is None else {"tag": field.tag})
    default = {} if field.initial is NO_DEFAULT else {"default": field.initial}
    return head | node_object(field.node) | default | {"about": field.about}


def node_object(node: Node) -> Json:
    """Return a type: how it is encoded, what its values mean, and what it consists of."""
    found: Json = {"type": node.bnf, "nullable": nullable(node)}
    if (length := getattr(node, "length", None)) is not None:
        found["length"] = length.number.bnf
    if node.kind:
        found["meaning"] = node.kind
    if node.names:
        found["values"] = {str(value): name for value, name in node.names.items()}
    if isinstance(node, WireArray):
        found["items"] = node_object(node.item)
    elif isinstance(node, NullableStruct):
        found |= {"null": node.null} | structure_object(node.struct)
    elif isinstance(node, WireStruct):
        found |= structure_object(node)
    elif isinstance(node, LengthPrefixed):
        found |= structure_object(node.item)
    elif isinstance(node, Sized):
        found |= ({"secret_if": node.when} if node.when else {}) | held_object(node)
    return found


def held_object(node: Sized) -> Json:
    """Return the payloads that a field may contain, by the value of the field that selects one; "" selects always."""
    if isinstance(node.holds, HintedHolding):
        return {"payloads": {name: list(found) for name, found in node.holds.readings.items()},
                "payload_by": list(node.holds.by)}  # fmt: skip
    return {"payloads": {"": [node.holds.name]}, "payload_by": []} if isinstance(node.holds, SoleHolding) else {}
