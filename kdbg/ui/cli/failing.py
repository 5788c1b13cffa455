"""`--fail-on`: which of the findings, causes and violations that a command reports make its exit status 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import click

from . import UNDECODED

LEVELS: Final[dict[str, frozenset[str]]] = {
    "error": frozenset({"error"}), "finding": frozenset({"error", "warning"}), "never": frozenset(),
}  # fmt: skip
"""The severities that make the exit status 1, by the values of the option."""
KEY: Final = "kdbg.fail_on"
"""Where a click context keeps the value."""


def fail_on_option(usual: str = "error") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the option; `usual` is what help shows as its default."""
    return click.option(
        "--fail-on", type=click.Choice(list(LEVELS)), expose_value=False, callback=_keep,
        help=f"Set what makes the exit status 1: errors, any finding above a note, or nothing (default: {usual}).",
    )  # fmt: skip


def _keep(context: click.Context, option: click.Parameter, level: str | None) -> None:
    context.meta[KEY] = level


def chosen_level() -> str | None:
    """Return the value of --fail-on, None where it was not given."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(KEY)


def status_of(severities: Iterable[str], usual: str = "error") -> int:
    """Return the exit status for what was found, by its severities; without --fail-on as if it were `usual`."""
    return 0 if LEVELS[chosen_level() or usual].isdisjoint(severities) else UNDECODED


def status_of_problems(ask: Callable[[str], Iterable[tuple[Any, ...]]], usual: str = "error") -> int:
    """Return the exit status for the table of problems, which `ask` queries."""
    return status_of((severity for (severity,) in ask("SELECT DISTINCT severity FROM problems")), usual)
