"""`kdbg export`: captures in, a capture of what was chosen out."""

from __future__ import annotations

from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path())
@click.argument("target", metavar="OUT", type=click.Path())
@click.option(
    "--connections/--only-exchanges", "whole", default=True,
    help="Write all packets of the connections in which a wanted exchange is (the default), or only those with the "
    "exchanges themselves, behind the handshakes of their connections.",
)  # fmt: skip
@click.option(
    "--tls-plain",
    is_flag=True,
    help="Write what --tls-keys decrypt in the clear, in TCP connections that are made up around it.",
)
@filter_options
@definitions_option
@memory_option
def command(files: tuple[str, ...], target: str, whole: bool, tls_plain: bool, **filters: Any) -> int:
    """Write a capture of what the filters choose, packet by packet as it was captured; Wireshark opens it.

    Whole connections are what other programs read best: they have the requests that tell what responses are, and no
    gaps. OUT is pcapng, unless its name ends with .pcap. It holds what was said, passwords too: see kdbg redact.

    \b
    kdbg export captures/errors.pcap --errors failed.pcapng
    kdbg export captures/ --api produce --slower-than 100 slow.pcapng
    kdbg export captures/errors.pcap --exchange 7-9 --only-exchanges three.pcap
    kdbg export tls.pcap --tls-keys tls.keys --tls-plain plain.pcap
    """
    from .exporting import MODES, ExportRun

    run = ExportRun(target, MODES["connections" if whole else "exchanges"], take_filters(filters), tls_plain=tls_plain)
    return run.export(files)
