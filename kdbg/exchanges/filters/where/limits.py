"""What an expression may cost: it may have been written by somebody else, and is asked of every exchange.

Regular expressions need no bound of their own: the library's take time in proportion to the text, whatever they are.
"""

from __future__ import annotations

from ....errors import InputError
from . import library
from .semantics import Undecided
from .tree import Call, Constant, Loop, Name, Node, children, walk

LONGEST, LONGEST_TEXT, LONGEST_PATTERN = 4000, 1000, 200
"""Characters of an expression, of a text in it, and of a regular expression."""
MOST_NODES, MOST_LOOPS, MOST_FREE_LOOPS = 500, 4, 2
"""Parts of an expression; loops inside each other, and those of them whose lists do not depend on the loop around."""
MOST_STEPS = 1_000_000
"""Items that loops may go over for one exchange."""


def bound_text(text: str) -> None:
    """Raise `InputError` for a text that is too long to be parsed."""
    if len(text) > LONGEST:
        raise InputError(f"too long: {len(text):,} characters (at most {LONGEST:,})")


def bound(node: Node) -> None:
    """Raise `InputError` for an expression that may cost too much."""
    nodes = list(walk(node))
    if len(nodes) > MOST_NODES:
        raise InputError(f"too large: {len(nodes):,} parts (at most {MOST_NODES})")
    for one in nodes:
        if isinstance(one, Constant) and isinstance(one.value, (str, bytes)) and len(one.value) > LONGEST_TEXT:
            raise InputError(f"a text of {len(one.value):,} characters is too long: {LONGEST_TEXT:,} at most")
        if isinstance(one, Call) and one.function == "matches":
            _bound_pattern(one.args[-1])
    _bound_loops(node, (), 0)


def _bound_pattern(pattern: Node) -> None:
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
        raise InputError("matches requires a literal pattern, not captured text")
    if len(pattern.value) > LONGEST_PATTERN:
        raise InputError(f"a pattern of {len(pattern.value):,} characters is too long: {LONGEST_PATTERN} at most")
    try:
        library.function("matches", 2, method=True)("", pattern.value)
    except Undecided:
        raise InputError("matches: the pattern is not valid, or is too large") from None


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
