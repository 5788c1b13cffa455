"""`kdbg replay`: what a capture asked, asked once more."""

from __future__ import annotations

from typing import Any

import click

from .definitions import definitions_option
from .filters import filter_options, take_filters
from .memory import memory_option
from .options import HELP
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
            self.fail(f"invalid speed {value!r}; use 1 for the original timing, 10 for ten times that, or max")
        return speed


@click.command(context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@click.option("--broker", "-b", metavar="HOST:PORT,…",
              help="Set the target broker (default: --config or $KDBG_BROKER); mock: is a mock cluster.")  # fmt: skip
@click.option("--speed", type=Speed(), default="1", metavar="N|max",
              help="Set the replay speed: 1 is the original timing, 10 is ten times faster, max does not wait "
                   "(default: 1).")  # fmt: skip
@click.option("--create-topics", is_flag=True, help="Create missing topics that the capture uses.")
@click.option("--format", "-f", "format", type=click.Choice(["summary", "tree", "json"]), default="summary",
              help="Set the output format: requests, all differences, or JSON Lines (default: summary).")  # fmt: skip
@click.option("--write", metavar="FILE.pcap", help=HELP["write"])
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
              help=HELP["timeout"])  # fmt: skip
@click.option("--only-named", is_flag=True, help=HELP["only-named"])
@click.option("--config", metavar="FILE", help=HELP["config"])
@filter_options
@look_options
@values_option
@security_options
@definitions_option
@memory_option
def command(files: tuple[str, ...], format: str, color: str, full: bool, show_secrets: bool, hide_values: bool,
            **given: Any) -> int:  # fmt: skip
    """Replay captured requests and compare the responses.

    kdbg sends the requests to a broker: on as many connections, in the same order, and at the times of the capture.
    It replaces values that the brokers assigned in the capture by those that this broker assigns: ids of members,
    producers, topics and sessions, epochs, offsets. kdbg lists the fields in which responses differ, except for
    fields that differ between any two runs.

    Exit status: 0 no differences; 1 a response differs or failed; 2 wrong usage; 130 on Ctrl-C.

    \b
    kdbg replay session.pcap --broker test:9092 --create-topics
    kdbg replay session.pcap --broker test:9092 --speed max --client-id billing
    kdbg replay session.pcap --broker test:9092 --where 'api == "Fetch"' -f tree
    """
    from .replaying import options_of, run

    shape = without_values(look(color, full, show_secrets), hide_values)
    options = options_of(given)
    return run(files, options, format, shape, take_filters(given))
