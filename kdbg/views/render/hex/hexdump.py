"""The explained hexdump: every byte of a message with the field it belongs to, what it says and what type it has.

    0004  00 03                    api_key         3 = Metadata  INT16

A line a field, the rest of a long field on lines of its own below; colour tells neighbouring fields apart, and so does
the line break without it. Decompressed bytes follow under a heading, counted from their own beginning. What is odd
stands below its line, after a caret under the byte; where a message breaks off, under the place of the first byte
that is missing. Offsets count from the first byte shown, the size in front included.
"""

from __future__ import annotations

import textwrap
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ....errors import InputError
from ....exchanges.messages.message import Context, Message, explain, header_grammar
from ....exchanges.messages.payloads import open_inspection
from ....protocol.findings import Finding, Kind
from ....protocol.findings.amounts import count
from ....protocol.findings.facts import SizeWrong
from ....protocol.findings.text import beside
from ....protocol.wire import Api
from ....protocol.wire.language import Direction
from ....protocol.wire.nodes import WireStruct
from ....protocol.wire.readings.annotate import Inspection, Span
from ....protocol.wire.readings.outline import Topics
from .. import values
from ..findings import finding_line, style
from ..meanings import INDEX, meanings
from ..style import FIELD_COLOURS, Look
from ..without_values import conceal_values
from .annotations import ByteLine, Describer
from .grid import BYTES_AT, HUGE, Block, Grid, printable, spread, widest

MAX_LINES = 8
"""Lines of one field's bytes that are shown where long things are shortened."""
WIDEST_NAME, WIDEST_MEANING, WIDEST_ESSENCE = 64, 44, 27
"""Columns for names and meanings: what is wider stands out of line in a pipe, and is cut on a terminal."""
RETRIABLE = " (retriable)"
"""What an error can do without where there is little room."""
ENOUGH, LEAST_NAME = 16, 3
"""Columns of a text's beginning that say enough, and letters of a name's end."""


def pieces(
    data: bytes,
    api: Api | None,
    version: int,
    direction: Direction,
    look: Look,
    topics: Mapping[uuid.UUID, str],
    *,
    size: int | None = None,
    header: bool = True,
    offset: int = 0,
    tail: bool = False,
    text: bool | None = False,
    context: Context | None = None,
) -> Iterator[str]:
    """Yield the lines for one message, those of a huge field many at a time.

    `size` is the length in front of it, None where there was none.

    `offset` is what the first byte is counted as. `tail` shows only the last two fields, where the message breaks.
    `text` shows the bytes as text too, even where that leaves little room for their meaning; None: where names and
    meanings need not be cut for it. `context` helps to tell which payloads are inside the message.
    """
    for with_text in (True, False) if text is None else (text,):
        dump = Dump(look, topics, offset, tail, with_text)
        if api is None:
            dump.message(data, unknown_spans(data), [], size)
        else:
            grammar, inspection = explain(api, version, direction, data, header=header)
            open_inspection(grammar, inspection, context)
            if look.hide_values:
                conceal_values(inspection)
            dump.read(grammar, inspection)
            dump.inspection(inspection, size)
            if look.meanings and not tail:
                fields = [*([header_grammar(api, version, direction)] if header else []), grammar]
                dump.lines += meanings(fields, inspection.spans, look)
        if dump.grid.fits and not dump.cut:
            break
    return spread(dump.lines)


def unknown_spans(data: bytes) -> list[Span]:
    """Return the fields of a response whose API nobody knows: what it answers, and bytes that may be secret."""
    number = int.from_bytes(data[:4], "big", signed=True)
    return [
        Span("correlation_id", 0, min(4, len(data)), "INT32", number),
        Span("body", 4, len(data), "BYTES", data[4:], role="raw", secret=True),
    ]


def hexdump(*message: Any, **how: Any) -> list[str]:
    """Return the lines for one message, as `pieces` yields them."""
    return [*pieces(*message, **how)]


def message_hexdump(message: Message, look: Look, topics: Topics) -> str:
    """Return the lines of one message; raise `InputError` where only a text of it was read."""
    if message.data is None:
        raise InputError(f"no hexdump of this {message.api.name} {message.direction}: its bytes are not known")
    header = message.header is not None
    lines = hexdump(message.data, message.api, message.version, message.direction, look, topics, header=header)
    return "\n".join(lines) + "\n"


def plain_hexdump(data: bytes, look: Look, offset: int = 0) -> list[str]:
    """Return lines of sixteen bytes in hex and as text, for bytes of which nothing is known."""
    starts = range(0, len(data), 16)
    shown = starts if look.full else starts[: 4 * MAX_LINES]
    lines = [
        f"{look.paint('dim', f'{offset + start:04x}')}  {piece.hex(' '):<47}  {look.paint('text', printable(piece))}"
        for start in shown
        for piece in [data[start : start + 16]]
    ]
    rest = len(data) - 16 * len(shown)
    return lines if rest <= 0 else [*lines, look.paint("dim", f"{'':{BYTES_AT}}… {count(rest, 'more byte')}")]


def size_finding(size: int, length: int) -> Finding | None:
    """Return a finding if `size` is not the number of bytes after it, else None.

    The finding is at -4: places count from the first byte after the size.
    """
    if size == length:
        return None
    return Finding(Kind.TRUNCATED if size > length else Kind.TRAILING_BYTES, "", "", -4, 4, SizeWrong(size, length))


def heading(look: Look, name: str, length: int) -> str:
    """Return the heading of a decompressed buffer, shortened to the width at the left."""
    what, name = f", decompressed: {count(length, 'byte')}", values.escape(name)
    left = look.width - len(what)
    name = name if look.full or len(name) <= left else f"…{name[1 - max(left, 8) :]}"
    return look.paint("heading", name + what)


def shortened(path: str, room: int) -> str:
    """Return the path of a field in so many columns: the indices on the way to it are kept, and the end of its name."""
    if len(path) <= room:
        return path
    way, dot, name = path.rpartition(".")
    indices = "".join(INDEX.findall(way))
    if len(indices) + len(dot) + len(name) <= room:
        return indices + dot + name
    left = room - len(indices) - 1
    return f"{indices}…{name[-left:]}" if left >= LEAST_NAME else f"…{path[1 - room :]}"


def note(finding: Finding, column: int, look: Look) -> list[str]:
    """Return lines with a caret in `column` and what is found, beside the caret if it fits there, else below."""
    text, painted = values.escape(beside(finding)), style(finding.kind)
    if column + 2 + len(text) <= look.width:
        return [" " * column + look.paint(painted, f"^ {text}")]
    wrapped = textwrap.wrap(text, max(look.width - BYTES_AT, 40), break_long_words=False)
    below = [" " * BYTES_AT + look.paint(painted, line) for line in wrapped]
    return [" " * column + look.paint(painted, "^"), *below]


PlacedLine: TypeAlias = tuple[int, "str | Block"]
"""Where a line of bytes ends, and the line, or all lines below the first of a huge field."""


Columns: TypeAlias = tuple[int, int]
"""How wide the names and the meanings are."""


class Dump:
    """Gathers lines. `shift` is added to the places of fields: the offset, and 4 when the size stands in front.

    `cut` says whether there was a name or a meaning that is not shown whole.
    """

    shift: int
    colour: int

    def __init__(
        self, look: Look, topics: Mapping[uuid.UUID, str], offset: int = 0, tail: bool = False, text: bool = False
    ) -> None:
        self.look: Look = look
        self.offset: int = offset
        self.tail: bool = tail
        self.lines: list[str | Block] = []
        self.shift = self.colour = 0
        self.cut = False
        self.grid: Grid = Grid(look, text=text)
        self.per_line, self.room = self.grid.per_line, self.grid.room
        self.describe: Describer = Describer(look, topics, self.room)

    def read(self, grammar: WireStruct, inspection: Inspection, front: str = "") -> None:
        """Have keys and values of records read, if the look wants that; `front` begins no path that is shown."""
        if self.look.read is not None and inspection.value:
            from ....payloads.records.sources import read_values

            found = read_values(grammar, inspection.value, self.describe.topics, self.look.read)
            self.describe.said = {path.removeprefix(front): value for path, value in found.items()}

    def inspection(self, inspection: Inspection, size: int | None = None) -> None:
        """Add the lines of a message, of its decompressed buffers, and of the findings that have no place in it."""
        self.describe.broken = inspection.broken
        message = [span for span in inspection.spans if span.buffer == 0]
        placed = [finding for finding in inspection.findings if finding.start is not None]
        self.message(inspection.buffers[0].data, message, placed, size)
        for number, buffer in enumerate(inspection.buffers[1:], 1) if not self.tail else ():
            self.lines += ["", heading(self.look, buffer.name, len(buffer.data))]
            self.shift = 0
            spans = [span for span in inspection.spans if span.buffer == number]
            self.rows([self.describe.row(span, buffer.data) for span in spans], [])
        if not self.tail:
            self.lines += [finding_line(finding, self.look) for finding in inspection.findings if finding.start is None]

    def message(self, data: bytes, spans: Sequence[Span], findings: list[Finding], size: int | None) -> None:
        """Add the lines of the message itself, with its size in front if it has one."""
        rows = [self.describe.row(span, data) for span in spans if span.start < span.end or span.role != "size"]
        self.shift = self.offset
        if size is not None:
            self.shift += 4
            rows.insert(0, ByteLine(-4, (size & 0xFFFFFFFF).to_bytes(4, "big"), "size", str(size), "INT32"))
            odd = size_finding(size, len(data))
            findings = [odd, *findings] if odd else findings
        self.rows(rows, findings)

    def rows(self, rows: list[ByteLine], findings: list[Finding]) -> None:
        """Add the lines of one buffer, with each finding below the line that shows its byte."""
        first = max(len(rows) - 2, 0) if self.tail else 0
        columns = self._columns(rows[first:])
        last = rows[-1].end if rows else 0
        for number, row in enumerate(rows[first:], first):
            lines = self._lines(row, columns)
            below = [finding for finding in findings if row.start <= (finding.start or 0) < row.end]
            if row.end == last:
                below += [finding for finding in findings if (finding.start or 0) >= last]
            for finding in reversed(below):  # each goes below its line, above those that are there
                self._insert(lines, finding, row, number)
            self.lines += [line for _, line in lines]

    def _columns(self, rows: list[ByteLine]) -> Columns:
        """Return the widths of the columns for names and meanings.

        Where everything is shown, they fit the widest that are within a limit. Else both share the room beside the
        bytes, and meanings get theirs first, up to `WIDEST_ESSENCE` columns.
        """
        if self.look.full:
            names, meanings = [len(row.name) for row in rows], [len(row.meaning) for row in rows]
            return widest(names, WIDEST_NAME), widest(meanings, WIDEST_MEANING)
        meaning = 0
        for row in rows:  # of text and ids the beginning is enough, and an error can do without its retry
            wants = len(row.essence.removesuffix(RETRIABLE))
            cuttable = row.meaning.startswith('"') or row.type == "UUID"
            meaning = max(meaning, min(wants, ENOUGH if cuttable else WIDEST_ESSENCE))
        name = min(max((len(row.name) for row in rows), default=0), self.room - 2 - meaning)
        left = self.room - 2 - name
        return name, max((len(row.meaning) for row in rows if len(row.meaning) <= left - 8), default=meaning)

    def _lines(self, row: ByteLine, columns: Columns) -> list[PlacedLine]:
        """Return (end, line) for each line of a field; `end` is the place up to which the line shows bytes."""
        style = f"field{self.colour % FIELD_COLOURS}"
        self.colour += 1
        size = self.per_line
        count_of = len(range(0, len(row.data), size)) or 1
        shown = count_of if self.look.full or count_of <= MAX_LINES else MAX_LINES - 1
        data, place = row.data[: shown * size], row.start + self.shift
        texts = [self.grid.whole_line(place, data[:size], self._beside(row, columns), style, hidden=row.hidden)]
        if count_of == shown and len(row.data) > HUGE:
            below = Block(self.grid, data, size, place + size, style, row.hidden)
            return [(row.start + size, texts[0]), (row.end, below)]
        if shown > 1:
            texts += self.grid.rest(place + size, data[size:], style, hidden=row.hidden).decode().split("\n")[:-1]
        lines: list[PlacedLine] = [(min(row.start + at * size, row.end), text) for at, text in enumerate(texts, 1)]
        if shown < count_of:
            rest = len(row.data) - shown * size
            lines.append((row.end, self.look.paint("dim", f"{'':{BYTES_AT}}… {count(rest, 'more byte')}")))
        return lines

    def _beside(self, row: ByteLine, columns: Columns) -> str:
        """Return name, meaning and type, aligned in their columns, shortened where they do not fit."""
        name, meaning, look, (names, meanings) = row.name, row.meaning, self.look, columns
        if not look.full:
            name = shortened(name, names)
            left = self.room - 2 - names
            meaning = meaning if len(meaning) <= left else row.essence
            meaning = meaning if len(meaning) <= left else meaning.removesuffix(RETRIABLE)
            meaning = meaning if len(meaning) <= left else f"{meaning[: max(left - 1, 0)]}…"
            self.cut = self.cut or name != row.name or meaning != row.meaning
        left = self.grid.left(len(name), names, len(meaning), meanings)
        type, _, more = row.type.partition(":")
        if more and len(row.type) <= left:
            type = row.type
        both = f"{look.paint('name', name)}{' ' * (names - len(name))}  {meaning:<{meanings}}"
        return f"{both}  {look.paint('dim', type)}" if type and (len(type) <= left or look.full) else both

    def _insert(self, lines: list[PlacedLine], finding: Finding, row: ByteLine, above: int) -> None:
        """Put a finding below the line of `row` that shows its byte, or the place of the first byte that is missing."""
        place = start = finding.start or 0
        if (
            finding.kind is Kind.TRUNCATED
            and finding.path
            and (len(lines) == len(range(0, len(row.data), self.per_line)) or isinstance(lines[-1][1], Block))
        ):
            place = row.end
        index = next((i for i, (end, _) in enumerate(lines) if place < end), len(lines) - 1)
        before = index * self.per_line
        if isinstance(lines[index][1], Block):
            before = (min(place, row.end - 1) - row.start) // self.per_line * self.per_line
        column = BYTES_AT + 3 * max(min(place - row.start - before, self.per_line), 0)
        below = note(finding, column, self.look)
        broken = self.describe.broken
        if broken is not None and (start, finding.kind) == (broken.start, broken.kind):
            above += start >= row.end
            sound = f"the {count(above, 'field')} above decoded correctly"
            below += [" " * BYTES_AT + self.look.paint("dim", sound)] * bool(above)
        lines[index + 1 : index + 1] = [(lines[index][0], line) for line in below]
