"""A source that is waited on says when nothing has come for a while; a file never does."""

from __future__ import annotations

import io
import os
from pathlib import Path

from kdbg.capture import open_capture
from tests.traffic import Talk, pcap


def test_pauses_of_a_pipe_are_told() -> None:
    """What has come is handed on, then None, and only then is the pipe waited on."""
    data = pcap(Talk().ask("Metadata", 1, topics=[]))
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe, os.fdopen(writing, "wb", buffering=0) as out:
        out.write(data)
        with open_capture(pipe) as capture:
            packets = capture.with_pauses(0.01)
            got = [next(packets)]
            while sum(packet is not None for packet in got) < capture_length(data):
                got.append(next(packets))  # None before the first: the file's header came, and was waited behind
            assert next(packets) is None
            out.close()
            assert list(packets) == []


def test_a_file_has_no_pauses(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(data := pcap(Talk().ask("Metadata", 1, topics=[])))
    with open_capture(path) as capture:
        assert len([packet for packet in capture.with_pauses(0) if packet is not None]) == capture_length(data)
        assert capture.packets == capture_length(data)
    with open_capture(io.BytesIO(data)) as capture:
        assert None not in list(capture.with_pauses(0))


def capture_length(data: bytes) -> int:
    with open_capture(io.BytesIO(data)) as capture:
        return len(list(capture))
