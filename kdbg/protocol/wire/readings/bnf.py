"""A grammar as the protocol guide's own BNF: `Metadata Request (Version: 1) => [topics]`, then its sub-definitions."""

from __future__ import annotations

from collections.abc import Iterator

from ..nodes import Field, LengthPrefixed, Node, NullableStruct, WireArray, WireStruct


def bnf(title: str, struct: WireStruct) -> str:
    """Return the whole grammar of one message, one production a line, sub-definitions indented by two."""
    return "\n".join([f"{title} => {head(struct)}".rstrip(), *productions(struct, "  ")])


def head(struct: WireStruct) -> str:
    """Return the right-hand side of a structure's production: its fields in order, arrays in brackets.

    Tagged or optional fields stand in it as one word: `_tagged_fields` or `_optional_fields`.
    """
    words = [word for field in struct.fields for word in _words(field)]
    if struct.front:
        words.insert(0, "_optional_fields")
    elif struct.tags is not None:
        words.append("_tagged_fields")
    return " ".join(words)


def _words(field: Field) -> list[str]:
    if isinstance(field.node, WireArray):
        return [f"[{field.name}]"]
    return [f"{field.name}_size", field.name] if isinstance(field.node, LengthPrefixed) else [field.name]


def productions(struct: WireStruct, indent: str) -> Iterator[str]:
    """Yield the lines that define a structure's fields, each followed by the fields below it."""
    for field in struct.members:
        if isinstance(field.node, LengthPrefixed):
            yield f"{indent}{field.name}_size => {field.node.length.number.bnf}"
        tag = "" if field.tag is None else f"<tag: {field.tag}>"
        yield from _production(field, indent, f"{field.name}{tag}")


def _production(field: Field, indent: str, name: str) -> Iterator[str]:
    inner = structure(field.node)
    if inner is None:
        yield f"{indent}{name} => {word(field.node)}"
        return
    item = field.node.item if isinstance(field.node, WireArray) else None
    length = item.length.number.bnf if isinstance(item, LengthPrefixed) else ""
    yield f"{indent}{name} => {'length ' if length else ''}{head(inner)}".rstrip()
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
