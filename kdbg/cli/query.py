"""`kdbg query`: captures, or a pipeline's tables, asked in SQL or by questions that are ready."""

from __future__ import annotations

from typing import Any

import click

from ..tables.questions import QUESTIONS
from .definitions import definitions_option
from .filters import row_filter_options
from .memory import memory_option
from .options import color_option
from .output import raw_option, values_option
from .pipeline import Setting

MOST = 100
"""Rows of a table, unless more are asked for."""
READY = "\b\nQuestions that are ready:\n" + "\n".join(
    f"  {name:<14}{question.about}" for name, question in QUESTIONS.items()
)


@click.command(context_settings={"max_content_width": 100}, epilog=READY)
@click.argument("arguments", nargs=-1, required=True, metavar="DIR|CAPTURE… [SQL]", type=click.Path(allow_dash=True))
@click.option("--ask", multiple=True, type=click.Choice(list(QUESTIONS)), metavar="NAME",
              help="Run a built-in question (listed below). Repeatable.")  # fmt: skip
@click.option("--show-sql", is_flag=True, help="Print the SQL without running it.")
@click.option("--format", "-f", "form", type=click.Choice(["table", "csv", "json"]), default="table",
              show_default=True, help="A table to read, CSV, or JSON Lines.")  # fmt: skip
@raw_option
@values_option
@row_filter_options
@click.option("--limit", type=click.IntRange(1), metavar="N",
              help=f"Maximum number of rows (default: {MOST} for tables, all for CSV and JSON).")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
              help="Give up a question that takes longer; the time for decoding captures does not count.")  # fmt: skip
@click.option("--allow-files", is_flag=True, help="Let SQL read and write other files, and load extensions.")
@click.option("--full", is_flag=True, help="Show a table whole, however wide.")
@click.option("--master", metavar="URL", help="Run the query on this Spark master instead of in-process DuckDB.")
@click.option("--conf", multiple=True, type=Setting(), metavar="K=V", help="A setting of Spark's, with --master.")
@click.option("--verbose", is_flag=True, help="Show what Spark has to say.")
@color_option
@definitions_option
@memory_option
def command(
    arguments: tuple[str, ...], ask: tuple[str, ...], show_sql: bool, form: str, raw: bool, hide_values: bool,
    limit: int | None, full: bool, color: str, **options: Any,
) -> int:  # fmt: skip
    """Ask in SQL about captures, or about the tables that `kdbg pipeline` wrote to DIR.

    Both are tables of the same names: exchanges, partitions, records, connections, groups, problems, files. DESCRIBE
    and a name says what is in a table. Captures (files, folders and globs) are decoded for the question: only the
    tables that it names, and only what the filters let through. SQL opens no other files, and takes no more memory
    than --max-memory.

    \b
    kdbg query captures/errors.pcap --ask latency --ask errors
    kdbg query captures/errors.pcap "SELECT api, COUNT(*) FROM exchanges GROUP BY api"
    kdbg query tables/ --ask lag --format json
    """
    from .asking import Form, run

    sources, sql = parted(arguments, ask)
    if form == "csv" and len(ask) > 1:
        raise click.UsageError("CSV holds one table: ask one question at a time")
    asked = {name: QUESTIONS[name].sql.strip() for name in ask} or {"": sql}
    return run(sources, asked, Form(form, limit, full, color, raw, MOST), options, show_sql=show_sql, hide=hide_values)


def parted(arguments: tuple[str, ...], ask: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the sources, and the SQL behind them, "" where questions are asked; raise `UsageError` for neither."""
    import os

    *sources, last = arguments
    is_sql = bool(sources) and any(map(str.isspace, last)) and not os.path.exists(last)  # noqa: PTH110 - as elsewhere
    if (not sources and not ask) or (is_sql and ask) or not last:
        raise click.UsageError(f"no query: give SQL, or --ask with one of {', '.join(QUESTIONS)}")
    return (arguments, "") if ask else (tuple(sources), last)
