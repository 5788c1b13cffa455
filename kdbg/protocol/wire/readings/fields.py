"""Fields and their paths: those of a grammar, `topics[].partitions[].leader_id`, and that of a structure in a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
