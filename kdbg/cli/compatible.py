"""`kdbg grammar --compatible OLD NEW`: whether a changed message definition keeps the rules on compatible change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from . import UNDECODED

if TYPE_CHECKING:
    from ..definitions import MessageDefinition
    from ..render.look import Look


def check(old: str, new: str, look: Look, json: bool) -> tuple[str | bytes, int]:
    """What is printed, and the exit status: 1 where a rule is broken."""
    from ..definitions.compatible import compare
    from ..render.compatibility import comparison_object, comparison_text
    from ..render.jsonlines import dump

    found = compare(the_one(old), the_one(new))
    return dump(comparison_object(found)) if json else comparison_text(found, look), UNDECODED if found.broken else 0


def the_one(path: str) -> MessageDefinition:
    """The definition in a file."""
    from ..library import read_definitions

    if Path(path).is_dir():
        raise InputError(f"{path}: is a folder; --compatible takes two definition files")
    return read_definitions(path)[0]
