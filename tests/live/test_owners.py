"""Who speaks: real sockets of this process and of others, and a /proc of containers, which there are none of here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdbg.exchanges.messages.peers import Process
from kdbg.live.socket_processes import Owners, process_text

from ..cli.calls import call
from .watches import port

pytestmark = pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="there is no /proc/net/tcp")
SPEAKER = (
    "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print(1, flush=True); input()"
)
ID = "3f2a" * 16
POD = "0a1b2c3d-0a1b-0a1b-0a1b-0123456789ab"


@pytest.fixture(params=[(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET6, "::")], ids=str)
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    """A socket that listens; the last one for both versions of IP, and is spoken to by IPv4."""
    family, address = request.param
    with socket.create_server((address, 0), family=family, dualstack_ipv6=address == "::") as server:
        yield server


def test_both_ends_are_found(listener: socket.socket) -> None:
    at = listener.getsockname()[1]
    host = {"::1": "::1"}.get(listener.getsockname()[0], "127.0.0.1")
    with socket.create_connection((host, at)) as client, listener.accept()[0]:
        ends = (host, client.getsockname()[1]), (host, at)
        owners = Owners()
        assert owners.look()
        for local, remote in (ends, ends[::-1]):
            found = owners.find(local, remote)
            assert found is not None
            assert (found.pid, found.name) == (os.getpid(), Path("/proc/self/comm").read_text().strip())
        assert owners.find(("127.0.0.9", 1), ("127.0.0.9", 2)) is None


def test_processes_are_told_apart_and_narrowed_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        at = server.getsockname()[1]
        speaker = subprocess.Popen([sys.executable, "-c", SPEAKER, str(at)], stdin=subprocess.PIPE)
        with server.accept()[0] as accepted:
            ends = accepted.getpeername()[:2], ("127.0.0.1", at)
            both, one, none = Owners(), Owners([speaker.pid]), Owners([1 << 30])
            for owners in (both, one, none):
                owners.look()
            found = [[owners.find(*way) for way in (ends, ends[::-1])] for owners in (both, one, none)]
        speaker.communicate(b"\n")
    pids = [[None if owner is None else owner.pid for owner in each] for each in found]
    assert pids == [[speaker.pid, os.getpid()], [speaker.pid, None], [None, None]]


def test_looking_is_held_back_unless_it_is_for_some() -> None:
    owners = Owners()
    assert owners.look()
    assert not owners.look()
    assert owners.look(at_once=True)
    some = Owners([os.getpid()])
    assert some.look()
    assert some.look()


@pytest.mark.parametrize(
    ("cgroup", "container", "pod"),
    [
        (f"0::/system.slice/docker-{ID}.scope\n", ID, ""),
        (f"12:pids:/docker/{ID}\n0::/docker/{ID}\n", ID, ""),
        (f"0::/machine.slice/libpod-{ID}.scope/container\n", ID, ""),
        (f"0::/kubepods/burstable/pod{POD}/{ID}\n", ID, POD),
        (
            f"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{POD.replace('-', '_')}.slice/"
            f"cri-containerd-{ID}.scope\n",
            ID,
            POD,
        ),
        ("0::/user.slice/user-0.slice/session-1.scope\n", "", ""),
        ("", "", ""),
    ],
)
def test_containers_and_pods(tmp_path: Path, cgroup: str, container: str, pod: str) -> None:
    """As Docker, Podman, kubelet with cgroupfs and with systemd name them."""
    made(tmp_path, 7, cgroup)
    made(tmp_path, 8, "0::/docker/" + "77" * 32)
    ends = ("127.0.0.1", 0x9C40), ("127.0.0.1", 9092)
    expected = Process(7, "java", container, pod)
    owners = Owners(proc=tmp_path)
    owners.look()
    assert owners.find(*ends) == expected
    for wanted in (container[:4], pod[:8]):
        narrowed = Owners(containers=[wanted or "77"], proc=tmp_path)
        narrowed.look()
        assert narrowed.find(*ends) == (expected if wanted else None)


def made(proc: Path, pid: int, cgroup: str) -> None:
    """A process in a /proc: with a socket, if it is the first one."""
    for folder in (proc / str(pid) / "fd", proc / str(pid) / "ns", proc / "self" / "net"):
        folder.mkdir(parents=True, exist_ok=True)
    (proc / str(pid) / "comm").write_text("java\n")
    (proc / str(pid) / "cgroup").write_text(cgroup)
    (proc / str(pid) / "ns" / "net").symlink_to("net:[1]")
    if pid == 7:
        row = "   0: 0100007F:9C40 0100007F:2384 01 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 20 4"
        (proc / "self" / "net" / "tcp").write_text(f"  sl  local_address rem_address …\n{row}\n")
        (proc / str(pid) / "fd" / "5").symlink_to("socket:[4711]")


def test_how_they_are_told() -> None:
    assert process_text(Process(7, "java")) == "java 7"
    assert process_text(Process(7, "java", ID)) == "java 7 (container 3f2a3f2a3f2a)"
    assert process_text(Process(7, "java", ID, POD)) == f"java 7 (container 3f2a3f2a3f2a, pod {POD})"


PRODUCER = """if True:
    import sys
    from confluent_kafka import Producer
    producer = Producer({"bootstrap.servers": sys.argv[1], "client.id": sys.argv[2]})
    for line in sys.stdin:  # it goes on until all is seen
        producer.produce("orders", line)
        producer.flush(60)
"""


@pytest.mark.usefixtures("capturing")
def test_connections_are_told_with_their_processes_and_chosen_by_them(watching: Any, broker: str) -> None:
    """Two clients, each in a process of its own; the broker is in this one."""
    one, other = (
        subprocess.Popen([sys.executable, "-c", PRODUCER, broker, name], stdin=subprocess.PIPE, bufsize=0)
        for name in ("one", "other")
    )
    watch = watching("--port", port(broker))
    chosen = watching("--port", port(broker), "--pid", one.pid)
    seen = list[str]()
    for client in (other, one):
        assert client.stdin is not None
        client.stdin.write(b"record\n")
    while len(seen) < 2:
        seen.append(chosen.line()["client_id"])
    told = {watch.process.stderr.readline().decode() for _ in range(2)}
    ours = Path("/proc/self/comm").read_text().strip()
    theirs = Path(f"/proc/{one.pid}/comm").read_text().strip()
    for client in (one, other):
        assert any(f" {theirs} {client.pid} → 127.0.0.1:{port(broker)} {ours} {os.getpid()}\n" in line for line in told)
        client.communicate()
    found = {*seen, *(exchange["client_id"] for exchange in chosen.end()[1])}
    assert found - {None} == {"one"}, "where the request came before the capture began, its client id is not known"


def test_processes_of_another_machine_are_not_known() -> None:
    outcome = call("watch", "--via", "ssh:there", "--pid", 7)
    assert (outcome.status, outcome.err) == (
        2, "kdbg: --pid and --container select local processes; they cannot be combined with --via\n"
    )  # fmt: skip
