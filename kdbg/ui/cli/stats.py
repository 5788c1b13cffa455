"""`kdbg stats`: captures in, numbers out."""

from __future__ import annotations

from typing import Any

import click

from .completion import dimension_names, sort_names
from .failing import fail_on_option
from .filters import filter_options, take_filters
from .options import (
    choice_option,
    files_argument,
    index_option,
    input_options,
    jobs_option,
    latency_option,
    look_options,
    merge_option,
    raw_option,
)
from .output import take_look, writer_for


def names(value: str | tuple[str, ...]) -> tuple[str, ...]:
    """Parse names with commas between them; the default is a tuple already."""
    if isinstance(value, tuple):
        return value
    found = tuple(name.strip().lower() for name in value.split(","))
    if not all(found):
        raise click.BadParameter("use names separated by commas, such as api,error")
    return found


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@click.option(
    "--by", type=names, default=(), metavar="NAME,…", shell_complete=dimension_names,
    help="Group by one or several of these: client, broker, api, error, topic, minute …; see kdbg guide stats.",
)  # fmt: skip
@click.option(
    "--sort", metavar="NAME", shell_complete=sort_names,
    help="Sort by a --by column, or by a measure such as exchanges, errors, p99 (descending).",
)  # fmt: skip
@click.option(
    "--top", type=click.IntRange(1), metavar="N", help="Show the first N rows, and sum up all others in one row."
)
@choice_option("table", "csv", "json", "prometheus", help="Set the output format; csv and json contain all measures.")
@latency_option
@raw_option
@filter_options
@look_options
@jobs_option
@index_option
@merge_option
@fail_on_option()
@input_options
def command(
    files: tuple[str, ...], by: tuple[str, ...], sort: str | None, top: int | None, format: str, latency: bool,
    raw: bool, jobs: int, merge: bool | None, **options: Any,
) -> int:  # fmt: skip
    """Summarize traffic, latency and errors by client, API or topic.

    Without --by, kdbg prints an overview on one screen. Latencies exclude the wait that a request allows, such as
    max_wait_ms of a fetch; quantiles are accurate to 1 %. An exchange with several topics, partitions, groups or
    errors is counted in each of their rows. --by accepts client, host, software, broker, connection, file, api,
    version, error, topic, partition, group, second, minute and hour, separated by commas.

    \b
    kdbg stats captures/errors.pcap
    kdbg stats captures/ --by client,api --sort p99
    kdbg stats captures/errors.pcap --by error,topic --format csv
    kdbg stats captures/errors.pcap --by api,client --latency
    kdbg stats captures/first-contact.pcap --api produce --by minute --format json
    kdbg stats captures/errors.pcap --format prometheus
    """
    filters = take_filters(options)
    from .runner import Runner

    if format == "prometheus":
        if by or sort is not None or top is not None:
            raise click.UsageError("--by, --sort and --top cannot be combined with --format prometheus")
        from ...scale.signals.metrics import Metrics, check, text
        from .outlets import Outlet

        check()
        counted = Metrics()
        outlet = Outlet(metrics=counted)
        runner = Runner(filters, writer_for(files), logs=True, merge=merge, timed=True, outlet=outlet)
        runner.hand_on_all(files)
        if runner.has_read:
            runner.writer.write(text(counted))
            runner.close()
        return runner.status
    from .stats_tables import StatsOptions, write_stats

    runner = Runner(filters, writer_for(files), logs=True, merge=merge, timed=latency, jobs=jobs)
    return write_stats(runner, files, StatsOptions(by, sort, top, format, raw), take_look(options))
