"""An expression, from its text to the question that an exchange is asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from ....errors import InputError
from .closures import MOST_STEPS, Asking, bound, bound_text, reads_bodies, written
from .library import compiled
from .meanings import checked
from .semantics import Undecided
from .tree import Call, Constant, Loop, Name, Node, Select, decoded, walk
from .vocabulary import HALVES, TERMS, TIMED, null_test

if TYPE_CHECKING:
    from ...messages.exchange import Exchange
    from ..filter import Topics

DEEP = frozenset({"records", "unaligned_records", "payload", "value", "body", "header"})
"""Fields that are there only in a message that was read down to its records, or below which such may be."""


class Expression:
    """One that was parsed and checked. Raises `InputError`, with the reason, for one that is wrong or too costly."""

    text: str
    node: Node

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            bound_text(text)
            found = decoded(compiled(text, {name: term.type for name, term in TERMS.items()}))
            bound(found)
            self.node = checked(found)
        except InputError as error:
            raise InputError(f"--where: {error}") from None

    @property
    def bodies(self) -> bool:
        """Whether messages are read for it; else headers decide."""
        return reads_bodies(self.node)

    @property
    def deep(self) -> bool:
        """Whether messages must be read down to records and payloads."""
        names = {one.field for one in walk(self.node) if isinstance(one, Select)}
        return not names.isdisjoint(DEEP) or any(_looks_anywhere(one) for one in walk(self.node))

    @property
    def without_archives(self) -> list[str]:
        """The names in it that mean nothing in archives, in which connections and exchanges have no numbers."""
        names = [one.name for one in walk(self.node) if isinstance(one, Name)]
        numbered = [
            f"{one.operand.name}.{one.field}"
            for one in walk(self.node)
            if isinstance(one, Select) and isinstance(one.operand, Name) and (one.operand.name, one.field) in NUMBERED
        ]
        return [name for name in names if name in TERMS and not TERMS[name].archives] + numbered

    @property
    def timed(self) -> bool:
        """Whether it asks where the time of exchanges went."""
        return any(isinstance(one, Name) and one.name in TIMED for one in walk(self.node))

    def check(self, topics: Topics) -> Callable[[Exchange], bool]:
        """Return the question; it has no for an answer where a field is not there. `topics` are names of topic ids."""
        asking = Asking(topics, sum(isinstance(one, Loop) for one in walk(self.node)))
        ask = written(self.node, deep=self.deep)

        def fits(exchange: Exchange) -> bool:
            asking.exchange, asking.left = exchange, MOST_STEPS
            try:
                return ask(asking) is True
            except Undecided:
                return False

        return fits


NUMBERED = {("connection", "id"), ("request", "packets"), ("response", "packets")}


@lru_cache(64)
def expression(text: str) -> Expression:
    """Return the expression of a text; raise `InputError` for one that is none."""
    return Expression(text)


def _looks_anywhere(node: Node) -> bool:
    """Return whether a node takes a whole message, or a field of any name."""
    if isinstance(node, Call):
        halves = any(isinstance(arg, Name) and arg.name in HALVES for arg in node.args) and null_test(node) is None
        names = node.function == "_[_]" and not isinstance(node.args[1], Constant)
        text = node.function == "_[_]" and isinstance(getattr(node.args[1], "value", None), str)
        return halves or names or text
    return isinstance(node, Loop) and isinstance(node.over, Name) and node.over.name in HALVES
