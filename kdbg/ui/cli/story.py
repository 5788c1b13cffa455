"""`kdbg story`: captures in, one line of time out."""

from __future__ import annotations

from typing import Any

import click

from .decode import is_live
from .definitions import definitions_option
from .filters import connection_filter_options, take_filters
from .memory import memory_option
from .output import Writer, look, look_options

KINDS = ("group", "producer", "topic", "client", "transaction", "connection")


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@click.option("--group", metavar="GROUP", help="Print the timeline of a group, generation by generation.")
@click.option("--producer", metavar="ID", help="Print the timeline of a producer, by producer id or client id.")
@click.option("--topic", metavar="TOPIC", help="Print the timeline of a topic.")
@click.option(
    "--client", "--client-id", "client", metavar="CLIENT", help="Print the timeline of a client, by client id."
)
@click.option("--transaction", metavar="ID", help="Print the timeline of a transactional id.")
@click.option("--connection", metavar="NUMBER", help="Print the timeline of a connection.")
@click.option(
    "--format", "-f", "format", type=click.Choice(["text", "json"]), default="text",
    help="Set the output format: text, or json with one object per event, by time (default: text).",
)  # fmt: skip
@look_options
@connection_filter_options
@definitions_option
@memory_option
def command(files: tuple[str, ...], format: str, color: str, full: bool, show_secrets: bool, **options: Any) -> int:
    """Print the timeline of a group, producer, topic or client.

    Transactional ids and connections have timelines as well. Each event is one sentence; the causes that `kdbg
    diagnose` finds are included. Without an option, kdbg lists the subjects.

    \b
    kdbg story captures/group-rebalance.pcap
    kdbg story captures/group-rebalance.pcap --group billing
    kdbg story broken.pcap --client shop --format json
    """
    from .telling import StoryRun

    asked = {kind: options.pop(kind) for kind in KINDS}
    wanted = [(kind, name) for kind, name in asked.items() if name is not None]
    filters = take_filters(options)
    if len(wanted) > 1:
        raise click.UsageError("use only one of " + ", ".join(f"--{kind}" for kind in KINDS))
    live = any(is_live(file) for file in files)
    run = StoryRun(
        format,
        look(color, full, show_secrets),
        Writer(live=live),
        wanted[0] if wanted else None,
        len(files) > 1,
        filters,
    )
    run.captures(files)
    return run.finish()
