"""Sources of TLS keys beside a process's memory: lines of key logs that come while connections are opened."""

from __future__ import annotations

import os
from typing import Protocol

CHUNK = 1 << 16


class KeySource(Protocol):
    """Where keys come from, called `name` in what is said about it."""

    name: str

    def lines(self) -> list[str]:
        """Return the lines of a key log that are new."""
        ...


class LineReader:
    """The lines of what a descriptor reads, which does not wait: a file that grows, or a pipe."""

    def __init__(self, descriptor: int, name: str) -> None:
        self.name = name
        self._descriptor, self._rest = descriptor, b""

    def lines(self) -> list[str]:
        """Return the whole lines that are new."""
        try:
            while data := os.read(self._descriptor, CHUNK):
                self._rest += data
        except BlockingIOError:
            pass
        whole, _, self._rest = self._rest.rpartition(b"\n")
        return whole.decode("utf-8", "replace").splitlines()
