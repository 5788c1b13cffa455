"""tcpdump that runs elsewhere: by an ssh that is none, as there is no other machine."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from kdbg.errors import InputError
from kdbg.live.capture_process import CaptureOptions
from kdbg.live.remote import SHELL, WAYS, command
from kdbg.ui.cli.watch import expression

from ..cli.calls import call, spawn
from .watches import names, port, produce

WANTED = CaptureOptions("eth0", "tcp port 9092", 2048, 1 << 20)
FAKE = '#!/bin/sh\n# ssh HOST COMMAND: runs it here\necho "$1" >> "$0.hosts"\nexec sh -c "$2"\n'
needs_tcpdump = pytest.mark.skipif(which("tcpdump") is None, reason="tcpdump is not installed")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with an ssh that runs what it is given on this machine."""
    (ssh := tmp_path / "ssh").write_text(FAKE)
    ssh.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def dumping(text: str) -> bool:
    """Whether a tcpdump runs with this in its command line."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if line[0].endswith("tcpdump") and text in line[-2]:
            return True
    return False


@needs_tcpdump
@pytest.mark.usefixtures("capturing")
def test_what_tcpdump_sees_there_is_shown_here_and_written(
    watching: Any, broker: str, path: str, tmp_path: Path
) -> None:
    written = tmp_path / "there.pcapng"
    watch = watching("--via", "ssh:there", "--port", port(broker), "--write", written, PATH=path)
    assert watch.first == f"kdbg: capturing on ssh:there (tcp port {port(broker)}); press Ctrl-C to stop\n"
    assert "listening on lo" in watch.process.stderr.readline().decode()
    assert dumping(port(broker))
    produce(broker, 500)
    seen = []
    while sum(exchange["api"] == "Produce" for exchange in seen) < 500:
        seen.append(watch.line())
    status, _, said = watch.end()
    assert status == 130
    assert "0 packets dropped by kernel" in said
    assert (tmp_path / "ssh.hosts").read_text() == "there\n"
    assert names(call("decode", written, "-f", "json").lines)["Produce"] == 500
    assert not dumping(port(broker))


@needs_tcpdump
@pytest.mark.usefixtures("capturing")
def test_nothing_is_left_behind_when_kdbg_is_killed(watching: Any, broker: str, path: str) -> None:
    """Not even tcpdump, though no packet comes that it could not write."""
    watch = watching("--via", "ssh:there", "--port", port(broker), PATH=path)
    watch.process.stderr.readline()
    assert dumping(port(broker))
    watch.process.kill()
    while dumping(port(broker)):
        pass


def test_a_command_that_fails_is_named_with_its_status(path: str, tmp_path: Path) -> None:
    (tmp_path / "ssh").write_text("#!/bin/sh\necho no way there >&2\nexit 255\n")
    outcome = spawn("watch", "--via", "ssh:there", PATH=path)
    assert outcome.status == 2
    assert {"no way there", "kdbg: ssh:there: ssh ended with status 255"} <= set(outcome.err.splitlines())


def test_packets_that_come_with_the_header_are_shown_at_once(watching: Any, path: str, tmp_path: Path) -> None:
    """The command writes a capture as one piece, then nothing."""
    capture = Path(__file__).parents[2] / "captures" / "first-contact.pcap"
    (tmp_path / "ssh").write_text(f"#!/bin/sh\ncat {shlex.quote(str(capture))}\nexec cat\n")
    watch = watching("--via", "ssh:there", PATH=path)
    assert watch.line()["api"] == "ApiVersions"
    assert watch.end()[0] == 130


def test_ctrl_c_ends_one_that_does_not_come_to_an_end(watching: Any, path: str, tmp_path: Path) -> None:
    """It connects, and connects."""
    (tmp_path / "ssh").write_text("#!/bin/sh\nexec sleep 1000\n")
    watch = watching("--via", "ssh:there", PATH=path)
    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(60) == 130


def test_no_such_program(tmp_path: Path) -> None:
    outcome = spawn("watch", "--via", "docker:kafka", PATH=str(tmp_path))
    assert (outcome.status, outcome.err) == (
        2,
        "kdbg: docker:kafka: docker cannot be started: No such file or directory\n",
    )


@pytest.mark.parametrize(
    ("via", "words"),
    [
        ("ssh:me@broker", ["ssh", "me@broker"]),
        ("docker:kafka", ["docker", "exec", "-i", "kafka", "sh", "-c"]),
        ("podman:kafka", ["podman", "exec", "-i", "kafka", "sh", "-c"]),
        ("kubectl:kafka-0", ["kubectl", "exec", "-i", "kafka-0", "--", "sh", "-c"]),
        ("kubectl:kafka-0/debugger", ["kubectl", "exec", "-i", "kafka-0", "-c", "debugger", "--", "sh", "-c"]),
        ("run:nsenter -t 7 -n", ["nsenter", "-t", "7", "-n", "sh", "-c"]),
    ],
)
def test_how_tcpdump_is_run(via: str, words: list[str]) -> None:
    dump = "tcpdump -i eth0 -s 2048 -B 1024 --immediate-mode -U -w - 'tcp port 9092'"
    *found, script = command(via, WANTED)
    assert found == words
    assert SHELL.format(dump) in (script, shlex.split(script)[-1])


def test_every_way_is_tried() -> None:
    assert set(WAYS) == {"ssh", "docker", "podman", "kubectl", "run"}


def test_a_filter_is_one_word_wherever_it_goes(tmp_path: Path) -> None:
    """A name in a filter that a shell would make something of."""
    (dump := tmp_path / "tcpdump").write_text('#!/bin/sh\nfor word; do echo "<$word>"; done\n')
    dump.chmod(0o755)
    odd = "tcp port 9092 and host $(touch x)'`"
    running = subprocess.Popen(
        command("run:env", WANTED._replace(expression=odd)), cwd=tmp_path, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert running.stdout is not None
    printed = running.stdout.read().decode()  # while its standard input is open
    running.communicate()
    assert printed.splitlines()[-1] == f"<{odd}>"
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("via", ["ssh", "ssh:", "telnet:there", "there", "ssh:-oProxyCommand=x"])
def test_other_words_are_refused(via: str) -> None:
    with pytest.raises(InputError) as caught:
        command(via, WANTED)
    assert str(caught.value) == f"--via {via!r}: unknown; use ssh:…, docker:…, podman:…, kubectl:…, run:…"


def test_a_prefix_with_an_open_quote_is_refused() -> None:
    with pytest.raises(InputError, match=r'^--via "run:\'": No closing quotation$'):
        command("run:'", WANTED)


def test_ssh_does_not_capture_itself() -> None:
    assert expression(None, (), "ssh:there") == "tcp and not port 22"
    assert expression(None, (), "docker:kafka") == expression(None, (), None) == "tcp"
    assert expression(None, (9092, 9093), "ssh:there") == "tcp port 9092 or tcp port 9093"
    assert expression("udp", (9092,), "ssh:there") == "udp"
