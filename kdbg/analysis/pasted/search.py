"""The bytes in a text: literals, lists, dumps and hex in log lines, code and prose; log text never becomes bytes."""

from __future__ import annotations

import re
from dataclasses import replace

from ...capture.hex_text import FORMS, NoBytes, is_binary, read_bytes
from ...errors import InputError
from .lists import OPENER, list_at
from .literals import LITERAL, literal_at
from .rows import columns, dumps, lines_of_hex, runs
from .take import Take
from .wrapping import Bare, Block

MOST = 8 << 20
"""Characters that are searched."""
COMMENT = re.compile(
    r"(?P<literal>(?<!\w)[bB]?(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|(?<!\w)[bB][\"'][^\n]*)"
    r"|(?P<comment>(?<=[\w\s,:;+)\"'}\]])(?:[#%;](?=\s)|//(?=\s)|--\s|<-\s)[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)
ALONE = re.compile(r"[ \t]*(?:[#%;]|//|--)+[ \t]?(?=[^\n]*)", re.MULTILINE)
PLACES = re.compile(rf"{OPENER.pattern}|{LITERAL.pattern}")
SMALL = 8
"""Bytes: fewer are passed over where more stand elsewhere in the text."""
AROUND = ("escaped string", "list of numbers")
"""Forms that are read strictly even where other things stand around them."""


def find(text: str) -> list[Take]:
    """Return the bytes in a text, in the order in which they stand; none where it holds only words and numbers."""
    text = text[:MOST]
    bare = _bare(text)
    found = _chosen(_takes(bare))
    return found if found or bare == text else _chosen(_takes(text))


def _bare(text: str) -> str:
    """Return the text with blanks in place of comments behind code, and of the marks that begin a line."""

    def blank(found: re.Match[str]) -> str:
        if found["comment"] is None:
            return found[0]
        start = text.rfind("\n", 0, found.start()) + 1
        if not text[start : found.start()].strip():
            return found[0]
        return re.sub(r"[^\n]", " ", found[0])

    return COMMENT.sub(blank, text)


def _takes(text: str) -> list[Take]:
    """Return all that may be bytes; each way to write them sees what those before it have left."""
    takes = list[Take]()
    for read in (dumps, _literals, columns, lines_of_hex, runs):
        more = list(read(text))
        takes += more
        text = _without(text, more)
    return sorted(takes, key=lambda take: take.start)


def _without(text: str, takes: list[Take]) -> str:
    """Return the text with blanks in place of what was taken; lines stay lines."""
    parts, at = [], 0
    for take in sorted(takes, key=lambda take: take.start):
        if take.start >= at:
            parts += [text[at : take.start], re.sub(r"[^\n]", "\t", text[take.start : take.end])]
            at = take.end
    return "".join([*parts, text[at:]])


def _literals(text: str) -> list[Take]:
    """Return literals and lists, the outer one first."""
    takes, at = [], 0
    while place := PLACES.search(text, at):
        start, take = place.start(), None
        if OPENER.match(text, start):
            take, at = list_at(text, start), start + 1
        else:
            take, at = literal_at(text, start)
        if take is not None:
            takes.append(take)
            at = max(take.end, start + 1)
    return takes


def _chosen(takes: list[Take]) -> list[Take]:
    """Return what is taken: messages in several pieces joined, small things and repetitions passed over."""
    takes = _joined([take for take in takes if take.data])
    most = max((len(take.data) for take in takes), default=0)
    least = min(SMALL, max(most, 4))
    kept: list[Take] = []
    for take in takes:
        inside = any(take.data in other.data for other in takes if len(other.data) > len(take.data) >= SMALL)
        if len(take.data) >= least and not inside and all(take.data != other.data for other in kept):
            kept.append(take)
    return kept


def _joined(takes: list[Take]) -> list[Take]:
    """Return the takes; where the size in front says that others are the rest of a message, these are joined to it."""
    joined: list[Take] = []
    left = list(takes)
    while left:
        first, rest = left[0], left[1:]
        missing, count = _wants(first.data), 0
        while not first.cut and missing > 0 and count < len(rest) and rest[count].form == first.form:
            missing -= len(rest[count].data)
            count += 1
        whole = count if missing == 0 else 0
        joined.append(replace(first, data=b"".join(take.data for take in left[: whole + 1]), cut=left[whole].cut))
        left = left[whole + 1 :]
    return joined


def _wants(data: bytes) -> int:
    """Return how many bytes are missing by the size in front; 0 where none stands there."""
    size = int.from_bytes(data[:4], "big") if len(data) >= 4 else 0
    return max(size + 4 - len(data), 0) if 8 <= size < 1 << 20 else 0


def takes_of(raw: str | bytes | Bare) -> list[Take]:
    """Return the bytes that were given: all of them where nothing else stands there, else those in the text.

    Places are those in the text of `Bare`. Raise `InputError` where there are no bytes.
    """
    if not isinstance(raw, Bare):
        text = text_of(raw)
        if text is None:
            data = read_bytes(raw)
            return [Take(data.data, data.form, 0, len(raw))]
        raw = Bare(text)
    found, problem = list[Take](), None
    for block in raw.blocks():
        try:
            takes = _of_block(block)
        except InputError as error:
            problem = problem if problem is not None and not block.whole else error
            continue
        found += [replace(take, start=take.start + block.start, end=take.end + block.start) for take in takes]
    if not found:
        raise problem or NoBytes(f"there are no bytes to read: give {FORMS}")
    return found


def text_of(raw: str | bytes) -> str | None:
    """Return what was given as text, its lines ended by \\n alone; None for bytes that are no text."""
    try:
        text = raw if isinstance(raw, str) else raw.decode()
    except UnicodeDecodeError:
        return None
    return None if isinstance(raw, bytes) and is_binary(text) else text.replace("\r\n", "\n").lstrip("\ufeff")


def _of_block(block: Block) -> list[Take]:
    """Return the bytes in a part of a text; raise `InputError` where there are none."""
    text = block.text
    try:
        strict = read_bytes(text) if block.whole else None
    except InputError as error:
        if found := find(text):
            return found
        raise error from None
    if strict is not None and (strict.form not in AROUND or text.lstrip()[:1] == "\\"):
        return [Take(strict.data, strict.form, 0, len(text))]
    found = find(text)
    same = strict is not None and len(found) == 1 and found[0].data == strict.data and not found[0].cut
    if found and not same:
        return found
    if strict is None:
        raise NoBytes(f"there are no bytes to read: give {FORMS}")
    return [Take(strict.data, strict.form, 0, len(text))]
