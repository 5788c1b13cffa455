"""`--attach`: an agent in a running JVM logs the keys of connections that are shorter than a search of its memory."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ..brokers.classpath import classpath
from ..brokers.pool import needed
from ..brokers.waiting import until
from ..cases import by_day
from ..cli.calls import COMMAND, ENVIRONMENT, call
from ..client.certificates import Authority
from ..live.conftest import capturing, watching
from ..recording.tcpdump import recording
from .installing import run
from .jdks import jdk
from .running import AS_NOBODY, GUARD, killed, open_for_all
from .short_talks import short_talks

__all__ = ["capturing", "watching"]
AGENT = ("name.neykov:extract-tls-secrets:4.0.0",)
WANTED = 5


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent, where any user can read it."""
    with needed():
        jar = Path(classpath(AGENT))
    folder = tmp_path_factory.getbasetemp()
    open_for_all(folder)
    return Path(shutil.copy(jar, folder))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    context = Authority(tmp_path_factory.mktemp("authority")).server()
    context.options |= ssl.OP_NO_TICKET  # so that the agent's ids of sessions are those on the wire
    with short_talks(context) as port:
        yield port


@contextmanager
def java(release: str, folder: Path, *arguments: object, before: tuple[str, ...] = ()) -> Iterator[int]:
    """Run Loop in a JVM; give its pid once it has made a connection."""
    with needed():
        home = jdk(release)
        run("javac", "--release", "17", "-d", str(folder), str(Path(__file__).with_name("Loop.java")))
    command = (*GUARD, *before, home / "bin" / "java", "-Xmx64m", "-cp", folder, "Loop", *arguments)
    with (folder / "jvm.log").open("wb") as log:
        process = subprocess.Popen([*map(str, command)], stdout=log, stderr=log)
    try:
        until(lambda: connections(folder), (folder / "jvm.log").read_text)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def connections(folder: Path) -> int:
    """How many connections Loop has made."""
    return (folder / "jvm.log").read_text().count("connected")


def left(pid: int) -> list[str]:
    """The files of kdbg in /tmp that a JVM could use."""
    return [
        each.name for each in Path("/tmp").iterdir() if each.name.startswith((f".kdbg-{pid}-", f".attach_pid{pid}"))
    ]


@pytest.mark.usefixtures("capturing")
@pytest.mark.parametrize(("release", "protocol"), by_day([("25", "TLSv1.2"), ("17", "TLSv1.3")], 2))
def test_short_connections_are_decrypted(
    release: str, protocol: str, agent: Path, server: int, tmp_path: Path, watching: Any
) -> None:
    with java(release, tmp_path, server, protocol) as pid:
        watch = watching("--port", server, "--client-id", "loop", "--pid", pid, "--attach", agent)
        assert watch.first.startswith(f"kdbg: loading the agent {agent} into java {pid}: ")
        exchanges = [watch.line() for _ in range(WANTED)]
        status, _, said = watch.end()
        assert left(pid) == []
    assert {exchange["api"] for exchange in exchanges} == {"ApiVersions"}
    assert {exchange["connection"]["tls"]["version"].replace(" ", "v") for exchange in exchanges} == {protocol}
    assert len({exchange["connection"]["client"] for exchange in exchanges}) == WANTED
    assert status == 130
    assert "logged no TLS keys" not in said
    assert "Error" not in (tmp_path / "jvm.log").read_text()  # the agent writes nowhere now


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not installed")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs programs as another user")
def test_keys_of_another_user_become_a_key_log(agent: Path, server: int, tmp_path: Path) -> None:
    """Which then decrypts a capture; a JVM accepts its own user only, which kdbg becomes for it."""
    capture, keys = tmp_path / "short.pcap", tmp_path / "keys.log"
    open_for_all(tmp_path)
    with java("17", tmp_path, server, "TLSv1.3", before=AS_NOBODY) as pid:
        command = [*COMMAND, "tls-keys", "-i", "lo", "--pid", str(pid), "--attach", str(agent), "-o", str(keys)]
        with killed(subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)) as logging:
            assert logging.stderr is not None
            said = logging.stderr.readline() + logging.stderr.readline()
            with recording(capture, [server]):
                talked = connections(tmp_path) + 2 * WANTED
                until(lambda: connections(tmp_path) >= talked, (tmp_path / "jvm.log").read_text)
            logging.terminate()
            said += logging.stderr.read()
        assert left(pid) == []
    assert "loading the agent" in said
    decoded = call("decode", capture, "--tls-keys", keys, "-f", "json")
    assert len(decoded.lines) >= WANTED, said


def test_a_process_that_is_not_a_jvm_is_left_alone(agent: Path, tmp_path: Path) -> None:
    """SIGQUIT would end it."""
    command = [*GUARD, sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        outcome = call("tls-keys", "--pid", process.pid, "-", "--attach", agent, "-o", tmp_path / "keys.log")
        assert process.poll() is None
    assert outcome.status == 2
    assert f" {process.pid} is not a JVM that accepts agents" in outcome.err


def test_an_agent_that_the_jvm_does_not_see(server: int, tmp_path: Path) -> None:
    with java("17", tmp_path, server, "TLSv1.3") as pid:
        outcome = call("watch", "--pid", pid, "--attach", tmp_path / "absent.jar")
    assert outcome.status == 2
    assert "absent.jar: process java" in outcome.err
    assert "has no such file" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["watch", "--attach", "agent.jar"], "--attach and --uprobes need --pid"),
        (["tls-keys", "--attach", "agent.jar"], "--attach and --uprobes need --pid"),
        (["watch", "--pid", "1", "--attach", "agent.jar", "--tui"], "not both"),
        (["tls-keys", "--pid", "1", "a.pcap", "-o", "k", "--attach", "agent.jar"], "use -i NAME or -"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], problem: str) -> None:
    outcome = call(*arguments)
    assert outcome.status == 2
    assert problem in outcome.err
