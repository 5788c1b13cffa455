"""JSON objects in lines of logs."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, Final

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
        if following in ("[", "="):
            return self.unknown(word, following, depth)
        if NUMBER.fullmatch(word):
            return int(word)
        return PLAIN.get(word, word)

    def unknown(self, word: str, following: str, depth: int) -> Any:
        """Read `word[…]`, which says nothing that is known, or `word=value`, as a text."""
        if following == "=":
            self.at += 1
            return f"{word}={self.word()}"
        end = self.text.find("]", self.at)
        if end < 0:
            raise Broken
        self.at = end + 1
        return ...

    def literal(self) -> Any:
        """Read text in quotes: Python's with its escapes; Java's ends at a quote behind which something else begins."""
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
