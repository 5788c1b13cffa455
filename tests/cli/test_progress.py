"""The line on a terminal that says how far a long reading is, and that it is in nobody's way."""

from __future__ import annotations

import fcntl
import gzip
import io
import os
import pty
import struct
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdbg.capture.source import open_source
from kdbg.ui.cli.inputs import ERASE, Progress, amount, duration
from kdbg.ui.cli.output import Writer

from ..cases import for_each
from .calls import CAPTURES, call
from .terminal import END, on_terminal, screen

CAPTURE = CAPTURES / "errors.pcap"
PIECES = 200
DRAWN = " kB read · "


def pieces() -> list[bytes]:
    data = CAPTURE.read_bytes()
    step = -(-len(data) // PIECES)
    return [data[at : at + step] for at in range(0, len(data), step)]


class TestOnATerminal:
    """With a pipe that is slow; it takes longer than a second."""

    @pytest.mark.parametrize("format", ["summary", "json"])
    def test_it_is_drawn_beside_a_pipe_and_goes_away(self, format: str) -> None:
        plain = call("decode", CAPTURE, "-f", format)
        slow = on_terminal("decode", "-", "-f", format, pieces=pieces(), until=DRAWN)
        assert slow.out == plain.out.encode()
        assert DRAWN in slow.terminal
        assert " exchanges\r" in slow.terminal
        assert slow.status == plain.status
        assert slow.screen == [*plain.err.replace(str(CAPTURE), "stdin").splitlines(), ""]

    def test_lines_on_the_same_terminal_stay_whole(self) -> None:
        """There it is drawn only while nothing is printed: here until there is an exchange to show."""
        wanted = "-f", "json", "--api", "join-group"
        plain = call("decode", CAPTURE, *wanted)
        slow = on_terminal("decode", "-", *wanted, pieces=pieces(), until=DRAWN, out=True)
        assert DRAWN in slow.terminal
        printed = (plain.out + plain.err).replace(str(CAPTURE), "stdin").splitlines()
        assert sorted(slow.screen) == sorted([*printed, ""])

    def test_a_short_run_draws_nothing(self) -> None:
        assert "\r" not in on_terminal("decode", CAPTURE, "-f", "summary").terminal

    def test_a_terminal_that_can_do_nothing_is_left_alone(self) -> None:
        slow = on_terminal("decode", "-", "-f", "json", pieces=pieces()[:15], until="\r", TERM="dumb")
        assert "\r" not in slow.terminal


class Clock:
    """A clock that goes on by `step` seconds whenever somebody looks at it."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class Stderr:
    """A terminal in place of stderr; `draw` reads files with a progress of its own, and returns the lines drawn."""

    def __init__(self) -> None:
        self.master, self.end = pty.openpty()

    def draw(self, files: list[Path], step: float, exchanges: int = 0) -> list[str]:
        with os.fdopen(os.dup(self.end), "w") as stderr, pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys, "stderr", stderr)  # here, for pytest puts its own back before a test is called
            patched.setenv("TERM", "xterm")
            progress = Progress(clock=Clock(step))
            with progress.through([str(file) for file in files]):
                for file in files:
                    source = open_source(file)
                    progress.begin(source)
                    progress.exchanges = lambda: exchanges
                    while source.stream.read1(1 << 16):
                        pass
                    progress.end()
                    source.close()
        return [line for part in self.printed().split("\x1b[2K") if (line := part.strip("\r"))]

    def printed(self) -> str:
        """Return all that was printed."""
        os.write(self.end, END)
        found = b""
        while not found.endswith(END):
            found += os.read(self.master, 1 << 16)
        return found.removesuffix(END).decode()


@pytest.fixture
def stderr() -> Iterator[Stderr]:
    made = Stderr()
    yield made
    os.close(made.master)
    os.close(made.end)


class TestWhatItSays:
    def test_bytes_rate_and_time_left(self, stderr: Stderr, tmp_path: Path) -> None:
        """It is looked at each half second, in front of the next 64 kB: two of them are there after 2 s."""
        file = tmp_path / "long"
        file.write_bytes(bytes(1 << 20))
        lines = stderr.draw([file], 0.5, exchanges=1234)
        assert lines[2] == "12 % · 131 kB of 1.0 MB · 65.5 kB/s · 14 s left · 1,234 exchanges"
        assert lines[-1].startswith("100 % · 1.0 MB of 1.0 MB · ")
        assert len(lines) == 17

    def test_compressed_files_count_as_they_stand_on_disk(self, stderr: Stderr, tmp_path: Path) -> None:
        packed = tmp_path / "long.gz"
        packed.write_bytes(gzip.compress(bytes(10 << 20)))
        assert {line.split(" · ")[1] for line in stderr.draw([packed], 0.5)} == {"10.2 kB of 10.2 kB"}

    def test_several_files_are_one_whole(self, stderr: Stderr, tmp_path: Path) -> None:
        files = [tmp_path / name for name in "abc"]
        for file in files:
            file.write_bytes(bytes(1 << 17))
        last = stderr.draw(files, 0.6)[-1]
        assert last.startswith("100 % · 393 kB of 393 kB · ")
        assert last.endswith(" · file 3 of 3")

    def test_it_is_drawn_five_times_a_second_at_most(self, stderr: Stderr, tmp_path: Path) -> None:
        file = tmp_path / "long"
        file.write_bytes(bytes(1 << 22))
        assert len(stderr.draw([file], 0.05)) <= (64 * 0.05 - 1) / 0.2 + 1

    def test_a_line_fits_a_narrow_terminal(self, stderr: Stderr, tmp_path: Path) -> None:
        fcntl.ioctl(stderr.end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
        file = tmp_path / "long"
        file.write_bytes(bytes(1 << 20))
        assert {len(line) for line in stderr.draw([file], 0.5)} == {29}

    def test_without_a_terminal_no_file_is_followed(self, tmp_path: Path) -> None:
        source = open_source(io.BytesIO(b"some bytes"))
        progress = Progress(Writer())
        progress.begin(source)
        assert source.feed.heard is None

    def test_while_lines_are_printed_on_the_terminal_it_is_not_drawn(
        self, stderr: Stderr, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A line each 0.6 s; when there are no more, the second one after the last piece of patience."""
        with os.fdopen(os.dup(stderr.end), "w") as terminal:
            monkeypatch.setattr(sys, "stderr", terminal)
            monkeypatch.setattr(sys, "stdout", terminal)
            monkeypatch.setenv("TERM", "xterm")
            writer = Writer()
            progress = Progress(writer, Clock(0.3))
            source = open_source(io.BytesIO(b"some bytes"))
            with progress.through(["some"]):
                progress.begin(source)
                for _ in range(5):
                    writer.write("line\n")
                    progress.tick()
                for _ in range(3):
                    progress.tick()
                writer.write("last\n")
        printed = stderr.printed()
        assert printed.count("line") == 5
        before, _, after = printed.partition(ERASE)
        assert before.splitlines() == ["line"] * 5
        assert screen(printed.replace("\r\n", "\n")) == [*["line"] * 5, "last", ""]
        assert after.count(ERASE) == 1

    @for_each(
        ("count", "text"),
        [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (99_949, "99.9 kB"), (99_951, "100 kB"),
         (999_499, "999 kB"), (999_600, "1.0 MB"), (2.5e9, "2.5 GB"), (3e15, "3000 TB")],
    )  # fmt: skip
    def test_amounts(self, count: float, text: str) -> None:
        assert amount(count) == text

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (7384, "2 h 3 min")],
    )
    def test_durations(self, seconds: float, text: str) -> None:
        assert duration(seconds) == text


def test_the_screen_of_tests_is_a_terminal() -> None:
    assert screen("12 %\r\x1b[2Kdone\n50 %\rno\n") == ["done", "no %", ""]
