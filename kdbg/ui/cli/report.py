"""`kdbg report`: captures or a pipeline's tables in, one HTML page out."""

from __future__ import annotations

from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options
from .memory import memory_option
from .options import HELP
from .output import jobs_option
from .pipeline import Setting


@click.command(context_settings={"max_content_width": 100})
@click.argument("sources", nargs=-1, required=True, metavar="DIR|CAPTURE…")
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    help="Write the report to this file, such as report.html; - is stdout.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE even if it is not a kdbg report.")
@filter_options
@click.option("--master", metavar="URL", help="Set the Spark master that reads the tables (default: this machine).")
@click.option("--conf", multiple=True, type=Setting(), metavar="K=V", help=HELP["conf"])
@jobs_option
@definitions_option
@memory_option
def command(sources: tuple[str, ...], output: str, force: bool, jobs: int, **options: Any) -> int:
    """Create an HTML report from captures or pipeline tables.

    The report shows causes, traffic, latency, errors, lag and rebalances. kdbg decodes captures itself (files,
    folders and globs, with the filters of decode); Spark reads a folder of tables that `kdbg pipeline` wrote. The
    report is one file, needs no network, and contains no secrets.

    \b
    kdbg report captures/errors.pcap -o report.html
    kdbg report tables/ -o report.html
    """
    from .reporting import run

    return run(sources, output, options, force=force, jobs=jobs)
