"""`kdbg report`: captures or a pipeline's tables in, one HTML page out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from . import REFUSED
from .failing import fail_on_option, status_of_problems
from .filters import filter_options, folder_of_tables, take_filters, unmatched_lines
from .options import input_options, jobs_option

if TYPE_CHECKING:
    from ...exchanges.filters.filter_set import Filters
    from ...views.report.causes import ReportedCauses
    from ...views.report.queries import Ask


@click.command(context_settings={"max_content_width": 100})
@click.argument("sources", nargs=-1, required=True, metavar="DIR|CAPTURE…")
@click.option("--output", "-o", required=True, metavar="FILE",
              help="Write the report to this file, such as report.html; - is stdout.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite FILE even if it is not a kdbg report.")
@filter_options
@jobs_option
@fail_on_option()
@input_options
def command(sources: tuple[str, ...], output: str, force: bool, jobs: int, **options: Any) -> int:
    """Create an HTML report from captures or pipeline tables.

    The report shows causes, traffic, latency, errors, lag and rebalances. Its sources are captures (files, folders and
    globs, with the filters of decode) or a folder of tables that `kdbg pipeline` wrote; its causes are those that
    `kdbg pipeline --diagnose` found. The report is one file, needs no network, and contains no secrets.

    \b
    kdbg report captures/errors.pcap -o report.html
    kdbg report tables/ -o report.html
    """
    from pathlib import Path

    from ...errors import InputError
    from ...extras import require
    from ...scale.query.database import NEEDED

    require("kdbg report", "report", "jinja2", *NEEDED)
    if output != "-" and not force and Path(output).exists():
        from ...views.report.page import MARK

        with Path(output).open("rb") as file:
            if file.read(len(MARK)) != MARK:
                raise InputError(f"{output}: exists, and is not a kdbg report; use --force to overwrite it")
    filters = take_filters(options)
    folder = folder_of_tables(sources, filters)
    if folder is None:
        return of_captures(sources, output, filters, jobs)
    return of_tables(folder, output)


def of_tables(folder: str, output: str) -> int:
    """Make a page of a folder of tables, with the causes in it; return the exit status."""
    from contextlib import closing

    from ...errors import InputError
    from ...scale.query.database import Database
    from ...scale.query.report import of_tables
    from ...scale.spark.causes import judgements
    from ...views.report.causes import ReportedCauses

    diagnosis: ReportedCauses | None = None
    with closing(Database()) as database:
        ask = of_tables(database, folder)
        try:
            judged = list(judgements(folder))
        except InputError as error:
            click.echo(f"kdbg: {error}", err=True)
        else:
            diagnosis = ReportedCauses()
            for capture, in_pieces, cases in judged:
                diagnosis.add(cases, "" if in_pieces else capture)
        write_page(ask, [folder], output, diagnosis)
        return status_of_problems(ask, "never")


def of_captures(sources: Sequence[str], output: str, filters: Filters, jobs: int) -> int:
    """Make a page of captures; those that cannot be read are named and skipped. Return the exit status."""
    from contextlib import closing

    from ...scale.query.report import Reported
    from .inputs import processes_of, read_captures

    with closing(Reported(filters, processes_of(sources, jobs))) as collected:
        read, is_complete = read_captures(sources, filters, collected.capture, lambda: collected.exchanges)
        if not read:
            return REFUSED
        write_page(collected.ask, read, output, collected.diagnosis)
        found = status_of_problems(collected.ask)
        if collected.left != 0:
            for line in unmatched_lines(collected.seen):
                click.echo(f"kdbg: {line}", err=True)
    return found if is_complete else REFUSED


def write_page(ask: Ask, sources: list[str], output: str, diagnosis: ReportedCauses | None = None) -> None:
    """Write the page. `diagnosis`: what is found in captures."""
    from ...atomic import AtomicFile
    from ...views.report.page import page, report
    from ...views.report.page_data import moving

    found = report(ask, diagnosis)
    text = page(found, sources, moving(ask, found)).encode("utf-8", "backslashreplace")
    if output == "-":
        sys.stdout.buffer.write(text)
        return
    with AtomicFile(output) as file:
        file.write(text)
