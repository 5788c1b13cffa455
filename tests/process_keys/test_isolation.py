"""Keys of processes where kdbg has few rights or little memory: of the same user, in a container, of a large one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from ..cases import by_day
from ..cli.calls import COMMAND, ENVIRONMENT
from ..client.certificates import Authority
from ..live.conftest import capturing
from ..recording.tcpdump import recording
from .running import AS_NOBODY, GUARD, killed, open_for_all
from .short_talks import short_talks

__all__ = ["capturing"]
CLIENT = """
import os, socket, ssl, sys, time
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
keep = os.urandom(int(sys.argv[3]) << 20)
sock = context.wrap_socket(socket.create_connection((sys.argv[1], int(sys.argv[2]))))
print(flush=True)
while True:
    sock.sendall(bytes.fromhex("0000000e00120000000000070004") + b"talk")
    sock.recv(100)
    time.sleep(0.05)
"""
MEASURED = """
import atexit, runpy, sys
status = lambda: open("/proc/self/status").read()
atexit.register(lambda: print("peak", status().partition("VmHWM:")[2].split()[0], file=sys.stderr))
runpy.run_module("kdbg", run_name="__main__", alter_sys=True)
"""
"""Runs kdbg, and prints the kB that it had at its peak."""
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs programs as others, and in namespaces")


@contextmanager
def talking(place: tuple[str, ...], host: str, port: int, size: int = 0) -> Iterator[int]:
    """Run a client with one connection and so many MiB of memory in a place; give its pid, as this process sees it."""
    command = [*GUARD, *place, sys.executable, "-c", CLIENT, host, str(port), str(size)]
    with killed(subprocess.Popen(command, stdout=subprocess.PIPE)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield innermost(process.pid)


def innermost(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return innermost(int(children[0])) if children else pid


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def test_the_same_user_needs_no_rights(authority: Authority, tmp_path: Path) -> None:
    """The cipher is one whose keys stand without a schedule, and the handshake is not captured."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and scope.read_text().strip() != "0":
        pytest.skip("Yama allows only debugging of child processes")
    open_for_all(tmp_path)
    late, context = tmp_path / "late.pcap", authority.server(newest=False)
    context.set_ciphers("CHACHA20")
    with short_talks(context) as port, talking(AS_NOBODY, "127.0.0.1", port) as pid:
        with recording(late, [port]):
            time.sleep(1)
        command = [*AS_NOBODY, *COMMAND, "decode", str(late), "--pid", str(pid), "-f", "json"]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) > 10, done.stderr
    assert {row["api"] for row in rows} == {"ApiVersions"}
    assert {row["connection"]["tls"]["cipher"] for row in rows} == {"CHACHA20_POLY1305"}


@contextmanager
def control_group(pid: int) -> Iterator[str]:
    """Put a process into a control group that is called as docker calls them; give its name."""
    name = f"{pid:064x}"
    for parent in ("pids", "unified", ""):
        group = Path("/sys/fs/cgroup", parent, name)
        with suppress(OSError):
            group.mkdir()
            (group / "cgroup.procs").write_text(str(pid))
            break
    else:
        pytest.skip("no control group can be made here")
    try:
        yield name
    finally:
        (group.parent / "cgroup.procs").write_text(str(pid))
        group.rmdir()


@pytest.mark.usefixtures("capturing")
@pytest.mark.skipif(shutil.which("ip") is None, reason="ip (iproute2) is not installed")
@pytest.mark.parametrize("option", by_day(["--container", "--pid"], 2))
def test_a_process_in_a_container(authority: Authority, option: str) -> None:
    """It has pids, mounts and a network of its own."""
    name = f"kdbg{os.getpid()}"
    setup = [
        f"ip netns add {name}",
        f"ip link add {name}a type veth peer name {name}b netns {name}",
        f"ip addr add 198.18.255.1/30 dev {name}a",
        f"ip link set {name}a up",
        f"ip -n {name} addr add 198.18.255.2/30 dev {name}b",
        f"ip -n {name} link set {name}b up",
    ]
    container = ("ip", "netns", "exec", name, "unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    with ExitStack() as undo:
        undo.callback(subprocess.run, ["ip", "netns", "delete", name], check=False)
        for command in setup:
            if subprocess.run(command.split(), check=False, capture_output=True).returncode:
                pytest.skip(f"not possible here: {command}")
        port = undo.enter_context(short_talks(authority.server(), host="198.18.255.1"))
        pid = undo.enter_context(talking(container, "198.18.255.1", port))
        named = str(pid) if option == "--pid" else undo.enter_context(control_group(pid))
        watch = [*COMMAND, "watch", "-i", f"{name}a", option, named, "-f", "json"]
        pipe = subprocess.PIPE
        watching = subprocess.Popen(watch, env=ENVIRONMENT, stdout=pipe, stderr=pipe, text=True)
        with killed(watching) as process:
            assert process.stdout is not None
            rows = [json.loads(process.stdout.readline()) for _ in range(5)]
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
    assert {row["connection"]["tls"]["version"] for row in rows} == {"TLS 1.3"}
    assert "searching the memory of python" in said
    assert (named in str(rows[-1]["connection"]["processes"])) is True


def test_a_search_takes_no_more_memory_than_it_may(authority: Authority, tmp_path: Path) -> None:
    late, peaks = tmp_path / "late.pcap", list[int]()
    with short_talks(authority.server()) as port, talking((), "127.0.0.1", port, 300) as pid:
        with recording(late, [port]):
            time.sleep(0.5)
        for option in ("--max-memory=1GB", "--max-memory=64MB"):
            command = [sys.executable, "-c", MEASURED, "decode", str(late), "--pid", str(pid), option]
            done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60)
            assert done.stdout.count("ApiVersions v0") > 5, done.stderr
            peaks.append(int(done.stderr.split()[-1]))
    assert peaks[0] > 90_000
    assert peaks[1] < 75_000
