"""An expression as nodes, read from the form in which the library hands it out: a serialized cel.expr.CheckedExpr.

That is a message of protocol buffers with a published layout (cel/expr/checked.proto and syntax.proto); the few fields
that matter are read here, so that no other package is needed for it. Loops are told by the shape that the language's
macros expand to: nothing else makes any.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ....errors import InputError

Parts: TypeAlias = dict[int, list[Any]]
NUMBER, TEXT, BYTES, BOOL, LIST, MAP = "a number", "a text", "bytes", "true or false", "a list", "a structure"
TIME, DURATION = "a time", "a duration"
PRIMITIVES = {1: BOOL, 2: NUMBER, 3: NUMBER, 4: NUMBER, 5: TEXT, 6: BYTES}
CONSTANTS: dict[int, Callable[[Any], Any]] = {
    1: lambda value: None,
    2: bool,
    3: lambda value: (value ^ 1 << 63) - (1 << 63),
    5: lambda value: struct.unpack("<d", value)[0],
    6: lambda value: value.decode(),
    7: bytes,
}
"""Constants by the numbers of their fields: null, bool, int64, double, string, bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A part of an expression; `kind` is what the library knows of its value, None where anything may come."""

    kind: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Node):
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Select(Node):
    """A field of a value; with `test`, whether it is there."""

    operand: Node
    field: str
    test: bool


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """A function or operator of values; that of a `method` stands in front of its dot."""

    function: str
    args: tuple[Node, ...]
    method: bool


@dataclass(frozen=True, slots=True, eq=False)
class Items(Node):
    """A list that is written out."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Node):
    """A macro over a list: exists, all, exists_one, or map, which has a `result` and filter is one of."""

    macro: str
    variable: str
    over: Node
    condition: Node | None
    result: Node | None


def decoded(data: bytes) -> Node:
    """Return the nodes of a serialized checked expression; raise `InputError` for what has no place in a filter."""
    checked = _parts(_parts(data)[2][0])
    kinds = {}
    for entry in checked.get(3, ()):
        parts = _parts(entry)
        kinds[parts[1][0]] = _kind(parts[2][0])
    return _ExpressionReader(kinds).node(checked[4][0])


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below one."""
    match node:
        case Select(operand=operand):
            return (operand,)
        case Call(args=args):
            return args
        case Items(items=items):
            return items
        case Loop(over=over, condition=condition, result=result):
            return tuple(one for one in (over, condition, result) if one is not None)
    return ()


class _ExpressionReader:
    def __init__(self, kinds: dict[int, str | None]) -> None:
        self.kinds = kinds

    def node(self, data: bytes) -> Node:
        parts = _parts(data)
        kind = self.kinds.get(parts.get(2, [0])[0])
        for number, read in ((3, self.constant), (4, self.name), (5, self.select), (6, self.call), (7, self.items),
                             (9, self.loop)):  # fmt: skip
            if number in parts:
                return read(_parts(parts[number][0]), kind)
        raise InputError("a structure literal is not supported: compare its fields one by one")

    def constant(self, parts: Parts, kind: str | None) -> Node:
        ((number, (value, *_)),) = parts.items()
        if number == 4:
            raise InputError(f"write {value}, not {value}u")
        return Constant(kind, CONSTANTS[number](value))

    def name(self, parts: Parts, kind: str | None) -> Node:
        return Name(kind, parts[1][0].decode())

    def select(self, parts: Parts, kind: str | None) -> Node:
        return Select(kind, self.node(parts[1][0]), parts[2][0].decode(), bool(parts.get(3, [0])[0]))

    def call(self, parts: Parts, kind: str | None) -> Node:
        args = [self.node(arg) for arg in (*parts.get(1, ()), *parts.get(3, ()))]
        return Call(kind, parts[2][0].decode(), tuple(args), 1 in parts)

    def items(self, parts: Parts, kind: str | None) -> Node:
        return Items(kind, tuple(self.node(item) for item in parts.get(1, ())))

    def loop(self, parts: Parts, kind: str | None) -> Node:
        variable, over = parts[1][0].decode(), self.node(parts[2][0])
        start, step = self.node(parts[4][0]), self.node(parts[6][0])
        assert isinstance(step, Call)
        if step.function in ("_||_", "_&&_"):
            return Loop(kind, "exists" if step.function == "_||_" else "all", variable, over, step.args[1], None)
        condition, added = (step.args[0], step.args[1]) if step.function == "_?_:_" else (None, step)
        assert isinstance(added, Call)
        if isinstance(start, Constant):
            return Loop(kind, "exists_one", variable, over, condition, None)
        assert isinstance(added.args[1], Items)
        return Loop(kind, "map", variable, over, condition, added.args[1].items[0])


def _kind(data: bytes) -> str | None:
    """Return what a cel.expr.Type says of a value."""
    parts = _parts(data)
    for number in (3, 4):
        if number in parts:
            return PRIMITIVES.get(parts[number][0])
    if 5 in parts:
        return {2: TIME, 3: DURATION}.get(parts[5][0])
    return LIST if 6 in parts else MAP if 7 in parts else None


def _parts(data: bytes) -> Parts:
    """Return the fields of a message of protocol buffers by their numbers."""
    parts: Parts = {}
    pos = 0
    while pos < len(data):
        key, pos = _varint(data, pos)
        size = 8 if key & 7 == 1 else 4
        if key & 7 == 0:
            value, pos = _varint(data, pos)
            parts.setdefault(key >> 3, []).append(value)
            continue
        if key & 7 == 2:
            size, pos = _varint(data, pos)
        parts.setdefault(key >> 3, []).append(data[pos : pos + size])
        pos += size
    return parts


def _varint(data: bytes, pos: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, pos
