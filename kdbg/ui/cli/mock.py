"""`kdbg mock`: a broker made of a capture."""

from __future__ import annotations

from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .options import HELP


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@click.option("--listen", "-l", default="127.0.0.1:19092", metavar="HOST:PORT",
              help=HELP["listen"])  # fmt: skip
@click.option("--advertise", metavar="HOST", help=HELP["advertise"])
@click.option("--listen-cert", metavar="PEM", help=HELP["listen-cert"])
@click.option("--listen-key", metavar="PEM", help=HELP["listen-key"])
@click.option("--write", metavar="FILE.pcap", help=HELP["write"])
@filter_options
@definitions_option
@memory_option
def command(files: tuple[str, ...], **given: Any) -> int:
    """Mock brokers: serve recorded responses to clients.

    kdbg replaces the brokers of the captures, for tests without a cluster. Each request gets the response that the
    most similar recorded request got: the same API, in the requested version, for the same topics, partitions and
    groups. Clients see only the APIs and versions with recorded responses, and the addresses of this process. A
    request without a recorded response gets an error, and kdbg reports it.

    The mock stores nothing that clients produce. For a cluster that stores records, without Kafka, use kdbg proxy -b
    mock:

    \b
    kdbg mock session.pcap
    kdbg mock session.pcap --client-id billing --listen 127.0.0.1:29092
    """
    from .mocking import options_of, run

    options = options_of(given)
    return run(files, options, take_filters(given))
