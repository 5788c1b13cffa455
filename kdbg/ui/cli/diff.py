"""`kdbg diff`: two exchanges field by field, or two captures by meaning."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .filters import filter_options, take_filters
from .options import choice_option, input_options, look_options, values_option
from .output import Writer, take_look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...analysis.compare.captures import Profile
    from ...exchanges.filters.filter_set import Filters
    from ...exchanges.messages.exchange import Exchange
    from ...views.render.style import Look


@click.command(context_settings={"max_content_width": 100})
@click.argument("a", metavar="A[#N]")
@click.argument("b", metavar="B[#M]")
@filter_options
@click.option(
    "--where-a",
    metavar="EXPR",
    help="Apply this --where expression to A only, for example to compare two clients of a capture.",
)
@click.option("--where-b", metavar="EXPR", help="Apply this --where expression to B only.")
@click.option("--ids", is_flag=True, help="Include ids, times and checksums in the comparison of two exchanges.")
@click.option("--all", "every", is_flag=True, help="Show identical rows of two captures as well.")
@choice_option("table", "json", help="Set the output format: text tables, or JSON Lines.")
@look_options
@values_option
@input_options
def command(
    a: str, b: str, where_a: str | None, where_b: str | None, ids: bool, every: bool, format: str, **options: Any
) -> int:
    """Compare two exchanges, or two captures.

    A#N and B#M are exchanges, by the numbers that `kdbg decode` shows. Each field that differs is one line.
    Broker-assigned ids, times and checksums are ignored.

    Two captures are compared by software, API versions, values that requests set, and errors. Filters apply to both:
    --api fetch compares how two clients fetch. The exit status does not depend on the differences.

    \b
    kdbg diff mine.pcap#17 theirs.pcap#4
    kdbg diff mine.pcap librdkafka.pcap --api fetch
    kdbg diff all.pcap all.pcap --where-a 'client_id == "mine"' --where-b 'client_id == "theirs"'
    """
    from ...views.reading import numbered

    look = take_look(options)
    look = look if sys.stdout.isatty() else replace(look, long_lines=True)
    sides = [Side(a, one_side(options, where_a)), Side(b, one_side(options, where_b))]
    single = [numbered(name) is not None for name in (a, b)]
    if single[0] is not single[1]:
        raise click.UsageError(f"{b if single[0] else a}: no exchange number; add #N to both files, or to neither")
    if ids and not single[0]:
        raise click.UsageError("--ids requires two exchanges, as A#N B#M")
    text = (
        diff_exchanges(sides, look, format, ids=ids) if single[0] else diff_captures(sides, look, format, every=every)
    )
    if text is not None:
        sides[0].runner.writer.write(text)
        sides[0].runner.writer.flush()
    return max(side.runner.status for side in sides)


def one_side(options: dict[str, Any], where: str | None) -> Filters:
    """Return the filters of one side: those of both, and its own expression."""
    both = options.get("where")
    expression = f"({both}) && ({where})" if both and where else where or both
    return take_filters({**options, "where": expression})


class Side:
    """One of the two that are compared: a file, a folder or a glob, of which some exchanges count."""

    def __init__(self, name: str, filters: Filters) -> None:
        from .runner import Runner

        self.name, self.runner = name, Runner(filters, Writer())

    def exchange(self) -> Exchange | None:
        """Return the one that is wanted; raise `InputError` where the capture has none of that number."""
        from ...errors import InputError

        found: Exchange | None = None
        for file in self.runner.open([self.name]):
            with file, self.runner.drive(file) as drive:
                found = next(iter(drive), None)
                if found is None:
                    raise InputError(f"{file.name}: no such exchange; the filters match {drive.seen:,}")
        return found

    def profile(self) -> Profile | None:
        """Return all that there are, added up by meaning; None where nothing could be read."""
        from ...analysis.compare.captures import Profile

        profile = Profile()
        for file in self.runner.open([self.name]):
            with file, self.runner.drive(file) as drive:
                for exchange in drive:
                    profile.add(exchange)
        self.runner.close()
        return profile if self.runner.has_read else None


def diff_exchanges(sides: Sequence[Side], look: Look, format: str, *, ids: bool) -> str | bytes | None:
    """Return what two exchanges differ in; None where one cannot be read."""
    from ...analysis.compare.messages import compare
    from ...views.reading import numbered
    from ...views.render import comparison

    a, b = (side.exchange() for side in sides)
    if a is None or b is None:
        return None
    found = compare(a, b, ids=ids, secrets=look.show_secrets, values=not look.hide_values)
    if format == "json":
        return b"".join(map(comparison.json_difference, found.differences))
    files = [(numbered(side.name) or (side.name,))[0] for side in sides]
    heads = [comparison.heading(*side, look) for side in zip("AB", files, (a, b), strict=True)]
    return "".join(heads) + comparison.exchanges(found, look)


def diff_captures(sides: Sequence[Side], look: Look, format: str, *, every: bool) -> str | bytes | None:
    """Return what two captures differ in, with `every` what is the same, too; None where one cannot be read."""
    from ...analysis.compare.captures import rows
    from ...views.render import comparison

    a, b = (side.profile() for side in sides)
    if a is None or b is None:
        return None
    found = list(rows(a, b))
    if format == "json":
        return b"".join(comparison.json_rows(found))
    shown = [row for row in found if every or not row.same]
    return comparison.captures(shown, look, [(sides[0].name, a), (sides[1].name, b)], len(found) - len(shown))
