"""The options that narrow down which exchanges are wanted, made of the table of filters for every command."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, time
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from ...exchanges.filters.filter import Filter, Reads, ValueForm
from ...exchanges.filters.filter_set import Filters
from ...exchanges.filters.table import FILTERS

if TYPE_CHECKING:
    from ...exchanges.filters.filter_set import FilterTally

Command = Callable[..., Any]
Moment: TypeAlias = float | time
"""Seconds since the epoch, or a time of day: of the capture's first day, then."""
UNITS = (("ms", 1.0), ("us", 1e-3), ("µs", 1e-3), ("s", 1000.0))
"""How units of durations are written, and how many milliseconds they are."""
LAST = 253_402_300_800
"""Seconds from 1970 to the year 10000."""
MOST, LONGEST = 8, 60
"""How many values are offered in place of one that was not there, and how many characters of each."""


def moment(text: str) -> Moment:
    """Parse a point in time."""
    number = _seconds(text)
    if number is not None:
        return number
    with suppress(ValueError, OverflowError):
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    with suppress(ValueError):
        return time.fromisoformat(text)
    raise click.BadParameter(f"invalid time {text!r}; use 12:30:01.5, 2026-11-21T12:30:01.5, or seconds since 1970")


def milliseconds(value: str) -> float:
    """Parse a duration in milliseconds, which may have its unit after it: 100, 100ms, 250us, 1.5s."""
    text, factor = value.strip(), 1.0
    for unit, longer in UNITS:
        if text.endswith(unit):
            text, factor = text.removesuffix(unit), longer
            break
    number = _seconds(text)
    if number is None:
        raise click.BadParameter(f"invalid duration {value!r}; use 100 or 100ms, 250us, 1.5s")
    return number * factor


def _seconds(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number < LAST else None


class WordOption(click.Option):
    """A flag that may say more, as in `--errors=all`; a word that follows it with a space is none of its own."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the flag stand without a value, in front of anything."""
        super().add_to_parser(parser, ctx)
        parse, flags, assert_flag = parser.parse_args, set(self.opts), f"={True}"

        def with_values(args: list[str]) -> Any:
            end = args.index("--") if "--" in args else len(args)
            return parse([f"{arg}{assert_flag}" if arg in flags else arg for arg in args[:end]] + args[end:])

        parser.parse_args = with_values


def flag_or_word(words: tuple[str, ...]) -> Callable[[Any], bool | str]:
    """Return the type that is True for the plain flag, else one of the words."""

    def flag(value: Any) -> bool | str:
        if value is True or value == str(True):
            return True
        if value not in words:
            raise click.BadParameter(f"{value!r} is not {' or '.join(map(repr, words))}")
        return str(value)

    return flag


TYPES: dict[ValueForm, dict[str, Any]] = {
    ValueForm.TEXTS: {"multiple": True},
    ValueForm.NUMBERS: {"multiple": True},
    ValueForm.RANGES: {"multiple": True},
    ValueForm.FLAG: {"is_flag": True},
    ValueForm.MILLISECONDS: {"type": milliseconds},
    ValueForm.MOMENT: {"type": moment},
    ValueForm.EXPRESSION: {},
    ValueForm.FILES: {"multiple": True, "type": click.Path()},
    ValueForm.COUNT: {},
}
"""How click takes each form of value."""


def _complete(name: str, context: click.Context, parameter: click.Parameter, typed: str) -> list[Any]:
    """Offer what the captures on the command line have for a filter, or what its type offers."""
    from .completion import FILTER_VALUES  # which only shells ask for

    found = FILTER_VALUES.get(name)
    if found is not None:
        return found(context, parameter, typed)
    return parameter.type.shell_complete(context, parameter, typed)


def _with(filters: dict[str, Filter], command: Command) -> Command:
    """Give a command the options of filters."""
    for name, one in reversed(filters.items()):
        takes = TYPES[one.form]
        if one.words:
            takes = {"cls": WordOption, "type": flag_or_word(one.words)}
        if one.form in (ValueForm.NUMBERS, ValueForm.COUNT):
            takes = takes | {
                "type": click.IntRange(one.within[0], one.within[-1] if one.within[-1] < 1 << 62 else None)
            }
        metavar = f"[={'|'.join(one.words)}]" if one.words else one.metavar
        takes = takes | {"metavar": metavar, "help": one.help, "shell_complete": partial(_complete, name)}
        command = click.option(option_name(name), **takes)(command)
    return command


filter_options = partial(_with, FILTERS)
"""Gives a command an option for every filter: --api, --client-id, --topic and all others."""
row_filter_options = partial(_with, {name: one for name, one in FILTERS.items() if name != "limit"})
"""Gives it all but --limit, which is for the rows of its answers."""
connection_filter_options = partial(
    _with, {name: one for name, one in FILTERS.items() if one.reads is Reads.NOTHING and name != "limit"}
)
"""Gives it those that choose connections as a whole: what is judged from a part of a connection may be wrong."""
archive_filter_options = partial(_with, {name: one for name, one in FILTERS.items() if one.archives})
"""Gives it those that mean something over archives, in which connections and exchanges have no numbers."""


def take_filters(options: dict[str, Any]) -> Filters:
    """Take the filters out of what a command was given, and check them: an unknown API is refused at once."""
    filters = Filters(**{name: options.pop(name) for name in FILTERS if name in options})
    filters.dated(0).checks()
    if filters.tls_keys:
        from ...capture.keylog import KeyLog

        KeyLog().use(filters.tls_keys, live=True)  # one that cannot be read is refused at once
    if filters.pid:
        from ...views.reading.process_keys import check
        from .output import say

        for pid, name in zip(sorted(filters.pid), check(sorted(filters.pid)), strict=True):
            say(f"reading the memory of {name} {pid} for TLS keys")
    return filters


def option_name(name: str) -> str:
    """Return how a filter is written on the command line."""
    return f"--{name.replace('_', '-')}"


def folder_of_tables(
    sources: Sequence[str], filters: Filters, hint: str = "for tables, pass it to kdbg pipeline"
) -> str | None:
    """Return the folder of a pipeline's tables that was named, None where captures were.

    Raise `UsageError` for more than one source, for --jobs, and with `hint` for filters: these are for captures.
    """
    from .inputs import holds_tables

    if not any(map(holds_tables, sources)):
        return None
    if len(sources) > 1:
        raise click.UsageError("give either captures or one folder of tables, not both")
    for name in filters.given:
        raise click.UsageError(f"{option_name(name)} applies to captures; {hint}")
    if click.get_current_context().params.get("jobs"):
        raise click.UsageError("--jobs applies to captures; tables are read on all cores")
    return sources[0]


def unmatched_lines(seen: FilterTally) -> Iterator[str]:
    """Yield a line for each value that nothing fitted, which offers what there was."""
    from ...views.render.values import cut, escape

    for one in seen.unmatched():
        if FILTERS[one.filter].form is ValueForm.EXPRESSION:
            yield f"{option_name(one.filter)}: no exchange matches"
            continue
        values = [cut(escape(str(value)), LONGEST) for value in one.there[:MOST]]
        more = f" and {len(one.there) - MOST:,} more" if len(one.there) > MOST else ""
        meant = f"; did you mean {values[0]}?" if one.near is not None else ""
        there = f"the captures contain {', '.join(values)}{more}" if values else "the captures contain none"
        yield f"{option_name(one.filter)} {escape(one.value)}: no match{meant or ';'} {there}"
