"""`kdbg query`: captures, or a pipeline's tables, asked in SQL or by questions that are ready."""

from __future__ import annotations

from typing import Any

import click

from ...views.tables.questions import QUESTIONS
from .definitions import definitions_option
from .filters import row_filter_options
from .memory import memory_option
from .options import HELP, color_option
from .output import raw_option, values_option
from .pipeline import Setting

MOST = 100
"""Rows of a table, unless more are asked for."""
READY = "\b\nBuilt-in queries:\n" + "\n".join(f"  {name:<14}{question.about}" for name, question in QUESTIONS.items())


@click.command(context_settings={"max_content_width": 100}, epilog=READY)
@click.argument("arguments", nargs=-1, required=True, metavar="DIR|CAPTURE… [SQL]", type=click.Path(allow_dash=True))
@click.option("--ask", multiple=True, type=click.Choice(list(QUESTIONS)), metavar="NAME",
              help="Run a built-in query (listed below). Repeatable.")  # fmt: skip
@click.option("--show-sql", is_flag=True, help="Print the SQL without running it.")
@click.option("--format", "-f", "form", type=click.Choice(["table", "csv", "json"]), default="table",
              help="Set the output format (default: table).")  # fmt: skip
@raw_option
@values_option
@row_filter_options
@click.option("--limit", type=click.IntRange(1), metavar="N",
              help=f"Print at most N rows (default: {MOST} for tables, all for CSV and JSON).")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
              help="Cancel a query after this time; decoding the captures does not count.")  # fmt: skip
@click.option("--allow-files", is_flag=True, help="Allow SQL to read and write other files, and to load extensions.")
@click.option("--full", is_flag=True, help="Print tables in full width.")
@click.option("--master", metavar="URL", help="Run the query on this Spark master instead of in-process DuckDB.")
@click.option("--conf", multiple=True, type=Setting(), metavar="K=V", help=HELP["conf"])
@click.option("--verbose", is_flag=True, help=HELP["verbose"])
@color_option
@definitions_option
@memory_option
def command(
    arguments: tuple[str, ...], ask: tuple[str, ...], show_sql: bool, form: str, raw: bool, hide_values: bool,
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
    from .query_run import AnswerFormat, run

    sources, sql = parted(arguments, ask)
    if form == "csv" and len(ask) > 1:
        raise click.UsageError("--format csv prints one table; use --ask once")
    asked = {name: QUESTIONS[name].sql.strip() for name in ask} or {"": sql}
    return run(
        sources, asked, AnswerFormat(form, limit, full, color, raw, MOST), options, show_sql=show_sql, hide=hide_values
    )


def parted(arguments: tuple[str, ...], ask: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the sources, and the SQL behind them, "" where questions are asked; raise `UsageError` for neither."""
    import os

    *sources, last = arguments
    is_sql = bool(sources) and any(map(str.isspace, last)) and not os.path.exists(last)  # noqa: PTH110 - as elsewhere
    if (not sources and not ask) or (is_sql and ask) or not last:
        raise click.UsageError(f"no query: give SQL, or --ask with one of {', '.join(QUESTIONS)}")
    return (arguments, "") if ask else (tuple(sources), last)
