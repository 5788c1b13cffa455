"""A process of its own for each run of pytest: forked from one that has imported what is not ours."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, settings

from .mutants import Mutant
from .rooms import TOP

QUIET = ["-q", "-x", "--no-header", "-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider"]
QUIET += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plugins are imported before pytest is run
OURS = ("kdbg", "tests", "__main__", "conftest", "test_")
MEMORY = 6 << 30
"""Bytes of address space: a mutant that allocates without end fails here."""


class Outcome(NamedTuple):
    """What became of a run: pytest's exit status, None where its time was over, and what it reports."""

    status: int | None
    report: Any


class Chosen:
    """A plugin of pytest: run these tests alone, the shortest first; measure each, and say which failed."""

    def __init__(self, durations: dict[str, float] | None = None) -> None:
        self.chosen = durations
        self.took: dict[str, float] = {}
        self.failed = ""

    def pytest_collection(self) -> None:
        """Let hypothesis fail with the first example that fails."""
        unshrunk = (Phase.explicit, Phase.reuse, Phase.generate)
        settings.register_profile("unshrunk", settings.get_profile("quick"), phases=unshrunk)
        settings.load_profile("unshrunk")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what is not chosen."""
        if self.chosen is not None:
            items[:] = sorted((item for item in items if item.nodeid in self.chosen), key=self._rank)

    def _rank(self, item: pytest.Item) -> float:
        return (self.chosen or {})[item.nodeid]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sum the time of a test's three phases."""
        self.took[report.nodeid] = self.took.get(report.nodeid, 0) + report.duration
        if report.failed:
            self.failed = report.nodeid


class Traced(Chosen):
    """A plugin that also notes which lines of some files each test runs; "" stands for what imports run.

    What copies of this process run counts as well: they write it into `copies`, a line at a time.
    """

    def __init__(self, files: list[str]) -> None:
        super().__init__()
        self.files = {str(TOP / file): file for file in files}
        self.lines: dict[str, dict[int, set[str]]] = {file: {} for file in files}
        self.test = ""
        self.process = 0
        self.copies = os.memfd_create("lines of copies")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Say of what follows which test it is; an error in a tracer, of too deep a stack, has ended the tracing."""
        self.test = item.nodeid
        self.begin()
        return (yield)

    def begin(self) -> None:
        """Trace from now on."""
        self.process = os.getpid()
        threading.settrace(self._call)
        sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        file = self.files.get(frame.f_code.co_filename)
        if file is None:
            return None
        lines = self.lines[file]
        test = self.test if frame.f_code.co_flags & CO_OPTIMIZED else ""  # modules and classes: the first test imports

        def line(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            tests = lines.setdefault(frame.f_lineno, set())
            if test not in tests:
                tests.add(test)
                if os.getpid() != self.process:
                    os.write(self.copies, json.dumps([file, frame.f_lineno, test]).encode() + b"\n")
            return line

        return line(frame, event, argument)

    def found(self) -> dict[str, dict[int, list[str]]]:
        """Return the lines of each file, with the tests that run them."""
        os.lseek(self.copies, 0, os.SEEK_SET)
        with os.fdopen(self.copies) as copies:
            for file, line, test in map(json.loads, copies):
                self.lines[file].setdefault(line, set()).add(test)
        return {file: {line: [*names] for line, names in lines.items()} for file, lines in self.lines.items()}


class Mutated(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Imports one file with a mutant in it; others find their loaders as ever."""

    def __init__(self, file: str, mutant: Mutant) -> None:
        name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        importlib.machinery.SourceFileLoader.__init__(self, name, str(TOP / file))
        self.mutant = mutant

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> Any:
        """Return a spec for the mutated module alone."""
        return (
            importlib.util.spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None
        )

    def get_code(self, fullname: str) -> CodeType:
        """Compile the mutant's tree; no bytecode is read or written."""
        return compile(self.mutant.tree(Path(self.path).read_text(encoding="utf-8")), self.path, "exec")


def run(files: list[str], plugin: Chosen, limit: float, mutant: tuple[str, Mutant] | None = None) -> Outcome:
    """Run these files of tests in a forked process, for so many seconds at most."""
    receiving, sending = os.pipe()
    child = os.fork()
    if not child:
        os.close(receiving)
        _run(files, plugin, sending, mutant)
    os.close(sending)
    try:
        text = _read(receiving, time.monotonic() + limit)
    finally:
        os.close(receiving)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        _, ended = os.waitpid(child, 0)
    if text is None:
        return Outcome(None, {})
    reports = [Outcome(*json.loads(line)) for line in text.splitlines()]  # one of each process, where a mutant forks
    reports.sort(key=lambda one: not one.status)
    return reports[0] if reports else Outcome(os.waitstatus_to_exitcode(ended) or 1, {})


def _read(descriptor: int, deadline: float) -> bytes | None:
    """Return all that a pipe gives, or None once the time is over."""
    text = b""
    while select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(descriptor, 1 << 20)
        if not part:
            return text
        text += part
    return None


def _run(files: list[str], plugin: Chosen, sending: int, mutant: tuple[str, Mutant] | None) -> None:
    """Be the forked process; never returns."""
    status = 1
    try:
        os.setsid()
        os.nice(10)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        silence = os.open(os.environ.get("MUTATION_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for descriptor in (1, 2):
            os.dup2(silence, descriptor)
        if mutant is not None:
            sys.meta_path.insert(0, Mutated(*mutant))
        if isinstance(plugin, Traced):
            plugin.begin()
        status = int(pytest.main([*QUIET, "--rootdir", str(TOP), *files], plugins=[plugin]))
        sys.settrace(None)
        report: dict[str, Any] = {"took": plugin.took, "failed": plugin.failed}
        if isinstance(plugin, Traced):
            report["lines"] = plugin.found()
            report["imported"] = [name for name in sys.modules if not name.startswith(OURS)]
        with os.fdopen(sending, "wb") as pipe:
            pipe.write(json.dumps([status, report]).encode() + b"\n")
    except BaseException:
        traceback.print_exc()  # into MUTATION_LOG
    finally:
        sys.stderr.flush()
        os._exit(status)


def preload(names: list[str]) -> None:
    """Import what is not ours, so that no fork has to."""
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)
