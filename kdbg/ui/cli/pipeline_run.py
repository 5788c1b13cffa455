"""One run of `kdbg pipeline`: planned, watched over while Spark works, and told of at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ...errors import InputError
from ...exchanges.filters.filter_set import Filters
from ...library import read_definitions
from ...protocol.findings import Kind
from ...protocol.findings.amounts import count
from ...protocol.findings.kinds import Severity
from ...scale.spark import session
from ...views.reading.files import numbered
from ...views.render.values import escape
from . import INTERRUPTED, REFUSED, UNDECODED
from .counts_line import finding_parts
from .inputs import passed_over

if TYPE_CHECKING:
    from ...scale.spark.archive.plan import Plan
    from ...scale.spark.commit import Output
    from ...scale.spark.pipeline import Pipeline, PipelineOptions, PipelineOutcome

STAGES = {"plan": "planning", "count": "counting packets", "read": "reading", "decode": "decoding", "judge": "judging"}
POLL = 0.2


def run(captures: tuple[str, ...], out: str, filters: Filters, given: dict[str, Any]) -> int:
    """Plan a run of the pipeline, run it, and print what came of it; return the exit status."""
    session.check()
    refuse_numbers(captures)
    from ...scale.spark.commit import Output

    output = Output(out)
    with output.alone():
        return made(captures, output, filters, given)


def made(captures: tuple[str, ...], output: Output, filters: Filters, given: dict[str, Any]) -> int:
    """Run it into a folder that no other run writes to; return the exit status."""
    from ...scale.spark.archive.plan import plan
    from ...scale.spark.pipeline import Pipeline

    known = output.known() if given["append"] else {}
    planned = plan(captures, given["split"], rolled=given["rolled"], known=known)
    if planned.refused:
        say(passed_over([f"{name}: {problem}" for name, problem in planned.refused]))
    if not planned.files:
        say("nothing to read" + (": the tables already contain these files" if known else ""))
        return REFUSED if not known else 0
    first = min((file.time for file in planned.files if file.time is not None), default=None)
    options = options_of(given, filters.dated(first))
    spark = session.start(given["master"], dict(given["conf"]), py_files=given["py_files"], verbose=given["verbose"])
    try:
        outcome = watched(Pipeline(spark, output, options), planned)
    finally:
        session.stop(spark)
    if outcome is None:
        say("interrupted; the tables are unchanged")
        return INTERRUPTED
    return print_outcome(outcome, output.out)


def refuse_numbers(captures: Sequence[str]) -> None:
    """Raise `InputError` for FILE#N: in archives exchanges have no numbers."""
    for name in captures:
        if "://" not in name and (found := numbered(name)) is not None:
            raise InputError(f"{name}: archives have no exchange numbers; use kdbg decode for exchange {found[1]}")


def options_of(given: dict[str, Any], filters: Filters) -> PipelineOptions:
    """Return the command line's options in the form that the pipeline takes."""
    from ...scale.spark.pipeline import PipelineOptions
    from ...views.tables.message_columns import WantedRows

    return PipelineOptions(
        split=given["split"],
        partitions=given["partitions"],
        filters=filters,
        wanted=WantedRows(given["records"] or given["values"], given["values"], given["show_secrets"]),
        append=given["append"],
        diagnose=given["diagnose"],
        definitions=tuple(read_definitions(*given["definitions"])),
        said=stored_options(given | {name: _plain(value) for name, value in filters.given.items()}),
    )


def stored_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that the tables may hold; of Spark's settings only the names, for values may be keys."""
    shown = given | {"conf": [name for name, _ in given["conf"]]}
    return {name: value for name, value in shown.items() if value not in (None, (), [], False)}


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset | tuple) else value


def watched(pipeline: Pipeline, planned: Plan) -> PipelineOutcome | None:
    """Run the pipeline in a thread, and show how far it is; return None if Ctrl-C ended it."""
    with ThreadPoolExecutor(1) as thread, progress(planned.size) as show:
        running = thread.submit(pipeline.run, planned)
        try:
            while not running.done():
                wait([running], POLL)
                show(*pipeline.progress())
        except KeyboardInterrupt:
            while not running.done():
                pipeline.cancel()
                wait([running], POLL)
            return None if running.exception() else running.result()
        return running.result()


@contextmanager
def progress(size: int) -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar on stderr where that is a terminal; yield the function that moves it.

    That takes the stage, and the part of the captures' `size` in bytes that is done (0 to 1).
    """
    if not sys.stderr.isatty():
        yield lambda stage, part: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=size)
        yield lambda stage, part: bar.update(task, description=STAGES[stage], completed=int(part * size))


def print_outcome(outcome: PipelineOutcome, out: str) -> int:
    """Print what is wrong with captures, then a line of counts; return the exit status."""
    for name, problem in outcome.problems:
        say(f"{name}: {problem}")
    counts, findings = outcome.counts, outcome.findings
    undecoded = any(Kind(kind).is_error for kind in findings)
    parts = [count(counts[noun + "s"], noun) for noun in ("packet", "connection", "exchange")]
    if outcome.rows["exchanges"] < counts["exchanges"]:
        parts.append(f"{outcome.rows['exchanges']:,} kept")
    parts += finding_parts(findings)
    if counts["other_connections"]:
        parts.append(f"{count(counts['other_connections'], 'connection')} not decoded")
    if outcome.judged is not None:
        causes = {severity.value: outcome.causes[severity.value] for severity in Severity}
        listed = ", ".join(f"{severity} {count:,}" for severity, count in causes.items() if count)
        parts.append(count(outcome.causes.total(), "cause") + (f" ({listed})" if listed else ""))
    click.echo(" · ".join([*parts, f"tables in {escape(out)}"]), err=True)
    return UNDECODED if undecoded else 0


def say(text: str) -> None:
    click.echo(f"kdbg: {escape(text)}", err=True)
