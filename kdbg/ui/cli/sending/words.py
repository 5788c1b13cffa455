"""What people write as values of options, and what it means: acks, times, offsets, pairs, bytes."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import click

TIMES = {
    "latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5,
    "earliest-pending-upload": -6,
}  # fmt: skip
"""ListOffsets' timestamps with a special meaning, by their names in `kafka-get-offsets`."""
ENDS = ("earliest", "latest")


class Bytes(click.ParamType):  # type: ignore[type-arg]
    """Text that goes over the wire as its UTF-8."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")


class Pair(click.ParamType):  # type: ignore[type-arg]
    """`name=value`; a name alone has a null value."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str | None]:
        name, equals, rest = str(value).partition("=")
        if not name:
            self.fail(f"{value!r} has no name; use name=value", param, ctx)
        return name, rest if equals else None


class Acks(click.ParamType):  # type: ignore[type-arg]
    """How many replicas must have the records: all (-1), 1, or 0 for no answer at all; any number is sent."""

    name = "all|1|0"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).lower()
        if text == "all":
            return -1
        if not text.removeprefix("-").isdecimal():
            self.fail(f"invalid acks {value!r}; use all, 1 or 0", param, ctx)
        return int(text)


class Moment(click.ParamType):  # type: ignore[type-arg]
    """A point in time as Kafka counts them, milliseconds since 1970; `words` are those with a number of their own."""

    name = "time"

    def __init__(self, words: dict[str, int] | None = None) -> None:
        self.words: dict[str, int] = words or {}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if text.lower() in self.words:
            return self.words[text.lower()]
        if text.removeprefix("-").isdecimal():
            return int(text)
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            named = "".join(f"{word}, " for word in self.words)
            self.fail(f"invalid time {value!r}; use {named}milliseconds since 1970, or 2026-11-21T12:30", param, ctx)
        return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


class Offset(click.ParamType):  # type: ignore[type-arg]
    """An offset, or the end of the log that is looked up."""

    name = "number|earliest|latest"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        text = str(value).lower()
        if text in ENDS:
            return text
        if not text.removeprefix("-").isdecimal():
            self.fail(f"invalid offset {value!r}; use a number, earliest or latest", param, ctx)
        return int(text)


def now() -> int:
    """Return the time as Kafka counts it: milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
