"""A grammar as the protocol guide's own BNF: `Metadata Request (Version: 1) => [topics]`, then its sub-definitions."""

from __future__ import annotations

from collections.abc import Iterator

from ..nodes import Field, LengthPrefixed, Node, NullableStruct, WireArray, WireStruct


def bnf(title: str, struct: WireStruct) -> str:
    """The whole grammar of one message, a line a production, sub-definitions indented by two."""
    return "\n".join([f"{title} => {head(struct)}".rstrip(), *productions(struct, "  ")])


def head(struct: WireStruct) -> str:
    """The right-hand side of a structure: its fields in order, arrays in brackets, the tagged fields by name."""
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
    """The definitions of a structure's fields, and of theirs."""
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
    """The type's word; an array of a primitive type is named by its item, as the guide does."""
    return word(node.item) if isinstance(node, WireArray) else node.bnf


def structure(node: Node) -> WireStruct | None:
    """The structure that a field holds, once or many times; None for a primitive type."""
    if isinstance(node, WireArray):
        return structure(node.item)
    if isinstance(node, NullableStruct):
        return node.struct
    if isinstance(node, LengthPrefixed):
        return node.item
    return node if isinstance(node, WireStruct) else None
