"""Mistakes that a program makes in every field of a kind, not in one: each is tried on the whole message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...protocol.wire.nodes import Sized, WireArray, WireStruct
from ...protocol.wire.records.node import RecordsNode
from ..messages.weigh import Path
from .changes import LENGTHS, Change, changes, length_bytes, tag_changes
from .search import Habit, is_header

Wanted = Callable[[Any], bool]


def _is_text(node: Any) -> bool:
    return isinstance(node, Sized) and node.text


def _is_array(node: Any) -> bool:
    return isinstance(node, WireArray)


def _is_sized(node: Any) -> bool:
    return isinstance(node, LENGTHS) and not isinstance(node, WireArray)


def _is_any(node: Any) -> bool:
    return isinstance(node, LENGTHS)


def _has_no_records(node: Any) -> bool:
    return isinstance(node, LENGTHS) and not isinstance(node, RecordsNode)


def _is_other(node: Any) -> bool:
    return isinstance(node, LENGTHS) and not _is_text(node)


def _lengths(kind: str, wanted: Wanted) -> Habit:
    """Return the habit of writing the lengths of some nodes in one wrong way."""

    def change(data: bytes, at: int, node: Any, path: Path, tags: bool) -> Change | None:
        if tags or not wanted(node) or is_header(path):
            return None
        if kind == "compact-length-without-one" and data[at : at + 1] == b"\0" and not node.nullable:
            return Change(kind, 4.0, "0", "1", at + 1, 0, length_bytes(node.length, 0))
        return next((one for one in changes(data, at, node, path[2]) if one.kind == kind), None)

    return change


def _tags(kind: str, *, header: bool = False) -> Habit:
    """Return the habit of leaving out, or doubling, the tagged fields of every structure."""

    def change(data: bytes, at: int, node: Any, path: Path, tags: bool) -> Change | None:
        if not tags or not isinstance(node, WireStruct) or (is_header(path) and not header):
            return None
        return next((one for one in tag_changes(data, at, node) if one.kind == kind), None)

    return change


def _both(*habits: Habit) -> Habit:
    def change(data: bytes, at: int, node: Any, path: Path, tags: bool) -> Change | None:
        found = (habit(data, at, node, path, tags) for habit in habits)
        return next((one for one in found if one is not None), None)

    return change


def habits(flexible: bool) -> Iterator[Habit]:
    """Yield what programs do wrong throughout a message of a flexible version, or of another."""
    if not flexible:
        for wanted in (_is_any, _has_no_records, _is_text, _is_sized, _is_array):
            yield _lengths("compact-length", wanted)
            yield _lengths("little-endian-length", wanted)
        yield _tags("surplus-tagged-fields")
        yield _both(_lengths("compact-length", _is_any), _tags("surplus-tagged-fields"))
        return
    old = _both(_lengths("int16-length", _is_text), _lengths("int32-length", _is_other))
    for wanted in (_is_any, _is_text, _is_sized, _is_array, _is_other):
        yield _lengths("compact-length-without-one", wanted)
    yield _lengths("int16-length", _is_text)
    yield _lengths("int16-length", _is_sized)
    yield _lengths("int32-length", _is_array)
    yield _lengths("int32-length", _is_other)
    yield old
    for header in (False, True):
        missing = _tags("missing-tagged-fields", header=header)
        yield missing
        yield _both(missing, old)
        yield _both(missing, _lengths("compact-length-without-one", _is_any))
    yield _tags("surplus-tagged-fields")
