"""`kdbg readiness`: captures in, clients that an upgrade would stop out."""

from __future__ import annotations

from typing import Any

import click

from .decode import is_live
from .definitions import definitions_option
from .filters import connection_filter_options, take_filters
from .memory import memory_option
from .output import Writer, look, look_options


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@click.option(
    "--kafka", "release", default="4.0", metavar="RELEASE", help="Set the target broker release (default: 4.0)."
)
@click.option(
    "--format", "-f", "format", type=click.Choice(["text", "json"]), default="text",
    help="Set the output format: text, or json with one object per client and line (default: text).",
)  # fmt: skip
@look_options
@connection_filter_options
@definitions_option
@memory_option
def command(
    files: tuple[str, ...], release: str, format: str, color: str, full: bool, show_secrets: bool,
    **filters: Any,
) -> int:  # fmt: skip
    """List clients that a broker upgrade would break.

    For each client kdbg prints the API and the version that brokers of the target release no longer support. The exit
    status is 1 if the upgrade would break a client.

    \b
    kdbg readiness captures/old-versions.pcap
    kdbg readiness week.pcap --kafka 4.1 --format json
    """
    from .readying import ReadinessRun

    live = any(is_live(file) for file in files)
    run = ReadinessRun(
        format, look(color, full, show_secrets), Writer(live=live), release, len(files) > 1, take_filters(filters)
    )
    run.captures(files)
    return run.status
