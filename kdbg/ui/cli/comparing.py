"""One run of `kdbg diff`: what is read of both sides, and how it is written."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Self, TypeAlias

import click

from ...analysis.compare.captures import Profile, rows
from ...analysis.compare.messages import compare
from ...analysis.logs.log import ApplicationLog
from ...capture import Capture
from ...errors import InputError
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...views.reading.files import numbered
from ...views.render import comparison
from ...views.render.style import Look
from .output import Writer
from .runner import Captures

Side: TypeAlias = tuple[str, Filters]
"""What a side is called, and which of its exchanges count."""


def run(sides: tuple[Side, Side], *, ids: bool, every: bool, form: str, look: Look) -> int:
    """Compare two exchanges or two captures, each by its own filters; return the exit status."""
    (a, _), (b, _) = sides
    single = [numbered(name) is not None for name in (a, b)]
    if single[0] is not single[1]:
        raise click.UsageError(f"{b if single[0] else a}: no exchange number; add #N to both files, or to neither")
    if ids and not single[0]:
        raise click.UsageError("--ids requires two exchanges, as A#N B#M")
    look = look if sys.stdout.isatty() else replace(look, long_lines=True)
    return of_exchanges(sides, look, form, ids=ids) if single[0] else of_captures(sides, look, form, every=every)


def of_exchanges(sides: tuple[Side, Side], look: Look, form: str, *, ids: bool) -> int:
    """Write what two exchanges differ in; return the exit status."""
    a, b = (OneExchange(filters, Writer()).of(name) for name, filters in sides)
    if a.found is None or b.found is None:
        return max(a.status, b.status)
    found = compare(a.found, b.found, ids=ids, secrets=look.show_secrets, values=not look.hide_values)
    if form == "json":
        a.writer.write(b"".join(map(comparison.json_difference, found.differences)))
    else:
        files = [(numbered(name) or (name,))[0] for name, _ in sides]
        heads = [comparison.heading(*side, look) for side in zip("AB", files, (a.found, b.found), strict=True)]
        a.writer.write("".join(heads) + comparison.exchanges(found, look))
    a.writer.flush()
    return max(a.status, b.status)


def of_captures(sides: tuple[Side, Side], look: Look, form: str, *, every: bool) -> int:
    """Write what two captures differ in, with `every` what is the same, too; return the exit status."""
    a, b = (AddedUp(filters, Writer()).of(name) for name, filters in sides)
    if not (a.has_read and b.has_read):
        return max(a.status, b.status)
    found = list(rows(a.profile, b.profile))
    if form == "json":
        for line in comparison.json_rows(found):
            a.writer.write(line)
    else:
        shown = [row for row in found if every or not row.same]
        named = [(name, one.profile) for (name, _), one in zip(sides, (a, b), strict=True)]
        a.writer.write(comparison.captures(shown, look, named, len(found) - len(shown)))
    a.writer.flush()
    return max(a.status, b.status)


class OneExchange(Captures):
    """Reads one exchange of a file."""

    found: Exchange | None = None

    def of(self, name: str) -> Self:
        """Read the file; return this."""
        self.captures([name])
        return self

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Keep the exchange that is wanted of a capture; raise `InputError` where it has none of that number."""
        with self.driven(capture, name) as drive:
            self.found = next(iter(drive), None)
            if self.found is None:
                raise InputError(f"{name}: no such exchange; the filters match {drive.seen:,}")

    def close(self) -> None:
        """Say nothing: what differs is the answer."""


class AddedUp(Captures):
    """Adds up by meaning what one name stands for: a file, a folder or a glob."""

    def __init__(self, filters: Filters, writer: Writer) -> None:
        super().__init__(filters, writer)
        self.profile: Profile = Profile()

    def of(self, name: str) -> Self:
        """Read what the name stands for; return this."""
        self.captures([name])
        return self

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Add up a capture."""
        with self.driven(capture, name) as drive:
            for exchange in drive:
                self.profile.add(exchange)
