"""`kdbg browse` as a user calls it; the screen itself is driven in tests/tui."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from .calls import CAPTURES, COMMAND, ENVIRONMENT, call

NO_TEXTUAL = "import sys; sys.modules['textual'] = None; from kdbg.ui.cli import main; main()"
PATIENCE = 60
LOG = CAPTURES / "real-segments-4.4.0" / "money-0" / "00000000000000000000.log"


def test_it_wants_a_terminal() -> None:
    done = call("browse", CAPTURES / "errors.pcap")
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert "kdbg browse needs a terminal" in done.err


def on_screen(*arguments: object, until: bytes, keys: bytes = b"q", stdin: int | None = None) -> tuple[int, bytes]:
    """Run it on a terminal; once that has shown something, press keys. Return the status and all that was shown."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, "browse", *map(str, arguments)], stdin=theirs if stdin is None else stdin, stdout=theirs,
        stderr=theirs, env={**ENVIRONMENT, "TERM": "xterm-256color"}, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    shown, end, pressed = b"", time.monotonic() + PATIENCE, False
    while time.monotonic() < end:
        if select.select([ours], [], [], 0.05)[0]:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:
                break
        if not pressed and until in shown:
            pressed = True
            os.write(ours, keys)
    os.close(ours)
    return process.wait(PATIENCE), shown


def test_it_opens_and_ends(tmp_path: Path) -> None:
    status, shown = on_screen(CAPTURES / "errors.pcap", until=b"correlation_id")
    assert status == 0
    assert b"Traceback" not in shown


def test_a_pipe_is_read_while_keys_come_from_the_terminal() -> None:
    with (CAPTURES / "errors.pcap").open("rb") as file:
        status, shown = on_screen("-", until=b"correlation_id", stdin=_piped(file.read()))
    assert status == 0
    assert b"Traceback" not in shown


def _piped(data: bytes) -> int:
    out, into = os.pipe()
    fcntl.fcntl(into, 1031, 1 << 20)  # F_SETPIPE_SZ: all of it fits
    os.write(into, data)
    os.close(into)
    return out


def test_a_file_that_grows_is_followed(tmp_path: Path) -> None:
    data = (CAPTURES / "errors.pcap").read_bytes()
    path = tmp_path / "growing.pcap"
    path.write_bytes(data[:2000])
    status, shown = on_screen(path, "--follow", until=b"following")
    assert status == 0
    assert b"Traceback" not in shown


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no-such.pcap", "no such file"),
        (LOG, "a log segment, not a capture"),
    ],
)
def test_what_cannot_be_read_is_refused_before_there_is_a_screen(name: Path, said: str) -> None:
    status, shown = on_screen(name, until=b"kdbg: ")
    assert status == 2
    assert said in shown.decode()
    assert b"\x1b[?1049h" not in shown


def test_without_textual_a_line_says_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_TEXTUAL, "browse", str(CAPTURES / "errors.pcap")], capture_output=True, text=True,
        check=False, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "kdbg-kafka[tui]" in done.stderr


def tables(folder: Path, name: str, text: str) -> Path:
    """A folder with a file that says that it holds tables."""
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return folder


LOG = "runs/_delta_log/00000000000000000000.json"


@pytest.mark.parametrize(
    ("name", "text", "arguments", "said"),
    [
        (LOG, "no JSON", (), "tables: "),
        (LOG, "[]", (), "tables: "),
        ("runs/_delta_log/notes.txt", "", (), ": no tables; create them with"),
        ("_kdbg.json", "{}", (), ": tables of an earlier version; convert them with kdbg tables migrate"),
        (LOG, "", ("--follow",), "--follow works with captures, not with tables"),
        (LOG, "", ("--api", "fetch"), "--api applies to captures; to filter tables"),
        (LOG, "", (CAPTURES / "errors.pcap",), "give either captures or one folder of tables, not both"),
    ],
)
def test_folders_that_are_no_tables_are_refused_in_a_line(
    tmp_path: Path, name: str, text: str, arguments: tuple[object, ...], said: str
) -> None:
    pytest.importorskip("duckdb")
    status, shown = on_screen(tables(tmp_path / "tables", name, text), *arguments, until=b"kdbg: ")
    assert status == 2
    assert said in " ".join(shown.decode().split())
    assert b"\x1b[?1049h" not in shown
    assert b"Traceback" not in shown


def test_a_folder_with_neither_captures_nor_tables_is_refused(tmp_path: Path) -> None:
    status, shown = on_screen(tmp_path, until=b"kdbg: ")
    assert (status, shown.count(b"\n")) == (2, 1)
