"""Captures read into ledgers, which a command looks at in the end; what it finds there, written.

runner = ledger_runner(files, filters)
for file in runner.open(files):
    with file:
        ledgers = read_ledgers(runner, file)
        ...
runner.close()
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import orjson

from ...analysis.diagnosis import Case, diagnose
from ...analysis.ledgers import Ledgers
from ...capture.packet import endpoint
from ...exchanges.engine.driver import Pairing
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Peers
from ...protocol.findings import Finding, Severity
from ...views.render.diagnosis import CaseView, case_line
from ...views.render.style import Look
from .output import Writer, heading, writer_for
from .runner import Blocks, OpenFile, Runner


def ledger_runner(files: Sequence[str], filters: Filters) -> Runner:
    """Return what reads captures for a command whose exit status comes of what it finds in ledgers."""
    return Runner(filters, writer_for(files), fails=False)


@contextmanager
def drive_ledgers(runner: Runner, file: OpenFile) -> Iterator[tuple[Ledgers, Iterator[list[Exchange]]]]:
    """Make a context with ledgers, and the exchanges that are read into them, which come once the ledgers have them.

    The ledgers see the packets before the engine does.
    """
    ports = runner.filters.port
    ledgers: Ledgers

    def through(engine: Pairing, blocks: Blocks) -> Blocks:
        for packets in blocks:
            seen = packets
            if ports:
                seen = [one for one in packets if any(port in ports for _, port in endpoint(one[2]))]
            ledgers.packets(seen)
            yield packets

    def take_findings(found: list[tuple[Peers, Finding]]) -> None:
        """Take what belongs to no exchange away from the engine: it is told as part of a judgement, or not at all."""
        ledgers.left_over(found)
        for _, finding in found:
            runner.findings.note(finding)
        found.clear()

    with runner.drive(file, through=through) as drive:
        ledgers = Ledgers(drive.engine.names_then)

        def chunks() -> Iterator[list[Exchange]]:
            for chunk in drive.chunks():
                ledgers.take(chunk)
                take_findings(drive.engine.findings)
                yield chunk
            take_findings(drive.engine.findings)

        yield ledgers, chunks()
    runner.progress.hide()


def read_ledgers(runner: Runner, file: OpenFile) -> Ledgers:
    """Read a capture; return its ledgers."""
    with drive_ledgers(runner, file) as (ledgers, chunks):
        for _ in chunks:
            pass
    return ledgers


class LedgerOutput:
    """Writes what is found in the ledgers of captures: as text, or as JSON with an object a line.

    Where there are `several` captures, text stands under the name of each, and objects have it.
    """

    def __init__(self, format: str, look: Look, writer: Writer, files: Sequence[str]) -> None:
        self.format, self.look, self.writer, self._several = format, look, writer, len(files) > 1

    def is_one_of_several(self, file: OpenFile) -> bool:
        """Return whether there are several captures; a folder holds several, though one name was given."""
        self._several = self._several or file.several
        return self._several

    def head(self, file: OpenFile) -> None:
        """Name the capture, where there are several."""
        if self.is_one_of_several(file):
            self.writer.write(heading(self.look, file.source.name))

    def write(self, file: OpenFile, objects: Iterable[Mapping[str, Any]], lines: Iterable[str]) -> None:
        """Write what was found in a capture, of which there are objects and lines."""
        if self.format == "json":
            named = {"file": file.source.name} if self.is_one_of_several(file) else {}
            for one in objects:
                self.writer.write(orjson.dumps({**one, **named}) + b"\n")
            return
        self.head(file)
        for line in lines:
            self.writer.write(line)


class CauseWriter:
    """Writes what the rules find: as text, or as JSON with an object a line. `notes`: after-effects and notes, too."""

    found: Sequence[Case] = ()
    """All that was found when it was last looked."""

    def __init__(self, format: str, look: Look, writer: Writer, notes: bool = True) -> None:
        self.format, self.look, self.writer, self.notes = format, look, writer, notes
        self._told: set[tuple[object, ...]] = set()

    def whole(self, ledgers: Ledgers, file: str, *, named: bool = False) -> bool:
        """Write all that is found; return whether something above a note is. `named`: JSON says of which capture."""
        self.found = diagnose(ledgers)
        return self.tell(self.found, file, file if named else None)

    def tell(self, cases: Sequence[Case], file: str, name: str | None) -> bool:
        """Write cases; return whether one is above a note.

        `file` is what shows the evidence, "" for none, and `name` what JSON calls the capture, None for nothing.
        """
        cases = [case for case in cases if self.notes or case.severity is not Severity.NOTE]
        if self.format == "json":
            for case in cases:
                self.writer.write(case_line(case, name))
        else:
            for line in CaseView(self.look, file).lines(cases):
                self.writer.write(line)
        return any(case.severity is not Severity.NOTE for case in cases)

    def news(self, ledgers: Ledgers) -> None:
        """Write the causes above a note that were not written before."""
        self.found = diagnose(ledgers)
        for case in self.found:
            key = (case.code, case.who.client_id, case.who.topic, case.who.group, case.who.transactional_id)
            if case.severity is Severity.NOTE or key in self._told:
                continue
            self._told.add(key)
            for line in [case_line(case)] if self.format == "json" else CaseView(self.look, "").one(case):
                self.writer.write(line)
