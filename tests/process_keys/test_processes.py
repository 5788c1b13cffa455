"""Keys in the memory of real programs: of clients and a broker, live, in captures, and where they cannot be had."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.capture.process_memory import ProcessMemory
from kdbg.errors import InputError
from kdbg.streams.tls.record import SealedRecord
from kdbg.streams.tls.session import HANDSHAKE, TRAFFIC, TlsSample
from kdbg.views.reading import process_keys
from kdbg.views.reading.process_keys import check, lines_of, search

from ..brokers.pool import needed
from ..cases import by_day
from . import lab

if os.geteuid() or shutil.which("tcpdump") is None:
    pytest.skip("recording and reading other processes' memory needs root, and tcpdump", allow_module_level=True)

CLIENTS = {"kafka-python": "1.3", "java-17": "1.2"}
"""Clients, and the version of TLS that each is to use."""
WATCHED = 5.0
RECORDED = 2


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[lab.LabBroker, dict[str, lab.LabClient]]]:
    """A broker, and clients that were connected before anything is recorded."""
    with needed(), ExitStack() as stack:
        broker = stack.enter_context(lab.broker())
        clients = {name: stack.enter_context(lab.client(broker, name, tls=tls)) for name, tls in CLIENTS.items()}
        yield broker, clients


@pytest.fixture(scope="module")
def late(running: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture in which no connection begins."""
    path = tmp_path_factory.mktemp("late") / "late.pcap"
    record(path, running[0].port)
    return path


def record(path: Path, port: int, seconds: float = RECORDED) -> None:
    with recording(path, port):
        time.sleep(seconds)


@contextmanager
def recording(path: Path, port: int) -> Iterator[None]:
    """Record what is sent to and from a port while the block lasts."""
    command = ["tcpdump", "-i", "lo", "-U", "-w", str(path), "tcp", "port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        process.stderr.readline()  # it listens
        yield
        process.send_signal(signal.SIGINT)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kdbg", *map(str, arguments)], check=False, capture_output=True, text=True, timeout=120
    )


def tshark(path: Path, keys: Path, port: int) -> str:
    """What Wireshark says of the Kafka messages in a capture."""
    options = ["-o", f"tls.keylog_file:{keys}", "-d", f"tls.port=={port},kafka", "-Y", "kafka"]
    return subprocess.run(["tshark", "-r", str(path), *options], check=False, capture_output=True, text=True).stdout


def watched(pid: int, *options: str) -> tuple[list[dict[str, Any]], str]:
    """What `kdbg watch --pid` shows in some seconds, as JSON, and what it says."""
    command = [sys.executable, "-m", "kdbg", "watch", "-i", "lo", "--pid", str(pid), "-f", "json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(WATCHED)
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=60)
    return [json.loads(line) for line in shown.splitlines()], said


def logged(broker: lab.LabBroker) -> dict[str, set[int]]:
    """The correlation ids that the broker logged, by the client's end of a connection."""
    found: dict[str, set[int]] = defaultdict(set)
    for line in broker.request_log.read_text(errors="replace").splitlines():
        start = line.find("{")
        if start >= 0:
            said = json.loads(line[start:])
            found[said["connection"].split("-")[1]].add(said["requestHeader"]["correlationId"])
    return found


@pytest.mark.parametrize("who", by_day([*CLIENTS, "broker"], 2))
def test_watch_shows_what_the_broker_logged_of_connections_that_were_open_before(running: Any, who: str) -> None:
    broker, clients = running
    rows, said = watched(broker.pid if who == "broker" else clients[who].pid)
    shown: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        known_to_log = row["connection"].get("tls") and row["api_key"] not in (17, 18, 36)
        if row["request"] and row["response"] and known_to_log:
            shown[row["connection"]["client"]].add(row["correlation_id"])
    assert len(shown) >= 2, said
    assert sum(map(len, shown.values())) > 30, said
    known = logged(broker)
    for client, numbers in shown.items():
        assert {one for one in known[client] if min(numbers) < one < max(numbers)} <= numbers
        assert numbers <= known[client]
    assert f"searching the memory of {'java' if who != 'kafka-python' else 'python'}" in said


def test_a_capture_is_decrypted_while_the_process_is_alive(running: Any, late: Path) -> None:
    broker, clients = running
    plain = list(kdbg.read(late))
    assert not plain
    for pid, least in ((clients["java-17"].pid, 10), (broker.pid, 20)):
        exchanges = list(kdbg.read(late, pid=[pid]))
        assert len(exchanges) >= least
        assert all(one.peers.tls is not None for one in exchanges)
    versions = {one.peers.tls.version for one in exchanges if one.peers.tls}
    assert versions == {"TLS 1.2", "TLS 1.3"}


def test_keys_are_written_to_a_file_of_its_owner_alone(running: Any, late: Path, tmp_path: Path) -> None:
    broker, _ = running
    keys = tmp_path / "keys.log"
    found = run("tls-keys", "--pid", broker.pid, late, "-o", keys)
    assert found.returncode == 0, found.stderr
    assert keys.stat().st_mode & 0o777 == 0o600
    first, *lines = keys.read_text().splitlines()
    assert first.startswith(f"# TLS keys out of the memory of java {broker.pid}")
    secrets = [line.split()[-1] for line in lines]
    assert len(secrets) >= 8
    assert not any(secret in found.stderr + found.stdout for secret in secrets), "no key reaches the terminal"
    assert len(list(kdbg.read(late, tls_keys=keys))) == len(list(kdbg.read(late, pid=[broker.pid])))


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_wireshark_reads_the_keys_of_a_handshake(running: Any, tmp_path: Path) -> None:
    broker, _ = running
    path, labels = tmp_path / "whole.pcap", {"1.2": {"CLIENT_RANDOM"}, "1.3": {*TRAFFIC, *HANDSHAKE}}
    with ExitStack() as stack:
        with recording(path, broker.port):
            clients = {tls: stack.enter_context(lab.client(broker, "kafka-python", tls=tls)) for tls in labels}
            time.sleep(1)
        for tls, client in clients.items():
            keys = tmp_path / f"keys-{tls}.log"
            found = run("tls-keys", "--pid", client.pid, path, "-o", keys)
            assert found.returncode == 0, found.stderr
            assert {line.split()[0] for line in keys.read_text().splitlines()[1:]} == labels[tls]
            assert len(tshark(path, keys, broker.port).splitlines()) > 5


def test_a_process_without_these_connections_has_no_keys(running: Any, late: Path) -> None:
    found = run("decode", late, "--pid", os.getpid())
    assert found.returncode == 2
    assert "TLS connections is open in the process now" in found.stderr
    assert lines_of(str(late), [os.getpid()]).opened == 0


def test_a_process_that_is_not_there() -> None:
    with pytest.raises(InputError, match="--pid 4194303: there is no such process"):
        check([4_194_303])


def test_a_process_of_another_user() -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.setresuid(65534, 65534, 65534)
        try:
            check([os.getppid()])
        except InputError as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    said = os.read(reader, 4096).decode()
    os.close(reader)
    assert said.startswith(f"--pid {os.getpid()}: ")
    assert "CAP_SYS_PTRACE" in said


def test_a_process_that_ends_while_its_memory_is_read() -> None:
    with subprocess.Popen([sys.executable, "-c", "x = b'x' * (1 << 26); print(flush=True); input()"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        with ProcessMemory(process.pid) as memory:
            chunks = memory.chunks(1024)
            assert next(chunks)
            process.kill()
            process.wait()
            assert len(list(chunks)) < 32


def test_what_was_never_written_to_is_not_read() -> None:
    reserve = "import mmap; m = mmap.mmap(-1, 1 << 33); m[:4096] = bytes(4096); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", reserve], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        status = Path(f"/proc/{process.pid}/status")
        before = resident(status)
        with ProcessMemory(process.pid) as memory:
            size = sum(len(data) for _, data in memory.chunks(1024))
        assert size < 1 << 26
        assert resident(status) - before < 1024, "kB"
        process.kill()


def test_a_long_search_tells_how_far_it_is_and_keeps_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_keys, "OFTEN", 1 << 28)  # to search more than a gigabyte takes twenty seconds
    sealed = SealedRecord(23, b"\3\3", os.urandom(80))
    sample = TlsSample((("127.0.0.1", 1), ("127.0.0.1", 2)), ((sealed,), (sealed,)))
    large = "x = b'x' * (3 << 27); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", large], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        said: list[str] = []
        before = resident(Path("/proc/self/status"))
        assert not search(process.pid, [sample], thorough=False, whole=False, tell=said.append)
        assert resident(Path("/proc/self/status")) - before < 200_000, "kB"
        process.kill()
    assert len(said) == 1
    assert re.fullmatch(rf"searched 0\.[23] of 0\.4 GiB of the memory of python\S* {process.pid}", said[0])


def resident(status: Path) -> int:
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmRSS"))


@pytest.mark.nightly  # by day keys are written while clients connect in test_uprobes.py, and read by Wireshark above
@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_keys_are_logged_for_wireshark_while_clients_connect(running: Any, tmp_path: Path) -> None:
    broker, _ = running
    path, keys = tmp_path / "live.pcap", tmp_path / "keys.log"
    keys.write_text("# kept\n")
    command = [sys.executable, "-m", "kdbg", "tls-keys", "--pid", str(broker.pid), "-i", "lo", "-o", str(keys)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as logging, recording(path, broker.port):
        assert logging.stderr is not None
        assert "capturing on lo" in logging.stderr.readline()
        with lab.client(broker, "kafka-python", tls="1.3"):
            time.sleep(WATCHED)
            logging.send_signal(signal.SIGINT)
            _, said = logging.communicate(timeout=60)
    assert keys.read_text().startswith("# kept\n# TLS keys")
    shown = tshark(path, keys, broker.port)
    assert len(shown.splitlines()) > 5, said


def test_exports_of_metrics_are_decrypted_too(running: Any, tmp_path: Path) -> None:
    clients = running[1]
    spans = tmp_path / "spans.jsonl"
    rows, said = watched(clients["kafka-python"].pid, "--otlp", str(spans))
    assert any(row["connection"].get("tls") for row in rows), said
