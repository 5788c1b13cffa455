"""`kdbg query`: captures, or a pipeline's tables, asked in SQL or by questions that are ready."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ...errors import InputError
from ...views.tables.questions import QUESTIONS, Answer
from . import REFUSED
from .failing import chosen_level, fail_on_option, status_of, status_of_problems
from .filters import folder_of_tables, row_filter_options, take_filters, unmatched_lines
from .options import (
    HELP,
    choice_option,
    color_option,
    conf_option,
    input_options,
    jobs_option,
    raw_option,
    reader_options,
    take_readers,
    values_option,
)
from .output import Writer, look, write_out

if TYPE_CHECKING:
    from ...exchanges.filters.filter_set import Filters
    from ...payloads.values.chosen import ReadBytes
    from ...scale.query.database import Database
    from ...views.render.style import Look

MOST = 100
"""Rows of a table, unless more are asked for."""
READY = "\b\nBuilt-in queries:\n" + "\n".join(f"  {name:<14}{question.about}" for name, question in QUESTIONS.items())
FORMER_NAMES = {"unanswered": "no-response"}
"""Names of built-in queries that are accepted for two more releases."""


class QuestionName(click.Choice[str]):
    """The name of a built-in query, or a former one."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of today."""
        return super().convert(FORMER_NAMES.get(value, value), param, ctx)


@click.command(context_settings={"max_content_width": 100}, epilog=READY)
@click.argument("arguments", nargs=-1, required=True, metavar="DIR|CAPTURE… [SQL]", type=click.Path(allow_dash=True))
@click.option("--ask", multiple=True, type=QuestionName(list(QUESTIONS)), metavar="NAME",
              help="Run a built-in query (listed below). Repeatable.")  # fmt: skip
@click.option("--show-sql", is_flag=True, help="Print the SQL without running it.")
@choice_option("table", "csv", "json")
@raw_option
@values_option
@reader_options
@row_filter_options
@click.option("--limit", type=click.IntRange(1), metavar="N",
              help=f"Print at most N rows (default: {MOST} for tables, all for CSV and JSON).")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
              help="Cancel a query after this time; decoding the captures does not count.")  # fmt: skip
@click.option("--allow-files", is_flag=True, help="Allow SQL to read and write other files, and to load extensions.")
@click.option("--full", is_flag=True, help="Print tables in full width.")
@click.option("--master", metavar="URL", help="Run the query on this Spark master instead of in-process DuckDB.")
@conf_option
@jobs_option
@click.option("--verbose", is_flag=True, help=HELP["verbose"])
@color_option
@fail_on_option()
@input_options
def command(
    arguments: tuple[str, ...], ask: tuple[str, ...], show_sql: bool, format: str, raw: bool, hide_values: bool,
    limit: int | None, full: bool, color: str, **options: Any,
) -> int:  # fmt: skip
    """Query captures or tables with SQL or built-in queries.

    Captures (files, folders and globs) and the tables that `kdbg pipeline` wrote to DIR have the same tables:
    exchanges, partitions, records, connections, groups, problems, files. DESCRIBE TABLE lists the columns of a table.
    kdbg decodes captures only for the tables in the query, and only the exchanges that match the filters. SQL cannot
    open other files, and uses at most --max-memory.

    \b
    kdbg query captures/errors.pcap --ask latency --ask errors
    kdbg query captures/errors.pcap "SELECT api, COUNT(*) FROM exchanges GROUP BY api"
    kdbg query tables/ --ask lag --format json
    """
    sources, sql = parted(arguments, ask)
    if format == "csv" and len(ask) > 1:
        raise click.UsageError("--format csv prints one table; use --ask once")
    asked = {name: QUESTIONS[name].sql.strip() for name in ask} or {"": sql}
    if show_sql:
        write_out(["\n\n".join(f"{title(name, '-- ')}{text}" for name, text in asked.items()) + "\n"])
        return 0
    answers = AnswerFormat(format, limit, full, color, raw)
    filters = take_filters(options)
    folder, read = folder_of_tables(sources, filters), take_readers(options)
    if read is not None and (folder is not None or options["master"]):
        raise click.UsageError("records of tables are deserialized by kdbg pipeline; give it these options")
    if options["master"]:
        if options["timeout"] is not None or chosen_level():
            option = "--fail-on" if options["timeout"] is None else "--timeout"
            raise click.UsageError(f"{option} cannot be combined with --master")
        return by_spark(sources, asked, answers, options, hide=hide_values)
    if options["conf"] or options["verbose"]:
        raise click.UsageError("--conf and --verbose require --master")
    from contextlib import closing

    from ...scale.query.database import Database

    database = Database(hide=hide_values, seconds=options["timeout"], files=options["allow_files"])
    with closing(database):
        for sql in asked.values():
            database.check(sql)
        if folder is None:
            return of_captures(database, sources, asked, answers, filters, read, options["jobs"])
        from ...scale.query.sources import show as show_tables
        from ...scale.spark.delta import DeltaFolder

        named = {table for sql in asked.values() for table in database.named(sql)}
        named |= {"problems"} if chosen_level() else set()
        show_tables(database, DeltaFolder(folder).files(named), named)
        show(asked, database.answer, answers)
        return status_of_problems(lambda sql: database.answer(sql).rows) if chosen_level() else 0


def parted(arguments: tuple[str, ...], ask: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the sources, and the SQL after them, "" where questions are asked; raise `UsageError` for neither."""
    import os

    *sources, last = arguments
    is_sql = bool(sources) and any(map(str.isspace, last)) and not os.path.exists(last)  # noqa: PTH110 - as elsewhere
    if (not sources and not ask) or (is_sql and ask) or not last:
        raise click.UsageError(f"no query: give SQL, or --ask with one of {', '.join(QUESTIONS)}")
    return (arguments, "") if ask else (tuple(sources), last)


class AnswerFormat(NamedTuple):
    """How answers are shown; a table has MOST rows where there is no limit."""

    name: str
    limit: int | None
    full: bool
    color: str
    raw: bool


def by_spark(
    sources: Sequence[str], asked: Mapping[str, str], form: AnswerFormat, options: dict[str, Any], *, hide: bool
) -> int:
    """Ask Spark about a folder of tables; return the exit status."""
    if len(sources) > 1:
        raise click.UsageError("--master requires one folder of tables, as written by kdbg pipeline")
    from ...scale.spark.sql import answer, check, opened

    files = options["allow_files"]
    for sql in () if files else asked.values():
        check(sql)
    settings, verbose = dict(options["conf"]), options["verbose"]
    with opened(sources[0], options["master"], settings, verbose=verbose, hide=hide, files=files) as spark:
        show(asked, lambda sql, limit: answer(spark, sql, limit), form)
    return 0


def of_captures(
    database: Database, sources: Sequence[str], asked: Mapping[str, str], form: AnswerFormat, filters: Filters,
    read: ReadBytes | None, jobs: int,
) -> int:  # fmt: skip
    """Decode captures and ask DuckDB about them; return the exit status. What cannot be read is named, passed over."""
    from ...scale.query.sources import Decoded
    from .inputs import processes_of, read_captures

    tables = {table for sql in asked.values() for table in database.named(sql)}
    timed = any(database.asks_for_times(sql) for sql in asked.values())
    decoded = Decoded(database, tables, filters, timed=timed, read=read, jobs=processes_of(sources, jobs))
    has_read, is_complete = read_captures(sources, filters, decoded.capture, lambda: decoded.exchanges)
    if not has_read:
        return REFUSED
    show(asked, database.answer, form)
    for line in unmatched_lines(decoded.seen):
        click.echo(f"kdbg: {line}", err=True)
    return status_of(decoded.severities) if is_complete else REFUSED


def show(asked: Mapping[str, str], ask: Callable[[str, int | None], Answer], form: AnswerFormat) -> None:
    """Write the answers, each as it is worked out; `ask` runs SQL, with so many rows at most."""
    writer, found = Writer(), look(form.color, form.full, False)
    style = replace(found, long_lines=found.full)  # in a pipe nothing is cut
    for i, (name, text) in enumerate(asked.items()):
        if form.name == "table":
            most = form.limit or MOST
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
    """Yield the answer as CSV, or as JSON Lines with the name of its question; there no two columns have one name."""
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
