"""Hexdumps in pasted text: the text goes in, the bytes of every dump in it and the form they had come out.

A dump's text column may look like hex: the next line's offset says where the bytes end, and where there is none, the
text has to be that of the bytes before it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple

from ...errors import InputError
from ...protocol.findings.amounts import count as amount

WIDEST = 4096  # characters in a dump's line: xxd can't do more than 1,100
LONGEST = 256 * 2**20  # what `*` may stand for
ROW = re.compile(r"\s*\[?(0x)?([0-9a-f]{4,16})([:\]]?)(|\s.*)", re.IGNORECASE)
GROUP = re.compile(r"\s+((?:[0-9a-f]{2})+)(?!\S)", re.IGNORECASE)
ONLY_BYTES = re.compile(r"(?:\s{2,}[0-9a-f]{2})(?:\s+[0-9a-f]{2})*\s*", re.IGNORECASE)


class DumpRow(NamedTuple):
    """One line of a dump: its offset, what follows it, and whether a `*` (the same again) stands below."""

    number: int
    prefix: str
    offset: str
    colon: str
    rest: str
    repeated: bool = False


def dumped(text: str) -> tuple[list[bytes], str] | None:
    """Return the bytes of each dump in the text, and the form they had; None for a text without any.

    Lines that belong to no dump (tcpdump's summaries, a prompt) are passed over. Raise `InputError`
    where the offsets can be read in two ways, or where a dump with colons does not fit its own offsets.
    """
    rows = _rows(text)
    fits, problems = [], []
    for base in _bases(rows[0]) if rows else ():
        try:
            fits.append(_parts(rows, base))
        except InputError as error:
            problems.append(error)
    if fits and fits[0] != fits[-1] and _bases(rows[0])[:2] == (16, 8):
        raise InputError("ambiguous offsets (hexdump or od); use hexdump -C or od -A x -t x1")
    if fits:
        return fits[0], _dump_form(rows[0])
    if rows and rows[0].colon:
        raise problems[0]
    return None


def _bases(row: DumpRow) -> tuple[int, ...]:
    """Return the bases that the offsets may have, likeliest first; seven digits may be od's octal or hexdump's hex."""
    if row.colon or len(row.offset) != 7 or not row.rest.strip():
        return 16, 10, 8
    return (8, 10, 16) if len(row.rest.split()[0]) == 2 else (16, 8, 10)


def _rows(text: str) -> list[DumpRow]:
    """Return the lines that look like a dump's, from the first with bytes on; where some have a colon, only those."""
    rows: list[DumpRow] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() == "*" and rows:
            rows[-1] = rows[-1]._replace(repeated=True)
        elif len(line) > WIDEST:
            continue
        elif (found := ROW.fullmatch(line)) and (GROUP.match(found[4]) or (rows and not found[4].strip())):
            rows.append(DumpRow(number, found[1] or "", found[2], found[3], found[4]))
    return [row for row in rows if row.colon] or rows


def _dump_form(row: DumpRow) -> str:
    if row.colon:
        return "tcpdump -X" if row.prefix else "xxd"
    return {"|": "hexdump -C", "<": "od"}.get(row.rest.rstrip()[-1:], "hexdump")


def _parts(rows: list[DumpRow], base: int) -> list[bytes]:
    """Return the bytes of each dump, offsets read in `base`; an offset that goes back begins another dump.

    Raise `InputError` where bytes and offsets disagree.
    """
    parts, vouched, swapped = [bytearray()], False, _swapped(rows)
    offsets = [_number(row.offset, base) for row in rows]
    for row, start, end in zip(rows, offsets, [*offsets[1:], 0], strict=True):
        count = end - start if end > start else None
        line = _line(row, None if row.repeated else count, swapped)
        parts[-1] += _repeated(row, line, count) if row.repeated else line
        vouched = vouched or count is not None or _vouched(row, line)
        if count is None:
            if not vouched:
                raise InputError(f"line {row.number}: {row.offset} may be an offset or bytes")
            parts, vouched = [*parts, bytearray()], False
    return [bytes(part) for part in parts if part]


def _number(offset: str, base: int) -> int:
    try:
        return int(offset, base)
    except ValueError:
        raise InputError(f"{offset} is not an offset in base {base}") from None


def _repeated(row: DumpRow, line: bytes, count: int | None) -> bytes:
    if not line or count is None or count % len(line) or count > LONGEST:
        raise InputError(f"line {row.number + 1}: no offset shows how often `*` repeats the line above")
    return line * (count // len(line))


def _swapped(rows: list[DumpRow]) -> bool:
    """Return whether groups are little-endian words: as of hexdump and od, not xxd, unless a text column differs.

    `od --endian=big` prints words as they are: the message's own size, which is in front, shows it.
    """
    usual = not (rows[0].colon or rows[0].prefix) and not _is_sized(rows)
    return usual ^ any(not _shown(row, _cuts(row, usual)) and _shown(row, _cuts(row, not usual)) != [] for row in rows)


def _is_sized(rows: list[DumpRow]) -> bool:
    """Return whether the words as they are printed begin with the size of the dump's bytes, as a message does."""
    data = b"".join(cuts[-1][0] for row in rows if (cuts := _cuts(row, False)))
    last, ends = rows[-1], {len(data)}
    for base in _bases(last) if not last.rest.strip() else ():
        with suppress(InputError):
            ends.add(_number(last.offset, base))
    return len(data) > 4 and int.from_bytes(data[:4], "big") + 4 in ends


def _vouched(row: DumpRow, line: bytes) -> bool:
    """Return whether a line alone, without the next one's offset, shows that it begins with an offset."""
    zero = not row.offset.strip("0") and (len(row.offset) % 2 or ONLY_BYTES.fullmatch(row.rest))
    return bool(row.colon or zero or line in _shown(row, _cuts(row, True)))


def _cuts(row: DumpRow, swapped: bool) -> list[tuple[bytes, int]]:
    """Return (bytes, where they end in the line) for each group of digits at which the line's bytes may end."""
    cuts, data, end = [], b"", 0
    while found := GROUP.match(row.rest, end):
        group, end = bytes.fromhex(found[1]), found.end()
        data += group[::-1] if swapped else group
        cuts.append((data, end))
    return cuts


def _line(row: DumpRow, count: int | None, swapped: bool) -> bytes:
    """Return the line's bytes: `count` of them, or where that is None, as many as its text column shows.

    Raise `InputError` where the line cannot be cut to `count` bytes.
    """
    cuts = _cuts(row, swapped)
    data = cuts[-1][0] if cuts else b""
    if count is None:
        return (_shown(row, cuts) or [data])[-1]
    if exact := [data for data, end in cuts if len(data) == count and _ends(row.rest, end)]:
        return exact[0]
    if not row.colon and len(cuts[0][0] if cuts else b"") > len(data) - count > 0 and len(cuts[0][0]) in {2, 4, 8}:
        return data[:count]  # what is left at the end is printed as a whole word
    raise InputError(f"line {row.number}: expected {amount(count, 'byte')} before the next offset, found {len(data):,}")


def _ends(rest: str, end: int) -> bool:
    """Return whether no group follows: nothing does, or what does stands further apart than groups do."""
    gap = len(rest) - end - len(rest[end:].lstrip())
    return not GROUP.match(rest, end) or gap > min(map(len, re.findall(r"\s+", rest[:end].strip())), default=1)


def _shown(row: DumpRow, cuts: list[tuple[bytes, int]]) -> list[bytes]:
    """Return the bytes of those cuts that are followed by a text column which shows just them."""
    return [data for data, end in cuts if row.rest[end : end + 2].isspace() and _shows(data, row.rest[end:].strip())]


def _shows(data: bytes, text: str) -> bool:
    """Return whether a text column shows these bytes, in the form of any tool.

    tcpdump prints a dot for a space too, Wireshark's streams have a gap after eight characters.
    """
    if len(text) == len(data) + 2 and text[0] + text[-1] in {"||", "><"}:
        text = text[1:-1]
        shown = {_printed(data)}
    else:
        line = _printed(data)
        shown = {line.strip(), line.replace(" ", "."), f"{line[:8]} {line[8:]}".strip()}
    return any(
        len(text) == len(line)
        and all(a in {b, "."} or (b == "." and not a.isalnum()) for a, b in zip(text, line, strict=True))
        for line in shown
    )


def _printed(data: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)
