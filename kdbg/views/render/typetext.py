"""The types that grammars are made of, as `kdbg grammar types` tells of them, and the signs of the BNF itself.

Each type is described once and built by the node that reads and writes it, so that the bytes of its examples are those
on the wire.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from ...protocol import wire
from ...protocol.grammars import plain
from ...protocol.grammars.records import Records
from ...protocol.wire.language.types import At
from ...protocol.wire.nodes import Node, build
from .columns import aligned, wrap
from .style import Look

CLASSIC, FLEXIBLE, DRAFT = At(0, False), At(0, True), At(0, False, optional=True)
BIG_ENDIAN = "the most significant byte first, negative ones in two's complement"
GROUPS = "seven bits per byte, the least significant first; the highest bit is set if another byte follows"
COMPACT = "Of flexible versions (KIP-482)."


class WireType(NamedTuple):
    """A type by its word in the BNF: how it stands on the wire, and values to show it by."""

    name: str
    about: str
    node: Node
    values: tuple[Any, ...] = ()


def _one(name: str, about: str, of: Any, *values: Any, at: At = CLASSIC) -> WireType:
    """Return a type; `of` is its declaration as a field, or the node itself."""
    node = wire.Struct("it" / of).structure(at).members[0].node
    return WireType(name, about, node, values)


@cache
def types() -> tuple[WireType, ...]:
    """Return every type: numbers, strings, bytes, composed types, and those only found in records."""
    return (*_numbers(), *_texts(), *_composed())


def _numbers() -> Iterator[WireType]:
    yield _one("BOOLEAN", "One byte: 1 for true, 0 for false.", wire.Boolean, True, False)
    yield _one("INT8", "An integer from -128 to 127 in one byte, negative ones in two's complement.", wire.Int8, 5, -1)
    yield _one("INT16", f"An integer from -2^15 to 2^15 - 1 in two bytes, {BIG_ENDIAN}.", wire.Int16, 258, -1)
    yield _one("INT32", f"An integer from -2^31 to 2^31 - 1 in four bytes, {BIG_ENDIAN}.", wire.Int32, 258, -1)
    yield _one("INT64", f"An integer from -2^63 to 2^63 - 1 in eight bytes, {BIG_ENDIAN}.", wire.Int64, 258, -1)
    yield _one("UINT16", "An integer from 0 to 2^16 - 1 in two bytes, the most significant first.", wire.UInt16, 9092)
    yield _one("UINT32", "An integer from 0 to 2^32 - 1 in four bytes, the most significant first.", wire.UInt32, 258)
    yield _one(
        "UNSIGNED_VARINT", f"An integer from 0 to 2^32 - 1 in one to five bytes: {GROUPS}.", wire.UVarint, 5, 300
    )
    zigzag = "first zigzag encoded (0, -1, 1, -2 become 0, 1, 2, 3), then"
    yield _one("VARINT", f"An integer of 32 bits in one to five bytes: {zigzag} {GROUPS}.", wire.Varint32, 1, -1, 300)
    yield _one("VARLONG", f"An integer of 64 bits in one to ten bytes: {zigzag} {GROUPS}.", wire.Varint64, -2, 10**12)
    yield _one("FLOAT64", "A floating-point number: an IEEE 754 double, the sign's byte first.", wire.Float64, 0.5)
    topic = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
    yield _one(
        "UUID", "Sixteen bytes, in the order they are written in; all zero means none (KIP-516).", wire.Uuid, topic
    )


def _texts() -> Iterator[WireType]:
    """Yield the four forms of STRING, then those of BYTES."""
    for word, of, number, content, sample in (
        ("STRING", wire.String, "INT16", "bytes of UTF-8", "orders"),
        ("BYTES", wire.Bytes, "INT32", "bytes", b"\x01\x02\x03"),
    ):
        null = type(sample)()
        yield _one(word, f"The length as {number}, then that many {content}.", of, sample, null)
        yield _one(f"NULLABLE_{word}", f"As {word}, or null: a length of -1.", wire.Nullable(of), sample, None)
        about = f"The length plus 1 as UNSIGNED_VARINT, then that many {content}. {COMPACT}"
        yield _one(f"COMPACT_{word}", about, of, sample, null, at=FLEXIBLE)
        about = f"As COMPACT_{word}, or null: a 0 in place of the length. {COMPACT}"
        yield _one(f"COMPACT_NULLABLE_{word}", about, wire.Nullable(of), sample, None, at=FLEXIBLE)


def _composed() -> Iterator[WireType]:
    of, items = wire.Array(wire.Int16), [1, 2]
    yield _one("ARRAY", "The number of items as INT32, then the items: [a] in the BNF.", of, items, [])
    yield _one("NULLABLE_ARRAY", "As ARRAY, or null: -1 items.", wire.Nullable(of), items, None)
    about = f"The number of items plus 1 as UNSIGNED_VARINT, then the items. {COMPACT}"
    yield _one("COMPACT_ARRAY", about, of, items, [], at=FLEXIBLE)
    about = f"As COMPACT_ARRAY, or null: a 0 in place of the number. {COMPACT}"
    yield _one("COMPACT_NULLABLE_ARRAY", about, wire.Nullable(of), items, None, at=FLEXIBLE)
    pair = wire.Struct("id" / wire.Int16, "name" / wire.String)
    value = {"id": 1, "name": "a"}
    yield _one("STRUCT", "Its fields in order, with nothing before, between or after them.", pair, value)
    about = "A byte, 1, then the structure; or only -1 for null, which is 0 in a tagged field (KIP-893)."
    yield _one("NULLABLE_STRUCT", about, wire.Nullable(pair), value, None)
    about = (
        "At the end of every structure of a flexible version: their number, then each by ascending tag: its tag, its "
        "size in bytes, its value; all three numbers are UNSIGNED_VARINT. A reader skips those it does not know "
        "(KIP-482)."
    )
    tagged = wire.Struct("count" / wire.Tag(3, wire.Int16)).structure(FLEXIBLE)
    yield WireType("TAGGED_FIELDS", about, tagged, ({}, {"count": 5}))
    about = (
        "At the beginning of every structure, as the draft of KIP-482 had them: for each its length as VARINT, its tag "
        "as INT16, its value, by ascending tag; a length of 0 ends them."
    )
    optional = wire.Struct("count" / wire.Optional(3, wire.Int16)).structure(DRAFT)
    yield WireType("OPTIONAL_FIELDS", about, optional, ({}, {"count": 5}))
    for name, about, field, at in (
        ("RECORDS", "The size of a record set as INT32, then its batches or messages", Records, CLASSIC),
        ("NULLABLE_RECORDS", "As RECORDS, or null: a size of -1", wire.Nullable(Records), CLASSIC),
        ("COMPACT_RECORDS", "The size plus 1 as UNSIGNED_VARINT, then batches", Records, FLEXIBLE),
        ("COMPACT_NULLABLE_RECORDS", "As COMPACT_RECORDS, or null: a 0", wire.Nullable(Records), FLEXIBLE),
    ):
        yield _one(name, f"{about}: kdbg grammar records.", field, [], *([None] * ("NULLABLE" in name)), at=at)
    yield _one("REST", "All bytes up to the end of the frame.", wire.Remainder, b"\x01\x02\x03")
    about = "The length as VARINT, then that many bytes of UTF-8. In records of magic 2."
    yield _one("VARINT_STRING", about, wire.VarintString, "trace")
    about = "The length as VARINT, then that many bytes. In records of magic 2."
    yield _one("VARINT_BYTES", about, wire.VarintBytes, b"\x01\x02")
    about = "As VARINT_BYTES, or null: a length of -1."
    yield _one("NULLABLE_VARINT_BYTES", about, wire.Nullable(wire.VarintBytes), b"\x01", None)


def type_named(name: str) -> WireType | None:
    """Return the type of this name, as `int32` or `compact-string`; None if there is none."""
    return next((found for found in types() if plain(found.name) == plain(name)), None)


def examples(found: WireType) -> list[tuple[str, str]]:
    """Return (value, its bytes in hex) for each example of a type."""
    return [(_written(value), build(found.node, value).hex(" ")) for value in found.values]


def _written(value: Any) -> str:
    """Return the text of an example's value."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} {_written(item)}" for name, item in value.items()) + "}"
    if isinstance(value, bytes):
        return f"bytes {value.hex(' ')}" if value else "no bytes"
    if isinstance(value, str):
        return f'"{value}"'
    return "null" if value is None else str(value).lower()


def type_page(found: WireType, look: Look) -> str:
    """Return the page of one type: how it is encoded, and examples."""
    rows = aligned(examples(found), look, ("", "dim"), indent=2)
    return "\n".join([look.paint("heading", found.name), *wrap(found.about, look.width), "", *rows]) + "\n"


def type_listing(look: Look) -> str:
    """Return every type with how it is encoded and its first example."""
    blocks = []
    for found in types():
        text = [f"  {line}" for line in wrap(found.about, look.width - 2)]
        value, data = examples(found)[0]
        blocks.append("\n".join([look.paint("name", found.name), *text, f"  {look.paint('dim', f'{value}: {data}')}"]))
    return "\n\n".join(blocks) + "\n"


def type_object(found: WireType) -> dict[str, Any]:
    """Return a type with its examples as a JSON object."""
    shown = [{"value": value, "bytes": data} for value, data in examples(found)]
    return {"type": found.name, "about": found.about, "examples": shown}


NOTATION = (
    ("a => b c", "a consists of b, then c. The indented lines below define b and c."),
    ("[a]", "Any number of a: their count, then each of them; kdbg grammar array."),
    ("INT32", "A word in capitals is a type: kdbg grammar types."),
    ("a<tag: 3>", "A tagged field: after the others, and only if it is set; kdbg grammar tagged-fields."),
    ("_tagged_fields", "The tagged fields of a structure, known or unknown, even if there are none."),
    ("_optional_fields", "The optional fields of the draft of KIP-482; kdbg grammar optional-fields."),
    (
        "|a b|",
        "Only in the guide of 0.8: optional fields, which have a meaning only without an error. It has them "
        "once: ConsumerMetadataResponse => ErrorCode |CoordinatorId CoordinatorHost CoordinatorPort|. Brokers always "
        'write them: with an error as -1, "" and -1. kdbg also decodes a response without them.',
    ),
    ("(a | b)", "Only in the guide of 0.8: one or the other; kdbg grammar frame."),
    ("#", "The rest of the line is a comment: what fields mean, and what BNF cannot express."),
)
"""The signs of the BNF, Kafka's guides' and kdbg's own."""


def notation_page(look: Look) -> str:
    """Return the page that says what the signs of the BNF mean."""
    return "\n".join([look.paint("heading", "The signs of the BNF"), "", *aligned(NOTATION, look, ("name",))]) + "\n"


def notation_object() -> dict[str, Any]:
    """Return the signs of the BNF and their meanings as a JSON object."""
    return {"notation": [{"sign": sign, "about": about} for sign, about in NOTATION]}
