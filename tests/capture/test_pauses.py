"""A source that is waited on says when nothing has come for a while; a file never does."""

from __future__ import annotations

import io
import os
from pathlib import Path

from kdbg.capture import open_capture
from tests.traffic import Talk, pcap


def test_pauses_of_a_pipe_are_told() -> None:
    """What has come is handed on, then an empty block, and only then is the pipe waited on."""
    data = pcap(Talk().ask("Metadata", 1, topics=[]))
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe, os.fdopen(writing, "wb", buffering=0) as out:
        out.write(data)
        with open_capture(pipe) as capture:
            blocks = capture.blocks(pause=0.01)
            got = [next(blocks)]
            while sum(map(len, got)) < capture_length(data):
                got.append(next(blocks))  # an empty one is first: the file's header came, and was waited behind
            assert next(blocks) == []
            out.close()
            assert list(blocks) == []


def test_a_file_has_no_pauses(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(data := pcap(Talk().ask("Metadata", 1, topics=[])))
    with open_capture(path) as capture:
        assert sum(len(block) for block in capture.blocks(pause=0)) == capture_length(data)
        assert capture.packets == capture_length(data)
    with open_capture(io.BytesIO(data)) as capture:
        assert [] not in list(capture.blocks(pause=0))


def capture_length(data: bytes) -> int:
    with open_capture(io.BytesIO(data)) as capture:
        return len(list(capture))
