"""The options that narrow down which exchanges are wanted, made of the table of filters for every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..filters.chosen import Filters
from ..filters.filter import Filter, Form
from ..filters.table import FILTERS
from .completing import FILTER_VALUES
from .times import Milliseconds, When

Command = Callable[..., Any]
TYPES: dict[Form, dict[str, Any]] = {
    Form.TEXTS: {"multiple": True},
    Form.NUMBERS: {"multiple": True},
    Form.FLAG: {"is_flag": True},
    Form.MILLISECONDS: {"type": Milliseconds()},
    Form.MOMENT: {"type": When()},
    Form.COUNT: {},
}
"""How click takes each form of value."""


def filter_options(command: Command) -> Command:
    """Give a command an option for every filter: --api, --client-id, --topic and all others."""
    return _with(FILTERS, command)


def archive_filter_options(command: Command) -> Command:
    """Give it those that mean something over archives, in which connections and exchanges have no numbers."""
    return _with({name: one for name, one in FILTERS.items() if one.archives}, command)


def take_filters(options: dict[str, Any]) -> Filters:
    """Take the filters out of what a command was given, and check them: an unknown API is refused at once."""
    filters = Filters(**{name: options.pop(name) for name in FILTERS if name in options})
    filters.dated(0).checks()
    return filters


def option_name(name: str) -> str:
    """Return how a filter is written on the command line."""
    return f"--{name.replace('_', '-')}"


def _with(filters: dict[str, Filter], command: Command) -> Command:
    for name, one in reversed(filters.items()):
        takes = TYPES[one.form]
        if one.form in (Form.NUMBERS, Form.COUNT):
            takes = takes | {
                "type": click.IntRange(one.within[0], one.within[-1] if one.within[-1] < 1 << 62 else None)
            }
        takes = takes | {"metavar": one.metavar, "help": one.help, "shell_complete": FILTER_VALUES.get(name)}
        command = click.option(option_name(name), **takes)(command)
    return command
