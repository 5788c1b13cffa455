"""What a definition says: messages, structures and fields with their ranges of versions, and the primitive types.

A default is a string in most files ("-1", "0x7fffffff", "true", "null"), a number or a boolean in some.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from ..grammars.records import Records
from ..wire import Boolean, Bytes, Float64, Int8, Int16, Int32, Int64, String, UInt16, UInt32, Uuid
from ..wire.nodes import NO_DEFAULT


def minus(ranges: Iterable[Versions], others: Iterable[Versions]) -> list[Versions]:
    """Return what is left of each range after all the others are taken out of it."""
    left = list(filter(None, ranges))
    for other in others:
        left = [rest for versions in left for rest in versions.without(other)]
    return left


def common(ranges: Iterable[Versions], others: Iterable[Versions]) -> list[Versions]:
    """Return the versions that are in one of `ranges` and in one of `others`."""
    others = list(others)
    return [both for versions in ranges for other in others if (both := versions & other)]


def difference(one: Versions, other: Versions) -> list[Versions]:
    """Return the versions that are in one of two ranges, but not in both."""
    return minus([one], [other]) + minus([other], [one])


def joined(ranges: Iterable[Versions]) -> list[Versions]:
    """Return the same versions in as few ranges as possible, in order."""
    found: list[Versions] = []
    for versions in sorted(filter(None, ranges)):
        if found and versions.first <= found[-1].last + 1:
            found[-1] = Versions(found[-1].first, max(found[-1].last, versions.last))
        else:
            found.append(versions)
    return found


def listed(ranges: Iterable[Versions]) -> str:
    """Write ranges as `version 3` or `versions 1-2, 4+`; "" where there are no versions."""
    text = ", ".join(map(str, joined(ranges)))
    return f"version{'s' * (not text.isdecimal())} {text}" if text else ""


NEWEST = (1 << 15) - 1
"""Where an open range such as "3+" ends: versions are INT16."""
Kind = Literal["request", "response", "header", "data", "metadata", "coordinator-key", "coordinator-value"]


class Versions(NamedTuple):
    """A range of versions, both ends included; empty where `last` is less than `first`."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: object) -> Versions | None:
        """Read "3", "3+", "0-5" or "none", as definitions write ranges; return None for what is no range."""
        if text == "none":
            return NO_VERSIONS
        found = re.fullmatch(r"([0-9]{1,5})(\+|-([0-9]{1,5}))?", text, re.ASCII) if isinstance(text, str) else None
        if found is None:
            return None
        first = int(found[1])
        last = NEWEST if found[2] == "+" else int(found[3] or first)
        return cls(first, last) if first <= last <= NEWEST else None

    def __bool__(self) -> bool:
        return self.first <= self.last

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.last == NEWEST:
            return f"{self.first}+"
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"

    def has(self, version: int) -> bool:
        return self.first <= version <= self.last

    def __and__(self, other: Versions) -> Versions:
        """Return the versions that are in both ranges."""
        return Versions(max(self.first, other.first), min(self.last, other.last))

    def within(self, other: Versions) -> bool:
        return not self or (other.first <= self.first and self.last <= other.last)

    def without(self, other: Versions) -> Iterator[Versions]:
        """Return what is left of this range without another one: none, one or two ranges."""
        taken = self & other
        rest = [Versions(self.first, taken.first - 1), Versions(taken.last + 1, self.last)] if taken else [self]
        return filter(None, rest)

    def closed(self) -> range:
        """Return the range as Python's, which excludes its end."""
        return range(self.first, self.last + 1)


NO_VERSIONS, ALL_VERSIONS = Versions(0, -1), Versions(0, NEWEST)


@dataclass(frozen=True)
class FieldDefinition:
    """One field. It is of type `item`, or an array of it; `struct` is what that names, None for a primitive type.

    `tag` with `tagged`: the versions in which it is a tagged field (KIP-482). `optional`: it is one of the draft's
    `optionalFields`, its `versions` are those of the message that have them, and `tag` any 16-bit number.
    `flexible` is an override of the message's `flexibleVersions`, None where there is none.
    """

    name: str
    line: int
    item: str
    array: bool
    versions: Versions
    struct: StructDefinition | None = None
    nullable: Versions = NO_VERSIONS
    default: Any = NO_DEFAULT
    """As a value of the field; NO_DEFAULT where the file gives none, or just the type's own."""
    tag: int | None = None
    tagged: Versions = NO_VERSIONS
    optional: bool = False
    flexible: Versions | None = None
    ignorable: bool = False
    map_key: bool = False
    zero_copy: bool = False
    entity: str = ""
    about: str = ""

    @property
    def type(self) -> str:
        """The type as the file has it: `int32`, `[]string`, `[]Topic`."""
        return f"{'[]' * self.array}{self.item}"


@dataclass(frozen=True)
class StructDefinition:
    """A structure: the message itself, or what a field or `commonStructs` names."""

    name: str
    line: int
    versions: Versions
    fields: tuple[FieldDefinition, ...]
    optional_fields: tuple[FieldDefinition, ...] = ()

    @cached_property
    def size(self) -> int:
        """How many fields there are, with those of the structures inside, each time one is named."""
        return sum(1 + (field.struct.size if field.struct else 0) for field in (*self.fields, *self.optional_fields))

    @cached_property
    def depth(self) -> int:
        """How many structures stand inside each other, this one included."""
        inner = (field.struct.depth for field in (*self.fields, *self.optional_fields) if field.struct)
        return 1 + max(inner, default=0)


@dataclass(frozen=True)
class MessageDefinition:
    """One file. `api_key` is None for what is no request and no response."""

    file: str
    name: str
    kind: Kind
    api_key: int | None
    valid: Versions
    flexible: Versions
    body: StructDefinition
    with_optional: Versions = NO_VERSIONS
    """The versions that have the draft's optional fields: `versionsWithOptional`."""
    deprecated: Versions = NO_VERSIONS
    latest_unstable: bool = False
    listeners: tuple[str, ...] = ()

    @property
    def api_name(self) -> str:
        """The name without `Request` or `Response`."""
        suffix = {"request": "Request", "response": "Response"}.get(self.kind, "")
        return self.name.removesuffix(suffix)


def whole(text: str) -> int | None:
    """Return the whole number that a string says, decimal or hex; None for anything else."""
    found = re.fullmatch(r"-?(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})", text, re.ASCII)
    return int(text, 16 if "x" in text.lower() else 10) if found else None


class Primitive(NamedTuple):
    """`parse` turns a default into a value of the type; ValueError, in words for the user, if it is none."""

    wire: Any
    nullable: bool
    parse: Callable[[Any], Any]


def _whole(bits: int, *, signed: bool = True) -> Callable[[Any], int]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def parse(given: Any) -> int:
        number = whole(given) if isinstance(given, str) else given
        if type(number) is not int or not low <= number <= high:
            raise ValueError(f"expected an integer from {low} to {high}")
        return number

    return parse


def _truth(given: Any) -> bool:
    if str(given).lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return str(given).lower() == "true"


def _float(given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("expected a number") from None


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError("expected a string")
    return given


def _uuid(given: Any) -> uuid.UUID:
    """Parse a UUID in base64 (URL-safe, without padding), as Kafka writes it, or in hex."""
    try:
        return uuid.UUID(given) if len(given) > 22 else uuid.UUID(bytes=base64.urlsafe_b64decode(given + "=="))
    except (TypeError, ValueError, AttributeError):
        raise ValueError("expected a UUID, as Kafka writes them (22 letters) or in hex") from None


def _nothing(given: Any) -> Any:
    raise ValueError('the only default of this type is "null"')


PRIMITIVES = {
    "bool": Primitive(Boolean, False, _truth),
    "boolean": Primitive(Boolean, False, _truth),
    "int8": Primitive(Int8, False, _whole(8)),
    "int16": Primitive(Int16, False, _whole(16)),
    "uint16": Primitive(UInt16, False, _whole(16, signed=False)),
    "int32": Primitive(Int32, False, _whole(32)),
    "uint32": Primitive(UInt32, False, _whole(32, signed=False)),
    "int64": Primitive(Int64, False, _whole(64)),
    "float64": Primitive(Float64, False, _float),
    "string": Primitive(String, True, _text),
    "uuid": Primitive(Uuid, False, _uuid),
    "bytes": Primitive(Bytes, True, _nothing),
    "records": Primitive(Records, True, _nothing),
}
"""By the names that definitions use; "boolean" is an early one."""
ENTITIES = {
    "topicName": "string", "groupId": "string", "transactionalId": "string", "brokerId": "int32", "producerId": "int64",
}  # fmt: skip
"""What `entityType` may say a field stands for, and the type that such a field has."""
