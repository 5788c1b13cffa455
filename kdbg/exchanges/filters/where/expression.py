"""An expression, from its text to the question that an exchange is asked."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from ....errors import InputError, UnknownApi
from ....protocol import grammars
from ....protocol.findings import OLD_NAMES, Kind
from ....protocol.grammars.errors import ERRORS
from ...messages.exchange import Exchange
from ..filter import Topics
from .closures import LONGEST, MOST_STEPS, Asking, Writer, bound, reads_bodies
from .library import BOOL, LIST, MAP, NUMBER, Call, Constant, Items, Loop, Name, Node, Select, compiled, decoded, walk
from .semantics import Undecided
from .vocabulary import HALVES, OPEN, OWN, TERMS, TIMED, Shape, half, null_test

Scope: TypeAlias = Mapping[str, Shape]
Found: TypeAlias = "tuple[Node, Shape]"
COMPARED = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")


def _visit(node: Node, scope: Scope) -> Found:
    """Return a node with names of error codes as codes, and its shape; raise `InputError` for what cannot be meant."""
    match node:
        case Name(name=name):
            if name not in scope and name not in TERMS:
                raise InputError(f"{name} is a type, not a value")
            shape = scope.get(name) or TERMS[name].shape
            return node, shape or half("request" if name == "request" else "response")
        case Constant(value=value):
            return node, Shape({node.kind} if node.kind else set(), open=value is None)
        case Items(items=items):
            visited = [_visit(item, scope)[0] for item in items]
            kinds = {item.kind for item in visited}
            common = OPEN if None in kinds or not kinds else Shape({kind for kind in kinds if kind})
            return replace(node, items=tuple(visited)), Shape({LIST}, items=common)
        case Select():
            return _select(node, scope)
        case Loop():
            return _loop(node, scope)
        case Call():
            return _call(node, scope)
    raise AssertionError(node)


def _select(node: Select, scope: Scope) -> Found:
    if isinstance(node.operand, Name) and node.operand.name in HALVES and node.field in OWN and not scope:
        return node, Shape({BOOL}) if node.test else OWN[node.field][0]
    operand, around = _visit(node.operand, scope)
    made = replace(node, operand=operand)
    if node.field in around.fields:
        found = around.fields[node.field]
    elif around.open or not around.kinds or (MAP in around.kinds and not around.fields):
        found = OPEN
    elif MAP not in around.kinds:
        raise InputError(f"{_text(node)}: {_text(node.operand)} is {_either(around.kinds)}, and has no fields")
    else:
        names = list(around.fields)
        near = difflib.get_close_matches(node.field, names, n=2) or [one for one in names if node.field in one][:2]
        listed = f"; known names: {', '.join(names)}" if len(names) < 10 else ""
        if near:
            listed = f"; did you mean {' or '.join(f'{_text(node.operand)}.{one}' for one in near)}?"
        raise InputError(f"no message has {_text(node)}{listed}")
    return made, Shape({BOOL}) if node.test else found


def _loop(node: Loop, scope: Scope) -> Found:
    over, around = _visit(node.over, scope)
    if around.kinds and not around.open and not around.kinds & {LIST, MAP}:
        raise InputError(f"{_text(node.over)} is {_either(around.kinds)}, not a list")
    items = around.items or OPEN
    inside = {**scope, node.variable: items if MAP not in around.kinds else OPEN}
    condition = _visit(node.condition, inside)[0] if node.condition is not None else None
    result, shape = _visit(node.result, inside) if node.result is not None else (None, OPEN)
    made = replace(node, over=over, condition=condition, result=result)
    return made, Shape({LIST}, items=shape) if node.macro == "map" else Shape({BOOL})


def _call(node: Call, scope: Scope) -> Found:
    if null_test(node) is not None and not scope:
        return node, Shape({BOOL})
    visited = [_visit(arg, scope) for arg in node.args]
    shapes = [shape for _, shape in visited]
    args = tuple(arg for arg, _ in visited)
    if node.function in COMPARED:
        args = _compared(node, args, shapes[0], shapes[1])
    elif node.function == "@in":
        args = _in(node, args, shapes[0], shapes[1])
    found = Shape({node.kind}) if node.kind else OPEN
    if node.function == "_[_]":
        index, around = args[1], shapes[0]
        found = around.items if LIST in around.kinds and around.items is not None else OPEN
        if isinstance(index, Constant) and isinstance(index.value, str):
            found = around.fields.get(index.value, found)
    return replace(node, args=args), found


def _compared(node: Call, args: tuple[Node, ...], one: Shape, other: Shape) -> tuple[Node, ...]:
    """Check a comparison; return the values that are compared."""
    left, right = args
    right, left = _named(right, one, left), _named(left, other, right)
    if (left, right) == args:
        _refuse_unlike(node, args, one, other)
    return left, right


def _in(node: Call, args: tuple[Node, ...], one: Shape, other: Shape) -> tuple[Node, ...]:
    left, right = args
    if isinstance(right, Items):
        items = tuple(_named(item, one, left) for item in right.items)
        for before, after in zip(right.items, items, strict=True):
            if before is after:
                kind = before.kind
                _refuse_unlike(node, (left, before), one, Shape({kind} if kind else set(), open=kind is None))
        return left, replace(right, items=items)
    if other.items is not None:
        named = _named(left, other.items, right)
        if named is left:
            _refuse_unlike(node, (left, right), one, other.items)
        return named, right
    return args


def _refuse_unlike(node: Call, args: tuple[Node, ...], one: Shape, other: Shape) -> None:
    """Raise `InputError` for values of kinds that are never the same."""
    if one.open or other.open or not one.kinds or not other.kinds or one.kinds & other.kinds:
        return
    left, right = (f"{_text(arg)} is {_either(shape.kinds)}" for arg, shape in zip(args, (one, other), strict=True))
    raise InputError(f"{left}, but {right}: they are never equal")


def _named(value: Node, like: Shape, beside: Node) -> Node:
    """Return a text compared with names: it must be one of them. An error code's number, an old name's new one."""
    if not like.words or not isinstance(value, Constant) or not isinstance(value.value, str):
        return value
    known = NAMES[like.words]()
    if value.value in known:
        meant = known[value.value]
        return replace(value, kind=NUMBER if isinstance(meant, int) else value.kind, value=meant)
    name = value.value
    close = [one for one in known if one.lower() == name.lower()][:1]
    if not close and like.words == "api":
        try:
            close = [grammars.api(name).name]
        except UnknownApi as error:
            close = list(error.near)
    elif not close and like.words == "finding":  # a name near an old one stands for the new one
        close = list(dict.fromkeys(str(known[one]) for one in difflib.get_close_matches(name, known, n=2)))
    elif not close:
        close = difflib.get_close_matches(name.upper(), known, n=2)
    hint = f"; did you mean {' or '.join(repr(one) for one in close)}?" if close else ""
    raise InputError(f"{_text(beside)} can never be {name[:60]!r}{hint}")


NAMES: dict[str, Callable[[], Mapping[str, str | int]]] = {
    "api": lambda: {name: name for name in grammars.api_names().values()},
    "error": lambda: {error.name: error.name for error in ERRORS.values()},
    "code": lambda: {name: error.code for error in ERRORS.values() for name in (error.name, *error.former_names)},
    "finding": lambda: {name: Kind(name).value for name in (*Kind, *OLD_NAMES)},
}
"""By what they name: every name that is accepted, and the value that it is compared as."""


def _either(kinds: Iterable[str]) -> str:
    return " or ".join(sorted(kinds))


def _text(node: Node) -> str:
    """Return a part of an expression as it may have been written."""
    match node:
        case Name(name=name):
            return name
        case Select(operand=operand, field=field):
            return f"{_text(operand)}.{field}"
        case Constant(value=value):
            return repr(value)[:60] if isinstance(value, (str, bytes)) else str(value).lower()
        case Call(function="_[_]", args=(value, index)):
            return f"{_text(value)}[{_text(index)}]"
    return "this"


DEEP = frozenset({"records", "unaligned_records", "payload", "value", "body", "header"})
"""Fields that are there only in a message that was read down to its records, or below which such may be."""


class Expression:
    """One that was parsed and checked. Raises `InputError`, with the reason, for one that is wrong or too costly."""

    node: Node

    def __init__(self, text: str) -> None:
        self.text: str = text
        try:
            if len(text) > LONGEST:
                raise InputError(f"too long: {len(text):,} characters (at most {LONGEST:,})")
            found = decoded(compiled(text, {name: term.type for name, term in TERMS.items()}))
            bound(found)
            self.node, shape = _visit(found, {})
            if shape.kinds and BOOL not in shape.kinds and not shape.open:
                found_is = f"{_text(self.node)} is {_either(shape.kinds)}"
                raise InputError(f"a filter must be true or false, but {found_is}: compare it with a value")
        except InputError as error:
            raise InputError(f"--where: {error}") from None

    @property
    def bodies(self) -> bool:
        """Whether messages are read for it; else headers decide."""
        return reads_bodies(self.node)

    @property
    def deep(self) -> bool:
        """Whether messages must be read down to records and payloads."""
        for one in walk(self.node):
            whole = [one.over] if isinstance(one, Loop) else []  # a node may take a whole message
            if isinstance(one, Call) and null_test(one) is None:
                whole = list(one.args)
            if any(isinstance(part, Name) and part.name in HALVES for part in whole):
                return True
            if isinstance(one, Select) and one.field in DEEP:
                return True
            if isinstance(one, Call) and one.function == "_[_]":  # or a field of any name
                index = one.args[1]
                if not isinstance(index, Constant) or isinstance(index.value, str):
                    return True
        return False

    @property
    def without_archives(self) -> list[str]:
        """The names in it that mean nothing in archives, in which connections and exchanges have no numbers."""
        names = [one.name for one in walk(self.node) if isinstance(one, Name)]
        fields = [_text(one) for one in walk(self.node) if isinstance(one, Select) and isinstance(one.operand, Name)]
        numbered = ("connection.id", "request.packets", "response.packets")
        found = [name for name in names if name in TERMS and not TERMS[name].archives]
        return found + [field for field in fields if field in numbered]

    @property
    def timed(self) -> bool:
        """Whether it asks where the time of exchanges went."""
        return any(isinstance(one, Name) and one.name in TIMED for one in walk(self.node))

    def check(self, topics: Topics) -> Callable[[Exchange], bool]:
        """Return the question; it has no for an answer where a field is not there. `topics` are names of topic ids."""
        asking = Asking(topics, sum(isinstance(one, Loop) for one in walk(self.node)))
        ask = Writer(self.deep).write(self.node, {})

        def fits(exchange: Exchange) -> bool:
            asking.exchange, asking.left = exchange, MOST_STEPS
            try:
                return ask(asking) is True
            except Undecided:
                return False

        return fits


expression = lru_cache(64)(Expression)
