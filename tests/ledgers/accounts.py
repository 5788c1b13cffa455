"""What ledgers hold, as plain data: what the tests of this room compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any
from uuid import UUID

from kdbg.analysis.ledgers import Ledgers
from kdbg.analysis.ledgers.evidence import Mark, Occurrences
from kdbg.analysis.ledgers.sessions import KafkaConnection
from kdbg.exchanges.messages.peers import Peers, endpoint
from kdbg.protocol.findings import Finding
from kdbg.streams.tcp.paths import Path, Paths

EARLIEST = 1_000_000_000_000_000_000
"""Greater numbers are times in nanoseconds, of any capture."""
Plain = Any


class Accounts:
    """Turns accounts into dicts, lists, texts and numbers; times count from the first one, in nanoseconds."""

    def __init__(self, book: Ledgers) -> None:
        self.first = book.first_time
        self.book = book

    def plain(self) -> Plain:
        """All accounts; those with nothing in them are left out."""
        whole = {name: self.of(one) for name, one in fields(self.book) if name not in ("names", "sessions")}
        sessions = {number: dict(self.all(session)) for number, session in self.book.sessions.items()}
        return {"sessions": sessions, **{name: one for name, one in whole.items() if one not in EMPTY}}

    def of(self, value: Any) -> Plain:
        """One value."""
        match value:
            case Mark():
                return f"#{value.number} {self.time(value.time)}-{self.time(value.end)} on {value.connection}"
            case Occurrences():
                return f"{value.count} times {self.time(value.since)}-{self.time(value.until)} {value.numbers}"
            case KafkaConnection():
                return f"connection {value.peers.number}"
            case Peers():
                return f"{endpoint(value.client)} {endpoint(value.broker)}"
            case Finding():
                return value.kind.value
            case Enum():
                return value.value
            case UUID():
                return str(value)
            case bool() | float() | str() | None:
                return value
            case int():
                return self.time(value)
            case Mapping():
                return {self.name(key): found for key, one in value.items() if (found := self.of(one)) not in EMPTY}
            case tuple() if hasattr(value, "_asdict"):
                return {name: self.of(one) for name, one in value._asdict().items()}
            case list() | tuple():
                return [self.of(one) for one in value]
            case set() | frozenset():
                return sorted(map(str, map(self.of, value)))
        return dict(self.all(value))

    def all(self, value: Any) -> Iterator[tuple[str, Plain]]:
        """The fields of an object, but for those with nothing in them."""
        for name, one in fields(value):
            found = self.of(one)
            if found not in EMPTY or isinstance(found, int):
                yield name, found

    def time(self, value: int) -> Any:
        """A time as text, another number as it is."""
        return f"+{value - self.first}" if value > EARLIEST else value

    def name(self, key: Any) -> str:
        """The text of a key."""
        return ", ".join(map(self.name, key)) if isinstance(key, tuple) else str(self.of(key))


EMPTY: tuple[Any, ...] = (None, {}, [], "", "0 times 0-0 ()")


def fields(value: Any) -> Iterator[tuple[str, Any]]:
    """The public fields of an object, but for what other rooms hold."""
    names = vars(value) if hasattr(value, "__dict__") else value.__slots__
    for name in names:
        found = getattr(value, name)
        if not name.startswith("_") and not isinstance(found, Path | Paths):
            yield name, found
