"""The bytes in a text: literals, lists, dumps and hex in log lines, code and prose; log text never becomes bytes.

Markdown fences, mail quotes, line numbers, prefixes of containers and prompts are taken away first, which leaves every
line where it was, so that a place in what is left is a place in the paste.
Hex that is no literal: dumps with whatever stands in front of their lines, runs of digits, base64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ...errors import InputError
from .hex_text import FORMS, NoBytes, Pasted, dumped, read_bytes, streams, text_of
from .literals import LITERAL, OPENER, Take, from_base64, list_at, literal_at, unescaped

DAY = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
PREFIXES = {
    "mail quote": r"(?:> ?)+",
    "docker compose": r"[\w.-]*[g-zG-Z_-][\w.-]* *\|(?: |$)",
    "kubectl --prefix": r"\[pod/[^\]\s]+\](?: |$)",
    "container runtime": rf"{DAY}[\d.]*(?:Z|[+-]\d\d:\d\d) std(?:out|err) [FP](?: |$)",
    "kubectl --timestamps": rf"{DAY}\.\d{{9}}Z(?: |$)",
    "journald": rf"(?:[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d|{DAY}[+-]\d\d:?\d\d) \S+ [\w./@-]+(?:\[\d+\])?:(?: |$)",
}
"""Before each line, by the program that writes it."""
NUMBERED = re.compile(r"[ \t]*(?P<number>\d{1,6})(?:[ \t]*[|:.)](?: |$)|\t|  ?|$)")
FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})[^`\n]*")
PROMPT = re.compile(
    r"(?:[\w.-]+@[\w.-]+[: ][^\n$#]{0,80}[$#]|\[[\w.-]+@[^\]\n]{1,80}\][$#]|\$|(?:PS )?[A-Z]:\\[^>\n]{0,80}>)(?: |$)"
)
"""Of shells; a command follows, then what it prints."""


class Block(NamedTuple):
    """A part of a text from a character on; `whole`: it was set apart, so it may be bytes and nothing else."""

    text: str
    start: int
    whole: bool


class Bare:
    """A text without what stands around it: `text`, and how many characters each line lost at its beginning."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        self._lost = [0] * len(lines)
        for _ in range(4):  # wrappings inside each other
            widths = _prefix(lines)
            if not any(widths):
                break
            lines = self._without(lines, widths)
        self._apart: list[bool | None] = []  # inside a fence or below a prompt; None for a fence itself
        prompts = [found.end() if (found := PROMPT.match(line)) else 0 for line in lines]
        fences, fence, below = any(map(FENCE.fullmatch, lines)), "", False
        for line, prompt in zip(lines, prompts, strict=True):
            mark = FENCE.fullmatch(line)
            if mark and (not fence or mark[1].startswith(fence)):
                fence, below = "" if fence else mark[1], False
                self._apart.append(None)
                continue
            below = below or bool(prompt)
            self._apart.append(not prompt and (bool(fence) or below or not (fences or any(prompts))))
        lines = self._without(lines, prompts)
        self.text = "\n".join("" if apart is None else line for line, apart in zip(lines, self._apart, strict=True))

    def _without(self, lines: list[str], widths: list[int]) -> list[str]:
        self._lost = [lost + width for lost, width in zip(self._lost, widths, strict=True)]
        return [line[width:] for line, width in zip(lines, widths, strict=True)]

    def place(self, index: int) -> str:
        """Return a place in the paste, `line:character`, for one in the text."""
        line = self.text.count("\n", 0, index)
        return f"{line + 1}:{index - self.text.rfind(chr(10), 0, index) + self._lost[line]}"

    def blocks(self) -> Iterator[Block]:
        """Yield the parts of the text that fences and prompts set apart; all of it where there are none."""
        if len(set(self._apart)) == 1:
            yield Block(self.text, 0, True)
            return
        lines, start, at = self.text.split("\n"), 0, 0
        for number, apart in enumerate(self._apart):
            last = number + 1 == len(lines) or self._apart[number + 1] != apart
            if last:
                text = "\n".join(lines[start : number + 1])
                if text.strip():
                    yield Block(text, at, bool(apart))
                at, start = at + len(text) + 1, number + 1


def _prefix(lines: list[str]) -> list[int]:
    """Return how wide the prefix of each line is; zeros where the lines have none in common."""
    said = [line for line in lines if line.strip() and not FENCE.fullmatch(line)]
    for name, pattern in PREFIXES.items():
        if name == "mail quote" and any(line.startswith("< ") for line in lines):
            continue  # the two directions of netcat's dump
        if name == "mail quote" and any(re.match(r"(?:> ?)+< ", line) for line in lines):
            pattern = "> ?"
        if said and not any(re.match(pattern, line) for line in said[:100]):
            continue
        found = [match.end() if (match := re.match(pattern, line)) else 0 for line in lines]
        if said and sum(map(bool, found)) >= 2 / 3 * len(said):
            return found
    if len(said) == 1:
        alone = re.compile(r"[ \t]*1(?: \| |\t|  )")
        return [match.end() if (match := alone.match(line)) else 0 for line in lines]
    numbered = [NUMBERED.match(line) for line in said]  # line numbers, if every line has one and they count up
    numbers = [int(match["number"]) for match in numbered if match]
    told = sum(bool(match and match.string[match.end() :].strip()) for match in numbered)
    count_up = bool(numbers) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    if len(numbers) != len(said) or not count_up or 2 * told < len(said):
        return [0] * len(lines)
    return [match.end() if (match := NUMBERED.match(line)) else 0 for line in lines]


BAR = re.compile(
    r"(?:^|.*?[\s\]>:#|])(?:\|?(?:0x)?(?P<offset>[0-9a-fA-F]{4,16})[: ]*\|[ ]*)?"
    r"(?P<hex>(?:[0-9a-fA-F]{2}[ ]{1,2})+)[ ]*\|(?P<text>.*?)\|?\s*"
)
"""A line of a dump whose columns have bars between them: netty's, testers', tables."""
ROW = re.compile(r"(?P<front>.*?[\s\]>|:#%*]|)(?P<row>(?:0x)?[0-9a-fA-F]{4,16}:?[ \t]+(?:[0-9a-fA-F]{2}){1,8}[ \t].*)")
LINE = re.compile(
    r"[ \t>|*]*(?://|[#%;]|--)?[ \t]*(?P<hex>(?:0x)?(?:[0-9a-fA-F]{2}(?:[ \t]*[:,-]?[ \t]*)(?:0x)?)+)"
    r"(?P<end>\.\.\.|…)?\s*"
)
"""A line that holds hex and nothing else."""
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
MOST = 8 << 20
"""Characters that are searched."""
COMMENT = re.compile(
    r"(?P<literal>(?<!\w)[bB]?(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|(?<!\w)[bB][\"'][^\n]*)"
    r"|(?P<comment>(?<=[\w\s,:;+)\"'}\]])(?:[#%;](?=\s)|//(?=\s)|--\s|<-\s)[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)
PLACES = re.compile(rf"{OPENER.pattern}|{LITERAL.pattern}")


def dumps(text: str) -> list[Take]:
    """Return the bytes of the dumps in the text: with bars between their columns, or with offsets in front."""
    if found := list(_barred(text)):
        return found
    alone = r"^[ \t]*(?:0x)?[0-9a-f]{4,16}:?(?:[ \t]+(?:[0-9a-f]{2})+)+(?:[ \t].*)?$"
    rows = list(re.finditer(alone, text, re.IGNORECASE | re.MULTILINE))
    return (_dump_bytes(text, rows[0].start(), rows[-1].end()) if rows else []) or _offset(text)


def _dump_bytes(text: str, start: int, end: int) -> list[Take]:
    """Return the bytes of the dumps in a text, of packets what TCP carries; `InputError` where that is nothing."""
    try:
        found = dumped(text)
    except InputError:
        found = None
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
    for found in re.finditer(r"(?:^[ \t]*-?\d{1,3}[ \t]*\n){7,}[ \t]*-?\d{1,3}[ \t]*$", text, re.MULTILINE):
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
        long = len(digits) >= 48  # so many are a message, or a picture; fewer may be a digest or an id
        if long or said or digits.startswith("0000"):
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
    """Return the text with blanks in place of comments after code, and of the marks that begin a line."""

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
    small = 8  # fewer bytes are passed over where more stand elsewhere in the text
    least = min(small, max(most, 4))
    kept: list[Take] = []
    for take in takes:
        inside = any(take.data in other.data for other in takes if len(other.data) > len(take.data) >= small)
        if len(take.data) >= least and not inside and all(take.data != other.data for other in kept):
            kept.append(take)
    return kept


def _joined(takes: list[Take]) -> list[Take]:
    """Return the takes; where the size in front says that others are the rest of a message, these are joined to it."""
    joined: list[Take] = []
    left = list(takes)
    while left:
        first, rest = left[0], left[1:]
        size = int.from_bytes(first.data[:4], "big") if len(first.data) >= 4 else 0
        missing = max(size + 4 - len(first.data), 0) if 8 <= size < 1 << 20 else 0  # by the size in front
        count = 0
        while not first.cut and missing > 0 and count < len(rest) and rest[count].form == first.form:
            missing -= len(rest[count].data)
            count += 1
        whole = count if missing == 0 else 0
        joined.append(replace(first, data=b"".join(take.data for take in left[: whole + 1]), cut=left[whole].cut))
        left = left[whole + 1 :]
    return joined


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


def _of_block(block: Block) -> list[Take]:
    """Return the bytes in a part of a text; raise `InputError` where there are none."""
    text = block.text
    try:
        strict = read_bytes(text) if block.whole else None
    except InputError as error:
        if found := find(text):
            return found
        raise error from None
    strictly = ("escaped string", "list of numbers")  # even where other things stand around them
    if strict is not None and (strict.form not in strictly or text.lstrip()[:1] == "\\"):
        return [Take(strict.data, strict.form, 0, len(text))]
    found = find(text)
    same = strict is not None and len(found) == 1 and found[0].data == strict.data and not found[0].cut
    if found and not same:
        return found
    if strict is None:
        raise NoBytes(f"there are no bytes to read: give {FORMS}")
    return [Take(strict.data, strict.form, 0, len(text))]
