"""`kdbg proxy`: clients connect to kdbg, which passes on what they and the brokers say, and shows it."""

from __future__ import annotations

from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .output import (
    look,
    look_options,
    meanings_option,
    on_screen,
    tree_options,
    values_option,
    view_option,
    without_values,
)
from .screened import screen_options
from .sending.options import security_options
from .signalling import metrics_option, otlp_option


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--broker",
    "-b",
    metavar="HOST:PORT,…",
    help=(
        "Upstream broker (default: $KDBG_BROKER). Other brokers are added from metadata. mock: "
        "starts a mock cluster inside kdbg."
    ),
)
@click.option(
    "--listen",
    "-l",
    default="127.0.0.1:19092",
    metavar="HOST:PORT",
    help="Where clients find the first broker; each other one gets the next port. [default: 127.0.0.1:19092]",
)
@click.option("--advertise", metavar="HOST", help="What clients are told instead of the host of --listen.")
@click.option(
    "--keep-addresses", is_flag=True, help="Do not rewrite advertised addresses: clients then bypass the proxy."
)
@click.option("--max-brokers", type=click.IntRange(1), default=1000, metavar="N", show_default=True,
              help="Follow at most N brokers; clients connect to others without the proxy.")  # fmt: skip
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="RULE",
    help=(
        "Fault rule: 'Fetch: delay 500ms', 'Produce topic=orders: error NOT_LEADER_OR_FOLLOWER "
        "3 times'. See kdbg guide proxy."
    ),
)
@click.option(
    "--faults", "fault_files", multiple=True, metavar="FILE", help="Read fault rules from a file, one per line."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    help="Random seed for probabilistic faults (default: generated and printed).",
)
@click.option("--fault-log", metavar="FILE", help="Log the rules, the seed and every injected fault as JSON.")
@click.option("--write", metavar="FILE.pcap", help="Save the traffic as a capture: plaintext, including passwords.")
@click.option("--no-decode", is_flag=True, help="Forward only; print nothing.")
@otlp_option
@metrics_option
@screen_options
@click.option("--listen-cert", metavar="PEM", help="Speak TLS with clients, by this certificate (and its key).")
@click.option("--listen-ca", metavar="FILE", help=("Serve TLS with a generated certificate and write its CA to "
                                                   "FILE for clients to trust."))  # fmt: skip
@click.option("--listen-key", metavar="PEM", help="The key of that certificate, if not in the same file.")
@view_option("summary")
@filter_options
@look_options
@values_option
@meanings_option
@tree_options("--no-pager")
@security_options
@definitions_option
@memory_option
def command(format: str, color: str, full: bool, show_secrets: bool, hide_values: bool, meanings: bool,
            **given: Any) -> int:  # fmt: skip
    """Sit between clients and a cluster: show what they say to each other, and let things go wrong on purpose.

    Clients connect to --listen instead of the broker. Bytes are passed on as they are, but for the addresses that
    brokers tell clients: those become kdbg's own, so that clients of a whole cluster stay inside. No rights are needed.
    A slow terminal does not slow the clients: what is shown falls behind, and says so.

    \b
    kdbg proxy --broker localhost:9092
    kdbg proxy --broker localhost:9092 -f tree --api produce --errors
    kdbg proxy --broker localhost:9092 --fault 'FindCoordinator: close 2 times'
    kdbg proxy --broker localhost:9092 --write session.pcap --no-decode
    kdbg proxy --broker localhost:9092 --otlp http://127.0.0.1:4318
    kdbg proxy --broker localhost:9092 --tui
    """
    from . import proxying
    from .proxying import options_of, run
    from .signalling import outlets, refuse_beside

    tui, light = given.pop("tui"), given.pop("light")
    for option, said in (("--tui", tui), ("--no-decode", given["no_decode"])):
        if said:
            refuse_beside(option, given)
    otlp, metrics = given.pop("otlp"), given.pop("metrics")
    shape = without_values(on_screen(look(color, full, show_secrets, meanings), format, given), hide_values)
    options = options_of(given)
    if tui:
        return proxying.on_screen(options, shape, take_filters(given), light=light)
    filters = take_filters(given)
    return run(options, format, shape, filters, lambda: outlets(otlp, metrics, links=not hide_values))
