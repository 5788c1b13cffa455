"""Types with their examples: what stands on the wire for a value."""

from __future__ import annotations

from kdbg.views.render.style import Look
from kdbg.views.render.typetext import NOTATION, examples, type_listing, types

from ..cases import for_each

EXAMPLES = {
    "BOOLEAN": [("true", "01"), ("false", "00")],
    "INT8": [("5", "05"), ("-1", "ff")],
    "INT16": [("258", "01 02"), ("-1", "ff ff")],
    "INT32": [("258", "00 00 01 02"), ("-1", "ff ff ff ff")],
    "INT64": [("258", "00 00 00 00 00 00 01 02"), ("-1", "ff ff ff ff ff ff ff ff")],
    "UINT16": [("9092", "23 84")],
    "UINT32": [("258", "00 00 01 02")],
    "UNSIGNED_VARINT": [("5", "05"), ("300", "ac 02")],
    "VARINT": [("1", "02"), ("-1", "01"), ("300", "d8 04")],
    "VARLONG": [("-2", "03"), ("1000000000000", "80 c0 a8 ca 9a 3a")],
    "FLOAT64": [("0.5", "3f e0 00 00 00 00 00 00")],
    "UUID": [("01234567-89ab-cdef-0123-456789abcdef", "01 23 45 67 89 ab cd ef 01 23 45 67 89 ab cd ef")],
    "STRING": [('"orders"', "00 06 6f 72 64 65 72 73"), ('""', "00 00")],
    "NULLABLE_STRING": [('"orders"', "00 06 6f 72 64 65 72 73"), ("null", "ff ff")],
    "COMPACT_STRING": [('"orders"', "07 6f 72 64 65 72 73"), ('""', "01")],
    "COMPACT_NULLABLE_STRING": [('"orders"', "07 6f 72 64 65 72 73"), ("null", "00")],
    "BYTES": [("bytes 01 02 03", "00 00 00 03 01 02 03"), ("no bytes", "00 00 00 00")],
    "NULLABLE_BYTES": [("bytes 01 02 03", "00 00 00 03 01 02 03"), ("null", "ff ff ff ff")],
    "COMPACT_BYTES": [("bytes 01 02 03", "04 01 02 03"), ("no bytes", "01")],
    "COMPACT_NULLABLE_BYTES": [("bytes 01 02 03", "04 01 02 03"), ("null", "00")],
    "ARRAY": [("[1, 2]", "00 00 00 02 00 01 00 02"), ("[]", "00 00 00 00")],
    "NULLABLE_ARRAY": [("[1, 2]", "00 00 00 02 00 01 00 02"), ("null", "ff ff ff ff")],
    "COMPACT_ARRAY": [("[1, 2]", "03 00 01 00 02"), ("[]", "01")],
    "COMPACT_NULLABLE_ARRAY": [("[1, 2]", "03 00 01 00 02"), ("null", "00")],
    "STRUCT": [('{id 1, name "a"}', "00 01 00 01 61")],
    "NULLABLE_STRUCT": [('{id 1, name "a"}', "01 00 01 00 01 61"), ("null", "ff")],
    "TAGGED_FIELDS": [("{}", "00"), ("{count 5}", "01 03 02 00 05")],
    "OPTIONAL_FIELDS": [("{}", "00"), ("{count 5}", "04 00 03 00 05 00")],
    "RECORDS": [("[]", "00 00 00 00")],
    "NULLABLE_RECORDS": [("[]", "00 00 00 00"), ("null", "ff ff ff ff")],
    "COMPACT_RECORDS": [("[]", "01")],
    "COMPACT_NULLABLE_RECORDS": [("[]", "01"), ("null", "00")],
    "REST": [("bytes 01 02 03", "01 02 03")],
    "VARINT_STRING": [('"trace"', "0a 74 72 61 63 65")],
    "VARINT_BYTES": [("bytes 01 02", "04 01 02")],
    "NULLABLE_VARINT_BYTES": [("bytes 01", "02 01"), ("null", "01")],
}


def test_every_type_has_examples() -> None:
    assert [found.name for found in types()] == [*EXAMPLES]


@for_each("name", EXAMPLES)
def test_the_bytes_of_its_values(name: str) -> None:
    assert examples(next(found for found in types() if found.name == name)) == EXAMPLES[name]


def test_a_list_has_the_first_example_of_each() -> None:
    blocks = type_listing(Look()).rstrip("\n").split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [*EXAMPLES]
    assert [block.splitlines()[-1] for block in blocks] == [
        f"  {value}: {data}" for value, data in (shown[0] for shown in EXAMPLES.values())
    ]


def test_how_a_string_stands_on_the_wire() -> None:
    assert [found.about for found in types() if found.name.endswith("STRING")] == [
        "The length as INT16, then that many bytes of UTF-8.",
        "As STRING, or null: a length of -1.",
        "The length plus 1 as UNSIGNED_VARINT, then that many bytes of UTF-8. Of flexible versions (KIP-482).",
        "As COMPACT_STRING, or null: a 0 in place of the length. Of flexible versions (KIP-482).",
        "The length as VARINT, then that many bytes of UTF-8. In records of magic 2.",
    ]


def test_the_signs_that_are_explained() -> None:
    assert [sign for sign, _ in NOTATION] == [
        "a => b c", "[a]", "INT32", "a<tag: 3>", "_tagged_fields", "_optional_fields", "|a b|", "(a | b)", "#",
    ]  # fmt: skip
