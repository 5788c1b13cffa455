"""A client that uses one source port for a hundred connections: everyone counts the same exchanges of all of them.

That is the broker in its request log, the proxy in what it shows, kdbg and tshark in what the proxy or tcpdump wrote.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import kdbg

from ..cases import by_day
from ..recording.tcpdump import recording
from ..traffic import framed, header_bytes
from .broker import Broker
from .loggers import request_log

CONNECTIONS = 100
EACH = 3
"""Exchanges of each connection; the last is a Produce without acks to a partition that does not exist."""
PATIENCE = 60
RESET = struct.pack("ii", 1, 0)
"""The linger option of a socket that is closed by a RST."""
HANG_UP: dict[str, Callable[[int], bool]] = {
    "both": lambda number: number % 2 == 0,
    "fin": lambda number: False,
    "reset": lambda number: True,
}
"""Whether the client closes its n-th connection by a RST; otherwise the broker closes it after that Produce."""


def request(api: str, version: int, number: int, client_id: str, **body: object) -> bytes:
    header = header_bytes(api, version, "request", {"correlation_id": number, "client_id": client_id})
    return framed(header + kdbg.encode(body, api=api, version=version, direction="request"))


def received(connection: socket.socket) -> bytes:
    """One response, b"" where the other end has closed the connection."""
    data = connection.recv(1 << 16)
    while data and len(data) < 4 + int.from_bytes(data[:4]):
        data += connection.recv(1 << 16)
    return data


def connect_again_and_again(port: int, source: int, client_id: str, resets: Callable[[int], bool]) -> None:
    """Open the connections one after the other, all from one source port."""
    nowhere = {"index": 9999, "records": None}
    last = {"acks": 0, "timeout_ms": 1000, "topic_data": [{"name": "nowhere", "partition_data": [nowhere]}]}
    for number in range(CONNECTIONS):
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            connection.settimeout(PATIENCE)
            connection.bind(("127.0.0.1", source))
            connection.connect(("127.0.0.1", port))
            connection.sendall(request("ApiVersions", 2, 1, client_id))
            assert received(connection)
            connection.sendall(request("Metadata", 4, 2, client_id, topics=[]))
            assert received(connection)
            if resets(number):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            else:
                connection.sendall(request("Produce", 7, 3, client_id, **last))
                assert not received(connection)


def free_port() -> int:
    """A port that no connection of this machine was given of late."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def pairs(path: Path, port: int) -> tuple[int, int]:
    """The connections that tshark sees in a file, and the responses that it has a request of."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-r", str(path), "-d", f"tcp.port=={port},kafka", "-T", "fields", "-e", "tcp.stream",
               "-e", "kafka.request_frame"]  # fmt: skip
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    streams, paired = zip(*(line.split("\t") for line in lines), strict=True)
    return len(set(streams)), sum(len(frames.split(",")) for frames in paired if frames)


def logged(broker: Broker, before: int, client_id: str, expected: int) -> int:
    """The requests of a client in the broker's log, which is written a moment after its responses."""
    end = time.monotonic() + PATIENCE
    while True:
        lines = broker.log_text()[before:].splitlines()
        found = sum("Completed request:{" in line and f'"clientId":"{client_id}"' in line for line in lines)
        if found >= expected or time.monotonic() > end:
            return found
        time.sleep(0.1)


def shown(path: Path) -> tuple[int, int]:
    """The connections and exchanges that kdbg sees in a file, all of them as they should be."""
    exchanges = list(kdbg.read(path))
    assert not [one for one in exchanges if one.all_findings() or (one.answered and one.response is None)]
    return len({one.peers.number for one in exchanges}), len(exchanges)


@pytest.mark.parametrize("how", by_day([*HANG_UP], 3))
def test_through_the_proxy(broker_4: Broker, tmp_path: Path, how: str) -> None:
    resets, name, path = HANG_UP[how], f"reused-{how}", tmp_path / "proxy.pcap"
    answered, port = 2 * CONNECTIONS, free_port()
    expected = answered + sum(not resets(number) for number in range(CONNECTIONS))
    command = [sys.executable, "-m", "kdbg", "proxy", "-b", broker_4.bootstrap, "-l", f"127.0.0.1:{port}", "-f", "json",
               "--write", str(path)]  # fmt: skip
    before = len(broker_4.log_text())
    with (
        request_log(broker_4),
        subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as proxy,
    ):
        assert proxy.stderr is not None
        assert " for broker 127.0.0.1:" in proxy.stderr.readline()
        connect_again_and_again(port, free_port(), name, resets)
        by_broker = logged(broker_4, before, name, expected)
        proxy.send_signal(signal.SIGINT)
        out, err = proxy.communicate(timeout=PATIENCE)
    by_proxy = [json.loads(line) for line in out.splitlines()]
    assert (by_broker, len(by_proxy)) == (expected, expected), err
    assert len({one["connection"]["id"] for one in by_proxy}) == CONNECTIONS
    assert shown(path) == (CONNECTIONS, expected)
    assert pairs(path, broker_4.port) == (CONNECTIONS, answered)


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not installed")
def test_as_tcpdump_captures_it(broker_4: Broker, tmp_path: Path) -> None:
    resets, name, path = HANG_UP["both"], "reused-direct", tmp_path / "direct.pcap"
    answered = 2 * CONNECTIONS
    expected = answered + CONNECTIONS // 2
    before = len(broker_4.log_text())
    with recording(path, [broker_4.port]), request_log(broker_4):
        connect_again_and_again(broker_4.port, free_port(), name, resets)
        assert logged(broker_4, before, name, expected) == expected
    exchanges = [one for one in kdbg.read(path) if one.client_id == name]
    assert len({one.peers.number for one in exchanges}) == CONNECTIONS
    assert len(exchanges) == expected
    assert not [one for one in exchanges if one.all_findings() or (one.answered and one.response is None)]
