"""The text of a definition file: JSON with comments, read so that every object and key knows its line.

Kafka's files have `//` comments (and a few `/* */`), and the KIP-482 draft writes a comma after the last item: both
are more than JSON, and no JSON library tells where a value stood. What is read is plain: `Entries` for objects, lists,
str, int, float, bool, None. `DefinitionError` for everything else, also for files that are too large or too deep.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection
from typing import Any

from ...errors import DefinitionError
from .model import NEWEST, Versions, whole

LARGEST = 4 << 20
"""Characters of a file; Kafka's largest definition has 20,000."""
DEEPEST = 64
"""Objects and arrays inside each other."""
_TOKEN = re.compile(
    r"""(?P<space> [\s\ufeff]+ | //[^\n]* | /\*.*?\*/ )
      | (?P<string> "(?:[^"\\\x00-\x1f]|\\.)*" )
      | (?P<number> -?(?:0|[1-9][0-9]{0,39})(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})? )
      | (?P<word> \w+ )
      | (?P<sign> [][{}:,] )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_WORDS = ("true", "false", "null")
_UNENDED = {'"': "the string that begins here is not closed on this line", "/": "unclosed comment"}
_END = "the end of the file"


class Entries(dict[str, Any]):
    """An object of the file: `line` is where it begins, `lines` where each of its keys stands."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


def parse(text: str, file: str) -> Entries:
    """Return the one object that a definition file holds; `file` is its name in errors."""
    if len(text) > LARGEST:
        raise DefinitionError(file, 1, "", f"larger than {LARGEST >> 20} MiB")
    reader = _TextReader(text, file)
    value = reader.value(0)
    if reader.token != _END:
        raise reader.error(f"unexpected {reader.here} after the definition, which is one object")
    if not isinstance(value, Entries):
        raise DefinitionError(file, 1, "", "expected an object { … }")
    return value


class _TextReader:
    """Goes through the text token by token; `token` is the one that is looked at, `line` where it stands."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.kind, self.token, self.line, self.end = "", "", 1, 0
        self.advance()

    @property
    def here(self) -> str:
        """The token, as an error shows it."""
        return self.token if len(self.token) <= 60 else f"{self.token[:60]}…"

    def advance(self) -> None:
        """Look at the next token."""
        self.kind = "space"
        while self.kind == "space":
            self.line += self.text.count("\n", self.end - len(self.token), self.end) if self.token != _END else 0
            if self.end == len(self.text):
                self.kind, self.token = "end", _END
                return
            found = _TOKEN.match(self.text, self.end)
            if found is None:
                raise self.error(_UNENDED.get(letter := self.text[self.end], f"{letter!r} is not valid in JSON"))
            self.kind, self.token, self.end = found.lastgroup or "", found[0], found.end()

    def error(self, problem: str, line: int | None = None) -> DefinitionError:
        return DefinitionError(self.file, line or self.line, "", problem)

    def take(self, token: str, where: str) -> None:
        """Go past a token that must stand here."""
        if self.token != token:
            raise self.error(f"expected {token!r} {where}, found {self.here}")
        self.advance()

    def value(self, depth: int) -> Any:
        """Read the value that begins at the token, and go past it; `depth` counts what it stands in."""
        if depth > DEEPEST:
            raise self.error(f"objects and arrays nested more than {DEEPEST} deep")
        if self.token == "{":
            return self.object(depth)
        if self.token == "[":
            items = []
            self.advance()
            while self.token != "]":
                items.append(self.value(depth + 1))
                if self.token != "]":
                    self.take(",", "after an item")
            self.advance()
            return items
        if self.kind not in ("string", "number") and self.token not in _WORDS:
            raise self.error(f"expected a value, found {self.here}")
        value: Any = self.string() if self.kind == "string" else json.loads(self.token)
        self.advance()
        return value

    def string(self) -> str:
        """Return the string that the token is, without quotes and escapes."""
        try:
            value: str = json.loads(self.token)
            value.encode()
        except ValueError:
            raise self.error(f"{self.here} is not a valid string: invalid escape") from None
        return value

    def object(self, depth: int) -> Entries:
        entries = Entries(self.line)
        self.advance()
        while self.token != "}":
            if self.kind != "string":
                raise self.error(f"expected a key in quotes, found {self.here}")
            key, line = self.string(), self.line
            self.advance()
            self.take(":", f"after {key!r}")
            value = self.value(depth + 1)
            if entries.setdefault(key, value) != value:  # one of Kafka's own says the same twice
                raise self.error(f"{key!r} is already set on line {entries.lines[key]}", line)
            entries.lines.setdefault(key, line)
            if self.token != "}":
                self.take(",", f"after the value of {key!r}")
        self.advance()
        return entries


_FLAGS = {True: True, False: False, "true": True, "false": False}


def suggestion(word: str, known: Collection[str]) -> str:
    """Return `; did you mean "int32"?` if something known looks like the word, else ""."""
    near = difflib.get_close_matches(word[:60], known, n=1)
    return f'; did you mean "{near[0]}"?' if near else ""


class Keys:
    """Asks an object for values of the right type. `path` is the field it describes, "" for the message."""

    def __init__(self, entries: Any, file: str, path: str, line: int, known: Collection[str]) -> None:
        self.file: str = file
        self.path: str = path
        self.entries: Entries = entries if isinstance(entries, Entries) else Entries(line)
        if self.entries is not entries:
            raise self.error("expected an object { … } here")
        for key in entries:
            if key not in known:
                raise self.error(f"unknown key {shown(key)}{suggestion(key, known)}", key)

    def error(self, problem: str, key: str = "") -> DefinitionError:
        """Make the error for the object, or for one of its keys, with file, line and path."""
        return DefinitionError(self.file, self.entries.lines.get(key, self.entries.line), self.path, problem)

    def wrong(self, key: str, wanted: str) -> DefinitionError:
        return self.error(f'"{key}" is {wanted}, not {shown(self.entries[key])}', key)

    def text(self, key: str, missing: str | None = None) -> str:
        """Return a string; `DefinitionError` for one that is missing, unless `missing` stands in for it."""
        value = self.entries.get(key, missing)
        if value is None:
            raise self.error(f'"{key}" is missing')
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def flag(self, key: str) -> bool:
        value = self.entries.get(key, False)
        if not isinstance(value, (bool, str)) or value not in _FLAGS:
            raise self.wrong(key, "true or false")
        return _FLAGS[value]

    def number(self, key: str, most: int) -> int | None:
        """Return a whole number from 0 to `most`, given also as a string or as hex in one; None where it is missing."""
        value = self.entries.get(key)
        if isinstance(value, str):
            value = whole(value)
        if key in self.entries and (type(value) is not int or not 0 <= value <= most):
            raise self.wrong(key, f"a number from 0 to {most}")
        return value

    def versions(self, key: str, missing: Versions | None = None) -> Versions:
        """Return a range of versions, written as "3", "3+", "0-5" or "none"; `missing` stands in for none at all."""
        if key not in self.entries:
            if missing is None:
                raise self.error(f'"{key}" is missing')
            return missing
        found = Versions.parse(self.entries[key])
        if found is None:
            raise self.wrong(key, f'a range of versions from 0 to {NEWEST}: "3", "3+", "0-5" or "none"')
        return found

    def list(self, key: str) -> list[Any]:
        value = self.entries.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "a list [ … ]")
        return value


def shown(value: Any) -> str:
    """Return a value of the file as an error shows it: objects and lists named, others as JSON of 60 characters."""
    if isinstance(value, (Entries, list)):
        return "an object" if isinstance(value, Entries) else "a list"
    return json.dumps(value, ensure_ascii=False)[:60]
