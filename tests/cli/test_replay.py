"""`kdbg replay` and `kdbg mock` as a user runs them: a process each, peers that misbehave, Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import kdbg
from tests.traffic import Talk, pcap

from .peers import peer
from .test_proxy import free_port, send

CAPTURE = Path("captures/first-contact.pcap")
TIMEOUT = 60
Done = subprocess.CompletedProcess[str]


def replay(*arguments: object, interrupt: bool = False) -> Done:
    command = [sys.executable, "-m", "kdbg", "replay", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out = ""
    if interrupt:
        assert process.stdout is not None
        out = process.stdout.readline()
        process.send_signal(signal.SIGINT)
    more, err = process.communicate(timeout=TIMEOUT)
    assert "Traceback" not in err
    assert "never retrieved" not in err
    return subprocess.CompletedProcess(command, process.returncode, out + more, err)


@contextmanager
def mocking(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running `kdbg mock`, and where clients find it."""
    command = [sys.executable, "-m", "kdbg", "mock", *map(str, arguments), "-l", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.match(r"kdbg: listening on (127\.0\.0\.1:\d+) for broker", line)
    try:
        assert found, line + process.stderr.read()
        assert re.search(r"\d+ recorded responses? for \d+ APIs?", process.stderr.readline())
        yield process, found[1]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def talk(*topics: str) -> Talk:
    found = Talk()
    for topic in topics:
        found.ask("Metadata", 1, topics=[{"name": topic}])
        found.answer(brokers=[{"node_id": 1, "host": "kafka", "port": 9092}], topics=[
            {"error_code": 0, "name": topic, "partitions": []}])  # fmt: skip
    return found


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "asked.pcap"
    path.write_bytes(pcap(talk("orders", "letters").end()))
    return path


def test_a_mock_of_a_capture_answers_what_the_capture_says(capture: Path) -> None:
    with mocking(capture) as (process, address):
        done = replay(capture, "-b", address)
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.sub(r" +", " ", done.stdout) == "1 Metadata v1 same\n2 Metadata v1 same\n"
        closing = r"2 requests · 2 same · 0 differs · 0 failed · 0 not compared · 1 connection · [\d.]+ s\n"
        assert re.search(closing, done.stderr)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130
    assert "requests served · 0 without a recorded response · 0 rejected" in err


def test_what_differs_is_named_and_makes_the_status(capture: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.pcap"
    other.write_bytes(pcap(talk("letters").end()))
    with mocking(other) as (_, address):
        done = replay(capture, "-b", address, "--timeout", "0.3")
        assert done.returncode == 1
        assert "topics[orders].error_code  0 NONE → 3 UNKNOWN_TOPIC_OR_PARTITION" in done.stdout
        found = [json.loads(line) for line in
                 replay(capture, "-b", address, "--timeout", "0.3", "-f", "json").stdout.splitlines()]  # fmt: skip
    assert [(one["number"], one["verdict"]) for one in found] == [(1, "differs"), (2, "same")]
    assert found[0]["differences"] == [{"path": "topics[orders].error_code", "captured": 0, "replayed": 3}]
    assert found[0]["tries"] > 1


def test_filters_choose_what_is_sent(capture: Path) -> None:
    with mocking(capture) as (_, address):
        done = replay(capture, "-b", address, "--topic", "letters")
    assert re.sub(r" +", " ", done.stdout) == "2 Metadata v1 same\n"


def test_nobody_there(capture: Path) -> None:
    done = replay(capture, "-b", f"127.0.0.1:{free_port()}")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"kdbg: 127\.0\.0\.1:\d+: connection refused; .*\n", done.stderr)


def test_no_broker_named(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KDBG_BROKER", raising=False)
    done = replay(capture)
    assert done.returncode == 2
    assert "no broker given; use --broker" in done.stderr


def answering(*then: Callable[[socket.socket, bytes], None]) -> Callable[[socket.socket], None]:
    """A broker that answers ApiVersions and the first Metadata, and then does what it is told."""
    turns: list[Callable[[socket.socket, bytes], None]] = []

    def behave(connection: socket.socket) -> None:
        while head := connection.recv(4):
            data = connection.recv(struct.unpack(">i", head)[0])
            key, version, number = struct.unpack_from(">hhi", data)
            if key == 18:
                keys = [{"api_key": each, "min_version": 0, "max_version": 1} for each in (3, 18)]
                body: dict[str, Any] = {"error_code": 0 if version == 0 else 35, "api_keys": keys}
                version = 0
            elif not turns:
                turns.extend(then)
                body = {"brokers": [], "topics": []}
            else:
                turns.pop(0)(connection, data)
                return
            answer = kdbg.encode(body, api=key, version=version, direction="response",
                                 header={"correlation_id": number})  # fmt: skip
            connection.sendall(struct.pack(">i", len(answer)) + answer)

    return behave


def closes(connection: socket.socket, data: bytes) -> None:
    pass


def breaks_off(connection: socket.socket, data: bytes) -> None:
    connection.sendall(struct.pack(">i", 100) + data[4:8] + b"half")


def babbles(connection: socket.socket, data: bytes) -> None:
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def at_once(behave: Callable[[socket.socket], None]) -> Callable[[socket.socket], None]:
    """The same, for several connections at a time."""

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            behave(connection)

    return lambda connection: threading.Thread(target=serve, args=(connection.dup(),), daemon=True).start()


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (closes, "closed the connection without a response"),
        (breaks_off, "in the middle of a response"),
        (babbles, "the response is an HTTP response"),
    ],
)
def test_a_broker_that_misbehaves_fails_the_request_and_no_other(
    capture: Path, behaviour: Callable[[socket.socket, bytes], None], said: str
) -> None:
    with peer(at_once(answering(behaviour))) as address:
        done = replay(capture, "-b", address, "--timeout", "2")
    assert done.returncode == 1
    assert said in done.stdout
    assert "2 requests" in done.stderr


def test_a_peer_that_is_no_broker(capture: Path) -> None:
    with peer(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH\r\n")) as address:
        done = replay(capture, "-b", address, "--timeout", "2")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") <= 2


def test_ctrl_c_closes_with_the_counts(tmp_path: Path) -> None:
    path = tmp_path / "slow.pcap"
    path.write_bytes(pcap(talk(*(f"topic{number}" for number in range(5))).end()))
    with mocking(path) as (_, address):
        done = replay(path, "-b", address, "--speed", "0.00001", interrupt=True)
    assert done.returncode == 130
    assert "1 request · 1 same · 0 differs" in done.stderr


def test_a_reader_that_goes_ends_it_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "long.pcap"
    path.write_bytes(pcap(talk(*(f"topic{number}" for number in range(50))).end()))
    with mocking(path) as (_, address):
        command = [sys.executable, "-m", "kdbg", "replay", str(path), "-b", address]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        assert process.wait(TIMEOUT) == 0
    assert "Traceback" not in err


def test_several_captures_are_told_apart(capture: Path, tmp_path: Path) -> None:
    other = tmp_path / "more.pcap"
    other.write_bytes(pcap(talk("letters").end()))
    with mocking(capture) as (_, address):
        done = replay(capture, other, "-b", address, "--speed", "max")
    names = {line.split()[0] for line in done.stdout.splitlines()}
    assert names == {"asked#1", "asked#2", "more#1"}


def test_what_is_said_now_is_saved(capture: Path, tmp_path: Path) -> None:
    with mocking(capture, "--write", tmp_path / "mocked.pcap") as (process, address):
        replay(capture, "-b", address, "--write", tmp_path / "now.pcap")
        process.send_signal(signal.SIGTERM)
        process.wait(TIMEOUT)
    for name in ("now.pcap", "mocked.pcap"):
        halves = [one.request for one in kdbg.read_capture(tmp_path / name, api="metadata")]
        asked = [topic for half in halves if half is not None for topic, *_ in (half.outline() or ((),))[0]]
        assert asked == ["orders", "letters"], name


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ("replay", ("--speed", "0"), "invalid speed '0'; use 1"),
        ("replay", ("--hide-values", "--show-secrets"), "use either --show-secrets or --hide-values, not both"),
        ("mock", ("-l", "203.0.113.1:9"), "cannot listen on"),
        ("mock", ("--api", "create-acls"), "no response that the mock can serve"),
    ],
)
def test_wrong_usage(capture: Path, command: str, arguments: tuple[str, ...], said: str) -> None:
    called = [sys.executable, "-m", "kdbg", command, str(capture), *arguments]
    done = subprocess.run(
        [*called, *(("-b", "127.0.0.1:1") if command == "replay" else ())],
        capture_output=True, text=True, check=False, timeout=TIMEOUT,
    )  # fmt: skip
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_garbage_to_the_listener_is_one_line_and_others_go_on(capture: Path) -> None:
    with mocking(capture) as (process, address):
        host, port = address.split(":")
        for _ in range(3):
            with socket.create_connection((host, int(port))) as sock:
                sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
                assert sock.recv(10) == b""
        assert send(address, "metadata", "--topic", "orders").returncode == 0
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT)
    assert err.count("these bytes are not a request") == 1
    assert "3 rejected" in err


def test_elsewhere_than_loopback_it_warns(capture: Path) -> None:
    command = [sys.executable, "-m", "kdbg", "mock", str(capture), "-l", "0.0.0.0:0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    line += process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TIMEOUT)
    assert "any host that can reach 0.0.0.0 gets responses" in line
