"""Large runs on their way through the shuffle: their bytes lie in a file, only where they lie is shuffled.

Spark would copy them a dozen times between Python, Java and disk; here they are written once and read once. Each task
that reads captures writes a file of its own into the run's folder. Small runs travel in their rows.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from uuid import uuid4

from ..archive.store import resolve

LARGE = 32 << 10
"""Bytes from which on a run is large."""
ROOM = "spill"
"""The folder in the run's folder."""
MOST_OPEN = 128
"""Files that a task holds open at once."""


class Spill:
    """Takes the bytes of large runs, those of one task."""

    system: Any
    folder: str

    def __init__(self, folder: str) -> None:
        self.system, self.folder, _ = resolve(f"{folder}/{ROOM}")
        self.name: str = f"{uuid4().hex}.runs"
        self._file: Any = None
        self._size = 0

    def put(self, data: bytes) -> int:
        """Append bytes to the file; return the place where they begin."""
        if self._file is None:
            self.system.create_dir(self.folder)
            self._file = self.system.open_output_stream(f"{self.folder}/{self.name}")
        place = self._size
        self._file.write(data)
        self._size += len(data)
        return place

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class Claim:
    """Gives the bytes back."""

    system: Any
    folder: str

    def __init__(self, folder: str) -> None:
        self.system, self.folder, _ = resolve(f"{folder}/{ROOM}")
        self._open: OrderedDict[str, Any] = OrderedDict()

    def get(self, name: str, place: int, length: int) -> bytes:
        """Read so many bytes from a place in a file."""
        file = self._open.pop(name, None)
        if file is None:
            if len(self._open) >= MOST_OPEN:
                self._open.popitem(last=False)[1].close()
            file = self.system.open_input_file(f"{self.folder}/{name}")
        self._open[name] = file
        return bytes(file.read_at(length, place))

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()
