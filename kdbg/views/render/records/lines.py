"""A line a record, to read: when, where, who, what is special about it, key, value, headers.

Into a pipe lines are whole. On a terminal no line is wider than that: dates stand on lines of their own, an arrow says
who sent to whom, and keys and values are cut; marks and errors never are.
"""

from __future__ import annotations

from ....payloads.records.record import CapturedRecord, TransactionEnd
from ....payloads.values.chosen import ReadBytes
from ....payloads.values.value import Part, Value, ValueContext
from ..exchange_header import has_date, moment
from ..style import Look
from ..value_text import quoted
from ..values import cells, cut, escape, quote
from .contents import header_texts
from .marks import marks

DATE, TIME = 10, 12
"""Columns of a date and of a time of day to the millisecond."""
LEAST = 8
"""Columns that a key or a value gets at least, where there are any."""
WIDE = 120
"""Columns from which on ways are words."""
ARROWS = {"produced": "←", "fetched": "→", "stored": "·"}
MILLISECOND = 1_000_000
"""Nanoseconds of a millisecond."""
UNKNOWN = "–"
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
            return self._whole([("dim", when), *self._front(record, 0), *special, *self._all_content(record)])
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
        if nanoseconds is None:
            return "", f"{UNKNOWN:<{TIME if not self.look.full else DATE + 1 + TIME}}  "
        if not has_date(nanoseconds):
            return "", f"{f'{nanoseconds // MILLISECOND} ms':<{TIME if not self.look.full else DATE + 1 + TIME}}  "
        text = moment(nanoseconds)[: DATE + 1 + TIME]
        if self.look.full:
            return "", f"{text}  "
        day, self._day = self._day, text[:DATE]
        return "" if day == self._day else self.look.paint("dim", f"{self._day} UTC") + "\n", f"{text[DATE + 1 :]}  "

    def _front(self, record: CapturedRecord, taken: int) -> list[Piece]:
        """Return where a record is and who sent or fetched it; `taken` columns of the line are for other things."""
        origin, offset = record.origin, "?" if record.offset is None else str(record.offset)
        topic, behind = escape(record.topic_text or "?"), f"/{record.partition}@{offset}"
        way = origin.way if self.most >= WIDE else ARROWS[origin.way]
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
        headers = _headers(record)
        tail = f"  {headers}" if headers else ""
        key, value = self._value_text(record, "key"), self._value_text(record, "value")
        left = room - _width([*self._reader_note(key), *self._reader_note(value)]) - 2
        shown = quoted(key, self.most)
        whole = cells(shown) + cells(quoted(value, self.most))
        left -= min(cells(tail), max(left - whole, left // 4))
        if whole > left:
            shown = quoted(key, max(left // 2, LEAST))
        left -= cells(shown)
        return [("text", shown), *self._reader_note(key), ("text", f"  {quoted(value, max(left, LEAST))}"),
                *self._reader_note(value), ("", tail)]  # fmt: skip

    def _all_content(self, record: CapturedRecord) -> list[Piece]:
        """Return key, value and headers, whole."""
        key, value = self._value_text(record, "key"), self._value_text(record, "value")
        found = [("text", quoted(key, self.most)), *self._reader_note(key), ("text", f"  {quoted(value, self.most)}"),
                 *self._reader_note(value)]  # fmt: skip
        return [*found, ("", f"  {_headers(record)}")] if record.headers else found

    def _value_text(self, record: CapturedRecord, part: Part) -> Value:
        return self.read(getattr(record, part), ValueContext(part, record.topic_text, record.headers))

    def _reader_note(self, value: Value) -> list[Piece]:
        """Return how a key or value was read, and why not otherwise."""
        if not (value.about or value.problem):
            return []
        about = [("dim", f"  {escape(value.about)}")] if value.about else []
        return [*about, *([("note", f"  {escape(value.problem)}")] if value.problem else [])]

    def _aligned(self, column: int, text: str) -> str:
        wide, width = cells(text), self._widths[column]
        if wide > width:
            width = self._widths[column] = min(wide, self.widest)
        return text + " " * (max(width - wide, 0) + 2)

    def _whole(self, pieces: list[Piece]) -> str:
        """Return the pieces painted."""
        if not self.look.colors:
            return "".join([text for _, text in pieces]).rstrip() + "\n"
        return self._joined(pieces)

    def _joined(self, pieces: list[Piece]) -> str:
        """Return the pieces painted, cut at the width."""
        out, room = [], self.most
        for style, text in pieces:
            if room <= 0:
                break
            shown = text if self.look.full else cut(text, room)
            room -= cells(shown)
            out.append(self.look.paint(style, shown) if style else shown)
        return "".join(out).rstrip() + "\n"


def _headers(record: CapturedRecord) -> str:
    return ", ".join(f"{escape(key)}={quote(value)}" for key, value in header_texts(record.headers))


def _width(pieces: list[Piece]) -> int:
    return sum(cells(text) for _, text in pieces)


def _style(mark: str) -> str:
    return "bad" if mark.startswith("✗") or mark == "aborted" else "good" if mark == "committed" else "note"
