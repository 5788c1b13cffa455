"""Hex in a text that is no literal: dumps with whatever stands in front of their lines, runs of digits, base64."""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from collections.abc import Iterator

from ...capture.dumps import dumped
from ...capture.hex_text import Pasted, streams
from ...errors import InputError
from .take import Take

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
    """Return the blocks of lines that hold hex alone; a line of dots behind one means that it is cut."""
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
            from ...capture.escapes import unescaped

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
        plain = found[0].rstrip("=")
        try:
            yield Take(a2b_base64(plain + "=" * (-len(plain) % 4)), "base64", *found.span())
        except Error:
            continue
