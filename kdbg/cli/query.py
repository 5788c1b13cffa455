"""`kdbg query`: a pipeline's tables, asked in SQL or by questions that are ready."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..errors import InputError
from ..spark.query.questions import QUESTIONS
from .options import color_option
from .output import Writer, look
from .pipeline import Setting

if TYPE_CHECKING:
    from ..render.look import Look
    from ..spark.query.sql import Answer

MOST = 100
"""Rows of a table, unless more are asked for."""
READY = "\b\nQuestions that are ready:\n" + "\n".join(
    f"  {name:<14}{question.about}" for name, question in QUESTIONS.items()
)


@click.command(context_settings={"max_content_width": 100}, epilog=READY)
@click.argument("folder", metavar="DIR")
@click.argument("sql", required=False)
@click.option("--ask", multiple=True, type=click.Choice(list(QUESTIONS)), metavar="NAME",
              help="Ask a question that is ready, see below. Several may be given.")  # fmt: skip
@click.option("--show-sql", is_flag=True, help="Print the SQL of the questions, and ask nothing.")
@click.option("--format", "-f", "form", type=click.Choice(["table", "csv", "json"]), default="table",
              show_default=True, help="A table to read, CSV, or JSON Lines.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), metavar="N",
              help=f"So many rows at most; if not said, {MOST} of a table, all in CSV and JSON.")  # fmt: skip
@click.option("--full", is_flag=True, help="Show a table whole, however wide.")
@click.option("--master", metavar="URL", help="Where Spark runs, as `kdbg pipeline` has it.")
@click.option(
    "--conf", multiple=True, type=Setting(), metavar="K=V", help="A setting of Spark's. Several may be given."
)
@click.option("--verbose", is_flag=True, help="Show what Spark has to say.")
@color_option
def command(
    folder: str, sql: str | None, ask: tuple[str, ...], show_sql: bool, form: str, limit: int | None, full: bool,
    master: str | None, conf: tuple[tuple[str, str], ...], verbose: bool, color: str,
) -> None:  # fmt: skip
    """Ask Spark SQL about the tables that `kdbg pipeline` wrote to DIR.

    Each table is a view of its name: exchanges, partitions, records, connections, groups, problems, files.

    \b
    kdbg query tables --ask latency --ask errors
    kdbg query tables "SELECT api, COUNT(*) FROM exchanges GROUP BY api"
    kdbg query s3://lake/kafka --ask lag --format json
    """
    if bool(sql) == bool(ask):
        raise click.UsageError(f"Say what to ask: SQL, or --ask with one of {', '.join(QUESTIONS)}")
    if form == "csv" and len(ask) > 1:
        raise click.UsageError("CSV holds one table: ask one question at a time")
    asked = {name: QUESTIONS[name].sql.strip() for name in ask} or {"": sql or ""}
    writer = Writer()
    if show_sql:
        writer.write("\n\n".join(f"{title(name, '-- ')}{text}" for name, text in asked.items()) + "\n")
        writer.flush()
        return
    from ..spark.query.sql import answer, opened

    style = look(color, full, False)
    with opened(folder, master, dict(conf), verbose=verbose) as spark:
        for i, (name, text) in enumerate(asked.items()):
            if form == "table":
                most = limit or MOST
                writer.write("\n" * (i > 0) + style.paint("heading", title(name)))
                writer.write(table(answer(spark, text, most + 1), most, style))
            else:
                for line in lines(answer(spark, text, limit), form, name if len(asked) > 1 else ""):
                    writer.write(line)
            writer.flush()


def title(name: str, mark: str = "") -> str:
    """Return a line with a question's name and what it answers; "" for SQL of the user's own, which has no name."""
    return f"{mark}{name}: {QUESTIONS[name].about}\n" if name else ""


def table(answer: Answer, most: int, look: Look) -> str:
    """Return the answer as a table of at most `most` rows, with a line below if there are more rows, or none."""
    from ..render import answers

    rows = list(answer.rows)
    if not answer.columns:
        return ""
    left = "no rows\n" if not rows else "… more rows: --limit N shows N\n" if len(rows) > most else ""
    return answers.table(answer.columns, rows[:most], look) + look.paint("dim", left)


def lines(answer: Answer, form: str, name: str) -> Iterator[str | bytes]:
    """Yield the answer as CSV, below a line of its columns, or as JSON Lines; `name` is the question's, for JSON.

    Raise `InputError` for JSON of two columns with the same name.
    """
    from ..render.answers import csv_line, json_line

    columns = answer.columns
    if form == "csv":
        yield csv_line(columns)
        yield from map(csv_line, answer.rows)
        return
    twice = [column for column in columns if columns.count(column) > 1]
    if twice:
        raise InputError(f"two columns are called {twice[0]!r}: name one of them with AS")
    front = {"question": name} if name else {}
    for row in answer.rows:
        yield json_line([*front, *columns], [*front.values(), *row])
