"""A grammar as text: paths of fields, rows of (path, type), and the protocol guide's own BNF."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..nodes import Field, LengthPrefixed, Node, NullableStruct, WireArray, WireStruct, join


def walk(struct: WireStruct, path: str = "") -> Iterator[tuple[str, Field, WireStruct]]:
    """Yield (path, field, structure that it stands in) of every field, tagged ones too, in the order of the wire."""
    for field in struct.members:
        here = join(path, field.name)
        yield here, field, struct
        inner = structure(field.node)
        if inner is not None:
            yield from walk(inner, f"{here}[]" if isinstance(field.node, WireArray) else here)


def tails(path: str) -> list[str]:
    """Return the ends of a path, the shortest first: its name, its name and that of the structure around it, …"""
    words = path.split(".")
    return [".".join(words[-count:]) for count in range(1, len(words) + 1)]


def path_to(wanted: Any, value: Any, path: str = "") -> str | None:
    """Return the path of this very structure in a message's value; None if it is not in it."""
    if value is wanted:
        return path
    if isinstance(value, dict):
        inner = ((join(path, name), each) for name, each in value.items())
    elif isinstance(value, list):
        inner = ((f"{path}[{i}]", each) for i, each in enumerate(value))
    else:
        return None
    return next((found for place, each in inner if (found := path_to(wanted, each, place)) is not None), None)


class LayoutRow(NamedTuple):
    path: str
    type: str
    tags: tuple[tuple[int, str], ...] | None = None
    """For the tagged fields of a structure: the (tag, name) pairs it knows."""


def layout(struct: WireStruct, path: str = "") -> Iterator[LayoutRow]:
    """Yield the rows of a structure and of all below it, in wire order."""
    if struct.front:
        yield from _tagged(struct, path, "^", "optional_fields")
    for field in struct.fields:
        yield from _rows(field.node, join(path, field.name))
    if not struct.front:
        yield from _tagged(struct, path, "~", "tagged_fields")


def _tagged(struct: WireStruct, path: str, sign: str, type: str) -> Iterator[LayoutRow]:
    if struct.tags is None:
        return
    tags = sorted(struct.tags.items())
    yield LayoutRow(join(path, sign), type, tuple((tag, field.name) for tag, field in tags))
    for tag, field in tags:
        yield from _rows(field.node, join(path, f"{sign}{tag}:{field.name}"))


def _rows(node: Node, path: str) -> Iterator[LayoutRow]:
    yield LayoutRow(path, node.bnf.lower())
    if isinstance(node, WireArray) and not isinstance(node.item, WireStruct):
        yield from _rows(node.item, f"{path}[]")
    elif (inner := structure(node)) is not None:
        yield from layout(inner, f"{path}[]" if isinstance(node, WireArray) else path)


class Change(NamedTuple):
    """One difference between two layouts: `sign` is '+', '-' or '~' (the type changed)."""

    sign: str
    path: str
    type: str
    former: str = ""


def compare(old: WireStruct, new: WireStruct) -> list[Change]:
    """Return what the newer layout added and changed, in the order of its fields, then what it dropped."""
    before = {row.path: row.type for row in layout(old)}
    after = {row.path: row.type for row in layout(new)}
    changes = [
        Change("+", path, type) if path not in before else Change("~", path, type, before[path])
        for path, type in after.items()
        if before.get(path) != type
    ]
    return changes + [Change("-", path, type) for path, type in before.items() if path not in after]


def bnf(title: str, struct: WireStruct) -> str:
    """Return the whole grammar of one message, one production a line, sub-definitions indented by two."""
    return "\n".join([f"{title} => {head(struct)}".rstrip(), *productions(struct, "  ")])


def head(struct: WireStruct) -> str:
    """Return the right-hand side of a structure's production: its fields in order, arrays in brackets.

    Tagged or optional fields stand in it as one word: `_tagged_fields` or `_optional_fields`.
    """
    words = ["_optional_fields"] if struct.front else []
    for field in struct.fields:
        if isinstance(field.node, LengthPrefixed):
            words.append(f"{field.name}_size")
        words.append(f"[{field.name}]" if isinstance(field.node, WireArray) else field.name)
    if struct.tags is not None and not struct.front:
        words.append("_tagged_fields")
    return " ".join(words)


def productions(struct: WireStruct, indent: str) -> Iterator[str]:
    """Yield the lines that define a structure's fields, each followed by the fields below it."""
    for field in struct.members:
        if isinstance(field.node, LengthPrefixed):
            yield f"{indent}{field.name}_size => {field.node.length.number.bnf}"
        name = f"{indent}{field.name}{'' if field.tag is None else f'<tag: {field.tag}>'}"
        inner = structure(field.node)
        if inner is None:
            yield f"{name} => {word(field.node)}"
            continue
        item = field.node.item if isinstance(field.node, WireArray) else None
        length = item.length.number.bnf if isinstance(item, LengthPrefixed) else ""
        yield f"{name} => {'length ' if length else ''}{head(inner)}".rstrip()
        if length:
            yield f"{indent}  length => {length}"
        yield from productions(inner, indent + "  ")


def word(node: Node) -> str:
    """Return the type's word; an array is named by its item, as the guide does."""
    return word(node.item) if isinstance(node, WireArray) else node.bnf


def structure(node: Node) -> WireStruct | None:
    """Return the structure that a field holds, once or many times; None for a primitive type."""
    if isinstance(node, WireArray):
        return structure(node.item)
    if isinstance(node, NullableStruct):
        return node.struct
    if isinstance(node, LengthPrefixed):
        return node.item
    return node if isinstance(node, WireStruct) else None
