"""`kdbg export`: captures in, a capture of what was chosen out, or its spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .telemetry_options import otlp_option

if TYPE_CHECKING:
    from ...exchanges.filters.filter_set import Filters


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE… OUT", type=click.Path(allow_dash=True))
@click.option(
    "--connections/--only-exchanges", "whole", default=True,
    help="Export complete connections, or only matching exchanges and handshakes (default: connections).",
)  # fmt: skip
@click.option(
    "--tls-plain",
    is_flag=True,
    help="Write decrypted TLS payload as plaintext in synthetic TCP connections.",
)
@otlp_option
@filter_options
@definitions_option
@memory_option
def command(files: tuple[str, ...], whole: bool, tls_plain: bool, otlp: str | None, **filters: Any) -> int:
    """Export selected connections or exchanges to a capture file.

    Packets are written as they were captured, for Wireshark and other programs. Whole connections are the best input
    for them: a response can only be decoded with its request. OUT is pcapng, or pcap if its name ends with .pcap. It
    contains secrets such as passwords; see kdbg redact.

    With --otlp there is no OUT: exchanges are exported as spans, which contain neither passwords nor the contents of
    records.

    \b
    kdbg export captures/errors.pcap --errors failed.pcapng
    kdbg export captures/ --api produce --slower-than 100 slow.pcapng
    kdbg export captures/errors.pcap --exchange 7-9 --only-exchanges three.pcap
    kdbg export tls.pcap --tls-keys tls.keys --tls-plain plain.pcap
    kdbg export captures/errors.pcap --otlp http://127.0.0.1:4318
    """
    if otlp is not None:
        if tls_plain or not whole:
            raise click.UsageError("--only-exchanges and --tls-plain cannot be combined with --otlp")
        return as_spans(files, otlp, take_filters(filters))
    from .exporting import MODES, ExportRun

    *files, target = files  # type: ignore[assignment]
    if not files:
        raise click.UsageError("missing argument 'OUT'")
    run = ExportRun(target, MODES["connections" if whole else "exchanges"], take_filters(filters), tls_plain=tls_plain)
    return run.export(files)


def as_spans(files: tuple[str, ...], where: str, filters: Filters) -> int:
    """Send the exchanges of captures as spans; return the exit status."""
    from .decode import is_live
    from .outlet_run import OutletRun
    from .output import Writer
    from .telemetry_options import spans

    if where in files:
        raise click.UsageError(f"{where} is an input file; choose another output file")
    with spans(where) as outlet:
        run = OutletRun(filters, Writer(live=any(map(is_live, files))), [outlet], "whole")
        run.captures(files)
        run.end_unless_complete()
    return run.status
