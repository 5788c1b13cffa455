"""The files that a command reads: those named, those in folders that are named, those that globs match."""

from __future__ import annotations

from collections.abc import Sequence

from ...capture.source import find
from ...errors import CaptureError
from ...protocol.findings.amounts import count

NAMED = 3
"""Files that are named where many are passed over."""


class InputFiles:
    """`files` in the order in which they are read; `refused` says what nothing is found under.

    A file that nobody named, but a folder or a glob brought, may be none that can be read: it is passed over.
    """

    files: list[str]
    refused: list[CaptureError]

    def __init__(self, names: Sequence[str]) -> None:
        self.files, self.refused = [], []
        self._brought: set[str] = set()
        self._passed_over: list[str] = []
        for name in names:
            try:
                found = find(name)
            except CaptureError as error:
                self.refused.append(error)
                continue
            if found != [name]:
                self._brought.update(found)
            self.files += found
        self._brought.difference_update(names)

    def pass_over(self, file: str, error: CaptureError) -> bool:
        """Take note that a file cannot be read; return whether that is no more than a note, as nobody named it."""
        if file in self._brought:
            self._passed_over.append(f"{file}: {error.problem}")
        return file in self._brought

    def passed_over(self) -> str:
        """Return which files were passed over and why, in a line; "" for none."""
        return passed_over(self._passed_over)


def passed_over(files: Sequence[str]) -> str:
    """Return a line on files that were passed over, each given with the reason; "" for none. It is not escaped."""
    if not files:
        return ""
    more = f"; and {count(len(files) - NAMED, 'more file')}" if len(files) > NAMED else ""
    return f"skipped {'; '.join(files[:NAMED])}{more}"
