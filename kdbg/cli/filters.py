"""The options that narrow down which exchanges are wanted, with the same meaning wherever captures are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from .times import Milliseconds, When

Command = Callable[..., Any]


def filter_options(command: Command) -> Command:
    """--api, --client-id, --topic…: those of `session.filters.Filters` by their names, and --port."""
    return archive_filter_options(_with(COUNTED, command))


def archive_filter_options(command: Command) -> Command:
    """Those that make sense for archives too, in which connections and exchanges have no numbers."""
    return _with(OPTIONS, command)


def _with(options: tuple[Command, ...], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


OPTIONS = (
    click.option("--api", multiple=True, help="Only this API, by name, alias or key. May be given several times."),
    click.option("--client-id", multiple=True, help="Only requests of this client id."),
    click.option("--topic", multiple=True, help="Only exchanges that name this topic, or its id."),
    click.option("--group", multiple=True, help="Only exchanges that name this consumer group."),
    click.option("--errors", is_flag=True, help="Only exchanges with an error code or a finding."),
    click.option("--slower-than", type=Milliseconds(), metavar="MS", help="Only those answered later than that."),
    click.option(
        "--since",
        type=When(),
        metavar="TIME",
        help="Only from this time (UTC) on: 12:30:01.5 of the capture's "
        "first day, 2026-11-21T12:30:01.5, or seconds since 1970.",
    ),
    click.option("--until", type=When(), metavar="TIME", help="Only up to this time."),
    click.option("--port", multiple=True, type=click.IntRange(1, 65535), help="Only connections with this port."),
)
COUNTED = (
    click.option(
        "--connection", multiple=True, type=int, metavar="N", help="Only connection number N (c1 in summaries)."
    ),
    click.option("--limit", type=click.IntRange(0), metavar="N", help="Stop after N exchanges."),
)
