"""Values as the language compares, adds and looks into them, in plain Python; what has no answer raises `Undecided`.

Numbers are compared with numbers alone, whatever their types; true and false are none. Whole numbers have 64 bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from ....protocol.wire.language.payload import OpenedPayload


class Undecided(Exception):
    """Raised where an expression has no answer: a field that is not there, a number compared with a text."""


LISTS = (list, tuple, range)
NUMBERS = (int, float)
PLAIN = (*NUMBERS, str)
"""Types of most values: those of one of them are compared as they are."""
ORDERED = ((int, float), (str,), (bytes,), (bool,), (datetime,), (timedelta,))


def plain(value: Any, name: str) -> Any:
    """Return the value of a field as JSON has it: ids as text, and keys and values of records where they are text."""
    kind = type(value)
    if kind is UUID:
        return str(value)
    if kind is bytes and name in ("key", "value"):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return value


def item(value: Any) -> Any:
    """Return an item of a list as JSON has it."""
    return str(value) if type(value) is UUID else value


def field(value: Any, name: str) -> Any:
    """Return a field of a value."""
    if isinstance(value, Mapping):
        if name in value:
            return plain(value[name], name)
    elif isinstance(value, OpenedPayload) and name in ("payload", "value"):
        return value.name if name == "payload" else value.value
    raise Undecided


def has_field(value: Any, name: str) -> bool:
    """Return whether a structure has a field of this name."""
    if isinstance(value, OpenedPayload):
        return name in ("payload", "value")
    if isinstance(value, Mapping):
        return name in value
    raise Undecided


def equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal; values of different kinds are not."""
    if type(one) is type(other) and type(one) in PLAIN:
        return bool(one == other)
    if isinstance(one, LISTS) and isinstance(other, LISTS):
        return len(one) == len(other) and all(equal(*both) for both in zip(one, other, strict=True))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return len(one) == len(other) and all(key in other and equal(one[key], other[key]) for key in one)
    if isinstance(one, bool) is not isinstance(other, bool):
        return False
    return bool(item(one) == item(other))


def compared(by: Callable[[Any, Any], Any], one: Any, other: Any) -> bool:
    """Return what comes of comparing two values of which one may come before the other."""
    if type(one) in NUMBERS and type(other) in NUMBERS:
        return bool(by(one, other))
    for kinds in ORDERED:
        if isinstance(one, kinds) and isinstance(other, kinds) and isinstance(one, bool) is isinstance(other, bool):
            return bool(by(one, other))
    raise Undecided


def contained(one: Any, other: Any) -> bool:
    """Return whether a list has an item, or a structure a field."""
    if isinstance(other, range) and type(one) is int:
        return one in other
    if isinstance(other, LISTS):
        return any(equal(one, each) for each in other)
    if isinstance(other, Mapping) and isinstance(one, (bool, int, float, str)):
        return any(equal(one, key) for key in other)
    raise Undecided


def indexed(value: Any, index: Any) -> Any:
    """Return an item of a list, or a field of a structure."""
    if isinstance(value, LISTS):
        number = isinstance(index, (int, float)) and not isinstance(index, bool)
        if not number or index != int(index) or not 0 <= index < len(value):
            raise Undecided
        return item(value[int(index)])
    if isinstance(value, OpenedPayload) and isinstance(index, str):
        return field(value, index)
    if isinstance(value, Mapping):
        for key in value:
            if equal(key, index):
                return plain(value[key], str(index))
    raise Undecided


def size(value: Any) -> int:
    if isinstance(value, (str, bytes, Mapping, *LISTS)):
        return len(value)
    raise Undecided


def added(one: Any, other: Any) -> Any:
    if (isinstance(one, str) and isinstance(other, str)) or (isinstance(one, bytes) and isinstance(other, bytes)):
        return one + other  # type: ignore[operator]  # both are of one type
    if isinstance(one, LISTS) and isinstance(other, LISTS):
        return [*one, *other]
    return calculated(operator.add, one, other)


def calculated(by: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    """Return what comes of two numbers of one type."""
    if type(one) is int and type(other) is int:
        found = by(one, other)
        if not -(1 << 63) <= found < 1 << 63:
            raise Undecided
        return found
    if type(one) is float and type(other) is float:
        return by(one, other)
    raise NotImplementedError


def truth(value: Any) -> bool:
    """Return a value that is true or false."""
    if value is True or value is False:
        return bool(value)
    raise Undecided


def sequence(value: Any) -> Sequence[Any]:
    """Return what a loop goes over: a list, or the names of a structure's fields."""
    if isinstance(value, LISTS):
        return value
    if isinstance(value, Mapping):
        return list(value)
    raise Undecided


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "_==_": equal, "_!=_": lambda one, other: not equal(one, other), "_<_": partial(compared, operator.lt),
    "_<=_": partial(compared, operator.le), "_>_": partial(compared, operator.gt),
    "_>=_": partial(compared, operator.ge), "@in": contained, "_[_]": indexed, "_+_": added,
    "_-_": partial(calculated, operator.sub), "_*_": partial(calculated, operator.mul),
}  # fmt: skip
"""Operators and functions of two values that are asked here; all others are left to the library."""
