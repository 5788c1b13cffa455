"""Secrets of TLS that stand in captures, on their way from those who read splits to those who pair messages.

They lie in files beside the runs that are shuffled, and go when these do: `Heard` writes what a split holds,
`Overheard` reads what all splits of a capture held.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from ....capture.keylog import KeyLog
from ..archive.store import resolve
from .spill import ROOM

ENDING = ".keys"


class Heard(KeyLog):
    """Takes the key logs of one split of a capture; close it."""

    def __init__(self, folder: str, capture: int) -> None:
        super().__init__()
        self._system, self._folder, _ = resolve(f"{folder}/{ROOM}")
        self._name = f"{capture}-{uuid4().hex}{ENDING}"
        self._file: Any = None

    def take(self, data: bytes) -> None:
        """Append a key log to the file."""
        if self._file is None:
            self._system.create_dir(self._folder)
            self._file = self._system.open_output_stream(f"{self._folder}/{self._name}")
        self._file.write(data + b"\n")

    def close(self) -> None:
        """Make the file whole."""
        if self._file is not None:
            self._file.close()


class Overheard:
    """The secrets that the captures of a run hold; to be asked once all of them were read."""

    def __init__(self, folder: str) -> None:
        from pyarrow.fs import FileSelector

        self._system, place, _ = resolve(f"{folder}/{ROOM}")
        listed = self._system.get_file_info(FileSelector(place, allow_not_found=True))
        self._paths: list[str] = [info.path for info in listed if info.base_name.endswith(ENDING)]

    def of(self, capture: int) -> list[bytes]:
        """Return the key logs of a capture."""
        mine = [path for path in self._paths if path.rpartition("/")[2].startswith(f"{capture}-")]
        return [self._system.open_input_file(path).readall() for path in mine]
