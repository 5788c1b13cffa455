"""`kdbg proxy`: clients connect to kdbg, which passes on what they and the brokers say, and shows it."""

from __future__ import annotations

from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .options import HELP
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
from .sending.options import security_options
from .telemetry_options import metrics_option, otlp_option
from .tui_options import screen_options


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--broker",
    "-b",
    metavar="HOST:PORT,…",
    help="Set the upstream broker (default: $KDBG_BROKER); mock: is a built-in mock cluster.",
)
@click.option(
    "--listen",
    "-l",
    default="127.0.0.1:19092",
    metavar="HOST:PORT",
    help=HELP["listen"],
)
@click.option("--advertise", metavar="HOST", help=HELP["advertise"])
@click.option("--keep-addresses", is_flag=True, help="Keep the advertised addresses; clients then bypass the proxy.")
@click.option("--max-brokers", type=click.IntRange(1), default=1000, metavar="N",
              help="Follow at most N brokers; clients connect to others directly (default: 1000).")  # fmt: skip
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="RULE",
    help="Inject a fault: 'Fetch: delay 500ms', 'Produce topic=orders: close 2 times'; see kdbg guide proxy. "
    "Repeatable.",
)
@click.option(
    "--faults",
    "fault_files",
    multiple=True,
    metavar="FILE",
    help="Read fault rules from a file, one per line. Repeatable.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    help="Set the random seed of probabilistic faults (default: generated and printed).",
)
@click.option("--fault-log", metavar="FILE", help="Log the rules, the seed and every injected fault as JSON.")
@click.option("--write", metavar="FILE.pcap", help=HELP["write"])
@click.option("--no-decode", is_flag=True, help="Forward only; print nothing.")
@otlp_option
@metrics_option
@screen_options
@click.option("--listen-cert", metavar="PEM", help=HELP["listen-cert"])
@click.option("--listen-ca", metavar="FILE", help="Serve TLS with a generated certificate, and write its CA "
                                                  "certificate to FILE.")  # fmt: skip
@click.option("--listen-key", metavar="PEM", help=HELP["listen-key"])
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
    """Proxy between clients and a cluster; can inject faults.

    Clients connect to --listen instead of the broker. The proxy forwards all bytes unchanged, except for broker
    addresses in responses: it replaces these with its own, so that clients reach every broker through the proxy. It
    needs no privileges. A slow terminal does not slow down the clients; the display then skips packets and reports
    how many.

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
    from .telemetry_options import outlets, refuse_beside

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
