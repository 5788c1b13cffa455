"""`kdbg export`: captures in, a capture of what was chosen out, or its spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .filters import filter_options, take_filters
from .options import files_argument, input_options
from .outlets import otlp_option
from .output import Writer, writer_for

if TYPE_CHECKING:
    from ...exchanges.filters.filter_set import Filters


@click.command(context_settings={"max_content_width": 100})
@files_argument("FILE… OUT")
@click.option(
    "--connections/--only-exchanges", "whole", default=True,
    help="Export complete connections, or only matching exchanges and handshakes (default: connections).",
)  # fmt: skip
@click.option(
    "--tls-plain", is_flag=True, help="Write decrypted TLS payload as plaintext in synthetic TCP connections."
)
@otlp_option
@filter_options
@input_options
def command(files: tuple[str, ...], whole: bool, tls_plain: bool, otlp: str | None, **options: Any) -> int:
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
    filters = take_filters(options)
    if otlp is not None:
        if tls_plain or not whole:
            raise click.UsageError("--only-exchanges and --tls-plain cannot be combined with --otlp")
        return as_spans(files, otlp, filters)
    from .packets import MODES, PacketExport
    from .runner import Runner

    *sources, target = files
    if not sources:
        raise click.UsageError("missing argument 'OUT'")
    runner = Runner(filters, Writer(live=False), fails=False)
    PacketExport(runner, target, MODES["connections" if whole else "exchanges"], tls_plain=tls_plain).write(sources)
    return runner.status


def as_spans(files: tuple[str, ...], where: str, filters: Filters) -> int:
    """Send the exchanges of captures as spans; return the exit status."""
    from .outlets import spans
    from .runner import Runner

    if where in files:
        raise click.UsageError(f"{where} is an input file; choose another output file")
    with spans(where) as outlet:
        runner = Runner(filters, writer_for(files), logs=True, timed=True, depth="whole", outlets=[outlet])
        runner.hand_on_all(files)
        runner.close()
        runner.end_unless_complete()
    return runner.status
