"""Reads the exchange that somebody looks at, in a thread: the last that was asked for, none of those in between."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ...errors import KdbgError
from .contents import Contents, Looked


class Opening:
    """`want` an exchange; once it is read, `shown` is called with it, in the thread."""

    def __init__(self, contents: Contents, shown: Callable[[Looked], None]) -> None:
        self._contents, self._shown = contents, shown
        self._wanted: int | None = None
        self._over = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def want(self, position: int) -> None:
        """Read this one next."""
        with self._changed:
            self._wanted = position
            self._changed.notify()

    def close(self) -> None:
        """End the thread, behind what it is at."""
        with self._changed:
            self._over = True
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._wanted is None and not self._over:
                    self._changed.wait()
                if self._over or self._wanted is None:
                    return
                position, self._wanted = self._wanted, None
            try:
                self._shown(self._contents.look_at(position))
            except (KdbgError, OSError):
                continue
