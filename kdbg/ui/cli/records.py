"""`kdbg records`: captures in, the records in them out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from .failing import fail_on_option
from .filters import filter_options, take_filters
from .options import (
    files_argument,
    index_option,
    input_options,
    jobs_option,
    raw_option,
    reader_options,
    take_readers,
    value_look_options,
)
from .output import OutOfOrder, Sink, heading, take_look, writer_for

if TYPE_CHECKING:
    from ...exchanges.filters.filter_set import Filters
    from ...exchanges.messages.exchange import Exchange
    from ...payloads.records.record import CapturedRecord, Event
    from ...payloads.values.chosen import ReadBytes
    from ...protocol.wire.readings.outline import NamesThen
    from ...views.render.record_views import RecordsView
    from ...views.render.style import Look
    from ...views.render.views import Text
    from .runner import Runner

    Fits = Callable[[CapturedRecord], bool]

WAYS = ("produced", "fetched", "stored")


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@click.option(
    "--format", "-f", "format", default="lines", metavar="FORMAT",
    help=r"Set the format: lines, json, csv, or a kcat format such as '%T %t/%p@%o %k %s %h\n' (default: lines).",
)  # fmt: skip
@click.option(
    "--key", "keys", multiple=True, metavar="K",
    help="Select records with this key, as displayed or as hex after 0x. Repeatable.",
)  # fmt: skip
@reader_options
@raw_option
@click.option("--count", is_flag=True, help="Print only the number of records.")
@filter_options
@value_look_options
@jobs_option
@index_option
@fail_on_option()
@input_options
def command(
    files: tuple[str, ...], format: str, keys: tuple[str, ...], count: bool, raw: bool, jobs: int, **options: Any,
) -> int:  # fmt: skip
    """Print produced and fetched records.

    Each record is one line: those produced, those fetched, and those in log segments. Filters select exchanges as in
    decode; --topic and --key select records, and --limit counts records. A record that was produced and then fetched
    is printed twice: each line shows which, and by which client.

    In a FORMAT, %s is the value, %S its size, %k the key, %K its size, %t topic, %p partition, %o offset, %T
    timestamp in milliseconds, %h headers; %w is produced, fetched or stored, %c the client id, %n the number of the
    exchange, %m control records, outcomes of transactions, and errors.

    --value avro, --value int64 and others deserialize values, as do the schemas of --schema or --registry.

    \b
    kdbg records captures/first-contact.pcap --topic orders
    kdbg records captures/transactions.pcap --format json
    kdbg records captures/first-contact.pcap -f '%t/%p@%o %k %s\\n'
    """
    from ...exchanges.filters.filter import pattern
    from ...payloads.values.chosen import PLAIN
    from ...protocol.findings.amounts import count as plural
    from ...views.render.record_views import record_view
    from .inputs import AUTO
    from .runner import Runner

    read = take_readers(options) or PLAIN
    filters, style = take_filters(options), take_look(options)
    view = record_view(format, style, PLAIN if style.hide_values else read, watched=sys.stdout.isatty(), raw=raw)
    # an exchange that names a topic that is not wanted may have records of others
    others = any(pattern(topic).others for topic in filters.topic or ())
    asked = filters.but(limit=None, topic=None if others else filters.topic)
    # --limit may end a reading within the exchanges of a block, which an index has no counts of
    jobs = 1 if jobs == AUTO and sys.stdout.isatty() else jobs
    runner = Runner(asked, writer_for(files), disk=True, index=True if filters.limit is None else None, jobs=jobs)
    output = RecordOutput(runner, None if count else view, style, choices(filters, keys, read), filters.limit)
    header = "" if count else view.header
    for file in runner.open(files):
        with file:
            segment = None
            if file.disk is not None:
                from ...payloads.records.sources import records_of_piece
                from .segment import Segment

                segment = Segment(runner, file.disk, records=True)
            runner.writer.write(header)
            header = ""
            if file.several and not (view.data or count):
                runner.writer.write(heading(style, file.path))
            if segment is not None:
                runner.disk_files += 1
                if segment.selection.topic and not output.done:
                    for text in output.texts_of(
                        record for piece, message in segment.pieces()
                        if message is not None and segment.selection.passes(piece, message)
                        for record in records_of_piece(segment.file, message, secrets=style.show_secrets)
                    ):  # fmt: skip
                        runner.writer.write(text)
                if not output.done:
                    segment.tell_trouble()
            else:
                with runner.drive(file, counted=True) as drive:
                    output.begin(drive.engine.names_then)
                    if not output.done:
                        runner.show(file, drive, output, here=output.keeps_order)
            if output.done:
                runner.left = 0
    if runner.has_read:
        counts = {way: runner.counts[way] for way in WAYS if runner.counts[way]}
        total = sum(counts.values())
        if count:
            runner.writer.write(f"{total}\n")
        ways = ", ".join(f"{number:,} {way}" for way, number in counts.items())
        runner.close(runner.closing(plural(total, "record") + (f" ({ways})" if ways else "")))
    return runner.status


def choices(filters: Filters, keys: Sequence[str], read: ReadBytes) -> Iterator[Fits]:
    """Yield what says whether a record has a topic, a partition and a key that are wanted."""
    from ...exchanges.filters.filter import matcher, pattern
    from ...payloads.values.value import ValueContext
    from ...views.render.record_values import plain_text

    def written(record: CapturedRecord) -> Iterator[str]:
        """Yield the ways to write the key of a record; null has none."""
        if record.key is not None:
            yield plain_text(read(record.key, ValueContext("key", record.topic_text, record.headers)))
            yield f"0x{record.key.hex()}"

    if filters.topic:
        named = matcher([pattern(topic) for topic in filters.topic])
        yield lambda record: named([name for name in (record.topic, str(record.topic_id or "")) if name])
    if filters.partition:
        yield lambda record: record.partition in filters.partition
    wanted = frozenset(keys)
    in_hex = frozenset(key.lower() for key in wanted)
    if wanted:
        yield lambda record: any(key in wanted or key in in_hex for key in written(record))


class RecordOutput(Sink):
    """Writes records in a view, None to count them only: those that fit, `most` at most.

    `begin` gives the names of topic ids in the exchanges that follow.
    """

    def __init__(
        self, runner: Runner, view: RecordsView | None, look: Look, fits: Iterable[Fits], most: int | None
    ) -> None:
        self.look, self._runner = look, runner
        self._view, self._fits, self._rest = view, [*fits], most

    @property
    def done(self) -> bool:
        """Whether as many records were shown as are wanted."""
        return self._rest == 0

    @property
    def keeps_order(self) -> bool:
        """Whether what it shows of a record depends on those before: columns get wider, and there may be a limit."""
        return self._rest is not None or (self._view is not None and not self._view.data)

    def begin(self, names: NamesThen) -> None:
        from ...payloads.records.sources import Records

        self._names, self._records = names, Records(names, secrets=self.look.show_secrets)

    def show(self, exchanges: Sequence[Exchange]) -> None:
        """Write the records of exchanges."""
        for text in self.texts(exchanges):
            self._runner.writer.write(text)

    def make(self, exchanges: Sequence[Exchange], show: Callable[[bytes], Any]) -> None:
        """Show the records of exchanges, unless earlier ones tell what became of their transactions."""
        records = self._records
        before, records.markers = records.markers, type(records.markers)()
        super().make(exchanges, show)
        used, records.markers = records.markers.used, before
        if used:
            raise OutOfOrder

    def texts(self, exchanges: Sequence[Exchange]) -> Iterator[Text]:
        """Yield the texts of the records of exchanges until there are enough, and count what is odd in them."""
        from ...payloads.records.sources import tells

        for exchange in exchanges:
            self._names.at(exchange.names)
            if tells(exchange):
                yield from self.texts_of(self._records.of(exchange))
            self._runner.findings.take((exchange,))
            if self.done:
                return

    def texts_of(self, events: Iterable[Event]) -> Iterator[Text]:
        """Yield texts until there are enough; ends of transactions are shown where all records are wanted."""
        from ...payloads.records.record import CapturedRecord
        from ...views.render.without_values import record_without

        for event in events:
            if isinstance(event, CapturedRecord):
                if not all(fits(event) for fits in self._fits):
                    continue
                self._runner.counts[event.origin.way] += 1
                self._rest = None if self._rest is None else self._rest - 1
                event = record_without(event) if self.look.hide_values else event
            elif self._fits:
                continue
            if self._view is not None:
                yield self._view.show(event)
            if self.done:
                return
