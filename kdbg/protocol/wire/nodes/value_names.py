"""Names of values, back to the numbers that stand on the wire: `topic` for a resource type, `[read, write]` for bits.

Case, dashes and underscores do not count. Readings give numbers, always: names are for whoever writes a body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ....errors import BuildError

if TYPE_CHECKING:
    from .leaves import Fixed

KINDS: dict[str, Callable[[], Mapping[int, str]]] = {}
"""Kinds of number whose names another room knows (error codes, API keys) -> what gives number -> name. That room adds
its own."""
LISTED = 40
"""Names that a refusal lists; of more only those that look like the wrong one."""


def number_of(node: Fixed, given: Any, path: str) -> Any:
    """Return the number that a name, or for a bit set a list of names, stands for; what is neither comes back as it is.

    Raise `BuildError` with the valid names for a name that is none of them.
    """
    names = node.names or KINDS.get(node.kind, dict)()
    if not names:
        return given
    if isinstance(given, str):
        return _bit(names, given, path) if node.kind == "bits" else _as(node, _number(names, given, path))
    if node.kind == "bits" and isinstance(given, (list, tuple)) and all(isinstance(one, str) for one in given):
        return sum({_bit(names, one, f"{path}[{i}]") for i, one in enumerate(given)})
    return given


def _as(node: Fixed, number: int) -> int | bool:
    return bool(number) if node.boolean else number


def _bit(names: Mapping[int, str], given: str, path: str) -> int:
    return 1 << _number(names, given, path)


def _number(names: Mapping[int, str], given: str, path: str) -> int:
    """Return the number of a name; raise `BuildError` with the valid or the nearest names if it is none of them."""
    known = {_plain(name): number for number, name in names.items()}
    found = known.get(_plain(given))
    if found is not None:
        return found
    if len(names) <= LISTED:
        raise BuildError(path, f"{given!r} is not one of {', '.join(names.values())}")
    import difflib

    near = difflib.get_close_matches(_plain(given), known, n=5)
    like = f"; like it: {', '.join(names[known[word]] for word in near)}" if near else ""
    raise BuildError(path, f"{given!r} is not one of the {len(names)} known names{like}")


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()
