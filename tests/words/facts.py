"""Facts of every finding, made with a number in each of their integers: what their sentences are rendered of."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from string import Formatter
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from kdbg.protocol.findings.facts import FactKind, PlainFact
from kdbg.protocol.findings.faults import FaultKind, PlainFault
from kdbg.protocol.findings.text import SENTENCES

NAME = "orders"
OF_A_FINDING = {"length", "sender"}
NAMED = {
    FactKind.FAULT_DONE, FactKind.FOREIGN, FactKind.FOREIGN_ANSWER, FactKind.KNOWN_FORM, FactKind.NO_LINE,
    FaultKind.LIBRARY_REFUSED, FaultKind.MARK_MISSING, FaultKind.NOT_UTF8, FaultKind.NO_TELEMETRY, FaultKind.NO_TOKEN,
    FaultKind.NULL_FORBIDDEN,
}  # fmt: skip
"""Kinds whose value is a name, not a number."""
NAMES = {"algorithm", "api", "growing", "name", "of", "says", "side", "topic", "type", "what"}
"""Values of kinds with several that are names, not numbers."""


def facts(number: int) -> Iterator[Any]:
    """Return facts of every kind that has a sentence, with this number wherever they have one."""
    for made in SENTENCES:
        yield made(**{name: value(hint, number) for name, hint in get_type_hints(made).items() if name in made._fields})
    yield from (*PlainFact, *PlainFault)
    for kind in (*FactKind, *FaultKind):
        spec = {name: form for _, name, form, _ in Formatter().parse(kind.value) if name not in (None, *OF_A_FINDING)}
        if spec.keys() == {"value"}:
            yield kind.of(NAME if kind in NAMED else number)
        else:
            named = {name for name in spec.keys() & NAMES if not spec[name]}
            yield kind.of(**{str(name): NAME if name in named else number for name in spec})


def value(hint: Any, number: int) -> Any:
    """Return a value of a type: of all that it may be, the first that is not None."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return value(next(one for one in inner if one is not type(None)), number)
    if origin is tuple:
        return tuple(value(one, number) for one in inner if one is not Ellipsis)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    if hint is bool:
        return True
    if hint in (int, float, Any, object):
        return number
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        return hint(**{name: value(one, number) for name, one in get_type_hints(hint).items()})
    return b"\0" if hint is bytes else NAME
