"""Every view of records, declared once: lines to read, lines by a format as kcat has them, JSON Lines, CSV.

Into a pipe lines are whole. On a terminal no line is wider than that: dates stand on lines of their own, an arrow says
who sent to whom, and keys and values are cut; marks and errors never are. Lines by a format, such as
`%T %t/%p@%o %k %s %h\\n`, have each letter's part of the record; on a terminal, what was captured is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ...errors import InputError
from ...payloads.records.record import CapturedRecord, Event, TransactionEnd
from ...payloads.values.chosen import ReadBytes
from ...payloads.values.value import Part, Value, ValueContext
from ...protocol.grammars.errors import error_name
from .answers import csv_line
from .jsonlines import dump
from .record_values import escaped, header_objects, header_texts, is_open, json_form, marks, plain_text, quoted
from .style import Look
from .values import cells, cut, escape, has_date, moment, quote
from .views import Text

DATE, TIME = 10, 12
"""Columns of a date and of a time of day to the millisecond."""
LEAST = 8
"""Columns that a key or a value gets at least, where there are any."""
ARROWS = {"produced": "←", "fetched": "→", "stored": "·"}
MILLISECOND = 1_000_000
"""Nanoseconds of a millisecond."""
Piece = tuple[str, str]
"""A style, and text in it."""


class Lines:
    """Renders records, one line each; on a terminal with a line above those of another day."""

    def __init__(self, look: Look, read: ReadBytes) -> None:
        self.look, self.read = look, read
        self.most: int = 1 << 62 if look.full else look.width
        self.widest: int = 40 if look.full else max(look.width // 4, LEAST)
        """Columns that places, and clients, take at most where they are aligned."""
        self._widths = [0, 0]
        self._day = ""

    def __call__(self, record: CapturedRecord) -> str:
        """Return the line of a record, newline included."""
        milliseconds = record.timestamp
        day, when = self._when(None if milliseconds is None else milliseconds * MILLISECOND)
        special = [(_style(mark), f"{mark}  ") for mark in marks(record)]
        if self.look.full:
            return self._joined([("dim", when), *self._front(record, 0), *special, *self._content(record, self.most)])
        found: list[Piece] = [("dim", when), *self._front(record, _width(special) + len(when)), *special]
        return day + self._joined(found + self._content(record, self.most - _width(found)))

    def end(self, ended: TransactionEnd) -> str:
        """Return the line of a transaction's end, newline included."""
        origin = ended.origin
        day, when = self._when(origin.time)
        who = f"of producer {ended.producer_id}/{ended.producer_epoch}  {escape(origin.client_id or '')}"
        pieces = [("dim", when), (_style(ended.outcome), f"{ended.outcome}  "), ("name", "transaction "),
                  ("text", f"{quote(ended.transactional_id)}  "), ("dim", who)]  # fmt: skip
        return day + self._joined(pieces)

    def _when(self, nanoseconds: int | None) -> tuple[str, str]:
        """Return the line of the day, "" where that is known, and the time with what separates it from the rest."""
        if nanoseconds is None or not has_date(nanoseconds):
            said = "–" if nanoseconds is None else f"{nanoseconds // MILLISECOND} ms"
            return "", f"{said:<{TIME if not self.look.full else DATE + 1 + TIME}}  "
        text = moment(nanoseconds)[: DATE + 1 + TIME]
        if self.look.full:
            return "", f"{text}  "
        day, self._day = self._day, text[:DATE]
        return "" if day == self._day else self.look.paint("dim", f"{self._day} UTC") + "\n", f"{text[DATE + 1 :]}  "

    def _front(self, record: CapturedRecord, taken: int) -> list[Piece]:
        """Return where a record is and who sent or fetched it; `taken` columns of the line are for other things."""
        origin, offset = record.origin, "?" if record.offset is None else str(record.offset)
        topic, behind = escape(record.topic_text or "?"), f"/{record.partition}@{offset}"
        way = origin.way if self.most >= 120 else ARROWS[origin.way]
        who = f"{way} {escape(origin.client_id or '')}".rstrip()
        if self.look.full:
            return [("name", self._aligned(0, topic + behind)), ("dim", self._aligned(1, who))]
        room = max(self.most - taken - 4, 0)
        place = f"{cut(topic, max(min(self.widest, room * 2 // 3) - len(behind), 2))}{behind}"
        if max(cells(place), self._widths[0]) + min(max(cells(who), self._widths[1]), self.widest) > room:
            who = cut(who, min(max(room - cells(place), 1), self.widest))
            return [("name", f"{place}  "), ("dim", f"{who}  ")]
        return [("name", self._aligned(0, place)), ("dim", self._aligned(1, cut(who, self.widest)))]

    def _content(self, record: CapturedRecord, room: int) -> list[Piece]:
        """Return key, value and headers, shortened to the room there is: the value gets most of it."""
        tail = ""
        if record.headers:
            tail = "  " + ", ".join(f"{escape(key)}={quote(value)}" for key, value in header_texts(record.headers))
        key, value = value_column(record, "key", self.read), value_column(record, "value", self.read)
        if self.look.full:
            return [("text", quoted(key, room)), *self._reader_note(key), ("text", f"  {quoted(value, room)}"),
                    *self._reader_note(value), ("", tail)]  # fmt: skip
        left = room - _width([*self._reader_note(key), *self._reader_note(value)]) - 2
        shown = quoted(key, self.most)
        whole = cells(shown) + cells(quoted(value, self.most))
        left -= min(cells(tail), max(left - whole, left // 4))
        if whole > left:
            shown = quoted(key, max(left // 2, LEAST))
        left -= cells(shown)
        return [("text", shown), *self._reader_note(key), ("text", f"  {quoted(value, max(left, LEAST))}"),
                *self._reader_note(value), ("", tail)]  # fmt: skip

    def _reader_note(self, value: Value) -> list[Piece]:
        """Return how a key or value was read, and why not otherwise."""
        about, problem = value.about, value.problem
        if not (about or problem):
            return []
        return [(style, f"  {escape(text)}") for style, text in (("dim", about), ("note", problem)) if text]

    def _aligned(self, column: int, text: str) -> str:
        wide, width = cells(text), self._widths[column]
        if wide > width:
            width = self._widths[column] = min(wide, self.widest)
        return text + " " * (max(width - wide, 0) + 2)

    def _joined(self, pieces: list[Piece]) -> str:
        """Return the pieces painted, cut at the width."""
        if self.look.full and not self.look.colors:
            return "".join([text for _, text in pieces]).rstrip() + "\n"
        out, room = [], self.most
        for style, text in pieces:
            if room <= 0:
                break
            shown = text if self.look.full else cut(text, room)
            room -= cells(shown)
            out.append(self.look.paint(style, shown) if style else shown)
        return "".join(out).rstrip() + "\n"


def _width(pieces: list[Piece]) -> int:
    return sum(cells(text) for _, text in pieces)


def _style(mark: str) -> str:
    return "bad" if mark.startswith("✗") or mark == "aborted" else "good" if mark == "committed" else "note"


ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\"}
TOKEN = re.compile(r"%(?P<letter>.)?|\\x(?P<hex>[0-9a-fA-F]{2})|\\(?P<escape>.)?|(?P<text>[^%\\]+)", re.DOTALL)
Field = Callable[[CapturedRecord], str]
LETTERS = {
    "s": "the value", "S": "its bytes, -1 for null", "k": "the key", "K": "its bytes, -1 for null", "t": "the topic",
    "p": "the partition", "o": "the offset, -1 if unknown", "T": "the timestamp in milliseconds, -1 if unknown",
    "h": "the headers", "w": "produced, fetched or stored", "c": "the client id", "n": "the number of the exchange",
    "m": "marks: control records, outcomes of transactions, errors", "%": "a percent sign",
}  # fmt: skip
"""What each letter stands for; w, c, n and m are kdbg's own."""


class Template:
    """Renders records by a format; raises `InputError` for a letter or an escape that there is not."""

    def __init__(self, format: str, look: Look, read: ReadBytes, *, watched: bool) -> None:
        self.look, self.read, self.watched = look, read, watched
        self._fields: dict[str, Field] = {
            "s": lambda record: self.content(record, "value"), "k": lambda record: self.content(record, "key"),
            "S": lambda record: number(None if record.value is None else len(record.value)),
            "K": lambda record: number(None if record.key is None else len(record.key)),
            "t": lambda record: self.plain(record.topic_text), "p": lambda record: number(record.partition),
            "o": lambda record: number(record.offset), "T": lambda record: number(record.timestamp),
            "h": self.headers, "w": lambda record: record.origin.way,
            "c": lambda record: self.plain(record.origin.client_id), "n": lambda record: number(record.origin.number),
            "m": lambda record: ", ".join(marks(record)),
        }  # fmt: skip
        self._parts: list[str | Field] = [self._part(found) for found in TOKEN.finditer(format)]

    def _part(self, found: re.Match[str]) -> str | Field:
        letter, escape = found["letter"], found["escape"]
        if found["text"]:
            return found["text"]
        if found["hex"]:
            return chr(int(found["hex"], 16))
        if letter == "%" or escape == "%":
            return "%"
        if letter in self._fields:
            return self._fields[letter]
        if escape in ESCAPES:
            return ESCAPES[escape]
        letters = " ".join(f"%{each}" for each in LETTERS)
        raise InputError(rf"unknown {found[0]!r} in the format of records; use {letters}, \n, \r, \t and \xNN")

    def __call__(self, record: CapturedRecord) -> str:
        """Return the text of one record."""
        return "".join([part if isinstance(part, str) else part(record) for part in self._parts])

    def content(self, record: CapturedRecord, part: Part) -> str:
        """Return what a key or a value says; nothing for null."""
        return self.plain(plain_text(value_column(record, part, self.read)))

    def plain(self, said: str | None) -> str:
        """Return captured text as it stands, or safe and short on a terminal."""
        if not self.watched or said is None:
            return said or ""
        shown = escaped(said)
        if len(shown) <= self.look.max_text:
            return shown
        return f"{cut(shown, self.look.max_text - 20)} {len(said):,} characters"

    def headers(self, record: CapturedRecord) -> str:
        """Return the headers as kcat does: `key=value,key=value`, NULL for null."""
        return self.plain(",".join(f"{key}={value}" for key, value in header_texts(record.headers, "NULL")))


def number(value: int | None) -> str:
    """Return a number, -1 where it is not known, as kcat does."""
    return "-1" if value is None else str(value)


PARTS: tuple[Part, Part] = ("key", "value")
COLUMNS = (
    "time", "timestamp", "topic", "partition", "offset", "way", "client_id", "exchange", "connection", "key", "value",
    "headers", "codec", "producer_id", "producer_epoch", "sequence", "control", "transaction", "error",
)  # fmt: skip
OPEN = "open"
"""The state of a transaction whose outcome was not seen by then."""


def json_record(record: CapturedRecord, read: ReadBytes, *, secrets: bool = False) -> bytes:
    """Return a record as a line of JSON; its key and value as `kdbg decode --format json` has them, or as read."""
    key, value = value_column(record, "key", read), value_column(record, "value", read)
    found = columns(record) | {
        "key": json_form(key), "value": json_form(value), "headers": header_objects(record.headers),
    }  # fmt: skip
    if record.topic_id is not None:
        found["topic_id"] = str(record.topic_id)
    for part, shown in (("key", key), ("value", value)):
        told = {"about": shown.about, "schema_id": shown.schema_id, "problem": shown.problem}
        found |= {f"{part}_{name}": item for name, item in told.items() if item}
    if not record.sound:
        found["checksum"] = "wrong"
    return dump(found, show_secrets=secrets)


def csv_record(record: CapturedRecord, read: ReadBytes, *, raw: bool = False) -> str:
    """Return the line of CSV of a record; what is no text in key or value is hex, or JSON where a reader read it."""
    found = columns(record)
    for part in PARTS:
        value = value_column(record, part, read)
        found[part] = None if value.kind == "null" else plain_text(value)
    found["headers"] = header_objects(record.headers) if record.headers else None
    return csv_line([found[name] for name in COLUMNS], raw=raw)


def value_column(record: CapturedRecord, part: Part, read: ReadBytes) -> Value:
    """Return what the key or value of a record says."""
    return read(getattr(record, part), ValueContext(part, record.topic_text, record.headers))


def columns(record: CapturedRecord) -> dict[str, Any]:
    """Return all columns, those of keys, values and headers still to be filled."""
    origin, producer = record.origin, record.producer
    time = None if record.timestamp is None else record.timestamp * 1_000_000
    when = moment(time)[:23].replace(" ", "T") + "Z" if time is not None and has_date(time) else None
    return {
        "time": when, "timestamp": record.timestamp, "topic": record.topic_text, "partition": record.partition,
        "offset": record.offset, "way": origin.way, "client_id": origin.client_id, "exchange": origin.number,
        "connection": origin.connection, "key": None, "value": None, "headers": None, "codec": record.codec,
        "producer_id": producer.id if producer else None, "producer_epoch": producer.epoch if producer else None,
        "sequence": record.sequence, "control": record.control,
        "transaction": record.outcome or (OPEN if is_open(record) else None),
        "error": error_name(record.error) if record.error else None,
    }  # fmt: skip


RecordView: TypeAlias = Callable[[Event], Text]
"""Renders a record; gives "" for the end of a transaction where that is no line of its own."""


class RecordsView(NamedTuple):
    """A view of records: what stands above the first, what renders them, and whether it is for programs."""

    header: str
    show: RecordView
    data: bool


def record_view(format: str, look: Look, read: ReadBytes, *, watched: bool, raw: bool = False) -> RecordsView:
    """Return the view of a name, or by a format; raise `InputError` where it is neither.

    `watched` says that the output goes to a terminal: what was captured must not reach the screen unescaped.
    `raw`: CSV keeps what a spreadsheet takes for a formula.
    """
    if format == "lines":
        lines = Lines(look, read)
        return RecordsView(
            "", lambda event: lines.end(event) if isinstance(event, TransactionEnd) else lines(event), data=False
        )
    if format == "json":
        return RecordsView("", _records(partial(json_record, read=read, secrets=look.show_secrets)), data=True)
    if format == "csv":
        return RecordsView(csv_line(COLUMNS), _records(partial(csv_record, read=read, raw=raw)), data=True)
    if "%" in format or "\\" in format:
        return RecordsView("", _records(Template(format, look, read, watched=watched)), data=True)
    known = ", ".join(FORMATS)
    raise InputError(rf"unknown format {format!r} of records; use {known}, or letters after a %, such as '%k %s\n'")


FORMATS = ("lines", "json", "csv")


def _records(render: Callable[[CapturedRecord], Text]) -> RecordView:
    return lambda event: "" if isinstance(event, TransactionEnd) else render(event)
