"""Frames read and written again: every capture comes back packet by packet, and a file that failed is taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdbg.atomic import AtomicFile
from kdbg.capture import open_capture
from kdbg.capture.frames import Frame, Frames, FrameWriter
from kdbg.errors import CaptureError, UnknownCapture

from ..cli.calls import CAPTURES, SHARED, SHIPPED


@pytest.mark.parametrize("pcapng", [False, True])
@pytest.mark.parametrize("path", [*SHIPPED[::4], *SHARED[::4]], ids=lambda path: path.name)
def test_a_capture_comes_back(path: Path, pcapng: bool, tmp_path: Path) -> None:
    made = tmp_path / "made"
    with Frames(path) as frames, AtomicFile(made) as output, FrameWriter(output, pcapng=pcapng) as writer:
        for frame in frames:
            writer.add(frame)
    with Frames(path) as before, Frames(made) as after:
        assert after.is_pcapng is pcapng
        assert list(after) == list(before)
    with open_capture(path) as before_it, open_capture(made) as after_it:
        assert list(after_it) == list(before_it)


def test_a_file_that_ends_early_says_so(tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes((CAPTURES / "first-contact.pcap").read_bytes()[:-3])
    with Frames(path) as frames:
        assert len(list(frames)) == 106
        assert frames.problem == "the file ends inside packet 107"


def test_what_is_no_capture_is_refused() -> None:
    with pytest.raises(UnknownCapture, match="not a pcap or pcapng file"):
        Frames(Path(__file__))


def test_a_pcap_has_one_link_type_and_times_up_to_2106(tmp_path: Path) -> None:
    made = tmp_path / "made.pcap"
    for first, second, problem in (
        (Frame(1, 0, 1, b"", 0), Frame(2, 0, 101, b"", 0), "one link type"),
        (Frame(1, 0, 1, b"", 0), Frame(2, 1 << 62, 1, b"", 0), "times after 2106"),
    ):
        with (
            pytest.raises(CaptureError, match=problem),
            AtomicFile(made) as output,
            FrameWriter(output, pcapng=False) as writer,
        ):
            writer.add(first)
            writer.add(second)
        assert not made.exists()
    with AtomicFile(made) as output, FrameWriter(output, pcapng=True) as writer:
        writer.add(Frame(1, 1 << 62, 1, b"one", 5))
        writer.add(Frame(2, 1 << 62, 101, b"two", 3))
    with Frames(made) as frames:
        assert list(frames) == [Frame(1, 1 << 62, 1, b"one", 5), Frame(2, 1 << 62, 101, b"two", 3)]


def test_it_is_a_capture_even_without_packets(tmp_path: Path) -> None:
    made = tmp_path / "made.pcap"
    with AtomicFile(made) as output, FrameWriter(output, pcapng=False):
        pass
    with Frames(made) as frames:
        assert list(frames) == []
