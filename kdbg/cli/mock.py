"""`kdbg mock`: a broker made of a capture."""

from __future__ import annotations

from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@click.option("--listen", "-l", default="127.0.0.1:19092", show_default=True, metavar="HOST:PORT",
              help="Listen address of the first broker; further brokers use the next ports.")  # fmt: skip
@click.option("--advertise", metavar="HOST", help="Host name to advertise to clients instead of the --listen host.")
@click.option("--listen-cert", metavar="PEM", help="Serve TLS with this certificate (and key).")
@click.option("--listen-key", metavar="PEM", help="Private key, if it is not in the certificate file.")
@click.option("--write", metavar="FILE.pcap", help="Save the traffic as a capture.")
@filter_options
@definitions_option
@memory_option
def command(files: tuple[str, ...], **given: Any) -> int:
    """Answer clients from captures, in the place of the brokers in them: for tests without a broker.

    A request is answered as the closest one in the captures was: the same API, in the version that is asked, about the
    same topics, partitions and groups. Clients are told those APIs and versions that can be answered, and addresses of
    this process. What the captures have no answer to is answered by an error, and said.

    Nothing that is produced is kept. A cluster that keeps it, without Kafka, is another thing: kdbg proxy -b mock:

    \b
    kdbg mock session.pcap
    kdbg mock session.pcap --client-id billing --listen 127.0.0.1:29092
    """
    from .mocking import options_of, run

    options = options_of(given)
    return run(files, options, take_filters(given))
