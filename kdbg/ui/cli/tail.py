"""A file that grows, as a pipe: what is written to it comes as if it were written here, and it never ends."""

from __future__ import annotations

import io
import os
import threading
import time

AGAIN = 0.1
"""Seconds after which the end of the file is looked at again."""
CHUNK = 1 << 16


def follow_file(path: str) -> io.FileIO:
    """Return a stream of what stands in the file, then of what is added; raise `OSError` where it cannot be read."""
    file = io.FileIO(path)
    end, begin = os.pipe()
    threading.Thread(target=_pump, args=(file, begin), daemon=True).start()
    stream = io.FileIO(end)
    stream.name = path
    return stream


def _pump(file: io.FileIO, pipe: int) -> None:
    """Write the file into the pipe for as long as somebody reads that."""
    with file:
        while True:
            data = memoryview(file.read(CHUNK) or b"")
            if not data:
                time.sleep(AGAIN)
            try:
                while data:
                    data = data[os.write(pipe, data) :]
            except OSError:
                return
