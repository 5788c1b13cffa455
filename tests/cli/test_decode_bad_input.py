"""`kdbg decode` on what is no capture, half a capture, or taken away while it works: a clear line and a status."""

from __future__ import annotations

import gzip
import json
import os
import select
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ..cases import for_each
from ..traffic import PCAP_HEADER, Talk, pcap, records
from .calls import CAPTURES, COMMAND, ENVIRONMENT, FORMATS, Outcome, spawn

Cli = Callable[..., Outcome]
FIRST, ERRORS = CAPTURES / "first-contact.pcap", CAPTURES / "errors.pcap"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def talk() -> Talk:
    """Three exchanges."""
    speech = Talk().ask("Metadata", 1, topics=[]).answer()
    return speech.ask("Heartbeat", 0, group_id="g").answer().ask("Metadata", 1, topics=None).answer().end()


class TestNoCapture:
    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b"", "is empty"),
            (PNG, "not a pcap or pcapng file (starts with 89 50 4e 47)"),
            (b"\xd4\xc3", "not a pcap or pcapng file (starts with d4 c3)"),
            (PCAP_HEADER[:20], "the file ends or is damaged inside its header"),
            (gzip.compress(PNG), "not a pcap or pcapng file (starts with 89 50 4e 47)"),
            (gzip.compress(pcap(talk()))[:9], "the gzip stream is truncated"),
        ],
        ids=["empty", "PNG", "two bytes", "half a header", "PNG in gzip", "gzip header"],
    )
    def test_a_file_that_is_none(self, cli: Cli, tmp_path: Path, content: bytes, problem: str) -> None:
        path = tmp_path / "file.pcap"
        path.write_bytes(content)
        assert cli("decode", path) == (2, "", f"kdbg: {path}: {problem}\n")

    def test_a_directory_and_a_missing_file(self, cli: Cli, tmp_path: Path) -> None:
        assert cli("decode", tmp_path) == (2, "", f"kdbg: {tmp_path}: the folder contains no files\n")
        assert cli("decode", tmp_path / "x") == (2, "", f"kdbg: {tmp_path / 'x'}: no such file\n")

    def test_a_file_without_permission(self) -> None:
        """Root, whom permissions do not stop, looks at it as somebody else, who may not even import modules."""
        program = """if True:
            import os, sys
            from kdbg.ui.cli import run
            run(["decode", sys.argv[1]])
            os.geteuid() or os.seteuid(65534)
            sys.exit(run(["decode", sys.argv[2]]))
        """
        with TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            path = Path(folder) / "private.pcap"
            path.write_bytes(pcap(talk()))
            path.chmod(0)
            done = subprocess.run([*COMMAND[:1], "-c", program, FIRST, path], capture_output=True, check=False)
        assert done.returncode == 2
        assert done.stderr.decode().splitlines()[1:] == [f"kdbg: {path}: permission denied"]

    def test_the_good_files_beside_a_bad_one_are_shown(self, cli: Cli, tmp_path: Path) -> None:
        (bad := tmp_path / "bad").write_bytes(PNG)
        outcome = cli("decode", "-f", "json", FIRST, bad, tmp_path / "none", ERRORS)
        assert outcome.status == 2
        assert len(outcome.lines) == 31 + 58
        assert [line.split(":")[1].strip() for line in outcome.err.splitlines()[:-1]] == [
            str(bad),
            str(tmp_path / "none"),
            str(ERRORS),  # a connection that was refused
        ]
        assert outcome.closing.startswith("315 packets")

    def test_only_bad_files_leave_no_closing_line(self, cli: Cli, tmp_path: Path) -> None:
        assert cli("decode", tmp_path / "1", tmp_path / "2").err.count("\n") == 2

    def test_an_empty_pipe(self) -> None:
        assert spawn("decode", "-") == (2, "", "kdbg: stdin: is empty\n")


class TestHalfACapture:
    @pytest.mark.parametrize("format", FORMATS)
    def test_what_is_before_the_cut_is_shown(self, cli: Cli, tmp_path: Path, format: str) -> None:
        whole = pcap(talk())
        (path := tmp_path / "cut.pcap").write_bytes(whole[:-30])
        (before := tmp_path / "before.pcap").write_bytes(PCAP_HEADER + b"".join(list(records(talk()))[:-1]))
        outcome = cli("decode", path, "-f", format)
        assert outcome.status == 1
        assert outcome.out == cli("decode", before, "-f", format).out
        assert outcome.err == (
            f"kdbg: {path}: the file ends inside packet 10\n"
            "9 packets · 1 connection · 3 exchanges · 0 missing responses · 1 finding (damaged-capture 1)\n"
        )

    def test_a_cut_anywhere_is_one_line_and_shows_what_came_before(self, cli: Cli, tmp_path: Path) -> None:
        whole, path = pcap(talk()), tmp_path / "cut.pcap"
        for length in range(len(PCAP_HEADER), len(whole), 7):
            path.write_bytes(whole[:length])
            outcome = cli("decode", path, "-f", "json")
            at_a_packets_end = length in ends_of_packets()
            assert outcome.status == (not at_a_packets_end)
            assert outcome.err.count("\n") == 2 - at_a_packets_end
            assert all(line["api"] for line in outcome.lines)

    def test_gzip_that_breaks_off(self, cli: Cli, tmp_path: Path) -> None:
        (path := tmp_path / "cut.pcap.gz").write_bytes(gzip.compress(FIRST.read_bytes(), 1)[:-3000])
        outcome = cli("decode", path, "-f", "json")
        assert outcome.status == 1
        assert 0 < len(outcome.lines) < 31
        assert outcome.err.splitlines()[0].startswith(f"kdbg: {path}: the gzip stream is truncated, after packet ")
        assert outcome.err.count("\n") == 2


def ends_of_packets() -> set[int]:
    places, end = set(), len(PCAP_HEADER)
    for piece in [b"", *records(talk())]:
        end += len(piece)
        places.add(end)
    return places


class TestOutputTakenAway:
    @pytest.mark.parametrize("format", FORMATS)
    def test_a_reader_that_leaves_early_ends_it_quietly(self, format: str) -> None:
        process = subprocess.Popen(
            [*COMMAND, "decode", *[ERRORS] * 30, "-f", format, "--color", "always"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT,
        )  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        with process.stderr:
            said = process.stderr.read().decode()
        assert process.wait(timeout=60) == 0
        assert "Traceback" not in said
        assert "Exception ignored" not in said

    def test_help_into_a_closed_pipe(self) -> None:
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run([*COMMAND, "decode", "--help"], stdout=theirs, stderr=subprocess.PIPE, check=False)
        os.close(theirs)
        assert (done.returncode, done.stderr) == (0, b"")

    def test_both_outputs_closed_at_the_other_end(self) -> None:
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run([*COMMAND, "decode", ERRORS], stdout=theirs, stderr=theirs, env=ENVIRONMENT, check=False)
        os.close(theirs)
        assert done.returncode == 0

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk(self) -> None:
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run([*COMMAND, "decode", ERRORS], stdout=full, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (2, b"kdbg: No space left on device\n")

    def test_no_stdout_at_all(self) -> None:
        done = subprocess.run(
            ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "decode", str(FIRST)], stderr=subprocess.PIPE, check=False
        )
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr


class TestInterrupted:
    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*COMMAND, "decode", "-", "-f", "json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=ENVIRONMENT, bufsize=0,
        )  # fmt: skip

    def test_ctrl_c_on_an_open_pipe_shows_what_is_known(self) -> None:
        """Also the request that waits for its answer: who stops here may be looking for it."""
        process = self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        waits = Talk(client=("10.0.0.3", 4000)).ask("Heartbeat", 0, group_id="g")
        process.stdin.write(PCAP_HEADER + b"".join(records(waits, Talk(at=9).ask("Metadata", 1, topics=[]).answer())))
        assert select.select([process.stdout], [], [], 60)[0]
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=60)
        assert process.returncode == 130
        shown = [json.loads(line) for line in (first + rest).splitlines()]
        assert [(line["api"], line["notes"]) for line in shown] == [
            ("Metadata", []), ("Heartbeat", ["no-response: the capture contains no response to this request"]),
        ]  # fmt: skip
        assert said.decode() == "7 packets · 2 connections · 2 exchanges · 1 missing response · 0 findings\n"

    def test_ctrl_c_before_the_first_byte(self) -> None:
        """The signal comes while the first byte is waited for."""
        program = """if True:
            import io, signal, sys
            from kdbg.ui.cli import main
            class Silent(io.RawIOBase):
                def readable(self): return True
                def readinto(self, buffer): signal.raise_signal(signal.SIGINT)
            sys.stdin = io.TextIOWrapper(io.BufferedReader(Silent()))
            main()
        """
        done = subprocess.run([*COMMAND[:1], "-c", program, "decode", "-"], capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr.strip()) == (130, b"", b"")


class TestWrongUsage:
    @for_each(
        ("arguments", "problem"),
        [
            (["decode"], "missing argument 'FILE…'"),
            (["decode", FIRST, "-f", "xml"], "'xml' is not one of 'tree', 'summary', 'hex', 'json'"),
            (["decode", FIRST, "--limit", "many"], "'many' is not a valid integer"),
            (["decode", FIRST, "--limit", "-1"], "-1 is not in the range x>=0"),
            (["decode", FIRST, "--port", "0"], "0 is not in the range 1<=x<=65535"),
            (["decode", FIRST, "--slower-than", "soon"], "invalid duration 'soon'"),
            (["decode", FIRST, "--color", "mauve"], "'mauve' is not one of"),
            (["decode", FIRST, "--api", "metdata"], "unknown API 'metdata'; did you mean Metadata"),
            (["decode", FIRST, "--api", "4711"], "unknown API '4711'"),
        ],
        ids=str,
    )
    def test_a_line_says_what_is_wrong(self, cli: Cli, arguments: list[object], problem: str) -> None:
        outcome = cli(*arguments)
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err.startswith("kdbg: ")
        assert problem in outcome.err
        assert outcome.err.count("\n") == 1
