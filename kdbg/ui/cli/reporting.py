"""One run of `kdbg report`: where the facts come from, and where the page goes."""

from __future__ import annotations

import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...atomic import AtomicFile
from ...capture import open_capture
from ...errors import CaptureError, InputError
from ...extras import install
from ...views.reading.files import chosen
from ...views.render.values import escape
from . import REFUSED, UNDECODED
from .filters import CAPTURES_ONLY, EITHER, option_name, take_filters, unmatched_lines
from .inputs import InputFiles
from .progress import Progress

if TYPE_CHECKING:
    from ...views.report.causes import ReportedCauses
    from ...views.report.queries import Ask

NEEDED = ("jinja2",)


def run(sources: tuple[str, ...], output: str, options: dict[str, Any], *, force: bool, jobs: int) -> int:
    """Make the page; return the exit status."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(f"kdbg report needs {', '.join(missing)}; {install('report')}")
    if output != "-" and not force:
        check(Path(output))
    tables = [source for source in sources if holds_tables(source)]
    if not tables:
        return of_captures(sources, output, options, jobs)
    if len(sources) > 1:
        raise click.UsageError(EITHER)
    for name in take_filters(dict(options)).given:
        raise click.UsageError(CAPTURES_ONLY.format(option=option_name(name)))
    return of_tables(tables[0], output, options)


def holds_tables(source: str) -> bool:
    """Return whether the source is a folder of a pipeline's tables, or any URL; other folders hold captures."""
    if "://" in source or not Path(source).is_dir():
        return "://" in source
    from ...views.tables.columns import STATE

    return (Path(source) / STATE).is_file()


def of_captures(sources: tuple[str, ...], output: str, options: dict[str, Any], jobs: int) -> int:
    """Make a page of captures; those that cannot be read are named and passed over. Return the exit status."""
    from ...views.report.collector import Collected

    found, progress, filters = InputFiles(sources), Progress(), take_filters(options)
    refused, read = found.refused, list[str]()
    with closing(Collected(filters, jobs)) as collected:
        progress.exchanges = lambda: collected.exchanges
        with progress.through(found.files):
            for source in found.files:
                try:
                    name, wanted = chosen(source, filters)
                    with open_capture(name) as capture:
                        progress.begin(capture.source)
                        collected.capture(capture, wanted)
                        read.append(capture.name)
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
        undecoded = made(collected.ask, read, output, collected.judged)
        if collected.left != 0:
            for line in unmatched_lines(collected.seen):
                click.echo(f"kdbg: {line}", err=True)
    return REFUSED if refused else UNDECODED if undecoded else 0


def of_tables(folder: str, output: str, options: dict[str, Any]) -> int:
    """Make a page of a pipeline's tables, which Spark is asked about; return the exit status."""
    from ...scale.spark.query.sql import opened

    with opened(folder, options["master"], dict(options["conf"])) as spark:
        from ...scale.spark.query.views import asking

        made(asking(spark, folder), [folder], output)
    return 0


def made(ask: Ask, sources: list[str], output: str, judged: ReportedCauses | None = None) -> int:
    """Write the page; return how much could not be decoded. `judged`: what is found in captures."""
    from ...views.report.page import page
    from ...views.report.page_data import moving
    from ...views.report.sections import report

    found = report(ask, judged)
    text = page(found, sources, moving(ask, found)).encode("utf-8", "backslashreplace")
    if output == "-":
        sys.stdout.buffer.write(text)
        return found.undecoded
    with AtomicFile(output) as file:
        file.write(text)
    return found.undecoded


def check(path: Path) -> None:
    """Refuse to overwrite what is no report."""
    from ...views.report.page import MARK

    if not path.exists():
        return
    with path.open("rb") as file:
        if file.read(len(MARK)) != MARK:
            raise InputError(f"{path}: exists, and is not a kdbg report; use --force to overwrite it")
