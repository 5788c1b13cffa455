"""The list of texts that may break a rule: it may only become shorter."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .rules import Violation

FILE = Path(__file__).with_name("allowed.txt")
MOST = 60


class Allowed(NamedTuple):
    """A text of a file that may break a rule: `part` is in it."""

    file: str
    rule: str
    part: str

    def covers(self, one: Violation) -> bool:
        """Return whether this allows the violation."""
        return one.text.file == self.file and one.rule == self.rule and self.part in one.text.template


def allowed(lines: str) -> list[Allowed]:
    """Return the entries of a list: FILE, RULE and a part of the text on each line, with tabs between them."""
    return [Allowed(*line.split("\t")) for line in lines.splitlines() if line and not line.startswith("#")]


def left(found: Iterable[Violation], entries: list[Allowed]) -> tuple[list[Violation], list[Allowed]]:
    """Return the violations that no entry allows, and the entries that are no longer needed."""
    unused, rest = set(entries), []
    for one in found:
        covering = [entry for entry in entries if entry.covers(one)]
        unused -= set(covering)
        if not covering:
            rest.append(one)
    return rest, [entry for entry in entries if entry in unused]
