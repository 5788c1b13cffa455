"""Every view of records, declared once; a format of letters after a % is one too (template.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ....errors import InputError
from ....payloads.records.record import CapturedRecord, Event, TransactionEnd
from ....payloads.values.chosen import ReadBytes
from ..style import Look
from ..views import Text
from .lines import Lines
from .rows import CsvRecords, JsonRecords, csv_header
from .template import Template

RecordView: TypeAlias = Callable[[Event], Text]
"""Renders a record; gives "" for the end of a transaction where that is no line of its own."""


class RecordsView(NamedTuple):
    """A view of records: what stands above the first, what renders them, and whether it is for programs."""

    header: str
    show: RecordView
    data: bool


def record_view(format: str, look: Look, read: ReadBytes, *, watched: bool, raw: bool = False) -> RecordsView:
    """Return the view of a name, or by a format; raise `InputError` where it is neither.

    `watched` says that somebody looks at the output as it comes: what was captured must not reach the screen unescaped.
    `raw`: CSV keeps what a spreadsheet takes for a formula.
    """
    if format == "lines":
        return RecordsView("", _both(Lines(look, read)), data=False)
    if format == "json":
        return RecordsView("", _records(JsonRecords(read, secrets=look.show_secrets)), data=True)
    if format == "csv":
        return RecordsView(csv_header(), _records(CsvRecords(read, raw=raw)), data=True)
    if "%" in format or "\\" in format:
        return RecordsView("", _records(Template(format, look, read, watched=watched)), data=True)
    known = ", ".join(FORMATS)
    raise InputError(rf"unknown format {format!r} of records; use {known}, or letters after a %, such as '%k %s\n'")


FORMATS = ("lines", "json", "csv")


def _records(render: Callable[[CapturedRecord], Text]) -> RecordView:
    return lambda event: "" if isinstance(event, TransactionEnd) else render(event)


def _both(lines: Lines) -> RecordView:
    return lambda event: lines.end(event) if isinstance(event, TransactionEnd) else lines(event)
