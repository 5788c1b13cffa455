"""What stands below a BNF: what its words leave unsaid."""

from __future__ import annotations

from typing import Any

from kdbg.protocol.wire import (
    ApiKey,
    Array,
    Boolean,
    Bytes,
    Default,
    Duration,
    ErrorCode,
    Int8,
    Int16,
    Nullable,
    Secret,
    String,
    Struct,
    Tag,
    Timestamp,
)
from kdbg.protocol.wire.language.types import At, Bits, Enum, Holds
from kdbg.views.render.grammar import note

from ..cases import for_each

CODECS = "bits 0-2 codec (1 gzip, 2 snappy, 3 lz4, 4 zstd)"


def noted(type: Any, *others: Any) -> str:
    struct = Struct("it" / type, *others).structure(At(0, True))
    return note(next(field for field in struct.members if field.name == "it"), struct)


@for_each(
    ("type", "said"),
    [
        (Int8, ""),
        (ErrorCode, "an error code: kdbg errors"),
        (ApiKey, "an API key: kdbg apis"),
        (Duration * "how long to wait", "milliseconds"),
        (Duration * "how long to wait, in ms", ""),
        (Timestamp, "milliseconds since 1970"),
        (Timestamp * "when, in milliseconds since 1970", ""),
        (Array(Duration) * "how long each", "milliseconds"),
        (Int8.means("message_attributes_0"), CODECS),
        (Int8.means("message_attributes"), f"{CODECS}, bit 3 append time"),
        (
            Int16.means("batch_attributes"),
            f"{CODECS}, bit 3 append time, 4 transactional, 5 control batch, 6 delete horizon",
        ),
        (Nullable(Array(Int8)), "may be null"),
        (Nullable(Struct("a" / Int8)), "may be null"),
        (Tag(3, Int8), "tagged field 3"),
        (Tag(3, Array(Int8)), "tagged field 3, an array"),
        (Default(Int16, 5), "default 5"),
        (Default(Boolean, True), "default true"),
        (Default(Nullable(String), None), "default null"),
        (Enum(Int8, {0: "OFF", 1: "ON"}), "0\xa0OFF, 1\xa0ON"),
        (Bits(Int8, {0: "READ", 3: "WRITE"}), "bit\xa00\xa0READ, bit\xa03\xa0WRITE"),
        (Secret(String), "secret: shown only with --show-secrets"),
        (Holds(Bytes, lambda data, around: ()), "may contain a payload: kdbg grammar payloads"),
    ],
)
def test_what_is_said_of_a_field(type: Any, said: str) -> None:
    assert noted(type) == said


def test_when_a_field_is_secret() -> None:
    shown = "shown only with --show-secrets"
    assert noted(Secret(String, "hidden"), "hidden" / Boolean) == f"secret if hidden is true: {shown}"
    assert noted(Secret(String, "name"), "name" / String) == f"secret if name suggests a password: {shown}"
