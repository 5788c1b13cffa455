"""The bytes in a text: literals, lists, dumps and hex in log lines, code and prose; log text never becomes bytes.

Hex that is no literal: dumps with whatever stands in front of their lines, runs of digits, base64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...errors import InputError
from .dumps import dumped
from .hex_text import FORMS, NoBytes, Pasted, is_binary, read_bytes, streams
from .literals import LITERAL, OPENER, Take, from_base64, list_at, literal_at, unescaped
from .wrapping import Bare, Block

BAR = re.compile(
    r"(?:^|.*?[\s\]>:#|])(?:\|?(?:0x)?(?P<offset>[0-9a-fA-F]{4,16})[: ]*\|[ ]*)?"
    r"(?P<hex>(?:[0-9a-fA-F]{2}[ ]{1,2})+)[ ]*\|(?P<text>.*?)\|?\s*"
)
"""A line of a dump whose columns have bars between them: netty's, testers', tables."""
ROW = re.compile(r"(?P<front>.*?[\s\]>|:#%*]|)(?P<row>(?:0x)?[0-9a-fA-F]{4,16}:?[ \t]+(?:[0-9a-fA-F]{2}){1,8}[ \t].*)")
ROW_ALONE = re.compile(
    r"^[ \t]*(?:0x)?[0-9a-f]{4,16}:?(?:[ \t]+(?:[0-9a-f]{2})+)+(?:[ \t].*)?$", re.IGNORECASE | re.MULTILINE
)
LINE = re.compile(
    r"[ \t>|*]*(?://|[#%;]|--)?[ \t]*(?P<hex>(?:0x)?(?:[0-9a-fA-F]{2}(?:[ \t]*[:,-]?[ \t]*)(?:0x)?)+)"
    r"(?P<end>\.\.\.|…)?\s*"
)
"""A line that holds hex and nothing else."""
COLUMN = re.compile(r"(?:^[ \t]*-?\d{1,3}[ \t]*\n){7,}[ \t]*-?\d{1,3}[ \t]*$", re.MULTILINE)
DOTS = re.compile(r"\s*(?://|#)?\s*(?:\.\.\.|…)\s*")
RUN = re.compile(
    r"(?<![\w.+/-])(?P<run>(?:0x|\\x)?[0-9a-fA-F]{16,}|(?:[0-9a-fA-F]{2}[ :]){5,}[0-9a-fA-F]{2}|"
    r"(?:[0-9a-fA-F]{2}-){7,}[0-9a-fA-F]{2}|"
    r"(?:0x[0-9a-fA-F]{2}[, ]+){4,}0x[0-9a-fA-F]{2}|"
    r"(?:[0-9a-fA-F]{2}){1,8}(?: (?:[0-9a-fA-F]{2}){1,8}){3,}|(?:\\x[0-9a-fA-F]{2}[^\s\"'`]*){2,})"
    r"(?P<end>\s?(?:\.\.\.|…))?(?![\w+/=-])"
)
SAID = re.compile(
    r"hex|byte|buf|payload|packet|frame|body|raw|data|dump|recei?ved|sent|request|response|msg|b64|base64",
    re.IGNORECASE,
)
BASE64 = re.compile(r"(?<![\w+/=-])AA[A-Za-z0-9+/]{14,}={0,2}(?![\w+/=-])")
WIDEST = 512
"""Characters in a line of a dump, with what stands in front of it: longer lines are none, and slow to look at."""
DIGEST = re.compile(
    r"(?:sha\d*|md5|digest|commit(?:[ _-]?id)?|checksum|fingerprint|etag|trace[ _-]?id|uuid)\W{0,3}$", re.I
)
"""Before digits that are no bytes of a message."""
LONG = 24
"""Bytes in a row that nothing but a message, or a picture, is made of; fewer may be a digest or an id."""
MOST = 8 << 20
"""Characters that are searched."""
COMMENT = re.compile(
    r"(?P<literal>(?<!\w)[bB]?(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|(?<!\w)[bB][\"'][^\n]*)"
    r"|(?P<comment>(?<=[\w\s,:;+)\"'}\]])(?:[#%;](?=\s)|//(?=\s)|--\s|<-\s)[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)
PLACES = re.compile(rf"{OPENER.pattern}|{LITERAL.pattern}")
SMALL = 8
"""Bytes: fewer are passed over where more stand elsewhere in the text."""
AROUND = ("escaped string", "list of numbers")
"""Forms that are read strictly even where other things stand around them."""


def dumps(text: str) -> list[Take]:
    """Return the bytes of the dumps in the text: with bars between their columns, or with offsets in front."""
    return list(_barred(text)) or _plain(text) or _offset(text)


def _plain(text: str) -> list[Take]:
    """Return the dumps whose lines begin with their offsets."""
    rows = list(ROW_ALONE.finditer(text))
    return _dump_bytes(text, rows[0].start(), rows[-1].end()) if rows else []


def _dump_bytes(text: str, start: int, end: int) -> list[Take]:
    """Return the bytes of the dumps in a text, of packets what TCP carries; `InputError` where that is nothing."""
    try:
        found = dumped(text)
    except InputError:
        return []
    if found is None:
        return []
    carried = streams(*found)
    parts = [Pasted(part, found[1]) for part in found[0]] if carried is None else carried
    return [Take(part.data, part.form, start, end) for part in parts]


def _barred(text: str) -> Iterator[Take]:
    chunks: list[bytes] = []
    begin = end = at = 0
    for line in text.split("\n"):
        found = BAR.fullmatch(line) if len(line) <= WIDEST else None
        data = bytes.fromhex(found["hex"]) if found else b""
        if found and len(found["text"]) >= len(data) - found["text"].count("\t") - 2:
            restarts = found["offset"] is not None and not int(found["offset"], 16) and chunks
            if restarts:
                yield Take(b"".join(chunks), "hexdump", begin, end)
                chunks = []
            begin = begin if chunks else at
            chunks.append(data)
            end = at + len(line)
        at += len(line) + 1
    if chunks:
        yield Take(b"".join(chunks), "hexdump", begin, end)


def _offset(text: str) -> list[Take]:
    """Return the dumps whose lines have something in front of their offsets; none where the offsets do not fit.

    Netcat's dump has `<` or `>` there, for the two directions.
    """
    rows: dict[str, list[tuple[str, int, int]]] = {}
    at = 0
    for line in text.split("\n"):
        if len(line) <= WIDEST and (found := ROW.fullmatch(line)):
            side = found["front"].strip()
            rows.setdefault(side if side in ("<", ">") else "", []).append((found["row"], at, at + len(line)))
        at += len(line) + 1
    takes = []
    for lines in rows.values():
        if len(lines) > 1 or re.match(r"(?:0x|\[)?0{4,}", lines[0][0]):
            takes += _dump_bytes("\n".join(row for row, _, _ in lines), lines[0][1], lines[-1][2])
    return takes


def columns(text: str) -> Iterator[Take]:
    """Yield the blocks of lines that hold a decimal number each, from -128 to 255, not all of two digits."""
    for found in COLUMN.finditer(text):
        words = found[0].split()
        if any(len(word) != 2 for word in words) and all(-128 <= int(word) <= 255 for word in words):
            yield Take(bytes(int(word) & 255 for word in words), "list of numbers", *found.span())


def lines_of_hex(text: str) -> list[Take]:
    """Return the blocks of lines that hold hex alone; a line of dots after one means that it is cut off."""
    takes: list[Take] = []
    digits, begin, end, at = "", 0, 0, 0
    for line in [*text.split("\n"), ""]:
        found = LINE.fullmatch(line)
        dots = DOTS.fullmatch(line) or (found and found["end"])
        if found:
            begin = begin if digits else at
            digits += re.sub(r"0x|[^0-9a-fA-F]", "", found["hex"])
            end = at + len(line)
        if digits and (dots or not found):
            takes.append(Take(bytes.fromhex(digits), "hex", begin, end, bool(dots)))
            digits = ""
        at += len(line) + 1
    return takes


def runs(text: str) -> Iterator[Take]:
    """Yield runs of hex, of escapes and of base64 inside lines, where they are long or said to be bytes."""
    for found in RUN.finditer(text):
        run = found["run"]
        if run.startswith("\\x") and "\\" in run[2:]:
            yield Take(unescaped(run), "escaped string", *found.span(), bool(found["end"]))
            continue
        digits = re.sub(r"0x|[^0-9a-fA-F]", "", run)
        if len(digits) % 2 or re.fullmatch(r"(?:[0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4}", run):
            continue
        if DIGEST.search(text, max(found.start() - 20, 0), found.start()):
            continue
        said = SAID.search(text, max(found.start() - 40, 0), found.start())
        if len(digits) >= 2 * LONG or said or digits.startswith("0000"):
            yield Take(bytes.fromhex(digits), "hex", *found.span(), bool(found["end"]))
    for found in BASE64.finditer(text):
        if (data := from_base64(found[0])) is not None:
            yield Take(data, "base64", *found.span())


def find(text: str) -> list[Take]:
    """Return the bytes in a text, in the order in which they stand; none where it holds only words and numbers."""
    text = text[:MOST]
    bare = _bare(text)
    found = _chosen(_all_takes(bare))
    return found if found or bare == text else _chosen(_all_takes(text))


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


def _all_takes(text: str) -> list[Take]:
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
