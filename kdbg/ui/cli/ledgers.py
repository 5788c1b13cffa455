"""Captures read into ledgers, and what a command finds in them, written.

output = LedgerOutput(files, filters, format, look)
for file, ledgers in output.read():
    output.write(file.source.name, objects, lines)
return output.runner.status
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, TypeAlias

import orjson

from ...analysis.diagnosis import Case
from ...analysis.diagnosis.text import case_object
from ...analysis.ledgers import Ledgers
from ...capture.packet import endpoint
from ...exchanges.engine.driver import Pairing
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Peers
from ...protocol.findings import Finding, Severity
from ...views.render.diagnosis import CaseView
from ...views.render.style import Look
from .failing import status_of
from .output import heading, writer_for
from .runner import Blocks, OpenFile, Runner, ignore

Hear: TypeAlias = Callable[[list[Exchange]], None]
OFTEN = 2.0
"""Seconds between two looks at the ledgers of a stream while packets come."""
SHARE = 10
"""Times the last look's own time from one look to the next, always."""


def looked_at(file: OpenFile, blocks: Blocks, ledgers: Callable[[], Ledgers], look: Callable[[], None]) -> Blocks:
    """Yield blocks of packets, which the ledgers see before the engine does; call `look` now and then.

    A silence has one pause, a block without packets. A look that is not due then comes when it is, unless packets come
    first.
    """
    looked, cost = monotonic(), 0.0
    for packets in blocks:
        ledgers().packets(packets)
        yield packets
        wait = looked + max(OFTEN if packets else 0.0, SHARE * cost) - monotonic()
        if wait <= 0 or (not packets and file.capture.source.is_silent(wait)):
            looked = monotonic()
            look()
            cost = monotonic() - looked


class LedgerOutput:
    """Writes what is found in the ledgers of captures: as text, or as JSON with an object a line.

    Where there are `several` captures, text stands under the name of each, and objects have it. The exit status of the
    `runner` comes of what is found.
    """

    def __init__(self, files: Sequence[str], filters: Filters, format: str, look: Look) -> None:
        self.runner = Runner(filters, writer_for(files), fails=False)
        self.format, self.look, self._files, self.several = format, look, files, len(files) > 1

    def read(self, hear: Callable[[Ledgers], Hear] = lambda ledgers: ignore) -> Iterator[tuple[OpenFile, Ledgers]]:
        """Yield each capture with its ledgers, once it is read; after all print the closing line.

        `hear` returns what is given the exchanges, once the ledgers have them. These see the packets before the engine
        does.
        """
        runner = self.runner
        ledgers: Ledgers

        def through(engine: Pairing, blocks: Blocks) -> Blocks:
            ports = runner.filters.port
            for packets in blocks:
                seen = packets
                if ports:
                    seen = [one for one in packets if any(port in ports for _, port in endpoint(one[2]))]
                ledgers.packets(seen)
                yield packets

        def take_findings(found: list[tuple[Peers, Finding]]) -> None:
            """Take what belongs to no exchange from the engine: it is told as part of a judgement, or not at all."""
            ledgers.left_over(found)
            for _, finding in found:
                runner.findings.note(finding)
            found.clear()

        for file in runner.open(self._files):
            with file:
                with runner.drive(file, through=through) as drive:
                    ledgers = Ledgers(drive.engine.names_then)
                    take = hear(ledgers)
                    for chunk in drive.chunks():
                        ledgers.take(chunk)
                        take_findings(drive.engine.findings)
                        take(chunk)
                    take_findings(drive.engine.findings)
                runner.progress.hide()
                self.several = self.several or file.several  # a folder holds several, though one name was given
                yield file, ledgers
        runner.close()

    def write(
        self, name: str, objects: Iterable[Mapping[str, Any]], lines: Iterable[str], *,
        found: Iterable[Severity] = (), usual: str = "finding",
    ) -> None:  # fmt: skip
        """Write what was found in a capture, as objects or lines; `found` are the severities for the exit status.

        They count as `usual` says where there is no --fail-on.
        """
        writer = self.runner.writer
        if not self.runner.status:
            self.runner.status = status_of(found, usual)
        if self.format == "json":
            named = {"file": name} if self.several else {}
            for one in objects:
                writer.write(orjson.dumps({**one, **named}) + b"\n")
            return
        if self.several:
            writer.write(heading(self.look, name))
        for line in lines:
            writer.write(line)

    def write_cases(
        self, name: str, cases: Sequence[Case], file: str, *, notes: bool, ledgers: Ledgers | None = None
    ) -> None:
        """Write causes, with `notes` also after-effects and notes; `file` is what shows the evidence, "" for none.

        `ledgers` are what was checked.
        """
        loud = [case for case in cases if case.severity is not Severity.NOTE]
        cases = cases if notes else loud
        found = [case.severity for case in loud]
        self.write(name, map(case_object, cases), CaseView(self.look, file).lines(cases, ledgers), found=found)
