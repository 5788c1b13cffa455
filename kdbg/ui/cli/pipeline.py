"""`kdbg pipeline`: archives of captures in, tables out, on Spark."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from ...errors import InputError
from ...protocol.findings import Kind, Severity
from ...protocol.findings.amounts import count
from . import DEFINITIONS, INTERRUPTED, REFUSED
from .failing import fail_on_option, status_of
from .filters import archive_filter_options, take_filters
from .options import HELP, Size, conf_option, input_options, reader_options, take_readers
from .output import say

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ...exchanges.filters.filter_set import Filters
    from ...scale.spark.pipeline import PipelineOptions, PipelineOutcome

LEAST_SPLIT = 1 << 16
DURATIONS = {"s": 1, "m": 60, "h": 3600}
STAGES = {"plan": "planning", "count": "counting packets", "read": "reading", "decode": "decoding", "judge": "judging"}
POLL = 0.2
USER = re.compile(r"(?<=//)[^/@]*@")
"""User and password in a URL."""


def duration(value: str, least: int = 1) -> float:
    """Parse a duration in seconds, such as 30s, 10m or 2h."""
    text = value.lower()
    number, unit = (text[:-1], text[-1]) if text[-1:] in DURATIONS else (text, "s")
    if not number.isdecimal() or len(number) > 9 or int(number) < least:
        raise click.BadParameter(f"invalid duration {value!r}; use 30s, 10m or 2h")
    return float(int(number) * DURATIONS[unit])


def idle_time(value: str) -> float:
    """Parse a duration that may be 0."""
    return duration(value, 0)


@click.command(context_settings={"max_content_width": 100})
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURES…")
@click.option("--out", required=True, metavar="DIR", help="Write the tables to this folder; a path or a URL.")
@click.option("--master", metavar="URL", help="Set the Spark master: local[N], spark://…, yarn, k8s://…, or sc://… "
                                              "(default: this machine).")  # fmt: skip
@conf_option
@click.option("--py-files", metavar="ZIP", help="Ship this kdbg zip to the cluster's executors.")
@click.option("--split", type=Size(LEAST_SPLIT), default="64M", help="Set the bytes of a file per task (default: 64M).")
@click.option(
    "--partitions",
    type=click.IntRange(1),
    metavar="N",
    help="Set the number of reassembly tasks (default: by input size).",
)
@click.option(
    "--rolled", is_flag=True, help="Treat all files of a folder as one rotated capture, whatever their names."
)
@click.option("--records", is_flag=True, help="Write the records table as well (metadata only).")
@click.option("--values", is_flag=True, help="Write record keys, values and headers as well.")
@reader_options
@click.option("--diagnose", is_flag=True, help="Diagnose each capture as well; kdbg diagnose DIR prints the causes.")
@click.option("--append", is_flag=True, help="Append to existing tables what is new in the captures.")
@click.option("--allow-duplicates", is_flag=True,
              help="Decode copies of captures too, instead of skipping them.")  # fmt: skip
@click.option("--follow", is_flag=True, help="Keep running and add new data in batches.")
@click.option(
    "--interval", type=duration, default="30s", help="Set the interval between --follow batches (default: 30s)."
)
@click.option("--until-idle", type=duration, metavar="TIME", help="Stop --follow after this time without new data.")
@click.option("--forget", type=idle_time, metavar="DURATION", default="10m",
              help="Treat a connection as closed after this idle time, with --append and --follow; 0 closes all "
                   "(default: 10m).")  # fmt: skip
@archive_filter_options
@click.option("--show-secrets", is_flag=True, help="Write passwords, tokens and other secrets as well.")
@fail_on_option()
@input_options
@click.option("--verbose", is_flag=True, help=HELP["verbose"])
def command(captures: tuple[str, ...], out: str, **options: Any) -> int:
    """Decode large capture archives into tables with Spark.

    CAPTURES are files, folders, globs and URLs (s3://, gs://, hdfs://). Files that tcpdump or dumpcap rotated are
    decoded as one capture. The Delta Lake tables replace those in DIR atomically, or are added to them with --append.
    Spark runs on this machine, or on any cluster.

    \b
    kdbg pipeline captures/ --out tables
    kdbg pipeline 's3://archive/2026-11-*.pcap' --out s3://lake/kafka --master spark://host:7077
    kdbg pipeline /var/captures --follow --out tables
    """
    follows = options.pop("follow")
    if follows and options["diagnose"]:
        raise click.UsageError(
            "--diagnose cannot be combined with --follow; use kdbg watch --diagnose for live traffic"
        )
    filters = take_filters(options)
    filters.refuse_numbers()
    options["read"] = take_readers(dict(options))
    options["definitions"] = click.get_current_context().meta.get(DEFINITIONS, ())
    from ...scale.spark import session
    from ...views.reading import numbered

    session.check()
    for name in captures:
        if "://" not in name and (found := numbered(name)) is not None:
            raise InputError(f"{name}: archives have no exchange numbers; use kdbg decode for exchange {found[1]}")
    return (follow if follows else run_once)(captures, out, filters, options)


def run_once(captures: tuple[str, ...], out: str, filters: Filters, given: dict[str, Any]) -> int:
    """Plan a run of the pipeline, run it, and print what came of it; return the exit status."""
    from concurrent.futures import ThreadPoolExecutor

    from ...scale.spark import session
    from ...scale.spark.archive.plan import look_here, plan
    from ...scale.spark.commit import Output
    from ...scale.spark.follow.progress import resume
    from ...scale.spark.jobs import FEW, Jobs
    from ...scale.spark.pipeline import Pipeline
    from .inputs import passed_over

    output = Output(out)
    before = output.progress()  # which refuses tables of earlier versions
    how: dict[str, Any] = {name: given[name] for name in ("rolled", "allow_duplicates")}
    if given["append"]:
        how |= {"known": before.holds, "continues": before.earlier, "contents": output.contents()}
    with ExitStack() as started:

        @cache
        def spark() -> Any:
            conf = dict(given["conf"])
            found = session.start(given["master"], conf, py_files=given["py_files"], verbose=given["verbose"])
            started.callback(session.stop, found)
            return found

        def look(found: Sequence[Any], size: int) -> list[Any]:
            return look_here(found, size) if len(found) <= FEW else Jobs(spark(), output.run).look(found, size)

        planned, batch = plan(captures, given["split"], look=look, **how), None
        if given["append"]:
            patience = round(given["forget"] * 1e9)
            batch = resume(planned, before, captures, patience=patience, rolled=given["rolled"])
            planned = batch.plan
        if planned.refused:
            say(passed_over([f"{name}: {problem}" for name, problem in planned.refused]))
        if not planned.splits and (batch is None or batch.is_empty):
            say("nothing to read" + (": the tables already contain these files" if before.files and batch else ""))
            return REFUSED if not (before.files and batch) else 0
        first = min((file.time for file in planned.files if file.time is not None), default=None)
        pipeline = Pipeline(spark(), output, options_of(given, filters.dated(first)))
        with ThreadPoolExecutor(1) as thread, progress(planned.size) as show:
            running = thread.submit(pipeline.run, planned) if batch is None else thread.submit(pipeline.grow, batch)
            is_complete = wait_for(running, lambda: show(*pipeline.progress()), pipeline.cancel)
        outcome = running.result() if is_complete or not running.exception() else None
    if outcome is None:
        say("interrupted; the tables are unchanged")
        return INTERRUPTED
    return print_outcome(outcome, output.out)


def options_of(given: dict[str, Any], filters: Filters) -> PipelineOptions:
    """Return the command line's options in the form that the pipeline takes."""
    from ...library import read_definitions
    from ...scale.spark.pipeline import PipelineOptions
    from ...scale.spark.session import without_token
    from ...views.tables.message_columns import WantedRows

    master = without_token(given["master"]) if given["master"] else None
    said = given | {"conf": [name for name, _ in given["conf"]], "master": master}  # the tables hold no secrets
    read, registry = said.pop("read"), given["registry"]
    said["registry"] = registry and USER.sub("", registry)
    values = given["values"] or read is not None
    for name, value in filters.given.items():
        said[name] = sorted(value) if isinstance(value, frozenset | tuple) else value
    return PipelineOptions(
        split=given["split"],
        partitions=given["partitions"],
        filters=filters,
        wanted=WantedRows(given["records"] or values, values, given["show_secrets"], read=read),
        append=given["append"],
        diagnose=given["diagnose"],
        definitions=tuple(read_definitions(*given["definitions"])),
        said={name: value for name, value in said.items() if value not in (None, (), [], False)},
    )


def wait_for(running: Future[Any], show: Callable[[], None], cancel: Callable[[], None]) -> bool:
    """Show how far a thread is until it is done; return False if Ctrl-C ended it."""
    from concurrent.futures import wait

    try:
        while not running.done():
            wait([running], POLL)
            show()
    except KeyboardInterrupt:
        while not running.done():
            cancel()
            wait([running], POLL)
        return False
    return True


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
    from ...views.render.values import escape
    from .inputs import finding_parts

    for name, problem in outcome.problems:
        say(f"{name}: {problem}")
    counts, findings = outcome.counts, outcome.findings
    parts = [count(counts[noun + "s"], noun) for noun in ("packet", "connection", "exchange")]
    if outcome.rows["exchanges"] < counts["exchanges"]:
        parts.append(f"{outcome.rows['exchanges']:,} kept")
    parts += finding_parts(findings)
    if counts["other_connections"]:
        parts.append(f"{count(counts['other_connections'], 'connection')} not decoded")
    if outcome.diagnosed is not None:
        causes = {severity.value: outcome.causes[severity.value] for severity in Severity}
        listed = ", ".join(f"{severity} {count:,}" for severity, count in causes.items() if count)
        parts.append(count(outcome.causes.total(), "cause") + (f" ({listed})" if listed else ""))
    if outcome.waiting:
        parts.append(f"{count(outcome.waiting, 'connection')} open")
    click.echo(" · ".join([*parts, f"tables in {escape(out)}"]), err=True)
    return status_of([*(Kind(kind).severity for kind in findings), *outcome.causes])


def follow(captures: tuple[str, ...], out: str, filters: Filters, given: dict[str, Any]) -> int:
    """Follow the captures into a folder that no other run writes to; return the exit status."""
    from concurrent.futures import ThreadPoolExecutor
    from pathlib import Path

    from rich.console import Console

    from ...scale.spark import session
    from ...scale.spark.archive.plan import plan
    from ...scale.spark.archive.s3 import is_s3
    from ...scale.spark.follow.followed import Followed, Following
    from .inputs import passed_over

    if given["append"]:
        raise InputError("--follow always appends; omit --append")
    if is_s3(out):
        raise InputError("--follow cannot write to S3; run kdbg pipeline --append on a schedule instead")
    named = [str(Path(name).resolve()) if "://" not in name else name for name in captures]
    options = options_of(given, filters.dated(time.time_ns()))
    output = Followed(out)
    output.recover()
    plan(named, rolled=given["rolled"], known=output.progress().holds)  # what is not there is refused
    spark = session.start(given["master"], dict(given["conf"]), py_files=given["py_files"], verbose=given["verbose"])
    try:
        following = Following(spark, output, options, given["forget"])
        how = {name: given[name] for name in ("rolled", "interval", "until_idle")}
        with ThreadPoolExecutor(1) as thread, Console(stderr=True).status("starting") as status:

            def skipped(files: list[tuple[str, str]]) -> None:
                say(passed_over([f"{name}: {problem}" for name, problem in files]))

            def show() -> None:
                done = following.outcome.counts
                packets, exchanges = count(done["packets"], "packet"), count(done["exchanges"], "exchange")
                status.update(f"following: {packets}, {exchanges}")

            running = thread.submit(following.follow, named, **how, skipped=skipped)
            is_complete = wait_for(running, show, following.cancel)
            running.result()
        if not is_complete:
            say("interrupted; run the same command again to resume")
            return INTERRUPTED
    finally:
        session.stop(spark)
    return print_outcome(following.outcome, output.out)
