"""The options of commands that can show what is live on a screen: --tui and --light."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import click

from ...errors import InputError
from ...extras import install
from .options import HELP


def screen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options."""
    light = click.option("--light", is_flag=True, help=HELP["light"])
    tui = click.option("--tui", is_flag=True, help="Browse the traffic interactively, as with kdbg browse.")
    return tui(light(command))


def needs_screen(command: str) -> None:
    """Raise `InputError` where no screen can be shown."""
    if find_spec("textual") is None:
        raise InputError(f"{command} --tui needs the package textual; {install('tui')}")
    if not (sys.stdout.isatty() and sys.stdin is not None):
        raise InputError(f"{command} --tui needs a terminal; omit --tui for pipes and files")
