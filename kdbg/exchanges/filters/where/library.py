"""The library that knows the language: it parses, checks types, and evaluates what is not done here.

Its types of names are given in its own notation. All it raises comes out as `InputError`, in the words of a person.
"""

from __future__ import annotations

import difflib
import io
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeAlias

from ....errors import InputError
from ....extras import install
from .semantics import Undecided

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
    return _node(checked[4][0], kinds)


def _node(data: bytes, kinds: Mapping[int, str | None]) -> Node:
    """Return the nodes of a cel.expr.Expr; `kinds` are those of its parts, by their ids."""
    fields = _parts(data)
    kind = kinds.get(fields.get(2, [0])[0])
    which = next((number for number in (3, 4, 5, 6, 7, 9) if number in fields), 0)
    parts = _parts(fields[which][0]) if which else {}

    def node(data: bytes) -> Node:
        return _node(data, kinds)

    match which:
        case 3:
            ((number, (value, *_)),) = parts.items()
            if number == 4:
                raise InputError(f"write {value}, not {value}u")
            return Constant(kind, CONSTANTS[number](value))
        case 4:
            return Name(kind, parts[1][0].decode())
        case 5:
            return Select(kind, node(parts[1][0]), parts[2][0].decode(), bool(parts.get(3, [0])[0]))
        case 6:
            args = map(node, (*parts.get(1, ()), *parts.get(3, ())))
            return Call(kind, parts[2][0].decode(), tuple(args), 1 in parts)
        case 7:
            return Items(kind, tuple(map(node, parts.get(1, ()))))
        case 9:
            return _loop(kind, parts[1][0].decode(), *(node(parts[number][0]) for number in (2, 4, 6)))
    raise InputError("a structure literal is not supported: compare its fields one by one")


def _loop(kind: str | None, variable: str, over: Node, start: Node, step: Node) -> Loop:
    """Return the macro that expands to a loop which begins with `start` and goes on with `step`."""
    assert isinstance(step, Call)
    if step.function in ("_||_", "_&&_"):
        return Loop(kind, "exists" if step.function == "_||_" else "all", variable, over, step.args[1], None)
    condition, added = (step.args[0], step.args[1]) if step.function == "_?_:_" else (None, step)
    assert isinstance(added, Call)
    if isinstance(start, Constant):
        return Loop(kind, "exists_one", variable, over, condition, None)
    assert isinstance(added.args[1], Items)
    return Loop(kind, "map", variable, over, condition, added.args[1].items[0])


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
    stream = io.BytesIO(data)

    def varint() -> int:
        value = shift = 0
        while (byte := stream.read(1)[0]) > 0x7F:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    while stream.tell() < len(data):
        key = varint()
        size = {0: -1, 1: 8, 2: 0}.get(key & 7, 4)
        if size < 0:
            value: Any = varint()
        else:
            value = stream.read(size or varint())
        parts.setdefault(key >> 3, []).append(value)
    return parts


OPERATORS = {"_+_": "a0 + a1", "_-_": "a0 - a1", "_*_": "a0 * a1", "_/_": "a0 / a1", "_%_": "a0 % a1", "-_": "-a0"}
WORDS = {"@in": "in", "!_": "!", "-_": "-", "_?_:_": "? :", "_[_]": "[ ]"}
SAID = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
UNKNOWN = re.compile(r"undeclared reference to '([^']*)'")
MISMATCH = re.compile(r"found no matching overload for '([^']*)' applied to '(.*)'")
SYNTAX = [
    (re.compile(pattern), words)
    for pattern, words in (
        (r"mismatched input '<EOF>' expecting ('[^']*')$", "the expression ends where {} is expected"),
        (r"mismatched input '<EOF>'", "the expression ends where a value is expected"),
        (r"missing ('[^']*') at '<EOF>'", "the expression ends where {} is expected"),
        (r"missing ('[^']*') at ('.*')", "expected {} before {}"),
        (r"recognition error at: '[\"']", "unclosed quotation mark, or an invalid escape sequence after it"),
        (r"recognition error at: '= *'", "unexpected '='; compare with =="),
        (r"recognition error at: '=~'", "unexpected '=~'; compare with matches(), as in client_id.matches('shop.*')"),
        (r"input ('(?i:and|or|not|is|like)') ", "unexpected {}; the operators are &&, ||, !, ==, != and in"),
        (r"no viable alternative at input ('.')", "expected a name after {}"),
        (r"no viable alternative at input ('.*')", "no valid expression at {}"),
        (r"(?:input|recognition error at:) ('.*?')(?: expecting|$)", "unexpected {}"),
        (r"reserved identifier: (.*)", "{} is a reserved word"),
        (r"invalid int literal", "the number is not a 64-bit integer"),
    )
]
"""What the library says of a mistake, and what is said of it here."""


def compiled(text: str, types: Mapping[str, str]) -> bytes:
    """Parse an expression and check its types; return it as the library serializes it.

    Raise `InputError` for one that is wrong, or must not be so large, and where the library is not installed.
    """
    try:
        checked = _environment(tuple(types.items())).compile(text)
        result = checked.return_type().name().lower()
        serialized: bytes = checked.serialize()
    except RuntimeError as error:
        raise InputError(_error_line(str(error), types)) from None
    if result not in ("bool", "dyn"):
        raise InputError(f"a filter must be true or false, but this is a {result}: compare it with a value")
    return serialized


def function(name: str, count: int, *, method: bool) -> Callable[..., Any]:
    """Return a function or operator of the language of `count` values; where it has no answer it raises `Undecided`."""

    def call(*values: Any) -> Any:
        try:
            run = _evaluator(name, count, method, tuple(map(_type_of, values)))
            found = run.eval(data={f"a{i}": _given(value) for i, value in enumerate(values)})
            if found.type().name().lower() in ("error", "unknown"):
                raise Undecided
            return _converted(found.plain_value())
        except (RuntimeError, TypeError, ValueError, OverflowError):
            raise Undecided from None

    return call


@cache
def _evaluator(name: str, count: int, method: bool, types: tuple[str, ...]) -> Any:
    args = [f"a{i}" for i in range(count)]
    called = f"{args[0]}.{name}({', '.join(args[1:])})" if method else f"{name}({', '.join(args)})"
    return _environment(tuple(zip(args, types, strict=True))).compile(OPERATORS.get(name, called))


def _type_of(value: Any) -> str:
    """Return the type to declare for a value: the library takes times and durations for nothing else."""
    return "timestamp" if isinstance(value, datetime) else "duration" if isinstance(value, timedelta) else "dyn"


@cache
def _environment(types: tuple[tuple[str, str], ...]) -> Any:
    """Return what compiles expressions over names of these types."""
    try:
        from cel_expr_python import cel
    except ImportError:
        raise InputError(f"needs the package cel-expr-python; {install('where')}") from None
    return cel.NewEnv(variables={name: _type(cel, kind) for name, kind in types})


def _type(cel: Any, notation: str) -> Any:
    """Return a type of the library's: `list(int)`, `map(string, dyn)`, or one that it knows by its name."""
    inside = notation.partition("(")[2][:-1]
    if notation.startswith("list("):
        return cel.Type.List(_type(cel, inside))
    if notation.startswith("map("):
        return cel.Type.Map(*(_type(cel, part) for part in inside.split(", ", 1)))
    return cel.Type(notation)


def _given(value: Any) -> Any:
    """Return a value in a type that the library takes."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, bytes):
        return bytes(value)
    return list(map(_given, value)) if isinstance(value, (list, tuple, range)) else value


def _converted(value: Any) -> Any:
    """Return what the library gives, in the types that are used here."""
    if isinstance(value, list):
        return list(map(_converted, value))
    return bytes(value) if isinstance(value, bytearray) else value


def _error_line(error: str, names: Mapping[str, str]) -> str:
    """Return in a line what the library says of an expression."""
    found = SAID.search(error)
    if found is None or "recursion" in found[3]:
        return "too deeply nested or too long: write it in fewer steps"
    line, column, text = int(found[1]), int(found[2]), found[3]
    where = f"column {column}" if line == 1 else f"line {line}, column {column}"
    if unknown := UNKNOWN.search(text):
        name = unknown[1]
        if near := difflib.get_close_matches(name.lower(), names, n=2):
            return f"{where}: unknown name {name!r}; did you mean {' or '.join(near)}?"
        return f"{where}: unknown name or function {name!r}; known names: {', '.join(names)}"
    if mismatch := MISMATCH.search(text):
        operator = WORDS.get(mismatch[1], mismatch[1].strip("_"))
        kinds = re.sub(r"wrapper\((\w+)\)", r"\1", mismatch[2][1:-1]).replace(", ", " and ")
        return f"{where}: {operator} does not apply to {kinds}"
    for pattern, words in SYNTAX:
        if said := pattern.search(text):
            return f"{where}: {words.format(*said.groups())}"
    return f"{where}: {text}"
