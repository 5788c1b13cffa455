"""One run of `kdbg records`: captures and log segments through an engine, their records through a view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...analysis.logs.log import ApplicationLog
from ...capture import Capture
from ...errors import CaptureError
from ...exchanges.filters.filter import matcher, pattern
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...payloads.records.record import CapturedRecord, Event
from ...payloads.records.sources import Records, records_of_piece, tells
from ...payloads.values.chosen import PLAIN, ReadBytes
from ...payloads.values.value import ValueContext
from ...protocol.findings import Finding, Kind
from ...protocol.findings.amounts import count
from ...protocol.findings.facts import CaptureTrouble
from ...views.reading.files import BrokerFile
from ...views.reading.log import PieceSelection
from ...views.render.record_values import plain_text
from ...views.render.record_views import record_view
from ...views.render.style import Look
from ...views.render.values import escape
from ...views.render.without_values import record_without
from .output import Writer
from .runner import Captures

WAYS = ("produced", "fetched", "stored")
Fits = Callable[[CapturedRecord], bool]


class RecordsOptions(NamedTuple):
    """Which records are wanted beside what the filters say, whether they are only counted, and CSV has formulas."""

    keys: tuple[str, ...] = ()
    only_count: bool = False
    raw: bool = False


class RecordsRun(Captures):
    """Shows the records of one file after the other."""

    look: Look
    wanted: RecordsOptions

    def __init__(
        self, format: str, look: Look, writer: Writer, filters: Filters, wanted: RecordsOptions, read: ReadBytes | None,
        *, watched: bool,
    ) -> None:  # fmt: skip
        super().__init__(of_exchanges(filters), writer)
        self.look, self.wanted, self._read = look, wanted, read or PLAIN
        self._view = record_view(
            format, look, PLAIN if look.hide_values else self._read, watched=watched, raw=wanted.raw
        )
        self._header = "" if wanted.only_count else self._view.header
        self._named = not (self._view.data or wanted.only_count)
        self._fits: list[Fits] = list(self._choices(filters))
        self._rest: int | None = filters.limit
        self._segments = 0
        self._ways: Counter[str] = Counter()

    @property
    def has_read(self) -> bool:
        """Whether there is anything to tell of."""
        return self.files + self._segments > 0

    @property
    def done(self) -> bool:
        """Whether as many records were shown as are wanted."""
        return self._rest == 0

    def opened(self, opened: Capture | ApplicationLog | BrokerFile, file: str, *, named: bool) -> None:
        """Show the records of a capture, or of a log segment."""
        segment = Segment(self, opened) if isinstance(opened, BrokerFile) else None
        self.writer.write(self._header)
        self._header = ""
        if named and self._named:
            self.writer.write(self.look.paint("heading", f"==> {escape(file)} <==") + "\n")
        if segment is None:
            super().opened(opened, file, named=named)
        else:
            self._segments += 1
            segment.show()
        if self.done:
            self.left = 0

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Show the records of a capture, and say what is odd about it."""
        with self.driven(capture, name) as drive:
            records = Records(drive.engine.names_then, secrets=self.look.show_secrets)
            for exchange in drive if not self.done else ():
                self._exchange(exchange, records)
                if drive.engine.findings:
                    self.tell(drive.engine, name)
                if self.done:
                    break

    def _exchange(self, exchange: Exchange, records: Records) -> None:
        """Show the records of an exchange."""
        for event in records.of(exchange) if tells(exchange) else ():
            self.show(event)
            if self.done:
                break

    def show(self, event: Event) -> None:
        """Show a record if it is wanted, and count it; ends of transactions are shown where all records are wanted."""
        if isinstance(event, CapturedRecord):
            if not all(fits(event) for fits in self._fits):
                return
            self._ways[event.origin.way] += 1
            self._rest = None if self._rest is None else self._rest - 1
        elif self._fits:
            return
        if not self.wanted.only_count:
            self.writer.write(self._view.show(self._shown(event)))

    def _shown(self, event: Event) -> Event:
        """Return what may be shown of a record."""
        return record_without(event) if self.look.hide_values and isinstance(event, CapturedRecord) else event

    def _choices(self, filters: Filters) -> Iterator[Fits]:
        """Yield what says whether a record has a topic, a partition and a key that are wanted."""
        if filters.topic:
            named = matcher([pattern(topic) for topic in filters.topic])
            yield lambda record: named([name for name in (record.topic, str(record.topic_id or "")) if name])
        if filters.partition:
            yield lambda record: record.partition in filters.partition
        keys = frozenset(self.wanted.keys)
        in_hex = frozenset(key.lower() for key in keys)
        if keys:
            yield lambda record: any(said in keys or said in in_hex for said in self._keys(record))

    def _keys(self, record: CapturedRecord) -> Iterator[str]:
        """Yield the ways to write the key of a record; null has none."""
        if record.key is not None:
            yield plain_text(self._read(record.key, ValueContext("key", record.topic_text, record.headers)))
            yield f"0x{record.key.hex()}"

    def close(self) -> None:
        """Print how many records there were, if that was asked for, and the closing line."""
        if self.wanted.only_count:
            self.writer.write(f"{self._ways.total()}\n")
        super().close()

    def other_parts(self) -> list[str]:
        """Return the part of the closing line on records."""
        ways = ", ".join(f"{self._ways[way]:,} {way}" for way in WAYS if self._ways[way])
        return [count(self._ways.total(), "record") + (f" ({ways})" if ways else "")]


def of_exchanges(filters: Filters) -> Filters:
    """Return what exchanges are asked: one that names a topic that is not wanted may have records of others."""
    others = any(pattern(topic).others for topic in filters.topic or ())
    return filters.but(limit=None, topic=None if others else filters.topic)


class Segment:
    """Shows the records of one log segment; what is shown, counted and said goes through the run."""

    run: RecordsRun

    def __init__(self, run: RecordsRun, opened: BrokerFile) -> None:
        self.run, self.source, self.file = run, opened.source, opened.file
        if not self.file.is_log:
            raise CaptureError(self.source.name, f"a {self.file.kind.title}, which contains no records", "omit it")
        self.chosen: PieceSelection = PieceSelection(self.source.name, self.file, run.filters)

    def show(self) -> None:
        """Show the records of the pieces that pass the filters."""
        for record in self._records() if self.chosen.topic and not self.run.done else ():
            self.run.show(record)
            if self.run.done:
                return
        if trouble := self.source.feed.trouble:
            self.run.note(Finding(Kind.DAMAGED_CAPTURE, facts=CaptureTrouble(trouble)))
            self.run.say(f"{escape(self.source.name)}: {escape(trouble)}")

    def _records(self) -> Iterator[CapturedRecord]:
        """Yield the records, and count what is odd in the pieces."""
        for piece in self.file.pieces():
            message = None if piece.zeros else self.file.kind.message(piece)
            for finding in piece.odd(message):
                self.run.note(finding)
            if message is not None and self.chosen.passes(piece, message):
                yield from records_of_piece(self.file, message, secrets=self.run.look.show_secrets)
