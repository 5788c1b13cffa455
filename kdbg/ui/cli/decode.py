"""`kdbg decode`: captures in, exchanges out."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .output import (
    jobs_option,
    latency_option,
    look,
    look_options,
    meanings_option,
    merge_option,
    on_screen,
    tree_options,
    values_option,
    view_option,
    without_values,
)
from .pager import writing
from .readers import reader_options, take_readers

READ_IN = ("tree", "hex")
"""The views that show keys and values as readers read them."""


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@view_option("tree")
@filter_options
@look_options
@values_option
@meanings_option
@reader_options
@tree_options()
@jobs_option
@merge_option
@click.option("--log", multiple=True, metavar="FILE", type=click.Path(allow_dash=True),
              help="Show matching lines of this client or broker log with each exchange: kdbg guide logs.")  # fmt: skip
@latency_option
@definitions_option
@memory_option
def command(files: tuple[str, ...], format: str, color: str, full: bool, show_secrets: bool, hide_values: bool,
            meanings: bool, jobs: int, no_pager: bool, log: tuple[str, ...], latency: bool, merge: bool | None,
            **filters: Any) -> int:  # fmt: skip
    """Decode captures of Kafka traffic into requests and responses.

    FILE is a pcap or pcapng capture, also compressed (.gz, .zst); - reads from a pipe. Folders and globs select the
    files in them; other files in them are skipped.

    Captures of the same connections from several hosts, such as client.pcap and broker.pcap, are merged. Each
    exchange is then shown once, with its time in the network and in the broker; see kdbg guide merge.

    kdbg also decodes files from a broker's disk: log segments and KRaft snapshots batch by batch; indexes, producer
    snapshots and checkpoints entry by entry. It recognises them by their content; their paths contain topic,
    partition and first offset. --topic, --errors, --since, --until and --limit select batches and entries.

    The exit status is 1 if something could not be decoded; --format summary does not decode record batches.

    \b
    kdbg decode captures/first-contact.pcap --format summary
    kdbg decode captures/errors.pcap --errors
    kdbg decode /var/lib/kafka/orders-0/00000000000000000000.log -f summary
    tcpdump -i any -U -w - tcp port 9092 | kdbg decode -
    """
    from .decoding import DecodeRun
    from .log_correlation import joins

    read = take_readers(filters)
    if read is not None and format not in READ_IN:
        raise click.UsageError(
            f"values cannot be deserialized with --format {format}; use kdbg records, or --format tree or hex"
        )
    if latency and format == "summary":
        raise click.UsageError("--latency requires --format tree, hex or json")
    shape = on_screen(look(color, full, show_secrets, meanings, read), format, filters)
    shape = without_values(shape, hide_values)
    wanted = take_filters(filters)
    live = any(is_live(file) for file in files)
    with ExitStack() as stack:
        joined = stack.enter_context(joins(log)) if log else None
        writer = stack.enter_context(writing(live=live, pager=not no_pager and jobs == 1))
        run = DecodeRun(format, shape, writer, wanted, jobs, joined)
        run.merge = merge
        run.timed = latency or (wanted.timed and format != "summary")
        run.captures(files)
    return run.status


def is_live(file: str) -> bool:
    """Return whether somebody may be writing the file while it is read: the standard input, or a pipe."""
    try:
        return file == "-" or stat.S_ISFIFO(os.stat(file).st_mode)  # noqa: PTH116 - pathlib takes 3 ms to import
    except OSError:
        return False
