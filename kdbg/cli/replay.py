"""`kdbg replay`: what a capture asked, asked once more."""

from __future__ import annotations

from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .output import look, look_options, values_option, without_values
from .sending.options import security_options


class Speed(click.ParamType):  # type: ignore[type-arg]
    """How many times as fast; None for `max`."""

    name = "speed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        if value == "max":
            return "max"
        try:
            speed = float(value)
        except ValueError:
            speed = 0.0
        if not 0 < speed < 1e9:
            self.fail(f"{value!r} is no speed: 1 is the capture's, 10 ten times that, max as fast as answers come")
        return speed


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@click.option("--broker", "-b", metavar="HOST:PORT,…", help=("Target broker (default: --config or "
                                                             "$KDBG_BROKER). mock: starts a mock cluster inside "
                                                              "kdbg."))  # fmt: skip
@click.option("--speed", type=Speed(), default="1", show_default=True, metavar="N|max",
              help="Replay speed: 1 is the original timing, 10 is ten times faster, max does not wait.")  # fmt: skip
@click.option("--create-topics", is_flag=True, help="Create missing topics that the capture uses.")
@click.option("--format", "-f", "format", type=click.Choice(["summary", "tree", "json"]), default="summary",
              show_default=True, help=("Output format: one line per request, all differences, or JSON "
                                       "Lines."))  # fmt: skip
@click.option("--write", metavar="FILE.pcap", help="Save what is said now as a capture: in the clear, passwords too.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
              help="For connecting, and for each answer; what it took before comes on top. [default: 10]")  # fmt: skip
@click.option("--only-named", is_flag=True, help="Connect only to hosts given by --broker.")
@click.option("--config", metavar="FILE", help="A client.properties: brokers, TLS and SASL by the Java client's names.")
@filter_options
@look_options
@values_option
@security_options
@definitions_option
@memory_option
def command(files: tuple[str, ...], format: str, color: str, full: bool, show_secrets: bool, hide_values: bool,
            **given: Any) -> int:  # fmt: skip
    """Send the requests of captures to a broker once more, and compare its answers with those in the capture.

    Connection by connection, in the same order and as many at once, at the times of the capture. What the broker hands
    out now takes the place of what was handed out then: ids of members, producers, topics and sessions, epochs,
    offsets. Answers are the same, or differ in fields that are named; what two runs differ in anyway does not count.

    Exit status: 0 all the same; 1 something differs or failed; 2 wrong usage; 130 on Ctrl-C.

    \b
    kdbg replay session.pcap --broker test:9092 --create-topics
    kdbg replay session.pcap --broker test:9092 --speed max --client-id billing
    kdbg replay session.pcap --broker test:9092 --where 'api == "Fetch"' -f tree
    """
    from .replaying import options_of, run

    shape = without_values(look(color, full, show_secrets), hide_values)
    options = options_of(given)
    return run(files, options, format, shape, take_filters(given))
