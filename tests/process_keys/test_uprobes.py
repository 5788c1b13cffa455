"""`--uprobes`: the kernel reports the secrets of OpenSSL with symbols: Node's, and librdkafka's in confluent-kafka."""

from __future__ import annotations

import _ssl
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kdbg.live.elf import ElfFile
from kdbg.live.uprobes import line_of, probe_of

from ..brokers.waiting import until
from ..cases import by_day
from ..cli.calls import COMMAND, ENVIRONMENT, call
from ..client.certificates import Authority
from ..live.conftest import capturing
from .running import GUARD, killed
from .short_talks import short_talks

__all__ = ["capturing"]
MOUNTED = 'mount -t tracefs tracefs /sys/kernel/tracing && exec "$@"'
IN_TRACEFS = ("unshare", "--mount", "sh", "-c", MOUNTED, "sh")
"""Runs a command that has tracefs, which others do not see."""
NODE = """
const tls = require("tls");
function connect() {
    const options = {port: PORT, host: "127.0.0.1", rejectUnauthorized: false, maxVersion: "VERSION"};
    const request = Buffer.from("0000000e00120000000000070004" + "6c6f6f70", "hex");
    const socket = tls.connect(options, () => socket.write(request));
    socket.on("data", () => { socket.end(); setTimeout(connect, 100); });
}
connect();
"""
LIBRDKAFKA = """
import confluent_kafka.admin as admin
settings = {"bootstrap.servers": "127.0.0.1:PORT", "security.protocol": "SSL", "log_level": 0,
            "enable.ssl.certificate.verification": False, "reconnect.backoff.max.ms": 100}
client = admin.AdminClient(settings)
while True:
    client.poll(1)
"""
EVENT = (
    ' node-4711 [001] d..1. 12.5: s0: (0x1a709c0) label="CLIENT_TRAFFIC_SECRET_0" size=32 '
    "random={0x807060504030201,0x0,0x0,0xff00000000000000} secret={0x1,0x2,0x3,0x4,0x5,0x6}"
)


@pytest.fixture(scope="module")
def tracefs() -> None:
    """Skip where no process may be probed."""
    if os.geteuid() != 0:
        pytest.skip("only root may probe processes")
    tried = subprocess.run([*IN_TRACEFS, "test", "-e", "/sys/kernel/tracing/uprobe_events"], check=False)
    if tried.returncode:
        pytest.skip("this kernel or container has no tracefs with uprobes")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@contextmanager
def running(*command: str) -> Iterator[int]:
    with killed(subprocess.Popen([*GUARD, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)) as process:
        yield process.pid


def program(name: str, port: int, version: str) -> tuple[str, ...]:
    """The command of a client."""
    if name == "librdkafka":
        return sys.executable, "-c", LIBRDKAFKA.replace("PORT", str(port))
    if (node := shutil.which("node")) is None:
        pytest.skip("node is not installed")
    if not probe_of(ElfFile(Path(node).resolve())):
        pytest.skip("this node has another OpenSSL, or no symbols")
    return node, "-e", NODE.replace("PORT", str(port)).replace("VERSION", version)


@pytest.mark.usefixtures("capturing", "tracefs")
@pytest.mark.parametrize(
    ("name", "version", "end"),
    by_day([
        ("node", "TLSv1.2", signal.SIGTERM), ("node", "TLSv1.3", signal.SIGINT),
        ("librdkafka", "TLSv1.3", signal.SIGINT), ("librdkafka", "TLSv1.2", signal.SIGTERM),
    ], 2),
)  # fmt: skip
def test_keys_are_logged_and_nothing_is_left(
    name: str, version: str, end: signal.Signals, authority: Authority, tmp_path: Path
) -> None:
    keys, events = tmp_path / "keys.log", "/sys/kernel/tracing/uprobe_events"
    watch = [*COMMAND, "tls-keys", "-i", "lo", "-o", str(keys), "--uprobes", "--pid"]
    ended = f'{MOUNTED.replace("exec ", "")}; echo "status $?"; cat {events}; ls /sys/kernel/tracing/instances'
    with (
        short_talks(authority.server(newest=version == "TLSv1.3"), asked := threading.Event()) as port,
        running(*program(name, port, version)) as pid,
    ):
        assert asked.wait(30), "the client does not start"
        command = ["unshare", "--mount", "sh", "-c", ended, "sh", *watch, str(pid)]
        pipe = subprocess.PIPE
        logs = subprocess.Popen(command, env=ENVIRONMENT, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
        with killed(logs) as logging:
            assert logging.stderr is not None
            said = logging.stderr.readline()
            assert said.startswith("kdbg: probing OpenSSL in /"), said
            until(lambda: len(labels(keys)) >= (2 if version == "TLSv1.3" else 1), lambda: said)
            kdbg = int(Path(f"/proc/{logging.pid}/task/{logging.pid}/children").read_text().split()[0])
            os.kill(kdbg, end)
            out, _ = logging.communicate(timeout=30)
    assert f"_{pid}" not in out  # no event and no instance
    assert "status 130" in out or end is signal.SIGTERM
    assert labels(keys) >= ({"CLIENT_TRAFFIC_SECRET_0"} if version == "TLSv1.3" else {"CLIENT_RANDOM"})


def labels(keys: Path) -> set[str]:
    return {line.split()[0] for line in keys.read_text().splitlines() if line[0] != "#"} if keys.exists() else set()


def test_an_event_becomes_a_line() -> None:
    random, secret = "0102030405060708" + "00" * 23 + "ff", "".join(f"{each:02x}" + "00" * 7 for each in range(1, 5))
    assert line_of(EVENT) == f"CLIENT_TRAFFIC_SECRET_0 {random} {secret}"
    assert line_of(EVENT.replace("CLIENT_TRAFFIC_SECRET_0", "EXPORTER_SECRET")) == ""
    assert line_of("CPU:1 [LOST 3 EVENTS]") == ""


def test_offsets_lead_to_the_code_of_functions() -> None:
    file = Path(_ssl.__file__)
    if (nm := shutil.which("nm")) is None:
        pytest.skip("nm (binutils) is not installed")
    listed = subprocess.run([nm, "-D", file], capture_output=True, text=True, check=True).stdout
    fields = [line.split() for line in listed.splitlines() if " T " in line]
    addresses = {name: int(address, 16) for address, _, name in fields if name.startswith("PyInit")}
    assert addresses
    found = ElfFile(file).functions(addresses)
    assert found.keys() == addresses.keys()
    with file.open("rb") as library:  # what the addresses have in this process, which maps the library
        for name, place in found.items():
            library.seek(place)
            assert library.read(16) == ctypes.string_at(getattr(ctypes.PyDLL(str(file)), name), 16)
    assert ElfFile(file).functions({"no_such_function"}) == {}


def test_what_is_not_an_elf_file(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("#!/bin/sh\n" * 10)
    with pytest.raises(ValueError, match="not an ELF file"):
        ElfFile(tmp_path / "text")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root comes so far")
def test_where_tracefs_is_missing(tmp_path: Path) -> None:
    if any(Path("/sys/kernel", name, "uprobe_events").exists() for name in ("tracing", "debug/tracing")):
        pytest.skip("tracefs is mounted")
    outcome = call("tls-keys", "--pid", os.getpid(), "-", "--uprobes", "-o", tmp_path / "keys.log")
    assert outcome.status == 2
    assert "--uprobes needs tracefs" in outcome.err


@pytest.mark.usefixtures("tracefs")
def test_a_process_without_openssl() -> None:
    with running("sleep", "60") as pid:
        command = [*IN_TRACEFS, *COMMAND, "watch", "--pid", str(pid), "--uprobes"]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert f"OpenSSL's ssl_log_secret is not found in process {pid}" in done.stderr
