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
              help="Show matching lines of this client or broker log beside each exchange (guide logs).")  # fmt: skip
@latency_option
@definitions_option
@memory_option
def command(files: tuple[str, ...], format: str, color: str, full: bool, show_secrets: bool, hide_values: bool,
            meanings: bool, jobs: int, no_pager: bool, log: tuple[str, ...], latency: bool, merge: bool | None,
            **filters: Any) -> int:  # fmt: skip
    """Show what was said in captures of Kafka traffic: pcap or pcapng, also .gz and .zst; - reads from a pipe.

    Folders and globs stand for the files in them; of those, what cannot be read is passed over.

    Captures that several machines made of the same connections, as client.pcap broker.pcap, are merged: each exchange
    is shown once, with the time it spent in the network and in the broker; see kdbg guide places.

    Files of a broker's disk are taken as well: log segments and KRaft snapshots batch by batch, indexes, producer
    snapshots and checkpoints entry by entry. What they are is found out from what they hold; topic, partition and first
    offset are in their paths. --topic, --errors, --since, --until and --limit select batches and entries.

    Exit status 1 says that something could not be decoded; a summary does not look inside batches of records.

    \b
    kdbg decode captures/first-contact.pcap --format summary
    kdbg decode captures/errors.pcap --errors
    kdbg decode /var/lib/kafka/orders-0/00000000000000000000.log -f summary
    tcpdump -i any -U -w - tcp port 9092 | kdbg decode -
    """
    from .decoding import Run
    from .logged import joins

    read = take_readers(filters)
    if read is not None and format not in READ_IN:
        raise click.UsageError(f"--format {format} shows values undecoded; use kdbg records to deserialize them")
    if latency and format == "summary":
        raise click.UsageError("--latency works with --format tree, hex and json")
    shape = on_screen(look(color, full, show_secrets, meanings, read), format, filters)
    shape = without_values(shape, hide_values)
    wanted = take_filters(filters)
    live = any(is_live(file) for file in files)
    with ExitStack() as stack:
        joined = stack.enter_context(joins(log)) if log else None
        writer = stack.enter_context(writing(live=live, pager=not no_pager and jobs == 1))
        run = Run(format, shape, writer, wanted, jobs, joined)
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
