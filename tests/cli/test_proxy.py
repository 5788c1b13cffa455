"""`kdbg proxy` as a user runs it: a process of its own, real clients, Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import kdbg

TIMEOUT = 60


class Proxying:
    """A running `kdbg proxy`, and the address that clients take."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address

    def end(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        """Send a signal; return the exit status, and what was printed."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, out, err


@contextmanager
def proxying(*arguments: str) -> Iterator[Proxying]:
    pytest.importorskip("confluent_kafka")
    command = [sys.executable, "-m", "kdbg", "proxy", "-b", "mock:2", "-l", "127.0.0.1:0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.match(r"kdbg: listening on (127\.0\.0\.1:\d+) for broker 127\.0\.0\.1:\d+$", line)
    try:
        assert found, line + process.stderr.read()
        yield Proxying(process, found[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def send(address: str, *arguments: str, format: str = "summary") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kdbg", "send", *arguments, "-b", address, "-f", format]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)


def test_what_is_said_is_shown_and_ctrl_c_closes_with_counts(tmp_path: Path) -> None:
    saved, log = tmp_path / "said.pcap", tmp_path / "faults.json"
    rule = "Produce topic=orders: delay 30ms"
    with proxying(
        "-f", "json", "--fault", rule, "--write", str(saved), "--fault-log", str(log), "--seed", "7"
    ) as proxy:
        assert send(proxy.address, "produce", "--topic", "orders", "--value", "hello").returncode == 0
        status, out, err = proxy.end()
    assert status == 130
    shown = [json.loads(line) for line in out.splitlines()]
    produced = next(one for one in shown if one["api"] == "Produce")
    assert produced["latency_ms"] >= 30
    assert [finding["kind"] for finding in produced["findings"]] == ["injected-fault"]
    assert rule in produced["findings"][0]["text"]
    assert re.search(rf"\d connections? · {len(shown)} exchanges · 0 missing responses", err.splitlines()[-1])
    assert [one.correlation_id for one in kdbg.read_capture(saved)] == [one["correlation_id"] for one in shown]
    assert saved.stat().st_mode & 0o777 == 0o600
    begun, done = map(json.loads, log.read_text().splitlines())
    assert begun == {"seed": 7, "rules": [rule]}
    assert (done["api"], done["correlation_id"], done["fault"]) == ("Produce", produced["correlation_id"], rule)


def test_the_brokers_addresses_are_shown_and_the_proxys_told() -> None:
    with proxying("-f", "json", "--api", "metadata") as proxy:
        answered = send(proxy.address, "metadata", format="json")
        told = {broker["port"] for broker in json.loads(answered.stdout)["response"]["body"]["brokers"]}
        _, out, err = proxy.end()
    shown = {broker["port"] for broker in json.loads(out.splitlines()[-1])["response"]["body"]["brokers"]}
    stands = dict(re.findall(r"127\.0\.0\.1:(\d+) for broker 127\.0\.0\.1:(\d+)", err))
    assert int(proxy.address.rpartition(":")[2]) in told
    assert told.isdisjoint(shown)
    assert {int(port) for port in stands} <= told | shown


def test_a_certificate_is_made_that_clients_can_trust(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    authority = tmp_path / "authority.pem"
    with proxying("--listen-ca", str(authority)) as proxy:
        assert "Metadata" in send(proxy.address, "metadata", "--ca", str(authority)).stdout
        assert "not trusted" in send(proxy.address, "metadata", "--tls").stderr
        proxy.end()
    assert authority.read_bytes().startswith(b"-----BEGIN CERTIFICATE-----")


def test_without_decoding_nothing_is_shown() -> None:
    with proxying("--no-decode") as proxy:
        answered = send(proxy.address, "metadata")
        assert "trailing-bytes" in answered.stdout, answered.stderr  # a fault of the mock cluster's
        status, out, err = proxy.end()
    assert (status, out) == (130, "")
    assert "proxied 1 connection" in err


def test_a_reader_that_goes_away_ends_it() -> None:
    with proxying("-f", "tree") as proxy:
        assert proxy.process.stdout is not None
        proxy.process.stdout.close()
        proxy.process.stdout = None
        send(proxy.address, "metadata")
        assert proxy.process.wait(TIMEOUT) in (0, 1, 141)


def test_a_reader_that_stands_still_does_not_hold_up_clients() -> None:
    with proxying("-f", "hex") as proxy:
        for _ in range(3):  # more than the pipe to us holds, and nobody reads it
            done = send(proxy.address, "produce", "--topic", "orders", "--value", "x" * 90_000, "--repeat", "9")
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-b", "localhost:9092", "--fault", "Fetch"], "use API: ACTION"),
        (["-b", "localhost:9092", "--faults", "/none-such"], "/none-such"),
        (["-b", "localhost:9092", "-l", "203.0.113.1:19092"], "cannot listen on"),
        (["-b", "localhost:x"], "invalid broker address 'localhost:x'; the port"),
        (["-b", "localhost:9092", "--listen-cert", "/none-such"], "/none-such"),
        (["-b", "localhost:9092", "--write", "/none-such/x.pcap"], "cannot be written"),
        ([], "no broker given; use --broker"),
    ],
)
def test_what_cannot_be_is_one_line(arguments: list[str], said: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "KDBG_BROKER"}
    done = subprocess.run(
        [sys.executable, "-m", "kdbg", "proxy", *arguments],
        capture_output=True, text=True, timeout=TIMEOUT, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert len([line for line in done.stderr.splitlines() if line.startswith("kdbg:")]) == 1
