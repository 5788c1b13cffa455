"""`kdbg export`: captures in, a capture of what was chosen out, or its spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .signalling import otlp_option

if TYPE_CHECKING:
    from ..filters.chosen import Filters


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE… OUT", type=click.Path(allow_dash=True))
@click.option(
    "--connections/--only-exchanges", "whole", default=True,
    help=("Export whole connections that contain a matching exchange (default), or only the matching "
         "exchanges and the connection handshakes."),
)  # fmt: skip
@click.option(
    "--tls-plain",
    is_flag=True,
    help="Write decrypted TLS payload as plaintext inside synthetic TCP connections.",
)
@otlp_option
@filter_options
@definitions_option
@memory_option
def command(files: tuple[str, ...], whole: bool, tls_plain: bool, otlp: str | None, **filters: Any) -> int:
    """Write a capture of what the filters choose, packet by packet as it was captured; Wireshark opens it.

    Whole connections are what other programs read best: they have the requests that tell what responses are, and no
    gaps. OUT is pcapng, unless its name ends with .pcap. It holds what was said, passwords too: see kdbg redact.

    With --otlp there is no OUT: exchanges become spans, which hold no passwords and nothing of what records say.

    \b
    kdbg export captures/errors.pcap --errors failed.pcapng
    kdbg export captures/ --api produce --slower-than 100 slow.pcapng
    kdbg export captures/errors.pcap --exchange 7-9 --only-exchanges three.pcap
    kdbg export tls.pcap --tls-keys tls.keys --tls-plain plain.pcap
    kdbg export captures/errors.pcap --otlp http://127.0.0.1:4318
    """
    if otlp is not None:
        if tls_plain or not whole:
            raise click.UsageError("--only-exchanges and --tls-plain are for captures, not for --otlp")
        return as_spans(files, otlp, take_filters(filters))
    from .exporting import MODES, ExportRun

    *files, target = files  # type: ignore[assignment]
    if not files:
        raise click.UsageError("Missing argument 'OUT'")
    run = ExportRun(target, MODES["connections" if whole else "exchanges"], take_filters(filters), tls_plain=tls_plain)
    return run.export(files)


def as_spans(files: tuple[str, ...], where: str, filters: Filters) -> int:
    """Send the exchanges of captures as spans; return the exit status."""
    from .decode import is_live
    from .handing import HandingRun
    from .output import Writer
    from .signalling import spans

    if where in files:
        raise click.UsageError(f"{where} is an input file: choose another output")
    with spans(where) as outlet:
        run = HandingRun(filters, Writer(live=any(map(is_live, files))), [outlet], "whole")
        run.captures(files)
        run.end_unless_complete()
    return run.status
