"""`kdbg records`: captures in, the records in them out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from .failing import fail_on_option
from .filters import filter_options, take_filters
from .options import (
    files_argument,
    index_option,
    input_options,
    raw_option,
    reader_options,
    take_readers,
    value_look_options,
)
from .output import heading, take_look, writer_for

if TYPE_CHECKING:
    from ...exchanges.filters.filter_set import Filters
    from ...payloads.records.record import CapturedRecord, Event
    from ...payloads.values.chosen import ReadBytes
    from ...views.render.record_views import RecordsView
    from ...views.render.style import Look
    from .output import Writer
    from .runner import OpenFile, Runner

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
@index_option
@fail_on_option()
@input_options
def command(
    files: tuple[str, ...], format: str, keys: tuple[str, ...], count: bool, raw: bool, **options: Any,
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
    from .runner import Runner

    read = take_readers(options) or PLAIN
    filters, style = take_filters(options), take_look(options)
    view = record_view(format, style, PLAIN if style.hide_values else read, watched=sys.stdout.isatty(), raw=raw)
    # an exchange that names a topic that is not wanted may have records of others
    others = any(pattern(topic).others for topic in filters.topic or ())
    asked = filters.but(limit=None, topic=None if others else filters.topic)
    # --limit may end a reading within the exchanges of a block, which an index has no counts of
    runner = Runner(asked, writer_for(files), disk=True, index=True if filters.limit is None else None)
    output = RecordOutput(runner.writer, None if count else view, style, choices(filters, keys, read), filters.limit)
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
                    output.write(
                        record for piece, message in segment.pieces()
                        if message is not None and segment.selection.passes(piece, message)
                        for record in records_of_piece(segment.file, message, secrets=style.show_secrets)
                    )  # fmt: skip
                if not output.done:
                    segment.tell_trouble()
            else:
                write_captured(runner, file, output)
            if output.done:
                runner.left = 0
    if runner.has_read:
        if count:
            runner.writer.write(f"{output.ways.total()}\n")
        ways = ", ".join(f"{output.ways[way]:,} {way}" for way in WAYS if output.ways[way])
        runner.close(runner.closing(plural(output.ways.total(), "record") + (f" ({ways})" if ways else "")))
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


class RecordOutput:
    """Writes records in a view, None to count them only: those that fit, `most` at most; `ways` counts them."""

    def __init__(
        self, writer: Writer, view: RecordsView | None, look: Look, fits: Iterable[Fits], most: int | None
    ) -> None:
        self.look = look
        self.ways: Counter[str] = Counter()
        self._writer, self._view, self._fits, self._rest = writer, view, [*fits], most

    @property
    def done(self) -> bool:
        """Whether as many records were shown as are wanted."""
        return self._rest == 0

    def write(self, events: Iterable[Event]) -> None:
        """Write records until there are enough; ends of transactions are shown where all records are wanted."""
        from ...payloads.records.record import CapturedRecord
        from ...views.render.without_values import record_without

        for event in events:
            if isinstance(event, CapturedRecord):
                if not all(fits(event) for fits in self._fits):
                    continue
                self.ways[event.origin.way] += 1
                self._rest = None if self._rest is None else self._rest - 1
                event = record_without(event) if self.look.hide_values else event
            elif self._fits:
                continue
            if self._view is not None:
                self._writer.write(self._view.show(event))
            if self.done:
                return


def write_captured(runner: Runner, file: OpenFile, output: RecordOutput) -> None:
    """Write the records of a capture, and say what is odd about it."""
    from ...payloads.records.sources import Records, tells

    with runner.drive(file) as drive:
        records = Records(drive.engine.names_then, secrets=output.look.show_secrets)

        def events() -> Iterator[Event]:
            for exchange in drive:
                if tells(exchange):
                    yield from records.of(exchange)
                if drive.engine.findings:
                    runner.tell(drive.engine, file.name)

        if not output.done:
            output.write(events())
