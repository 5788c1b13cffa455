"""A grammar as its fields: each with its path, `topics[].partitions[].leader_id`, and the ends of that path."""

from __future__ import annotations

from collections.abc import Iterator

from ..nodes import Field, WireArray, WireStruct, join
from .bnf import structure


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
