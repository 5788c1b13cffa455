"""Lists of numbers in a text: of C, Java, Go, Rust, Erlang, Node and others, closed or cut short.

Items are numbers of one byte, characters and strings; Erlang's may have a width (`31:32`). What programs write beside
them (casts, suffixes, comments) is passed over.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...capture.escapes import unescaped
from .take import Take

OPENER = re.compile(r"<Buffer\b|<<|\[(?!\])|\{|\(")
CLOSERS = {"<Buffer": ">", "<<": ">>", "[": "]", "{": "}", "(": ")"}
WIDEST = 200
"""Characters in a line of a list that has one number in each."""
PRINTABLE = frozenset(range(32, 127))
LEAST = 5
"""Fewer numbers in brackets are no message: replicas, versions, places in a file."""
SKIPPED = re.compile(
    r"[\s,;]+|/\*.*?\*/|//[^\n]*|(?<=[\s,])[#%][^\n]*|\((?:byte|char|unsigned char|u?int8_t|sbyte)\)"
    r"|\.toByte\b(?:\(\))?",
    re.DOTALL | re.IGNORECASE,
)
SPEC = r"(?:\s?::\s?|:(?!\d\d:)|/)(?P<{0}>(?:[a-z]+[\w-]*(?:\(\d+\))?[\w()-]*|\d{{1,2}}(?:-[\w()-]+)?)(?:/[\w-]+)?)"
"""How wide a segment of a binary is, and of which kind: `:32/big`, `::size(32)`, `::16-little`, `/utf8`."""
ITEM = re.compile(
    r"(?P<number>[-+]?(?:0x[0-9a-f]{1,8}|16\#[0-9a-f]{1,8}|0b[01]{1,8}|\d{1,10}|[0-9a-f]{2})(?!\w|\.(?!toByte)|:\d\d:))"
    rf"(?:{SPEC.format('spec')})?"
    rf"|(?P<length>[A-Z_]\w*|byte_size\([^)]*\)|length\([^)]*\)){SPEC.format('wide')}"
    rf"|[bB]?(?P<string>\"(?:[^\"\\\n]|\\.){{0,4096}}\"|'(?:[^'\\\n]|\\.){{1,8}}')(?:{SPEC.format('text')}|u8)?",
    re.IGNORECASE,
)
NESTED = re.compile(rf"<<|>>(?:{SPEC.format('kind')})?|<>", re.IGNORECASE)
"""Binaries inside a binary, and between two that are one."""
GOES_ON = re.compile(r"\s*<>\s*(?=<<|\")")
MORE = re.compile(r"(?:\.\.\.|…)(?:\s*\(?(\d+)\s*more(?:\s+(?:bytes|items|elements))?\)?)?")
SUFFIXED = re.compile(r"(\d{1,3}|0x[0-9a-f]{1,2})(?:u8|ul|u|l)\b", re.IGNORECASE)
INDEXED = re.compile(r"\{\s*(?:(?P<mark>['\"]?)\d+(?P=mark)\s*:\s*\d{1,3}\s*,?\s*)+\}?")
"""What JSON makes of a typed array of JavaScript: an object with the places as names."""
PLACED = re.compile(r"(\d+)['\"]?\s*:\s*(\d{1,3})")
ONE_A_LINE = re.compile(r"\s*([-+]?(?:0x[0-9a-fA-F]{1,2}|\d{1,3})),?(?:[ \t]+(?![-+]?\d+\s*,)[^\n]*)?\s*")


class Item(NamedTuple):
    """What stands for bytes in a list: a number as it is written and the bytes it takes, or bytes."""

    word: str = ""
    width: int = 1
    data: bytes = b""
    length: bool = False
    """A variable that holds the length of what follows."""
    little: bool = False


def list_at(text: str, start: int, least: int = LEAST) -> Take | None:
    """Return the bytes of the list whose bracket opens here; None if this is no list of bytes."""
    opener = OPENER.match(text, start)
    if opener is None:
        return None
    closer = CLOSERS[opener[0]]
    found = _one_a_line(text, start, opener.end(), closer) or _indexed(text, start)
    if found is not None:
        return found
    matches: list[re.Match[str]] = []
    at, cut, more, depth = opener.end(), False, None, 1
    while True:
        while skipped := SKIPPED.match(text, at):
            at = skipped.end()
        if at >= len(text):
            cut = True
            break
        if closer == ">>" and (nested := NESTED.match(text, at)):
            depth += (nested[0] == "<<") - nested[0].startswith(">>")
            at = nested.end()
            if depth or (depth := bool(GOES_ON.match(text, at))):
                continue
            break
        if text.startswith(closer, at):
            at += len(closer)
            break
        if dots := MORE.match(text, at):
            cut, more, at = True, int(dots[1]) if dots[1] else more, dots.end()
            continue
        item = ITEM.match(text, at) or SUFFIXED.match(text, at)
        if item is None:
            return None
        matches.append(item)
        at = item.end()
    items = [_item(match) for match in matches]
    if at >= len(text) and cut and items and items[-1].word and text[-1:].isalnum():
        items.pop()  # its digits may go on
    data = _bytes(items, pairs=opener[0] == "<Buffer")
    if data is None or len(items) < (1 if opener[0] in ("<<", "<Buffer") else least):
        return None
    if not any(item.word or item.length for item in items) and not _are_bytes(items, opener[0] == "<<"):
        return None
    return Take(data, "list of numbers", start, at, cut, more)


def _are_bytes(items: list[Item], binary: bool) -> bool:
    """Return whether strings are bytes: one character after the other, or a binary's, some of which no text has."""
    letters = all(byte in PRINTABLE for item in items for byte in item.data)
    return not letters and (binary or all(len(item.data) == 1 for item in items))


def _one_a_line(text: str, start: int, inside: int, closer: str) -> Take | None:
    """Return the bytes of a list with one number in each line and anything behind it; None if it is none."""
    if text.find("\n", inside, inside + WIDEST) < 0:
        return None
    end = text.find(closer, inside)
    lines = [line for line in text[inside : len(text) if end < 0 else end].split("\n") if line.strip()]
    found = [ONE_A_LINE.fullmatch(line) for line in lines]
    if len(lines) < LEAST or not all(found):
        return None
    data = _bytes([Item(line[1]) for line in found if line], pairs=False)
    stop = len(text) if end < 0 else end + len(closer)
    return None if data is None else Take(data, "list of numbers", start, stop, end < 0)


def _indexed(text: str, start: int) -> Take | None:
    """Return the bytes of an object whose names are 0, 1, 2 and so on; None if it is none."""
    found = INDEXED.match(text, start)
    if found is None:
        return None
    pairs = [(int(place), int(byte)) for place, byte in PLACED.findall(found[0])]
    if len(pairs) < LEAST or any(place != at or byte > 255 for at, (place, byte) in enumerate(pairs)):
        return None
    cut = not found[0].endswith("}")
    return Take(bytes(byte for _, byte in pairs), "list of numbers", start, found.end(), cut)


def _item(found: re.Match[str]) -> Item:
    groups = found.groupdict()
    if not groups:
        return Item(found[1])
    if groups["length"]:
        return Item(width=_width(groups["wide"]), length=True)
    if groups["string"]:
        return Item(data=unescaped(groups["string"][1:-1]))
    return Item(groups["number"], _width(groups["spec"]), little="little" in (groups["spec"] or ""))


def _width(spec: str | None) -> int:
    """Return the bytes of a segment: one where nothing is said."""
    bits = re.search(r"\d+", spec or "")
    return max(int(bits[0]) // 8, 1) if bits else 1


def _bytes(items: list[Item], *, pairs: bool) -> bytes | None:
    """Return the bytes that the items stand for; None where a number is no byte."""
    words = [item.word for item in items if item.word]
    hexadecimal = all(re.fullmatch("[0-9a-fA-F]{2}", word) for word in words)
    hexadecimal = bool(words) and hexadecimal and (pairs or any(re.match("0|.?[a-fA-F]", word) for word in words))
    chunks: list[bytes] = []
    size = 0
    for item in reversed(items):
        chunk: bytes | None = item.data
        if item.length:
            chunk = (size & (1 << 8 * item.width) - 1).to_bytes(item.width, "big")
        elif item.word:
            chunk = _packed(_number(item.word, hexadecimal), 8 * item.width)
            chunk = chunk[::-1] if chunk is not None and item.little else chunk
        if chunk is None:
            return None
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(reversed(chunks))


def _packed(number: int | None, bits: int) -> bytes | None:
    """Return a number in so many bits, signed or not; None where it does not fit them."""
    if number is None or not -(1 << bits - 1) <= number < 1 << bits:
        return None
    return (number & (1 << bits) - 1).to_bytes(bits // 8, "big")


def _number(word: str, hexadecimal: bool) -> int | None:
    word = word.lower()
    if hexadecimal:
        return int(word, 16)
    sign, digits = (-1, word[1:]) if word[0] == "-" else (1, word.lstrip("+"))
    for prefix, base in (("0x", 16), ("16#", 16), ("0b", 2)):
        if digits.startswith(prefix):
            return sign * int(digits[len(prefix) :], base)
    return sign * int(digits) if digits.isdecimal() else None
