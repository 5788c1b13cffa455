"""One run of `kdbg diff`: what is read of both sides, and how it is written."""

from __future__ import annotations

import sys
from dataclasses import replace

import click

from ..capture import Capture
from ..compare.captures import rows
from ..compare.messages import compare
from ..compare.profile import Profile
from ..errors import InputError
from ..filters.chosen import Filters
from ..messages.exchange import Exchange
from ..reading.files import numbered
from ..render import compared
from ..render.look import Look
from .captures import Captures
from .output import Writer


def run(a: str, b: str, filters: Filters, *, ids: bool, every: bool, form: str, look: Look) -> int:
    """Compare two exchanges or two captures; return the exit status."""
    single = [numbered(name) is not None for name in (a, b)]
    if single[0] is not single[1]:
        raise click.UsageError(f"Which exchange of {b if single[0] else a}? FILE#N is exchange N, for both or for none")
    if ids and not single[0]:
        raise click.UsageError("--ids is for two exchanges: A#N B#M")
    look = look if sys.stdout.isatty() else replace(look, long_lines=True)
    sides: Exchanges | Profiles = Exchanges(filters, Writer()) if single[0] else Profiles(filters, Writer())
    sides.captures([a, b])
    if len(sides.found) < 2:
        return sides.status
    if isinstance(sides, Exchanges):
        text = sides.compared((a, b), look, form, ids=ids)
    else:
        text = sides.compared((a, b), look, form, every=every)
    sides.writer.write(text)
    sides.writer.flush()
    return sides.status


class Exchanges(Captures):
    """Reads one exchange of each file."""

    def __init__(self, filters: Filters, writer: Writer) -> None:
        super().__init__(filters, writer)
        self.found: list[Exchange] = []

    def read(self, capture: Capture, name: str) -> None:
        """Keep the exchange that is wanted of a capture; raise `InputError` where it has none of that number."""
        with self.driven(capture, name) as drive:
            chosen = next(iter(drive), None)
            if chosen is None:
                raise InputError(f"{name}: no such exchange passes the filters; it has {drive.seen:,}")
        self.note_all(chosen, shallow=False)
        self.found.append(chosen)

    def close(self) -> None:
        """Say nothing: what differs is the answer."""

    def compared(self, names: tuple[str, str], look: Look, form: str, *, ids: bool) -> str | bytes:
        """Return what the two exchanges differ in."""
        a, b = self.found
        found = compare(a, b, ids=ids, secrets=look.show_secrets)
        if form == "json":
            return b"".join(map(compared.json_difference, found.differences))
        files = [(numbered(name) or (name,))[0] for name in names]
        heads = [compared.heading(*side, look) for side in zip("AB", files, self.found, strict=True)]
        return "".join(heads) + compared.exchanges(found, look)


class Profiles(Captures):
    """Adds up each file by meaning."""

    def __init__(self, filters: Filters, writer: Writer) -> None:
        super().__init__(filters, writer)
        self.found: list[Profile] = []

    def read(self, capture: Capture, name: str) -> None:
        """Add up a capture."""
        profile = Profile()
        self.found.append(profile)
        with self.driven(capture, name) as drive:
            for exchange in drive:
                profile.add(exchange)
                if not exchange.is_sound(shallow=True):
                    self.note_all(exchange, shallow=True)

    def compared(self, names: tuple[str, str], look: Look, form: str, *, every: bool) -> str | bytes:
        """Return what the two captures differ in; with `every` what is the same, too."""
        a, b = self.found
        found = list(rows(a, b))
        if form == "json":
            return b"".join(compared.json_rows(found))
        shown = [row for row in found if every or not row.same]
        return compared.captures(shown, look, [*zip(names, self.found, strict=True)], len(found) - len(shown))
