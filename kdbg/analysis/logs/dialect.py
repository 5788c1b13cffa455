"""What dialects have in common: what a line says, when it was written, and structures in lines, as JSON or printed.

The time of a line is the last that stands in front of what it says.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...exchanges.messages.message import UNTIMED
from ...exchanges.messages.peers import End
from ...protocol.wire import Api
from ...protocol.wire.language import Direction

FARTHEST = 400
"""Letters in front of what a line says in which a time is looked for."""
MOMENT = re.compile(
    r"(?<!\d)(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(Z\b|UTC\b|[+-]\d\d:?\d\d(?!\d))?"
)
SECONDS = re.compile(r"%\d\|(\d{9,11})\.(\d{3})\|")
"""As librdkafka writes to stderr."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000_000


def stamp(text: str) -> tuple[int, bool]:
    """Return when a line was written by the text in front of what it says, and whether that names its zone.

    The time is in nanoseconds since 1970, as if UTC where no zone is named; `UNTIMED` where there is none.
    """
    near = text[-FARTHEST:]
    last = None
    for last in MOMENT.finditer(near):  # noqa: B007 - the last is wanted
        pass
    if last is not None:
        second = _second(*(int(part) for part in last.groups()[:6]))
        if second is not None:
            fraction, zone, ahead = int((last[7] or "0").ljust(9, "0")), last[8], 0
            if zone not in (None, "Z", "UTC"):
                ahead = (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60) * (-1 if zone[0] == "-" else 1)
            return (second - ahead) * SECOND + fraction, zone is not None
    found = SECONDS.search(near)
    if found is not None:
        return int(found[1]) * SECOND + int(found[2]) * 1_000_000, True
    return UNTIMED, False


@lru_cache(maxsize=4096)
def _second(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int | None:
    """Return seconds since 1970; None for what is no time, or earlier."""
    try:
        found = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return int((found - EPOCH) / timedelta(seconds=1)) if found >= EPOCH + timedelta(days=1) else None


NOBODY: End = ("", 0)
"""An end of a connection that no line names."""
Fields: TypeAlias = Mapping[str, Any]


class LineFacts(NamedTuple):
    """What a line says. None, `UNTIMED` and `NOBODY` stand for what it leaves open.

    `connection` is whatever the dialect has to tell connections apart by. `sizes` are the bytes of request and response
    on the wire, the 4-byte size included; `fields` what stands in their bodies, as far as the line shows it. `latency`
    is in nanoseconds; `time` in nanoseconds since 1970, `zoned` whether the line says of which zone it is: else it is
    taken as UTC.
    """

    half: Direction | Literal["both"]
    api: Api
    version: int | None = None
    correlation_id: int | None = None
    client_id: str | None = None
    connection: str = ""
    client: End = NOBODY
    broker: End = NOBODY
    sizes: tuple[int | None, int | None] = (None, None)
    fields: tuple[Fields, Fields] = ({}, {})
    latency: int | None = None
    time: int = UNTIMED
    zoned: bool = False


class Dialect(NamedTuple):
    """How one program writes: `marks` are texts of which each of its lines has one; `read` returns what a line says.

    `read` returns None for a line that says nothing of an exchange. `how` says how to have such lines written.
    """

    name: str
    about: str
    how: str
    marks: tuple[str, ...]
    read: Callable[[str], LineFacts | None]


def end_of(text: str) -> End:
    """Return the end of a connection that `HOST:PORT` names, with or without a protocol in front; else `NOBODY`."""
    host, colon, port = text.rpartition("://")[2].rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 1 << 16:
        return NOBODY
    return host.strip("[]"), int(port)


_DECODER = json.JSONDecoder()


def object_in(line: str, start: int) -> dict[str, Any] | None:
    """Return the JSON object that begins at `start`, whatever follows it; None where there is none."""
    try:
        found, _ = _DECODER.raw_decode(line, start)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def text(value: Any) -> str | None:
    """Return the value if it is text."""
    return value if isinstance(value, str) else None


def number(value: Any) -> int | None:
    """Return the value if it is a whole number that a message can hold."""
    return value if type(value) is int and -1 << 31 <= value < 1 << 31 else None


MOST_DEEP = 32
WORD = re.compile(r"[^\s,()\[\]{}='\"]+")
KEY = re.compile(r"\s*([A-Za-z_]\w{0,99})\s*[=:]\s*")
NUMBER = re.compile(r"-?\d{1,20}")
TEXT_END = re.compile(r"'(?=[,)\]}]|$)")
LITERAL = re.compile(r"(b?)('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", re.DOTALL)
CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
PLAIN: Final = {"null": None, "None": None, "true": True, "True": True, "false": False, "False": False}


class Broken(Exception):
    """The text is not printed as structures are."""


def printed(text: str, start: int = 0) -> dict[str, Any]:
    """Return the fields of the structure that begins at `start`, as far as they can be read."""
    found: dict[str, Any] = {}
    reader = _StructureReader(text, start)
    try:
        reader.word()
        reader.fields(found, 0)
    except Broken:
        pass
    return found


class _StructureReader:
    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def peek(self) -> str:
        """Return the next letter that is no blank; "" at the end."""
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1
        return self.text[self.at : self.at + 1]

    def word(self) -> str:
        self.peek()
        found = WORD.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def fields(self, into: dict[str, Any], depth: int) -> None:
        """Read `(name=value, …)` or `{name=value, …}`."""
        opening = self.peek()
        if opening not in ("(", "{") or not opening or depth > MOST_DEEP:
            raise Broken
        self.at += 1
        while (next_one := self.peek()) != CLOSING[opening]:
            if next_one == ",":
                self.at += 1
                continue
            key = KEY.match(self.text, self.at)
            if key is None:
                raise Broken
            self.at = key.end()
            into[key[1]] = self.value(depth + 1)
        self.at += 1

    def value(self, depth: int) -> Any:
        """Read any value."""
        first = self.peek()
        if first == "[":
            return self.items(depth)
        if first in ("(", "{") and first:
            inside: dict[str, Any] = {}
            self.fields(inside, depth)
            return inside
        if first in ("'", '"') or LITERAL.match(self.text, self.at):
            return self.literal()
        return self.named(depth)

    def items(self, depth: int) -> list[Any]:
        if depth > MOST_DEEP:
            raise Broken
        self.at += 1
        found: list[Any] = []
        while (next_one := self.peek()) != "]":
            if not next_one:
                raise Broken
            if next_one == ",":
                self.at += 1
                continue
            found.append(self.value(depth + 1))
        self.at += 1
        return found

    def named(self, depth: int) -> Any:
        """Read a word, which may be the name of a structure, or be followed by something that is none of ours."""
        word = self.word()
        if not word:
            raise Broken
        following = self.text[self.at : self.at + 1]
        if following == "(" and word == "bytearray":
            self.at += 1
            found = self.literal()
            if self.peek() == ")":
                self.at += 1
            return found
        if following == "(":
            inside: dict[str, Any] = {}
            self.fields(inside, depth)
            return inside
        if following == "=":  # `word=value`, as a text
            self.at += 1
            return f"{word}={self.word()}"
        if following == "[":  # `word[…]` says nothing that is known
            end = self.text.find("]", self.at)
            if end < 0:
                raise Broken
            self.at = end + 1
            return ...
        if NUMBER.fullmatch(word):
            return int(word)
        return PLAIN.get(word, word)

    def literal(self) -> Any:
        """Read text in quotes: Python's with its escapes; Java's ends at a quote after which something else begins."""
        found = LITERAL.match(self.text, self.at)
        if found is not None and self.text[found.end() : found.end() + 1] in ("", ",", ")", "]", "}"):
            self.at = found.end()
            try:
                return ast.literal_eval(found[0]) if found[1] or "\\" in found[2] else found[2][1:-1]
            except (ValueError, SyntaxError):
                return found[2][1:-1]
        end = TEXT_END.search(self.text, self.at + 1)
        if self.text[self.at] != "'" or end is None:
            raise Broken
        text = self.text[self.at + 1 : end.start()]
        self.at = end.end()
        return text
