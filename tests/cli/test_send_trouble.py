"""`kdbg send` where the session breaks: nobody there, silence, interruptions."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .calls import COMMAND, ENVIRONMENT, Outcome
from .peers import peer

Cli = Callable[..., Outcome]


class TestTrouble:
    """A session that breaks ends in one line and status 1."""

    @pytest.mark.parametrize("arguments", [(), ("--all-versions",), ("--repeat", 3), ("--trace",)])
    def test_nobody_there(self, cli: Cli, arguments: tuple[object, ...]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        outcome = cli("send", "list-groups", "--broker", f"127.0.0.1:{port}", *arguments)
        assert outcome.status == 1
        assert outcome.closing.startswith(f"kdbg: 127.0.0.1:{port}: ")
        assert outcome.out == ""

    def test_a_broker_that_hangs_up_and_what_it_was_asked(self, cli: Cli) -> None:
        with peer(lambda connection: connection.recv(4096) and None) as broker:
            outcome = cli("send", "list-groups", "--version", 0, "--broker", broker, "--direct")
        assert outcome.status == 1
        assert "ListGroups v0" in outcome.out
        assert "no-response" in outcome.out
        assert "the broker closed the connection without a response" in outcome.closing

    def test_a_broker_that_keeps_silent(self, cli: Cli) -> None:
        done = threading.Event()
        with peer(lambda connection: done.wait(10) and None) as broker:
            started = time.monotonic()
            outcome = cli("send", "list-groups", "--version", 0, "--broker", broker, "--direct", "--timeout", 0.3)
            done.set()
        assert time.monotonic() - started < 5
        assert outcome.status == 1
        assert "no response within 0.3 s" in outcome.closing

    def test_a_broker_that_ignores_the_question_for_its_versions(self, cli: Cli) -> None:
        """The error names the option that goes on without, and so it does."""

        def deaf(connection: socket.socket) -> None:
            while frame := connection.recv(4096):
                if frame[4:6] == b"\0\x10":  # ListGroups
                    connection.sendall(bytes.fromhex("0000000a") + frame[8:12] + bytes(6))

        with peer(deaf) as broker:
            asked = cli("send", "list-groups", "--broker", broker, "--timeout", 0.3)
            told = cli("send", "list-groups", "--broker", broker, "--timeout", 5, "--version", 0, "-f", "json")
        assert asked.status == 1
        (line,) = asked.err.splitlines()
        assert "ApiVersions" in line
        assert "no response within 0.3 s" in line
        assert "use --version N to skip ApiVersions" in line
        assert (told.status, told.lines[0]["response"]["body"]["error_code"]) == (0, 0)

    def test_a_capture_that_cannot_be_written(self, send: Cli, tmp_path: Path) -> None:
        outcome = send("api-versions", "--write", tmp_path / "nosuch" / "out.pcap")
        assert outcome.status == 2
        assert "cannot be written" in outcome.err

    @pytest.mark.parametrize("arguments", [[], ["--repeat", "1000000"]], ids=["one", "many"])
    def test_interrupted(self, broker: str, arguments: list[str]) -> None:
        silent = threading.Event()
        with peer(lambda connection: silent.wait(20) and None) as nowhere:
            target = broker if arguments else nowhere
            call = [*COMMAND, "send", "list-offsets", "--topic", "orders", "--broker", target, *arguments]
            running = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
            time.sleep(2)
            os.kill(running.pid, signal.SIGINT)
            out, err = running.communicate(timeout=10)
            silent.set()
        assert running.returncode == 130
        assert b"Traceback" not in err
        assert (b"in flight" in out) == bool(arguments)
