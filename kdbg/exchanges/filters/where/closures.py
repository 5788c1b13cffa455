"""What an expression may cost: it may have been written by another person, and is asked of every exchange.

Regular expressions need no bound of their own: the library's take time in proportion to the text, whatever they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ....errors import InputError
from ...messages.exchange import CapturedMessage, Exchange
from ..filter import Topics
from . import library, semantics
from .library import Call, Constant, Items, Loop, Name, Node, Select, children, walk
from .semantics import BINARY, Undecided, truth
from .vocabulary import HALVES, OWN, TERMS, null_test

LONGEST, LONGEST_TEXT, LONGEST_PATTERN = 4000, 1000, 200
"""Characters of an expression, of a text in it, and of a regular expression."""
MOST_NODES, MOST_LOOPS, MOST_FREE_LOOPS = 500, 4, 2
"""Parts of an expression; loops inside each other, and those of them whose lists do not depend on the loop around."""
MOST_STEPS = 1_000_000
"""Items that loops may go over for one exchange."""


def bound(node: Node) -> None:
    """Raise `InputError` for an expression that may cost too much."""
    nodes = list(walk(node))
    if len(nodes) > MOST_NODES:
        raise InputError(f"too large: {len(nodes):,} parts (at most {MOST_NODES})")
    for one in nodes:
        if isinstance(one, Constant) and isinstance(one.value, (str, bytes)) and len(one.value) > LONGEST_TEXT:
            raise InputError(f"a text of {len(one.value):,} characters is too long: {LONGEST_TEXT:,} at most")
        if isinstance(one, Call) and one.function == "matches":
            pattern = one.args[-1]
            if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
                raise InputError("matches requires a literal pattern, not captured text")
            if len(pattern.value) > LONGEST_PATTERN:
                size = f"{len(pattern.value):,}"
                raise InputError(f"a pattern of {size} characters is too long: {LONGEST_PATTERN} at most")
            try:
                library.function("matches", 2, method=True)("", pattern.value)
            except Undecided:
                raise InputError("matches: the pattern is not valid, or is too large") from None
    _bound_loops(node, (), 0)


def _bound_loops(node: Node, around: tuple[str, ...], free: int) -> None:
    """Raise `InputError` for loops that are too deep, or multiply: each free loop goes over a whole list every time."""
    if not isinstance(node, Loop):
        for child in children(node):
            _bound_loops(child, around, free)
        return
    _bound_loops(node.over, around, free)
    names = {one.name for one in walk(node.over) if isinstance(one, Name)}
    free += not names & set(around[-1:])
    if len(around) >= MOST_LOOPS:
        raise InputError(f"too many nested loops: at most {MOST_LOOPS}")
    if free > MOST_FREE_LOOPS:
        raise InputError(f"too many nested loops over complete lists: at most {MOST_FREE_LOOPS}")
    for inside in (node.condition, node.result):
        if inside is not None:
            _bound_loops(inside, (*around, node.variable), free)


Ask: TypeAlias = "Callable[[Asking], Any]"
Scope: TypeAlias = Mapping[str, int]


class Asking:
    """The exchange that is asked, the values of loops' variables, and how many steps loops may still go."""

    __slots__ = ("exchange", "left", "topics", "variables")

    def __init__(self, topics: Topics, loops: int) -> None:
        self.topics, self.variables, self.left = topics, [None] * loops, MOST_STEPS
        self.exchange: Exchange

    def step(self) -> None:
        """Count an item that a loop goes over; raise `InputError` where there are too many."""
        self.left -= 1
        if self.left < 0:
            raise InputError(f"costs too much: more than {MOST_STEPS:,} steps in exchange {self.exchange.number}")


def reads_bodies(node: Node) -> bool:
    """Return whether messages are read for a node."""
    own = isinstance(node, Select) and isinstance(node.operand, Name) and node.operand.name in HALVES
    if (own and isinstance(node, Select) and node.field in OWN) or null_test(node) is not None:
        return False
    if isinstance(node, Name):
        return node.name in TERMS and TERMS[node.name].bodies
    return any(map(reads_bodies, children(node)))


class Writer:
    """Makes functions of expressions; `deep`: messages are read down to records, and payloads are opened."""

    def __init__(self, deep: bool) -> None:
        self.deep = deep

    def write(self, node: Node, scope: Scope) -> Ask:
        match node:
            case Constant(value=value):
                return lambda asking: value
            case Name(name=name) if name in scope:
                place = scope[name]
                return lambda asking: asking.variables[place]
            case Name(name=name):
                read = TERMS[name].read
                return lambda asking: read(asking.exchange, asking.topics)
            case Items(items=items):
                asks = [self.write(item, scope) for item in items]
                return lambda asking: [ask(asking) for ask in asks]
            case Select():
                return self.select(node, scope)
            case Loop():
                return self.loop(node, scope)
            case Call():
                return self.call(node, scope)
        raise AssertionError(node)

    def select(self, node: Select, scope: Scope) -> Ask:
        name, operand = node.field, node.operand
        if isinstance(operand, Name) and operand.name in HALVES and operand.name not in scope:
            return (self.has if node.test else self.half)(operand.name, name)
        value = self.write(node.operand, scope)
        field, has_field = semantics.field, semantics.has_field
        if node.test:
            return lambda asking: has_field(value(asking), name)
        return lambda asking: field(value(asking), name)

    def half(self, side: str, name: str) -> Ask:
        """Return what reads a field of a request or response: what stands beside the body, in it, or in the header."""
        if name in OWN:
            _, read = OWN[name]
            return lambda asking: read(_there(asking, side))
        shallow, field = not self.deep, semantics.field

        def read_field(asking: Asking) -> Any:
            message = _there(asking, side).message(shallow=shallow)
            if message is None:
                raise Undecided
            if name in ("body", "header"):
                return getattr(message, name)
            return field(message.body if name in message.body else message.header, name)

        return read_field

    def has(self, side: str, name: str) -> Ask:
        """Return whether a half has a field."""
        shallow = not self.deep

        def found(asking: Asking) -> bool:
            if name in OWN or name in ("body", "header"):
                return _there(asking, side) is not None
            message = _there(asking, side).message(shallow=shallow)
            if message is None:
                raise Undecided
            return name in message.body or name in (message.header or ())

        return found

    def loop(self, node: Loop, scope: Scope) -> Ask:
        over, place = self.write(node.over, scope), max(scope.values(), default=-1) + 1
        inside = {**scope, node.variable: place}
        condition = self.write(node.condition, inside) if node.condition is not None else lambda asking: True
        result = self.write(node.result, inside) if node.result is not None else None
        if node.macro == "exists":
            return _exists(over, place, condition)
        if node.macro == "all":
            return _not(_exists(over, place, _not(condition)))
        if result is not None:
            return _map(over, place, condition, result)
        found = _map(over, place, condition, lambda asking: True)
        return lambda asking: len(found(asking)) == 1

    def call(self, node: Call, scope: Scope) -> Ask:
        name = node.function
        if name in ("_&&_", "_||_"):
            sides = sorted(_sides(node, name), key=reads_bodies)
            asks = [self.write(side, scope) for side in sides]
            return _all(asks) if name == "_&&_" else _not(_all(list(map(_not, asks))))
        if (side := null_test(node)) is not None and side not in scope:
            return lambda asking: (getattr(asking.exchange, side) is None) is (name == "_==_")
        asks = [self.write(arg, scope) for arg in node.args]
        if name == "_?_:_":
            condition, this, that = asks
            return lambda asking: this(asking) if truth(condition(asking)) else that(asking)
        if name == "!_":
            return lambda asking: not truth(asks[0](asking))
        if name in BINARY:
            by, slow, (one, other) = BINARY[name], library.function(name, 2, method=False), asks

            def ask(asking: Asking) -> Any:
                left, right = one(asking), other(asking)
                try:
                    return by(left, right)
                except NotImplementedError:
                    return slow(left, right)

            return ask
        if name == "size":
            return lambda asking: semantics.size(asks[0](asking))
        function = library.function(name, len(asks), method=node.method)
        return lambda asking: function(*(ask(asking) for ask in asks))


def _there(asking: Asking, side: str) -> CapturedMessage:
    """Return the half of this name."""
    half: CapturedMessage | None = getattr(asking.exchange, side)
    if half is None:
        raise Undecided
    return half


def _sides(node: Node, operator: str) -> list[Node]:
    if isinstance(node, Call) and node.function == operator:
        return [side for arg in node.args for side in _sides(arg, operator)]
    return [node]


def _all(sides: list[Ask]) -> Ask:
    """Return what is true if all sides are, and false if any is."""

    def ask(asking: Asking) -> bool:
        undecided = False
        for side in sides:
            try:
                if not truth(side(asking)):
                    return False
            except Undecided:
                undecided = True
        if undecided:
            raise Undecided
        return True

    return ask


def _not(side: Ask) -> Ask:
    return lambda asking: not truth(side(asking))


def _exists(over: Ask, place: int, condition: Ask) -> Ask:
    def ask(asking: Asking) -> bool:
        undecided, variables = False, asking.variables
        for variables[place] in _items(over, asking):
            try:
                if truth(condition(asking)):
                    return True
            except Undecided:
                undecided = True
        if undecided:
            raise Undecided
        return False

    return ask


def _map(over: Ask, place: int, condition: Ask, result: Ask) -> Ask:
    def ask(asking: Asking) -> list[Any]:
        found, variables = [], asking.variables
        for variables[place] in _items(over, asking):
            if truth(condition(asking)):
                found.append(result(asking))
        return found

    return ask


def _items(over: Ask, asking: Asking) -> Any:
    """Yield what a loop goes over."""
    for item in semantics.sequence(over(asking)):
        asking.step()
        yield semantics.item(item)
