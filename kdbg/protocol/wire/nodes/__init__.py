"""The closed set of concrete nodes: what a declaration becomes once its version is known, and what each is made of.

A node is a `construct.Construct`: its `_parse` reads plain Python values (never construct's Containers) and its
`_build` writes them, so `node.parse(data)` and `node.build(value)` are construct's own. Leaves are in leaves.py; here
are the nodes that hold others. Paths are those a person writes: `topics[0].partitions[2].leader_id`. Tagged fields:
KIP-482, nullable structures: KIP-893.

`children` is how every reading goes down a grammar, and a value beside it.

    children(grammar)                 the nodes inside, plain and tagged, in the order of the wire
    child.values(value)               the values of that child inside the value of its node; none where it is absent
    child.replaced(value, change)     the same value with `change` applied to those, in place where it can be

A reading that searches or changes values is a fold over these three; only a reading that treats each class of node in
a way of its own (BNF, spans, compiled, the tree) asks for the class, by a table (`ByClass`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

from ....errors import BuildError
from .leaves import *

__all__ = [
    "BOOLEAN", "COMPACT_LENGTH", "FLOAT64", "INT8", "INT16", "INT32", "INT64", "UINT16", "UINT32", "UVARINT", "VARINT",
    "VARLONG", "Fixed", "Length", "Node", "RemainingBytes", "Sized", "Stream", "UuidNode", "Varint", "take", "to_bytes",
]  # fmt: skip

NO_DEFAULT: Any = object()


@dataclass(eq=False, repr=False)
class WireArray(WalkedNode):
    """A count, then so many items."""

    bnf: str
    length: Length
    item: Node
    _: KW_ONLY
    nullable: bool

    def default(self) -> list[Any]:
        return []

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        if type(value) is not list:
            if value is None and not self.nullable:
                raise BuildError(path, f"null, but {self.bnf} must not be null")
            if value is not None and (isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__len__")):
                raise BuildError(path, f"{value!r} is not a list")
        self.length.build(-1 if value is None else len(value), stream, path)
        for i, item in enumerate(value or ()):
            try:
                self.item._build(item, stream, context, "")
            except BuildError as error:
                raise error.inside(f"{path}[{i}]") from None
        return value


class Field(NamedTuple):
    """One field of a structure; `tag` is its number among the tagged fields, None for a plain one."""

    name: str
    node: Node
    initial: Any = NO_DEFAULT
    tag: int | None = None
    about: str = ""

    @property
    def default(self) -> Any:
        return self.node.default() if self.initial is NO_DEFAULT else self.initial


@dataclass(eq=False, repr=False)
class WireStruct(WalkedNode):
    """Fields in order; `tags` holds the tagged fields it knows, None where a structure of this version has none.

    `front`: they are optional fields, in front of the others, as the draft of KIP-482 had them.
    """

    bnf = "STRUCT"
    fields: tuple[Field, ...]
    tags: dict[int, Field] | None
    _: KW_ONLY
    front: bool = False

    def __post_init__(self) -> None:
        self._keys = frozenset(self.keys)

    @property
    def members(self) -> tuple[Field, ...]:
        """Return every field with a name, plain and tagged, in the order of the wire."""
        tagged = tuple(field for _, field in sorted((self.tags or {}).items()))
        return (*tagged, *self.fields) if self.front else (*self.fields, *tagged)

    @property
    def keys(self) -> Iterator[str]:
        """Yield every key that a value of this structure may have."""
        yield from (field.name for field in self.fields)
        if self.tags is not None:
            yield from (field.name for field in self.tags.values())
            yield TAGGED

    def default(self) -> dict[str, Any]:
        return {field.name: field.default for field in self.fields}

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        if type(value) is not dict and not isinstance(value, Mapping):
            raise BuildError(path, f"{value!r} is not a structure (an object with fields)")
        if unknown := [name for name in value if name not in self._keys]:
            raise BuildError(join(path, str(unknown[0])), "this version has no such field")
        if self.front:
            write_tags(self._tagged(value, path), stream, join(path, TAGGED), front=True)
        try:
            for name, node, initial, _, _ in self.fields:
                item = value.get(name, NO_DEFAULT)
                if item is NO_DEFAULT:
                    item = node.default() if initial is NO_DEFAULT else initial
                node._build(item, stream, context, name)
        except BuildError as error:
            raise error.inside(path) from None
        if self.tags is not None and not self.front:
            if not self.tags and TAGGED not in value:
                stream.write(b"\0")
            else:
                write_tags(self._tagged(value, path), stream, join(path, TAGGED), front=False)
        return value

    def _tagged(self, value: Mapping[str, Any], path: str) -> dict[int, bytes]:
        """Return tag -> bytes of every tagged field that is set, known or not; raise `BuildError` if one is wrong."""
        here, entries = join(path, TAGGED), {}
        unknown = value.get(TAGGED) or {}
        if not isinstance(unknown, Mapping):
            raise BuildError(here, f"{unknown!r} is not an object of tags and bytes")
        for tag, raw in unknown.items():
            if not str(tag).isdecimal():
                raise BuildError(here, f"{tag!r} is not a tag")
            entries[int(tag)] = to_bytes(raw, f"{here}.{tag}", "tagged field")
        for tag, field in (self.tags or {}).items():
            if field.name in value:
                entries[tag] = build(field.node, value[field.name], join(path, field.name))
        return entries


class UnreadStruct(WireStruct):
    """A body that nobody has a grammar for: all of its bytes in one field."""


@dataclass(eq=False, repr=False)
class NullableStruct(WalkedNode):
    """A structure that may be null: a marker byte, `null` or 1, then the structure (KIP-893).

    Null is -1; in a tagged field it is 0, for there Kafka's classes have an unsigned varint as the marker.
    """

    bnf = "NULLABLE_STRUCT"
    struct: WireStruct
    _: KW_ONLY
    null: int = -1

    def default(self) -> Any:
        return self.struct.default()

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        INT8._build(self.null if value is None else 1, stream, context, path)
        if value is not None:
            self.struct._build(value, stream, context, path)
        return value


class LengthPrefixed(WalkedNode):
    """A length, then one item that fills it to the last byte."""

    bnf = "RECORD"

    def __init__(self, number: Fixed | Varint, item: WireStruct) -> None:
        self.length: Length = Length(number, 0)
        self.item: WireStruct = item

    def default(self) -> Any:
        return self.item.default()

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        data = build(self.item, value, path)
        self.length.build(len(data), stream, path)
        stream.write(data)
        return value


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def build(node: Node, value: Any, path: str = "") -> bytes:
    """Return the bytes of `value`; raise `BuildError` naming the field that does not fit."""
    stream = io.BytesIO()
    node._build(value, stream, None, path)
    return stream.getvalue()


TAGGED = "tagged_fields"
"""The key under which a structure's unknown tagged fields stand, tag -> bytes; absent where there are none."""


def write_tags(entries: Mapping[int, bytes], stream: Stream, path: str, *, front: bool) -> None:
    """Write the tagged fields of one structure, lowest tag first; `front` writes the draft's form.

    Raise `BuildError` for an optional field that takes no bytes or has a tag above 65535.
    """
    if not front:
        UVARINT._build(len(entries), stream, None, path)
    for tag, data in sorted(entries.items()):
        if not front:
            UVARINT._build(tag, stream, None, path)
            UVARINT._build(len(data), stream, None, path)
        elif not data:
            problem = "an optional field has at least 1 byte: length 0 ends the optional fields"
            raise BuildError(f"{path}.{tag}", problem)
        elif tag > 0xFFFF:
            raise BuildError(f"{path}.{tag}", "the tag of an optional field must be 0 to 65535")
        else:
            VARINT._build(len(data), stream, None, path)
            UINT16._build(tag, stream, None, path)
        stream.write(data)
    if front:
        VARINT._build(0, stream, None, path)


Change = Callable[[Any], Any]
Entry = TypeVar("Entry")


class ByClass(dict[type[Node], Entry]):
    """Class of node -> what a reading does with it; a subclass goes by the nearest class that is listed."""

    def __missing__(self, kind: type[Node]) -> Entry:
        self[kind] = next(self[base] for base in kind.__mro__[1:] if base in self)
        return self[kind]


class Child(NamedTuple):
    """A node inside another: a field, the items of an array, or the one node that stands for the same value.

    `key` is the name of a field, "" for what has none; one that the value does not have is passed over. `repeated`: a
    value holds any number of it, by their indexes. `always`: a value that is whole holds it; tagged fields may be left
    out.
    """

    node: Node
    key: str = ""
    repeated: bool = False
    always: bool = True

    def values(self, value: Any) -> Iterator[Any]:
        """Yield the child's values in the value of its node."""
        if self.repeated:
            yield from value or ()
        elif value is not None and not self.key:
            yield value
        elif value is not None and self.key in value:
            yield value[self.key]

    def replaced(self, value: Any, change: Change) -> Any:
        """Return the value with the child's values changed; a list or dict is changed itself."""
        if self.repeated:
            for i, item in enumerate(value or ()):
                value[i] = change(item)
        elif value is not None and not self.key:
            return change(value)
        elif value is not None and self.key in value:
            value[self.key] = change(value[self.key])
        return value


@cache
def children(node: Node) -> tuple[Child, ...]:
    """Return the children of a node in the order of the wire; a leaf, as a record set is one, has none."""
    if isinstance(node, WireStruct):
        return tuple(Child(each.node, each.name, always=each.tag is None) for each in node.members)
    if isinstance(node, WireArray):
        return (Child(node.item, repeated=True),)
    if isinstance(node, NullableStruct):
        return (Child(node.struct),)
    return (Child(node.item),) if isinstance(node, LengthPrefixed) else ()


def contains(node: Node, wanted: Callable[[Node], bool]) -> bool:
    """Return whether `wanted` is true of a node or of any below it."""
    return wanted(node) or any(contains(child.node, wanted) for child in children(node))
