"""`kdbg report`: captures or a pipeline's tables in, one HTML page out."""

from __future__ import annotations

from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options
from .memory import memory_option
from .output import jobs_option
from .pipeline import Setting


@click.command(context_settings={"max_content_width": 100})
@click.argument("sources", nargs=-1, required=True, metavar="DIR|CAPTURE…")
@click.option("--output", "-o", required=True, metavar="FILE", help="Output file, such as report.html; - is stdout.")
@click.option("--force", is_flag=True, help="Overwrite FILE even if it is not a kdbg report.")
@filter_options
@click.option("--master", metavar="URL", help="Where Spark runs that reads the tables; here, if not said.")
@click.option(
    "--conf", multiple=True, type=Setting(), metavar="K=V", help="A setting of Spark's. Several may be given."
)
@jobs_option
@definitions_option
@memory_option
def command(sources: tuple[str, ...], output: str, force: bool, jobs: int, **options: Any) -> int:
    """Make a page for people who would rather look: what is wrong, then traffic, latency, errors, lag, rebalances.

    Of captures, which are decoded here (files, folders and globs; filters as decode has them), or of a folder of tables
    that `kdbg pipeline` wrote, which Spark reads. The page is one file, needs no network, and shows no secrets.

    \b
    kdbg report captures/errors.pcap -o report.html
    kdbg report tables/ -o report.html
    """
    from .reporting import run

    return run(sources, output, options, force=force, jobs=jobs)
