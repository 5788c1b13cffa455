"""One object of a definition file, asked key by key; whatever is wrong becomes an error with file, line and field."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection
from typing import Any

from ...errors import DefinitionError
from .model import NEWEST, Versions
from .text import Entries

_FLAGS = {True: True, False: False, "true": True, "false": False}


def whole(text: str) -> int | None:
    """Return the whole number that a string says, decimal or hex; None for anything else."""
    found = re.fullmatch(r"-?(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})", text, re.ASCII)
    return int(text, 16 if "x" in text.lower() else 10) if found else None


def suggestion(word: str, known: Collection[str]) -> str:
    """Return `; did you mean "int32"?` if something known looks like the word, else ""."""
    near = difflib.get_close_matches(word[:60], known, n=1)
    return f'; did you mean "{near[0]}"?' if near else ""


class Keys:
    """Asks an object for values of the right type. `path` is the field it describes, "" for the message."""

    file: str
    path: str

    def __init__(self, entries: Any, file: str, path: str, line: int, known: Collection[str]) -> None:
        self.file, self.path = file, path
        self.entries: Entries = entries if isinstance(entries, Entries) else Entries(line)
        if self.entries is not entries:
            raise self.error("expected an object { … } here")
        for key in entries:
            if key not in known:
                raise self.error(f"there is no key {shown(key)}{suggestion(key, known)}", key)

    def error(self, problem: str, key: str = "") -> DefinitionError:
        """Make the error for the object, or for one of its keys, with file, line and path."""
        return DefinitionError(self.file, self.entries.lines.get(key, self.entries.line), self.path, problem)

    def has(self, key: str) -> bool:
        return key in self.entries

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
