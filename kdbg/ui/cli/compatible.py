"""`kdbg grammar --compatible FILE FILE…`: whether a message definition kept the rules on compatible change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import InputError
from . import UNDECODED

if TYPE_CHECKING:
    from ...protocol.definitions import MessageDefinition
    from ...views.render.style import Look


def check(files: tuple[str, ...], look: Look, json: bool) -> tuple[str | bytes, int]:
    """Compare definition files, oldest first; return what is printed, and the exit status: 1 where a rule is broken."""
    from ...protocol.definitions.compatible import history
    from ...views.render.grammar_versions import comparison_object, history_text
    from ...views.render.jsonlines import dump

    if len(files) < 2:
        raise click.UsageError("--compatible requires two or more definition files, oldest first")
    found = history([the_one(path) for path in files])
    status = UNDECODED if any(comparison.broken for comparison in found) else 0
    if json:
        return b"".join(dump(comparison_object(comparison)) for comparison in found), status
    return history_text(found, look), status


def the_one(path: str) -> MessageDefinition:
    """Return the first definition in a file. Raise `InputError` for a folder."""
    from ...library import read_definitions

    if Path(path).is_dir():
        raise InputError(f"{path}: a folder; --compatible requires definition files")
    return read_definitions(path)[0]
