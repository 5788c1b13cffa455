"""`kdbg watch` on real traffic of librdkafka's on loopback, beside tcpdump."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from confluent_kafka import Producer

from kdbg.ui.cli.watch import command

from ..cli.calls import COMMAND, ENVIRONMENT, call
from ..cli.test_watching import waits_to_write
from ..client.certificates import Authority
from ..recording.tcpdump import recording
from .watches import names, port, produce

pytestmark = pytest.mark.usefixtures("capturing")
COUNT = int(os.environ.get("KDBG_WATCHED", "3000"))
"""Exchanges of the test at full speed, at least."""


def descriptors(process: int) -> int:
    """How many files a process has open."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def test_an_exchange_is_there_while_nothing_more_comes(watching: Any, broker: str) -> None:
    watch = watching("--port", port(broker))
    assert watch.first == f"kdbg: capturing on lo (tcp port {port(broker)}); press Ctrl-C to stop\n"
    call("send", "metadata", "--broker", broker, "--topic", "orders")
    while watch.line()["api"] != "Metadata":
        pass
    status, left, said = watch.end()
    assert (status, left) == (130, [])
    assert said.endswith(" · no packets lost\n")


@pytest.mark.skipif(which("tcpdump") is None, reason="tcpdump is not installed")
def test_it_sees_what_tcpdump_sees(watching: Any, broker: str, tmp_path: Path) -> None:
    """Of librdkafka at full speed; what it writes has the same packets."""
    dumped, written = tmp_path / "tcpdump.pcap", tmp_path / "kdbg.pcapng"
    watch = watching("--port", port(broker), "--write", written)
    with recording(dumped, [int(port(broker))], nanoseconds=True):
        produce(broker, COUNT)
    status, seen, said = watch.end()
    assert status == 130
    assert said.splitlines()[-1].endswith(" · no packets lost")
    wanted = call("decode", dumped, "-f", "json")
    assert names(seen)["Produce"] >= COUNT
    assert names(seen) == names(wanted.lines)
    again = call("decode", written, "-f", "json")
    assert names(again.lines) == names(seen)
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


def test_all_interfaces_have_each_packet_once(watching: Any, broker: str) -> None:
    watch = watching("-i", "any", "--port", port(broker))
    produce(broker, 50)
    _, seen, said = watch.end()
    assert names(seen)["Produce"] == 50
    assert "retransmi" not in said


def test_json_names_the_processes_at_both_ends(watching: Any, broker: str) -> None:
    from confluent_kafka import Producer

    watch, producer = watching("--port", port(broker), "--api", "produce"), Producer({"bootstrap.servers": broker})
    for _ in range(100):  # they are known a moment after the connection
        producer.produce("orders", b"x")
        assert producer.flush(60) == 0
        connection = watch.line()["connection"]
        if "processes" in connection:
            break
        threading.Event().wait(0.05)
    ends = connection["processes"]
    assert set(ends) == {"client", "broker"}
    for end in ends.values():
        assert end is not None
        assert (end["pid"], set(end)) == (os.getpid(), {"pid", "name", "container", "pod"})


def test_a_limit_ends_it(watching: Any, broker: str) -> None:
    watch = watching("--port", port(broker), "--limit", 3)
    produce(broker, 10)
    out, _ = watch.process.communicate(timeout=60)
    assert watch.process.returncode in (0, 1)  # what the mock answers is odd here and there
    assert len(out.splitlines()) == 3


def test_who_reads_may_go(watching: Any, broker: str) -> None:
    """As `head` does: kdbg ends with the next exchange, and says nothing of it."""
    watch = watching("--port", port(broker))
    watch.stdout.close()
    produce(broker, 10)
    said = watch.process.stderr.read().decode()
    assert watch.process.wait(60) == 0
    assert [line for line in said.splitlines() if not line.startswith("kdbg: c")] == []


def test_a_ring_of_files(watching: Any, broker: str, tmp_path: Path) -> None:
    """The oldest go; what is left can be read each for itself, and is no larger than was asked for."""
    (tmp_path / "night-000007.pcapng").write_bytes(b"of an earlier run")
    watch = watching("--port", port(broker), "--write", tmp_path / "night.pcapng", "--rotate", "64KiB*3")
    produce(broker, 4000)
    _, seen, said = watch.end()
    files = sorted(tmp_path.glob("night-*.pcapng"))
    assert len(files) == 4
    assert files[0].read_bytes() == b"of an earlier run"
    assert f"kdbg: wrote {files[1]} to {files[3]}" in said
    kept = []
    for path in files[1:]:
        read = call("decode", path, "-f", "json")
        assert path.stat().st_size <= 64 << 10 or " 1 packet " in f" {read.err}"  # which may be that large on loopback
        kept.append(names(read.lines)["Produce"])
    assert min(kept) > 0
    assert sum(kept[:-1]) > 50, "files that are full, but where the next packet is large; the last has just begun"
    assert sum(kept) < 4000 <= names(seen)["Produce"]


def test_nobody_reads_and_nothing_is_held_up(watching: Any, broker: str, tmp_path: Path) -> None:
    """The pipe behind kdbg is not read at all: what is captured is written all the same."""
    written = tmp_path / "kdbg.pcapng"
    watch = watching("--port", port(broker), "--write", written)
    produce(broker, 3000)
    while not waits_to_write(watch.process.pid):
        pass
    before = descriptors(watch.process.pid)
    watch.process.send_signal(signal.SIGINT)
    while descriptors(watch.process.pid) == before:  # until it has told the process that captures to end
        pass
    watch.process.send_signal(signal.SIGINT)
    out, err = watch.process.communicate(timeout=60)
    assert watch.process.returncode == 130
    assert names(call("decode", written, "-f", "json").lines)["Produce"] == 3000
    assert out.count(b"\n") < 3000
    assert "packets not shown" in err.decode()


def test_a_screen_that_stands_still_for_a_while_misses_nothing(watching: Any, broker: str) -> None:
    """More than memory holds waits in temporary files: 160 MB here, and 64 MB are what memory holds."""
    watch = watching("--port", port(broker), "-f", "summary")
    watch.process.send_signal(signal.SIGSTOP)
    producer = Producer({"bootstrap.servers": broker, "batch.num.messages": 1, "message.max.bytes": 1 << 20})
    for _ in range(180):
        producer.produce("orders", os.urandom(900_000))
    assert producer.flush(60) == 0
    watch.process.send_signal(signal.SIGCONT)
    watch.process.send_signal(signal.SIGINT)
    out, err = watch.process.communicate(timeout=60)
    assert sum(b" Produce " in line for line in out.splitlines()) == 180
    assert "no packets lost" in err.decode()


def test_without_the_right_a_line_says_what_to_do() -> None:
    """As root, but for the one right."""
    drop = "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 13, 0, 0, 0); os.execv(sys.executable, sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", drop, *COMMAND, "watch", "-i", "lo"], capture_output=True, env=ENVIRONMENT, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("kdbg: lo: no permission to capture packets; use sudo kdbg watch")
    assert "setcap" in line
    assert "kdbg proxy" in line


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["-i", "nowhere"], "kdbg: nowhere: no such interface; use one of "),
        (["-i", "lo", "--bpf", "tcp prot 9092"], "kdbg: lo: --bpf: Failed to compile filter expression"),
        (["-i", "lo", "--write", "/nowhere/x.pcapng"], "kdbg: lo: /nowhere/x.pcapng: cannot be written: No such file"),
        (["--rotate", "1MB*3"], "kdbg: --rotate requires --write"),
        (
            ["--rotate", "1MB", "--write", "x"],
            "kdbg: invalid value for '--rotate': not SIZE*N: '1MB'; use SIZE*N, such as",
        ),
        (
            ["--rotate", "1kB*3", "--write", "x"],
            "kdbg: invalid value for '--rotate': invalid size '1kB': use a value such as 512MB or 4GB, at least 64KB",
        ),
        (["--buffer", "much"], "kdbg: invalid value for '--buffer': invalid size 'much'"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_in_a_line(arguments: list[str], problem: str) -> None:
    outcome = call("watch", *arguments)
    assert outcome.status == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith(problem)


def test_its_default_filter_is_tcp() -> None:
    assert {option.name: option.default for option in command.params}["format"] == "summary"


def test_it_says_what_goes_wrong_and_once_more_at_the_end(watching: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = server.getsockname()[:2]
        watch = watching("--port", where[1], "--diagnose", "-f", "json")
        with socket.create_connection(where) as client, server.accept()[0] as accepted:
            client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            accepted.recv(100)
        first = watch.line()
        status, left, _ = watch.end()
    assert (first["cause"], first["who"]["broker"]) == ("http-to-kafka-port", f"127.0.0.1:{where[1]}")
    assert [one["cause"] for one in left] == ["http-to-kafka-port"]
    assert status == 130


def test_what_came_too_soon_for_another_look_is_looked_at_when_nothing_more_comes(
    watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = "import sys; from kdbg.ui.cli import run, ledgers; ledgers.SHARE = 500; sys.exit(run(sys.argv[1:]))"
    monkeypatch.setattr("tests.live.watches.COMMAND", [sys.executable, "-c", slow])
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = server.getsockname()[:2]
        watch = watching("--port", where[1], "--diagnose", "-f", "json")
        causes = []
        for sent in (b"GET /metrics HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\xfa\x01" + bytes(249)):
            with socket.create_connection(where) as client, server.accept()[0] as accepted:
                client.sendall(sent)
                accepted.recv(1000)
            causes.append(watch.line()["cause"])
        watch.end()
    assert causes == ["http-to-kafka-port", "tls-client-to-plaintext-listener"]


def test_it_knows_what_tls_tells_of_a_connection_without_exchanges(watching: Any, tmp_path: Path) -> None:
    """The name in the certificate, and the alert of the client that does not trust it: TLS 1.2 sends both in plain."""
    server = Authority(tmp_path).server(newest=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        where = listener.getsockname()[:2]
        watch = watching("--port", where[1], "--diagnose")
        with socket.create_connection(where) as client, listener.accept()[0] as accepted:
            serves = threading.Thread(target=handshake, args=(server, accepted))
            serves.start()
            with pytest.raises(ssl.SSLCertVerificationError):
                ssl.create_default_context().wrap_socket(client, server_hostname="localhost")
            serves.join()
        _, causes, _ = watch.end()
    cause = causes[-1]  # it is likely when the alert comes, and certain at the end
    assert cause["cause"] == "tls-untrusted-certificate"
    assert cause["certainty"] == "certain"
    assert "TLS alert unknown_ca" in cause["sentence"]


def handshake(context: ssl.SSLContext, accepted: socket.socket) -> None:
    with suppress(ssl.SSLError, ConnectionError):
        context.wrap_socket(accepted, server_side=True)
