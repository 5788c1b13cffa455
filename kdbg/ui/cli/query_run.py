"""One run of `kdbg query`: what is asked, of whom, and how the answers are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click

from ...errors import CaptureError, InputError
from ...views.tables.questions import QUESTIONS
from . import REFUSED, UNDECODED
from .filters import CAPTURES_ONLY, EITHER, option_name, take_filters, unmatched_lines
from .inputs import InputFiles
from .output import Writer, look
from .progress import Progress

if TYPE_CHECKING:
    from ...exchanges.filters.filter_set import Filters
    from ...scale.query.database import Database
    from ...scale.query.sources import Decoded
    from ...views.render.style import Look


class Answer(Protocol):
    """An answer of DuckDB's or Spark's."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, as plain Python."""


Ask = Callable[[str, int | None], Answer]
"""Answers SQL, with so many rows at most."""


class AnswerFormat(NamedTuple):
    """How answers are shown; a table has `most` rows where there is no limit."""

    name: str
    limit: int | None
    full: bool
    color: str
    raw: bool
    most: int


def run(
    sources: tuple[str, ...], asked: Mapping[str, str], form: AnswerFormat, options: dict[str, Any], *, show_sql: bool,
    hide: bool = False,
) -> int:  # fmt: skip
    """Ask, and show the answers, with `hide` without what records hold; return the exit status."""
    if show_sql:
        writer = Writer()
        writer.write("\n\n".join(f"{title(name, '-- ')}{text}" for name, text in asked.items()) + "\n")
        writer.flush()
        return 0
    from .reporting import holds_tables

    tables = [source for source in sources if holds_tables(source)]
    filters = take_filters(dict(options))
    if tables and len(sources) > 1:
        raise click.UsageError(EITHER)
    for name in filters.given if tables else ():
        raise click.UsageError(CAPTURES_ONLY.format(option=option_name(name)))
    if options["master"]:
        if options["timeout"] is not None:
            raise click.UsageError("--timeout cannot be combined with --master")
        return by_spark(sources, asked, form, options, hide=hide)
    if options["conf"] or options["verbose"]:
        raise click.UsageError("--conf and --verbose require --master")
    from ...scale.query.bounds import Bounds
    from ...scale.query.database import Database

    with closing(Database(hide=hide, bounds=Bounds(options["timeout"], options["allow_files"]))) as database:
        for sql in asked.values():
            database.check(sql)
        if tables:
            return of_tables(database, tables[0], asked, form)
        return of_captures(database, sources, asked, form, filters)


def by_spark(
    sources: tuple[str, ...], asked: Mapping[str, str], form: AnswerFormat, options: dict[str, Any], *, hide: bool
) -> int:
    """Ask Spark about a folder of tables; return the exit status."""
    if len(sources) > 1:
        raise click.UsageError("--master requires one folder of tables, as written by kdbg pipeline")
    from ...scale.spark.query import statements
    from ...scale.spark.query.sql import answer, opened

    files = options["allow_files"]
    for sql in () if files else asked.values():
        statements.check(sql)
    settings, verbose = dict(options["conf"]), options["verbose"]
    with opened(sources[0], options["master"], settings, verbose=verbose, hide=hide, files=files) as spark:
        show(asked, lambda sql, limit: answer(spark, sql, limit), form)
    return 0


def of_tables(database: Database, folder: str, asked: Mapping[str, str], form: AnswerFormat) -> int:
    """Ask DuckDB about a folder of tables; return the exit status."""
    from ...scale.query.sources import show as show_tables

    show_tables(database, folder, {table for sql in asked.values() for table in database.named(sql)})
    show(asked, database.answer, form)
    return 0


def of_captures(
    database: Database, sources: tuple[str, ...], asked: Mapping[str, str], form: AnswerFormat, filters: Filters
) -> int:
    """Decode captures and ask DuckDB about them; return the exit status. What cannot be read is named, passed over."""
    from ...scale.query.sources import Decoded
    from ...views.render.values import escape

    found, progress = InputFiles(sources), Progress()
    tables = {table for sql in asked.values() for table in database.named(sql)}
    timed = any(database.asks_for_times(sql) for sql in asked.values())
    decoded = Decoded(database, tables, filters, timed=timed)
    progress.exchanges = lambda: decoded.exchanges
    refused, read = found.refused, 0
    with progress.through(found.files):
        for source in found.files:
            try:
                decode(decoded, source, progress)
                read += 1
            except CaptureError as error:
                if not found.pass_over(source, error):
                    refused.append(error)
            finally:
                progress.end()
    for line in (*map(str, refused), found.passed_over()):
        if line:
            click.echo(f"kdbg: {escape(line)}", err=True)
    if not read:
        return REFUSED
    show(asked, database.answer, form)
    for line in unmatched_lines(decoded.seen):
        click.echo(f"kdbg: {line}", err=True)
    return REFUSED if refused else UNDECODED if decoded.undecoded else 0


def decode(decoded: Decoded, source: str, progress: Progress) -> None:
    """Decode one capture; raise `CaptureError` where it cannot be read."""
    from ...capture import open_capture
    from ...views.reading.files import chosen

    name, wanted = chosen(source, decoded.filters)
    with open_capture(name) as capture:
        progress.begin(capture.source)
        decoded.capture(capture, wanted)


def show(asked: Mapping[str, str], ask: Ask, form: AnswerFormat) -> None:
    """Write the answers, each as it is worked out."""
    writer, found = Writer(), look(form.color, form.full, False)
    style = replace(found, long_lines=found.full)  # in a pipe nothing is cut
    for i, (name, text) in enumerate(asked.items()):
        if form.name == "table":
            most = form.limit or form.most
            writer.write("\n" * (i > 0) + style.paint("heading", title(name)))
            writer.write(table(ask(text, most + 1), most, style))
        else:
            for line in lines(ask(text, form.limit), form, name if len(asked) > 1 else ""):
                writer.write(line)
        writer.flush()


def title(name: str, mark: str = "") -> str:
    """Return a line with a question's name and what it answers; "" for SQL of the user's own, which has no name."""
    return f"{mark}{name}: {QUESTIONS[name].about}\n" if name else ""


def table(answer: Answer, most: int, look: Look) -> str:
    """Return the answer as a table of at most `most` rows, with a line below if there are more rows, or none."""
    from ...views.render import answers

    rows = list(answer.rows)
    if not answer.columns:
        return ""
    left = "no rows\n" if not rows else "… more rows; raise --limit to print them\n" if len(rows) > most else ""
    return answers.table(answer.columns, rows[:most], look) + look.paint("dim", left)


def lines(answer: Answer, form: AnswerFormat, name: str) -> Iterator[str | bytes]:
    """Yield the answer as CSV, below a line of its columns, or as JSON Lines; `name` is the question's, for JSON.

    Raise `InputError` for JSON of two columns with the same name.
    """
    from ...views.render.answers import csv_line, json_line

    columns = answer.columns
    if form.name == "csv":
        yield csv_line(columns, raw=form.raw)
        yield from (csv_line(row, raw=form.raw) for row in answer.rows)
        return
    twice = [column for column in columns if columns.count(column) > 1]
    if twice:
        raise InputError(f"two columns are named {twice[0]!r}: rename one with AS")
    front = {"question": name} if name else {}
    for row in answer.rows:
        yield json_line([*front, *columns], [*front.values(), *row])
