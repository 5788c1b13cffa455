"""Numbers in log lines that speak of bytes: sizes, counts, checksums, ids, and what the line says of each."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    """What the words around say that a number is."""

    SIZE = "size"
    COUNT = "count"
    LENGTH = "length"
    CRC = "crc"
    CORRELATION_ID = "correlation id"
    API_KEY = "api key"
    API_VERSION = "api version"
    ERROR = "error code"
    NUMBER = "number"


class Logged(NamedTuple):
    """A number of a log line: `limit` is what it must not exceed, `left` how many bytes were there, by that line.

    `awaited` is the id that should have come in its place.
    """

    value: int
    role: Role
    limit: int | None = None
    left: int | None = None
    field: str = ""
    awaited: int | None = None


NUMBER = r"(-?\d{1,11})(?![\d.]*\d)"
ROLES: tuple[tuple[Role, re.Pattern[str]], ...] = tuple(
    (role, re.compile(pattern, re.IGNORECASE))
    for role, pattern in (
        (Role.CRC, rf"(?:crc|checksum)\w*\s*(?:=|:|is|of)?\s*\(?{NUMBER}"),
        (Role.COUNT, rf"array (?:of )?(?:size|length)\s*[=:]?\s*{NUMBER}"),
        (Role.COUNT, rf"(?:too many|number of|count of)\D{{0,20}}{NUMBER}"),
        (Role.LENGTH, rf"(?:string|bytes|key|value|field) (?:of )?(?:size|length)\s*[=:]?\s*{NUMBER}"),
        (Role.CORRELATION_ID, rf"corr(?:elation)?[\s_-]*id\D{{0,32}}?{NUMBER}"),
        (Role.API_KEY, rf"api[\s_-]*(?:key|code)\s*[=:]?\s*\(?{NUMBER}"),
        (Role.API_VERSION, rf"(?:api[\s_-]*)?version\s*[=:]\s*{NUMBER}"),
        (Role.ERROR, rf"error[\s_-]*code\s*[=:]?\s*\(?{NUMBER}"),
        (Role.SIZE, r"(?:frame|message|receive|response|request|packet|payload|buffer|body)\s*\(?(?:size|length|bytes)"
                    rf"\D{{0,20}}?{NUMBER}"),
        (Role.SIZE, rf"(?:readableBytes|minimumReadableBytes)\s*[=:]\s*{NUMBER}"),
        (Role.LENGTH, rf"(?:at least|expected|need(?:s|ed)?|requires?|want(?:s|ed)?|requested|read(?:ing)?|to read|"
                      rf"allocate|remaining)\s*:?\s*{NUMBER} ?(?:more )?bytes"),
        (Role.SIZE, rf"(?:size|length|len)[^\w-]{{0,6}}(?:of |is |was )?{NUMBER}"),
        (Role.LENGTH, rf"{NUMBER} (?:more )?bytes"),
    )
)  # fmt: skip
ID = r"corr\w*[\s_-]*ids?"
SEEN, AWAITED = r"(?P<seen>-?\d{1,10})", r"(?P<awaited>-?\d{1,10})"
MISMATCHES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{ID}\D{{0,40}}response\D{{0,8}}{SEEN}\D{{0,40}}(?:match|request|expect)\D{{0,30}}{AWAITED}",
        rf"{ID}\D{{0,40}}(?:sent|want|expect|await)\D{{0,20}}{AWAITED}\D{{0,40}}"
        rf"(?:rec|got|actual|found|but|was)\D{{0,30}}{SEEN}",
        rf"(?:got|rec\w*|unexpected)\D{{0,40}}{ID}\D{{0,12}}{SEEN}\D{{0,40}}(?:want|expect|sent|await)\D{{0,30}}{AWAITED}",
        rf"(?:want|expect)\D{{0,40}}{ID}\D{{0,12}}{AWAITED}\D{{0,40}}(?:rec|got|actual|found|but|was)\D{{0,30}}{SEEN}",
    )
)
"""A correlation id that came, and the one that should have."""
LIMIT = re.compile(
    r"(?:larger than|greater than|more than|exceeds?(?: the)?(?: \w+){0,4}|>|limit(?: of)?|max(?:imum)?(?: \w+)?[=:( ]*"
    r"|0\.\.)\s*\(?(\d{4,11})", re.IGNORECASE,
)  # fmt: skip
LEFT = re.compile(
    r"(?:only|>|but|have|got)\s+(\d{1,9})\s+(?:remaining )?(?:bytes|left|available|remain)", re.IGNORECASE
)
FIELD = re.compile(r"reading field '(\w+)'", re.IGNORECASE)
LARGE = re.compile(r"(?<![\w./-])(?<![^\[]:)-?\d{6,11}(?![\w:/]|\.\d|-\d)")
WRONG = re.compile(
    r"invalid|(?<!_)error(?![_s])|exception|unexpected|mismatch|not match|fail|bad |corrupt|unknown|illegal|unable|"
    r"only|too (?:large|big|small|short|many)|cannot|could not|couldn't|larger|exceed|underflow|out of ",
    re.IGNORECASE,
)
MOST = 4
"""Numbers of a text that are told."""
GREATEST = 1 << 32


def logged(text: str) -> list[Logged]:
    """Return the numbers in log lines that words around them speak of; else the large ones; the telling ones first."""
    found: dict[int, Logged] = {}
    for line in text.split("\n"):
        for number in _in_line(line[:4096]):
            found.setdefault(number.value, number)
    if not found:
        for plain in LARGE.findall(text[:65536]):
            if -GREATEST < int(plain) < GREATEST:
                found.setdefault(int(plain), Logged(int(plain), Role.NUMBER))
    limits = {number.limit for number in found.values()}
    wrong = WRONG.search(text) is not None
    kept = [number for number in found.values() if number.value not in limits and _is_telling(number, wrong)]
    return sorted(kept, key=lambda number: abs(number.value) < 256 and number.role is not Role.ERROR)[:MOST]


def _is_telling(number: Logged, wrong: bool) -> bool:
    """Return whether a number is worth a word; `wrong`: the text speaks of a fault."""
    if number.role in (Role.SIZE, Role.LENGTH, Role.COUNT):
        return wrong or not 0 <= number.value < 1 << 16
    if number.role in (Role.CORRELATION_ID, Role.API_KEY, Role.API_VERSION):
        return wrong or number.awaited is not None or not 0 <= number.value < 1 << 16
    return number.role is not Role.ERROR or number.value != 0


def _in_line(line: str) -> list[Logged]:
    limit, left, field = LIMIT.search(line), LEFT.search(line), FIELD.search(line)
    found: list[Logged] = []
    taken: set[int] = {left.start(1)} if left else set()
    mismatch = next(filter(None, (pattern.search(line) for pattern in MISMATCHES)), None)
    if mismatch is not None:
        taken |= {mismatch.start("seen"), mismatch.start("awaited")}
        found.append(Logged(int(mismatch["seen"]), Role.CORRELATION_ID, awaited=int(mismatch["awaited"])))
    for role, pattern in ROLES:
        for match in pattern.finditer(line):
            group = next(group for group in range(len(match.groups()), 0, -1) if match[group])
            start, value = match.start(group), int(match[group])
            if start in taken or not -GREATEST < value < GREATEST or (limit and start == limit.start(1)):
                continue
            taken.add(start)
            most = int(limit[1]) if limit else None
            found.append(Logged(value, role, most, int(left[1]) if left else None, field[1] if field else ""))
    return found
