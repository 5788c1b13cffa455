"""An event loop in a thread of this process, for programs and tests that have none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

STARTED = 10.0
"""Seconds that starting and closing may take; they take milliseconds."""


class LoopThread:
    """Runs coroutines from `start` to `close`."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    def start(self) -> None:
        """Begin to run."""
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return what a coroutine returns, or raise what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(STARTED)

    def close(self) -> None:
        """End the loop, with all that it is still at, and the thread."""
        if self._thread.is_alive():
            self.do(_settled())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STARTED)
            self._loop.close()


async def _settled() -> None:
    """Give up what the event loop is still at, such as a connection just accepted, and let it close its sockets."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.sleep(0.01)
