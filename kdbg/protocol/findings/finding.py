"""A finding: of what kind, where, and the facts that its sentence is made of."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

from .facts import Facts
from .kinds import Kind, Severity

Side = Literal["request", "response", ""]
"""The message of an exchange that a finding is of, or the direction; "" where it is of a connection or a file."""
FACTS: dict[str, Any] = {facts.__name__: facts for facts in get_args(Facts)}


class Finding(NamedTuple):
    """One odd thing, as data.

    `path` is the field, where one can be named. `start` is the index of its first byte in the bytes that were read,
    which begin at the header of a message (the size is at -4), and None where the place is in no message; `byte` is the
    same as views count it. `length` is in bytes. `facts` are what the kind alone does not say. Nothing is ever told
    from `text`: it is for people.
    """

    kind: Kind
    side: Side = ""
    path: str = ""
    start: int | None = None
    length: int = 0
    facts: Facts | None = None

    @property
    def severity(self) -> Severity:
        """Return how serious the finding is, by its kind."""
        return self.kind.severity

    @property
    def byte(self) -> int | None:
        """Return the first byte in the frame, whose first is that of the size; without a `side`, in what was read."""
        from .text import origin_of

        return None if self.start is None else origin_of(self).first + self.start

    @property
    def text(self) -> str:
        """Return what the finding says, as a sentence without a full stop; not escaped."""
        from .text import text_of

        return text_of(self)

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def pack(finding: Finding) -> list[Any]:
    """Return the finding as lists, strings and numbers, which JSON can hold."""
    return [*finding[:5], _pack_facts(finding.facts)]


def _pack_facts(facts: Any) -> list[Any] | None:
    if facts is None:
        return None
    return [type(facts).__name__, *(_pack_facts(value) if isinstance(value, tuple) else value for value in facts)]


def unpack(packed: list[Any]) -> Finding:
    """Return the finding that was packed."""
    kind, side, path, start, length, facts = packed
    return Finding(Kind(kind), side, path, start, length, _unpack_facts(facts))


def _unpack_facts(packed: list[Any] | None) -> Any:
    if packed is None:
        return None
    name, *values = packed
    if name == "tuple":
        return tuple(_unpack_facts(value) if isinstance(value, list) else value for value in values)
    return FACTS[name](*(_unpack_facts(value) if isinstance(value, list) else value for value in values))
