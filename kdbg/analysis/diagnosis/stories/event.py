"""What a story is made of: events, as data, and the subjects that there is a story of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ...ledgers import Ledgers
from ..case import Case, Who


class Event(NamedTuple):
    """Something that happened: `time` in nanoseconds since the epoch, `kind` a code, `facts` what its sentence needs.

    `exchanges` are numbers. `case` is the cause that diagnosis found, of events of the kind `cause`.
    """

    time: int
    kind: str
    who: Who
    facts: Mapping[str, Any]
    exchanges: tuple[int, ...] = ()
    case: Case | None = None


class Subject(NamedTuple):
    """Whom or what there is a story of; `facts` say how much of one."""

    name: str
    facts: Mapping[str, int]


class Story(NamedTuple):
    """One kind of story: what it is called, which subjects there are in ledgers, and what happened to one of them."""

    kind: str
    subjects: Callable[[Ledgers], Iterable[Subject]]
    events: Callable[[Ledgers, str, list[Case]], Iterable[Event]]
