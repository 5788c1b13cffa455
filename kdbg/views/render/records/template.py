"""Lines by a format as kcat has it: `%T %t/%p@%o %k %s %h\\n`, each letter something of the record.

Into a pipe everything goes as it stands. Where somebody watches, what was captured is escaped, and long keys and values
are cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ....errors import InputError
from ....payloads.records.record import CapturedRecord
from ....payloads.values.chosen import ReadBytes
from ....payloads.values.value import Part, ValueContext
from ..style import Look
from ..values import cut
from .contents import escaped, header_texts, text
from .marks import marks

NONE = "-1"
"""What stands for a number that is not known, as in kcat."""
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
            "S": lambda record: size(record.value), "K": lambda record: size(record.key),
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
        said = self.read(getattr(record, part), ValueContext(part, record.topic_text, record.headers))
        return self.plain(text(said))

    def plain(self, said: str | None) -> str:
        """Return captured text as it stands, or safe and short where somebody watches."""
        if not self.watched or said is None:
            return said or ""
        shown = escaped(said)
        if len(shown) <= self.look.max_text:
            return shown
        return f"{cut(shown, self.look.max_text - 20)} {len(said):,} characters"

    def headers(self, record: CapturedRecord) -> str:
        """Return the headers as kcat does: `key=value,key=value`, NULL for null."""
        return self.plain(",".join(f"{key}={value}" for key, value in header_texts(record.headers, "NULL")))


def size(data: bytes | None) -> str:
    """Return the number of bytes, -1 for null."""
    return NONE if data is None else str(len(data))


def number(value: int | None) -> str:
    """Return a number, -1 where it is not known."""
    return NONE if value is None else str(value)
