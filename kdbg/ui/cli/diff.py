"""`kdbg diff`: two exchanges field by field, or two captures by meaning."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .failing import fail_on_option
from .filters import filter_options, take_filters
from .options import choice_option, index_option, input_options, value_look_options
from .output import Writer, take_look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...exchanges.messages.exchange import Exchange
    from ...views.render.style import Look
    from .runner import Runner


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
@value_look_options
@index_option
@fail_on_option()
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
    from .runner import Runner

    look = take_look(options)
    look = look if sys.stdout.isatty() else replace(look, long_lines=True)
    both, sides = options.get("where"), list[tuple[str, Runner]]()
    for name, where in ((a, where_a), (b, where_b)):
        expression = f"({both}) && ({where})" if both and where else where or both
        index = None if numbered(name) is None else False  # what whole captures show depends on how messages were read
        sides.append((name, Runner(take_filters({**options, "where": expression}), Writer(), index=index)))
    single = [numbered(name) is not None for name in (a, b)]
    if single[0] is not single[1]:
        raise click.UsageError(f"{b if single[0] else a}: no exchange number; add #N to both files, or to neither")
    if ids and not single[0]:
        raise click.UsageError("--ids requires two exchanges, as A#N B#M")
    text = (
        diff_exchanges(sides, look, format, ids=ids) if single[0] else diff_captures(sides, look, format, every=every)
    )
    writer = sides[0][1].writer
    if text is not None:
        writer.write(text)
        writer.flush()
    return max(runner.status for _, runner in sides)


def diff_exchanges(sides: Sequence[tuple[str, Runner]], look: Look, format: str, *, ids: bool) -> str | bytes | None:
    """Return what two exchanges differ in; None where one cannot be read. Raise `InputError` where there is none."""
    from ...analysis.compare.messages import compare
    from ...errors import InputError
    from ...views.reading import numbered
    from ...views.render import comparison

    exchanges: list[Exchange] = []
    for name, runner in sides:
        for file in runner.open([name]):
            with file, runner.drive(file) as drive:
                exchange = next(iter(drive), None)
                if exchange is None:
                    raise InputError(f"{file.name}: no such exchange; the filters match {drive.engine.count:,}")
                exchanges.append(exchange)
    if len(exchanges) != 2:
        return None
    found = compare(*exchanges, ids=ids, secrets=look.show_secrets, values=not look.hide_values)
    if format == "json":
        return b"".join(map(comparison.json_difference, found.differences))
    files = [(numbered(name) or (name,))[0] for name, _ in sides]
    heads = [comparison.heading(*side, look) for side in zip("AB", files, exchanges, strict=True)]
    return "".join(heads) + comparison.exchanges(found, look)


def diff_captures(sides: Sequence[tuple[str, Runner]], look: Look, format: str, *, every: bool) -> str | bytes | None:
    """Return what two captures differ in, with `every` what is the same, too; None where one cannot be read."""
    from ...analysis.compare.captures import Profile, rows
    from ...views.render import comparison

    profiles: list[tuple[str, Profile]] = []
    for name, runner in sides:
        profile = Profile()
        for file in runner.open([name]):
            with file, runner.drive(file) as drive:
                for exchange in drive:
                    profile.add(exchange)
        runner.close()
        profiles.append((name, profile))
    if not all(runner.has_read for _, runner in sides):
        return None
    found = list(rows(*(profile for _, profile in profiles)))
    if format == "json":
        return b"".join(comparison.json_rows(found))
    shown = [row for row in found if every or not row.same]
    return comparison.captures(shown, look, profiles, len(found) - len(shown))
