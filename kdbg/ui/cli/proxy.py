"""`kdbg proxy`: clients connect to kdbg, which passes on what they and the brokers say, and shows it.

One process relays, and another one, which runs the command, shows what it is told of.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ...errors import InputError
from .failing import fail_on_option
from .filters import filter_options, take_filters
from .options import (
    certificate_key_option,
    certificate_option,
    input_options,
    listen_options,
    message_look_options,
    need_screen,
    screen_options,
    tree_options,
    view_option,
    write_option,
)
from .outlets import live_outlet, metrics_option, otlp_option, refuse_beside
from .output import Writer, take_look
from .send.options import NOWHERE, SendOptions, sasl, security_options, tls

if TYPE_CHECKING:
    from ...exchanges.filters.filter_set import Filters
    from ...views.render.style import Look
    from .relay import ProxyOptions


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--broker", "-b", metavar="HOST:PORT,…",
    help="Set the upstream broker (default: $KDBG_BROKER); mock: is a built-in mock cluster.",
)  # fmt: skip
@listen_options
@click.option("--keep-addresses", is_flag=True, help="Keep the advertised addresses; clients then bypass the proxy.")
@click.option("--max-brokers", type=click.IntRange(1), default=1000, metavar="N",
              help="Follow at most N brokers; clients connect to others directly (default: 1000).")  # fmt: skip
@click.option(
    "--fault", "faults", multiple=True, metavar="RULE",
    help="Inject a fault: 'Fetch: delay 500ms', 'Produce topic=orders: close 2 times'; see kdbg guide proxy. "
         "Repeatable.",
)  # fmt: skip
@click.option("--faults", "fault_files", multiple=True, metavar="FILE",
              help="Read fault rules from a file, one per line. Repeatable.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), metavar="N",
              help="Set the random seed of probabilistic faults (default: generated and printed).")  # fmt: skip
@click.option("--fault-log", metavar="FILE", help="Log the rules, the seed and every injected fault as JSON.")
@write_option
@click.option("--no-decode", is_flag=True, help="Forward only; print nothing.")
@otlp_option
@metrics_option
@screen_options
@certificate_option
@click.option("--listen-ca", metavar="FILE", help="Serve TLS with a generated certificate, and write its CA "
                                                  "certificate to FILE.")  # fmt: skip
@certificate_key_option
@view_option("summary")
@filter_options
@message_look_options
@tree_options("--no-pager")
@security_options
@fail_on_option()
@input_options
def command(
    format: str, tui: bool, light: bool, no_decode: bool, otlp: str | None, metrics: str | None, **options: Any
) -> int:
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
    from .relay import relay

    for option, said in (("--tui", tui), ("--no-decode", no_decode)):
        if said:
            refuse_beside(option, {"otlp": otlp, "metrics": metrics})
    look, proxy = take_look(options, format), take_proxy_options(options)
    filters = take_filters(options)
    if tui:
        return on_screen(proxy, look, filters, light=light)
    if no_decode:
        return relay(proxy, None)
    return show(proxy, format, look, filters, otlp, metrics)


def take_proxy_options(options: dict[str, Any]) -> ProxyOptions:
    """Take the proxy's own options out of those given; raise `InputError` for what cannot be."""
    from ...live.client.reach import made_context, server_context
    from ...live.client.settings import Settings, addresses, read_text
    from ...live.faults import Faults
    from ...live.listeners import Listening
    from .relay import ProxyOptions

    broker = options.pop("broker") or os.environ.get("KDBG_BROKER")
    if not broker:
        raise InputError(NOWHERE)
    host, port = addresses(options.pop("listen"), lowest_port=0)[0]
    certificate, key = options.pop("listen_cert"), options.pop("listen_key")
    write = options.pop("write")
    said = SendOptions(**options)
    secure, said_sasl = tls(said, None), sasl(said, None)
    advertise, authority = options.pop("advertise") or "", options.pop("listen_ca")
    clients = server_context(certificate, key) if certificate else None
    if authority and clients is None:
        names = dict.fromkeys(filter(None, (advertise, host, "localhost", "127.0.0.1")))
        clients = made_context(tuple(names), authority)
    rules = list(options.pop("faults"))
    for name in options.pop("fault_files"):
        lines = map(str.strip, read_text(name).splitlines())
        rules += [line for line in lines if line and not line.startswith("#")]
    Faults(rules)  # what is wrong is said before anything is listened on
    return ProxyOptions(
        brokers=broker,
        listening=Listening(host, port, advertise, clients),
        settings=Settings(tls=secure, sasl=said_sasl, trust_advertised=bool(said.trust_advertised)),
        change=not options.pop("keep_addresses"),
        rules=tuple(rules),
        seed=options.pop("seed"),
        fault_log=options.pop("fault_log"),
        write=write,
        max_brokers=options.pop("max_brokers"),
    )


def on_screen(options: ProxyOptions, look: Look, filters: Filters, *, light: bool) -> int:
    """Relay, and show what is said on a screen until the user ends it; return the exit status."""
    from .relay import end_of, relay_process

    need_screen("kdbg proxy --tui")
    from .live_screen import Hand, Live, channel, show  # needs textual

    ours, theirs = channel()
    relaying = relay_process(options, theirs)
    theirs.close()
    if isinstance(relaying, int):
        return relaying
    try:
        show(Live("proxy", relaying.shown, filters, relaying.marked), look, light, Hand(ours))
    finally:
        relayed = end_of(relaying.child)
    return relayed


def show(
    options: ProxyOptions, format: str, look: Look, filters: Filters, otlp: str | None, metrics: str | None
) -> int:
    """Relay until Ctrl-C, and show what is said; return the exit status."""
    from functools import partial

    from .exchange_output import ExchangeOutput, depth_of
    from .live_stream import LiveStream, hear_signals
    from .relay import FaultMarks, end, end_of, relay_process
    from .runner import Runner

    hear_signals(hold=True)
    relaying = relay_process(options, started=hear_signals)
    if isinstance(relaying, int):
        hear_signals()
        return relaying
    try:
        with live_outlet(otlp, metrics, links=not look.hide_values) as outlet:  # what relays is another process by now
            writer, depth = Writer(live=True), depth_of(format)
            runner = Runner(filters, writer, timed=outlet is not None, depth=depth, at_once=True, outlet=outlet)
            output = ExchangeOutput(runner, format, look, before=FaultMarks(relaying.marked).mark)
            stream = LiveStream(runner, "proxy", partial(end, relaying.child))
            shown = os.fdopen(relaying.shown, "rb", buffering=0)
            status = stream.watch(shown, lambda file: stream.write(file, output))
    finally:
        hear_signals()
        relayed = end_of(relaying.child)
    return relayed or status
