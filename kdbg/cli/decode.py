"""`kdbg decode`: captures in, exchanges out."""

from __future__ import annotations

import os
import stat
from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .output import jobs_option, look, look_options, meanings_option, on_screen, tree_options, view_option
from .pager import writing
from .readers import reader_options, take_readers

READ_IN = ("tree", "hex")
"""The views that show keys and values as readers read them."""


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@view_option("tree")
@filter_options
@look_options
@meanings_option
@reader_options
@tree_options
@jobs_option
@definitions_option
def command(files: tuple[str, ...], format: str, color: str, full: bool, show_secrets: bool, meanings: bool,
            jobs: int, no_pager: bool, **filters: Any) -> int:  # fmt: skip
    """Show what was said in captures of Kafka traffic: pcap or pcapng, also .gz and .zst; - reads from a pipe.

    Folders and globs stand for the files in them; of those, what cannot be read is passed over.

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

    read = take_readers(filters)
    if read is not None and format not in READ_IN:
        raise click.UsageError(f"--format {format} shows values as they came: kdbg records shows them read")
    shape = on_screen(look(color, full, show_secrets, meanings, read), format, filters)
    wanted = take_filters(filters)
    live = any(is_live(file) for file in files)
    with writing(live=live, pager=not no_pager and jobs == 1) as writer:
        run = Run(format, shape, writer, wanted, jobs)
        run.captures(files)
    return run.status


def is_live(file: str) -> bool:
    """Return whether somebody may be writing the file while it is read: the standard input, or a pipe."""
    try:
        return file == "-" or stat.S_ISFIFO(os.stat(file).st_mode)  # noqa: PTH116 - pathlib takes 3 ms to import
    except OSError:
        return False
