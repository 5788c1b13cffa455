"""`kdbg redact`: a capture in, one that can be shared out."""

from __future__ import annotations

import click

from ...errors import CaptureError, UnknownCapture
from .options import input_options


@click.command(context_settings={"max_content_width": 100})
@click.argument("source", metavar="IN", type=click.Path(allow_dash=True))
@click.argument("target", metavar="OUT", type=click.Path())
@click.option("--names", is_flag=True, help="Replace each name by a consistent pseudonym instead of blanking it.")
@click.option("--addresses", is_flag=True, help="Replace the IP and hardware addresses of packets as well.")
@click.option(
    "--seed", metavar="TEXT", help="Set the seed of the pseudonyms; the same seed yields the same pseudonyms."
)
@input_options
def command(source: str, target: str, names: bool, addresses: bool, seed: str | None) -> int:
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
        if source != "-":
            _refuse_other_files(source)
        raise


def _refuse_other_files(source: str) -> None:
    """Raise `CaptureError` that says what a file is that is no capture, where kdbg reads files of that kind."""
    from ...analysis.logs.log import ApplicationLog
    from ...views.reading import BrokerFile, open_any

    opened = open_any(source)
    opened.source.close()
    if isinstance(opened, (BrokerFile, ApplicationLog)):
        what = "log" if isinstance(opened, ApplicationLog) else opened.file.kind.title
        raise CaptureError(source, f"a {what}, not a capture", "kdbg redact accepts only captures")
