"""The terminal of a screen, and its hangup: with SIGHUP ignored (nohup, trap), nothing else ends the program then.

Textual's own driver reads the end of input again and again at full speed, and its thread that writes dies.
"""

from __future__ import annotations

import os
import select
from contextlib import suppress
from typing import IO, Any

from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

LOOK = 0.2
"""Seconds between two checks for a hangup."""
KEYS = 0
"""The descriptor that keys come from."""
STATUS = 128 + 1
"""The exit status of shells for SIGHUP."""


class TerminalApp(App[None]):
    """A screen that ends with its terminal."""

    def run(self, *given: Any, **options: Any) -> None:
        """Show the screen until the user ends it; raise `SystemExit` once its terminal is gone."""
        super().run(*given, **options)
        if self.return_code == STATUS:
            raise SystemExit(STATUS)

    def get_driver_class(self) -> type[Driver]:
        """Return what draws on the terminal."""
        found = super().get_driver_class()
        return TerminalDriver if found is LinuxDriver else found

    def on_mount(self) -> None:
        """Check for a hangup at intervals."""
        self.set_interval(LOOK, self.end_with_terminal)

    def end_with_terminal(self) -> None:
        """End the screen if its terminal is gone; what is still written goes nowhere, and fails no more."""
        if self.is_headless or not is_hung_up(KEYS):
            return
        with open(os.devnull, "r+b") as nothing:  # noqa: PTH123
            for descriptor in filter(is_hung_up, range(3)):
                os.dup2(nothing.fileno(), descriptor)
        self.exit(return_code=STATUS)


class TerminalDriver(LinuxDriver):
    """Textual's driver of terminals; what a terminal that is gone does not take is dropped."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._file: Any = Output(self._file)


class Output:
    """A text file that drops what the operating system refuses."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        """Write text, or drop it."""
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        """Flush, or drop what is buffered."""
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        """Return the descriptor of the file."""
        return self._file.fileno()


def is_hung_up(descriptor: int) -> bool:
    """Return whether a descriptor leads to a terminal that is gone."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & select.POLLHUP for _, events in poll.poll(0))
