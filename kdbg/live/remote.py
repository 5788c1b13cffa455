"""Another machine's interface, or a container's: tcpdump runs there, and its pipe is read here.

It ends when its standard input does, so that none is left behind, however the connection breaks.
"""

from __future__ import annotations

import select
import shlex
import signal
import subprocess
from collections.abc import Sequence
from subprocess import PIPE
from typing import IO

from kdbg.capture.source import Damaged, open_reader, open_source, packets_of
from kdbg.errors import CaptureError, InputError, KdbgError

from ..capture import frames
from .bounded_pipe import LIMIT, Files, Outflow
from .capture_process import CaptureOptions, CaptureOutcome, PacketOutput, tell

OVER = -1
SHELL = "exec 3<&0; {{ cat <&3; kill $$; }} >/dev/null 2>&1 & exec {} </dev/null 3<&-"
"""What is run there: tcpdump, and beside it what ends it as soon as the standard input ends."""
WAYS = ("ssh", "docker", "podman", "kubectl", "run")
"""How tcpdump is run elsewhere: the word before the colon."""


def command(via: str, wanted: CaptureOptions) -> list[str]:
    """Return the command for `WAY:WHERE`; raise `InputError` for what is none.

    By `run`, WHERE are other words in front, such as `sudo`, or `nsenter -t 4711 -n`.
    """
    way, _, where = via.partition(":")
    if way not in WAYS or not where or where.startswith("-"):
        raise InputError(f"--via {via!r}: unknown; use {', '.join(f'{name}:…' for name in WAYS)}")
    dump = [
        "tcpdump", "-i", wanted.interface, "-s", str(wanted.snaplen), "-B", str(wanted.buffer >> 10),
        "--immediate-mode", "-U", "-w", "-", wanted.expression,
    ]  # fmt: skip
    script = SHELL.format(shlex.join(dump))
    if way == "ssh":
        return ["ssh", where, f"sh -c {shlex.quote(script)}"]
    if way == "kubectl":
        name, _, inside = where.partition("/")
        prefix = ["kubectl", "exec", "-i", name, *(["-c", inside] if inside else []), "--"]
    elif way == "run":
        try:
            prefix = shlex.split(where)
        except ValueError as error:
            raise InputError(f"--via {via!r}: {error}") from None
    else:
        prefix = [way, "exec", "-i", where]
    return [*prefix, "sh", "-c", script]


def relay(command: Sequence[str], wanted: CaptureOptions, packets: int, control: int, report: int) -> None:
    """Hand on what the command writes, until `control` is closed; see `capturing.capture`."""
    try:
        files = None if wanted.path is None else Files(wanted.path, wanted.rotation)
        process = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, bufsize=0, preexec_fn=hear)
    except KdbgError as error:
        tell(report, {"problem": str(error)})
    except OSError as error:
        tell(report, {"problem": f"{command[0]} cannot be started: {error.strerror}"})
    else:
        Relaying(command[0], process, Outflow(packets, disk=LIMIT), files, control).run(report)


def hear() -> None:
    """Hear the signals that end a program, but Ctrl-C: that is for who shows, and ends this one by its input."""
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)


class Relaying(PacketOutput):
    """Takes packets out of what a process writes, and hands them on."""

    def __init__(
        self, name: str, process: subprocess.Popen[bytes], outflow: Outflow, files: Files | None, control: int
    ) -> None:
        assert process.stdout is not None
        assert process.stdin is not None
        self.stdout: IO[bytes] = process.stdout
        self.stdin: IO[bytes] = process.stdin
        super().__init__(outflow, files, control)
        self.name = name
        self.process = process

    def outcome(self) -> CaptureOutcome:
        status = self.process.wait()
        if status and self.control != OVER:
            self.problem = f"{self.name} ended with status {status}" + (f"; {self.problem}" if self.problem else "")
        return super().outcome()

    def until_over(self) -> None:
        """Hand on all packets, until all is read, or the reader has gone; raise `CaptureError` for what are none."""
        try:
            self._wait()
            source = open_source(self.stdout)  # type: ignore[arg-type]  # it is binary
            source.feed.heard = self._wait  # before each read: packets that came with the header are handed on first
            if not source.feed.ahead(1):
                return  # its status says why
            reader, head = open_reader(source, lambda text: None)
            try:
                for data, packets in packets_of(source.stream, reader, head):
                    for time, link, start, end in packets:
                        sent = max(reader.sent(data, start), end - start)
                        self.hand_on(link, self.now if time is None else time, data[start:end], sent)
                    self.outflow.tell(self.now)
                    if self.files is not None:
                        self.files.flush()
            except Damaged as damage:
                text = str(damage).format(last=self.outflow.captured, next=self.outflow.captured + 1)
                raise CaptureError("tcpdump", text) from None
        finally:
            self.stdin.close()
            self.stdout.close()

    def description(self, interface: int) -> bytes:
        return frames.interface(interface)  # what has one link type is one interface

    def _wait(self) -> None:
        """Wait until there is something to read, and hand on meanwhile what waits.

        The command is to end once the control is closed, or the reader has gone; what it has written by then is handed
        on, if there is a reader.
        """
        pipe = self.outflow.pipe
        while True:
            waiting = select.poll()
            waiting.register(self.stdout, select.POLLIN)
            if self.control != OVER:
                waiting.register(self.control, select.POLLIN)
            left = self.outflow.pump()
            if not self.outflow.closed:
                waiting.register(pipe, select.POLLOUT if left else 0)
            ready = dict(waiting.poll())
            if ready.get(pipe, 0) & select.POLLERR:
                self.outflow.let_go()
            if self.control in ready or self.outflow.closed:
                self.stdin.close()
                self.control = OVER
                if self.outflow.closed or not self.outflow.captured:  # it may be connecting still, and read nothing
                    self.process.terminate()
            if self.stdout.fileno() in ready:
                return
