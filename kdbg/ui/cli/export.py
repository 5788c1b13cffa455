"""`kdbg export` and `kdbg redact`: captures in; a capture of what was chosen, its spans, or one to share out."""

from __future__ import annotations

from typing import Any

import click

from ...errors import CaptureError, UnknownCapture
from .failing import chosen_level, fail_on_option
from .filters import filter_options, take_filters
from .options import files_argument, input_options, jobs_option
from .outlets import Outlet, otlp_option, sink
from .output import Writer, writer_for


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
@jobs_option
@fail_on_option("error with --otlp, never with OUT")
@input_options
def export_command(
    files: tuple[str, ...], whole: bool, tls_plain: bool, otlp: str | None, jobs: int, **options: Any
) -> int:
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
    from .runner import Runner

    filters = take_filters(options)
    if otlp is not None:
        if tls_plain or not whole:
            raise click.UsageError("--only-exchanges and --tls-plain cannot be combined with --otlp")
        from ...scale.signals.sinks import Spans

        if otlp in files:
            raise click.UsageError(f"{otlp} is an input file; choose another output file")
        with sink(otlp) as to:
            outlet = Outlet(Spans(to))
            runner = Runner(filters, writer_for(files), logs=True, timed=True, depth="whole", outlet=outlet)
            runner.hand_on_all(files)
            runner.close()
            runner.end_unless_complete()
        return runner.status
    from .packets import PacketExport

    *sources, target = files
    if not sources:
        raise click.UsageError("missing argument 'OUT'")
    runner = Runner(filters, Writer(live=False), fails=chosen_level() is not None, jobs=jobs)
    PacketExport(runner, target, whole=whole, tls_plain=tls_plain).write(sources)
    return runner.status


@click.command(context_settings={"max_content_width": 100})
@click.argument("source", metavar="IN", type=click.Path(allow_dash=True))
@click.argument("target", metavar="OUT", type=click.Path())
@click.option("--names", is_flag=True, help="Replace each name by a consistent pseudonym instead of blanking it.")
@click.option("--addresses", is_flag=True, help="Replace the IP and hardware addresses of packets as well.")
@click.option(
    "--seed", metavar="TEXT", help="Set the seed of the pseudonyms; the same seed yields the same pseudonyms."
)
@input_options
def redact_command(source: str, target: str, names: bool, addresses: bool, seed: str | None) -> int:
    """Redact a capture for sharing: remove names and data.

    Keys, values, headers, names and credentials are replaced by the same number of bytes. Compressed batches are
    compressed again to their original size; checksums are valid, times and sizes unchanged. So kdbg and Wireshark
    show the same exchanges for both captures. Data that kdbg does not decode is blanked: other protocols, TLS,
    malformed messages. OUT is pcapng, or pcap if its name ends with .pcap.

    Numbers are kept (offsets, times, ids), and so are configuration names, error codes, and client software names.
    The exit status is 1 if something had to be blanked because it could not be redacted in a decodable form.

    \b
    kdbg redact captures/first-contact.pcap shared.pcap --names
    kdbg redact captures/first-contact.pcap shared.pcap --names --addresses --seed "ticket 4711"
    """
    import secrets

    from ...views.redact.substitutes import Substitutes
    from .redaction import Redaction

    made = Substitutes(secrets.token_hex() if seed is None else seed, names=names, addresses=addresses)
    try:
        return Redaction(made).run(source, target)
    except UnknownCapture:
        if source == "-":
            raise
        from ...analysis.logs.log import ApplicationLog
        from ...views.reading import BrokerFile, open_any

        opened = open_any(source)  # which raises for what kdbg does not read at all
        opened.source.close()
        if isinstance(opened, (BrokerFile, ApplicationLog)):
            what = "log" if isinstance(opened, ApplicationLog) else opened.file.kind.title
            raise CaptureError(source, f"a {what}, not a capture", "kdbg redact accepts only captures") from None
        raise
