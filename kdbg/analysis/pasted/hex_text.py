"""Pasted text goes in, the bytes it stands for come out, with the form it had; no file is ever opened.

The order of trying settles what fits two forms: a line with an offset is a dump before it is hex, and digits that can
be hex are never base64.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from contextlib import suppress
from typing import NamedTuple

from ...capture.packet import Segment
from ...errors import InputError
from ...protocol.findings.amounts import count as amount
from .literals import is_wrapped, unescaped

FORMS = (
    "hex, base64, hexdumps (xxd, hexdump -C, od -t x1, tcpdump -X, Wireshark), "
    "bytes literals, escaped strings and lists of numbers"
)
LINKS = (1, 101, 113, 276, 0)  # Ethernet, IP, Linux "any" twice, BSD loopback: what people dump
HEADERS = 200  # no Ethernet, IP and TCP headers with their options and padding are longer

LITERAL = re.compile(r"""(\b[bB])?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", re.DOTALL)
BESIDE_NUMBERS = re.compile(  # Wireshark's comments show the bytes and may hold the end of a comment
    r"/\*.{0,99}\*/\s*$|/\*.{0,999}?\*/|//.*$|\((?:byte|char|unsigned char|u?int8_t)\)|\.toByte\(\)", re.MULTILINE
)
NUMBER = re.compile(r"([-+]?)(?:0x([0-9a-f]{1,2})|(\d{1,3}))(?:u8|[ul])?", re.IGNORECASE)
BRACKETS = re.compile(r"\{[^{}]*\}|\[[^][]*\]|<[^<>]*>|\([^()]*\)")
PROSE = re.compile(r"(?<![\w\\])[A-Za-z]{2,}\b")
MOST_WORDS = 6
"""Words beside a list, and for each escape of a string, that code has; a sentence has more."""
ESCAPES = re.compile(r"\\[x0-7]")
ENCODINGS = {"hex", "base64", "base64url"}
WORDS = re.compile(r"[A-Z]?[a-z]+(?:(?:[-_][A-Z]?|[A-Z])[a-z]+)*|(?!.*AA)[A-Z]+")


class NoBytes(InputError):
    """The text is written in none of the forms."""


class Pasted(NamedTuple):
    """The bytes, and what they were pasted as."""

    data: bytes
    form: str


def text_of(raw: str | bytes) -> str | None:
    """Return what was given as text, its lines ended by \\n alone; None for bytes that are no text."""
    try:
        text = raw if isinstance(raw, str) else raw.decode()
    except UnicodeDecodeError:
        return None
    binary = isinstance(raw, bytes) and re.search(r"[^\t\n\f\r -~\x80-\U0010ffff]", text)
    return None if binary else text.replace("\r\n", "\n").lstrip("\ufeff")


def read_bytes(raw: str | bytes) -> Pasted:
    """Return the bytes that a text stands for, with the form they had. Raise `InputError` where it stands for none.

    Bytes that are no text are taken as they are, as "raw"; of parts that are whole packets, only what TCP carries.
    """
    text = text_of(raw)
    if text is None:
        return Pasted(raw if isinstance(raw, bytes) else b"", "raw")
    if not text.strip():
        raise InputError(f"no bytes found in the input; accepted: {FORMS}")
    read = dumped(text)
    for reader in (_quoted, _escaped, _listed, _hex, _base64):
        if read is None and (found := reader(text)) is not None:
            read = [found.data], found.form
    if read is not None:
        parts, form = read
        carried = streams(parts, form)
        if carried is not None and len(carried) > 1:
            raise InputError("the packets are from several connections or directions; pass those of one direction")
        return Pasted(b"".join(parts), form) if carried is None else carried[0]
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    place, index = _reached(text, r"[0-9a-fA-F\s:,\\xX-]*")  # what fits neither hex nor base64
    if index == start:
        further, beyond = _reached(text, r"[A-Za-z0-9_+/=\s-]*")
        place, index = (further, beyond) if beyond < end else (place, index)
    if index >= end:
        place, index = _reached(text, r"\s*")
    raise NoBytes(f"cannot parse {text[index]!r} at {place}; accepted input: {FORMS}")


def _reached(text: str, pattern: str) -> tuple[str, int]:
    """Return how far a pattern goes from the beginning of a text: in words, and as an index."""
    found = re.match(pattern, text, re.DOTALL)
    index = found.end() if found else 0
    line, character = text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)
    return (f"line {line}, character {character}" if "\n" in text.strip() else f"character {character}"), index


def streams(parts: list[bytes], form: str) -> list[Pasted] | None:
    """Return what TCP carries in parts that are whole packets, joined by connection and direction; None if none is.

    Raise `InputError` where no packet has a payload.
    """
    from ...capture.links import Fragment, dissector

    segments: list[Segment] = []
    for part in parts:
        for link in LINKS:
            segment = dissector(link)(part)
            if segment is None or isinstance(segment, Fragment) or len(part) - len(segment[4]) > HEADERS:
                continue
            if form == "tcpdump -X" or len(segment[4]) == segment[5]:  # of tcpdump's the end may be missing
                segments.append(segment)
                break
    if not segments:
        return None
    payloads: dict[object, bytes] = {}
    for segment in segments:
        payloads[segment[0]] = payloads.get(segment[0], b"") + segment[4]
    if not any(payloads.values()):
        raise InputError(f"{amount(len(segments), 'TCP segment')} without payload: there is no message to explain")
    return [Pasted(data, f"{form}, TCP payload") for data in payloads.values() if data or len(payloads) == 1]


def _quoted(text: str) -> Pasted | None:
    """Read string and bytes literals of any language, joined; decode hex or base64 where the code around them does."""
    literals, around = LITERAL.findall(text), LITERAL.sub(" ", text)
    if not literals or not re.fullmatch(r"(?:[A-Za-z_]\w*+|\[\s*\d*\s*\]|[\s\\+();=,.&*$-])*+", around):
        return None
    words = [word[1:-1] for _, word in literals]
    inner = "".join(word for word in words if word.lower() not in ENCODINGS)
    named = " ".join([around, *(word for word in words if word.lower() in ENCODINGS)]).lower()
    if re.search("base64|b64", named):
        return _base64(inner, sure=True)
    if "hex" in named:
        return _hex(inner)
    if not literals[0][0] and "\\" not in inner and (found := _hex(inner) or _base64(inner)):
        return found
    data = unescaped(inner)
    if is_wrapped(data.decode("latin-1")):
        return _hex(data.decode()) or _base64(data.decode())
    return Pasted(data, "bytes literal" if literals[0][0] else "quoted string")


def _escaped(text: str) -> Pasted | None:
    """Read escapes without quotes, such as \\x0a\\x0b; leave PostgreSQL's form, one \\x and all digits, to `_hex`."""
    text = text.strip()
    unlike = r"[0-9a-f]{6,}\s|[bB]?[\"']|.*/\*"  # od -c, an open quote, a program's comment
    if re.fullmatch(r"\\x(?:[0-9a-fA-F]{2})+", text) or re.match(unlike, text, re.DOTALL):
        return None
    if re.fullmatch(r"(?:\\x[0-9a-fA-F]{2}[\s,]*)+", text):
        return Pasted(bytes.fromhex(re.sub(r"\\x|,", " ", text)), "escaped string")
    escapes = len(ESCAPES.findall(text))
    if not escapes or len(PROSE.findall(text)) > MOST_WORDS * escapes:
        return None
    return Pasted(unescaped(text.replace("\n", "")), "escaped string")


def _listed(text: str) -> Pasted | None:
    """Read numbers in brackets, as programs write and print them, or between commas; not those in a sentence."""
    text = BESIDE_NUMBERS.sub(" ", text)
    if len(PROSE.findall(BRACKETS.sub(" ", text))) > MOST_WORDS:
        return None
    for bracket in (r"\{([^{}]*)\}", r"\[([^][]*)\]", r"<([^<>]*)>", r"\(([^()]*)\)"):
        inner = [part for part in re.findall(bracket, text) if part.strip()]
        inner = [part for part in inner if len(part.split()) > 1 or "," in part] or inner[-1:]
        if inner and re.fullmatch(r"\s*[1-9]\d{3,9}\s*", inner[0]):  # a number in a sentence, such as a size
            continue
        if inner and (found := _numbers(" ".join(inner), "<Buffer" in text)):
            return found
    even = all(re.fullmatch(r"(?:[0-9a-fA-F]{2})+", word) for word in re.split(r"[\s,]+", text.strip(" \n\t,")))
    lines = text.split()
    column = len(lines) >= 8 and text.count("\n") >= len(lines) - 1
    column = column and all(re.fullmatch(r"-?\d{1,3}", line) for line in lines)
    if column and any(len(line) != 2 for line in lines):
        return _numbers(text, False)
    return _numbers(text, False) if "," in text and not even else None


def _numbers(text: str, buffer: bool) -> Pasted | None:
    words = text.removeprefix("Buffer").replace(",", " ").replace(";", " ").split()
    if buffer and "..." in words:
        raise InputError("the Buffer is truncated at `...`; print all of it with .toString('hex')")
    pairs = all(re.fullmatch("[0-9a-fA-F]{2}", word) for word in words)
    if pairs and (buffer or any(re.match("0|.?[a-fA-F]", word) for word in words)):  # nobody writes decimals so
        return Pasted(bytes.fromhex("".join(words)), "list of numbers")
    numbers = [NUMBER.fullmatch(word) for word in words]
    if not all(numbers):
        return _hex(text) if all(re.fullmatch("(?:0x)?[0-9a-fA-F]{2,}", word) for word in words) else None
    values = [int(found[1] + (found[3] or str(int(found[2], 16)))) for found in numbers if found]
    if wrong := [value for value in values if not -128 <= value <= 255]:
        raise InputError(f"{wrong[0]} in the list of numbers is not a byte")
    return Pasted(bytes(value & 255 for value in values), "list of numbers")


def _hex_groups(text: str) -> list[str] | None:
    """Return the groups of hex digits in the text; None if it holds anything but those and what separates them."""
    text = re.sub(r"\b0x([0-9a-f])\b", r" 0\1", text, flags=re.IGNORECASE)
    groups = re.sub(r"\b0x|\\x|[\s:,-]+", " ", text, flags=re.IGNORECASE).split()
    return groups if groups and all(re.fullmatch("[0-9a-fA-F]+", group) for group in groups) else None


def _hex(text: str) -> Pasted | None:
    """Read hex digits with any usual separators; join a byte that a terminal's line break has parted.

    Raise `InputError` for an odd number of digits.
    """
    groups = _hex_groups(text)
    if groups is None:
        return None
    if len(groups) > 3 and all(re.fullmatch("[01]{8}", group) for group in groups):
        return Pasted(bytes(int(group, 2) for group in groups), "binary digits")
    odd = next((group for group in groups if len(group) % 2), None)
    if odd and any(len(group) % 2 for group in _hex_groups(text.replace("\n", "")) or ()):
        if "-" in text and _base64(text):
            return None
        place, _ = _reached(text, rf".*?(?<![0-9a-fA-F])(?={odd}(?![0-9a-fA-F]))")
        raise InputError(f"{odd!r} at {place} has an odd number of hex digits")
    return Pasted(bytes.fromhex("".join(groups)), "hex")


def _base64(text: str, sure: bool = False) -> Pasted | None:
    """Read base64 of either alphabet, padded or not, in lines of one length; a word or a name only if `sure`."""
    lines = [line.strip() for line in text.strip().split("\n")]
    joined = "".join(lines)
    body = joined.rstrip("=").replace("-", "+").replace("_", "/")
    even = len({max(len(line), 16) for line in lines[:-1]}) < 2
    if not even or not re.fullmatch("[A-Za-z0-9+/]+", body) or len(body) % 4 == 1:
        return None
    padded = body + "=" * (-len(body) % 4)
    if (WORDS.fullmatch(joined) and not sure) or ("=" in joined and len(joined) != len(padded)):
        return None
    data = a2b_base64(padded)
    return Pasted(data, "base64") if b2a_base64(data, newline=False).decode() == padded else None


ROW = re.compile(r"\s*\[?(0x)?([0-9a-f]{4,16})([:\]]?)(|\s.*)", re.IGNORECASE)
GROUP = re.compile(r"\s+((?:[0-9a-f]{2})+)(?!\S)", re.IGNORECASE)


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
        form = {"|": "hexdump -C", "<": "od"}.get(rows[0].rest.rstrip()[-1:], "hexdump")
        if rows[0].colon:
            form = "tcpdump -X" if rows[0].prefix else "xxd"
        return fits[0], form
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
        elif len(line) > 4096:  # xxd prints no more than 1,100
            continue
        elif (found := ROW.fullmatch(line)) and (GROUP.match(found[4]) or (rows and not found[4].strip())):
            rows.append(DumpRow(number, found[1] or "", found[2], found[3], found[4]))
    return [row for row in rows if row.colon] or rows


def _parts(rows: list[DumpRow], base: int) -> list[bytes]:
    """Return the bytes of each dump, offsets read in `base`; an offset that goes back begins another dump.

    Raise `InputError` where bytes and offsets disagree.
    """
    parts, vouched, swapped = [bytearray()], False, _swapped(rows)
    offsets = [_number(row.offset, base) for row in rows]
    for row, start, end in zip(rows, offsets, [*offsets[1:], 0], strict=True):
        count = end - start if end > start else None
        line = _line(row, None if row.repeated else count, swapped)
        times = 1
        if row.repeated:
            if not line or count is None or count % len(line) or count > 256 << 20:
                raise InputError(f"line {row.number + 1}: no offset shows how often `*` repeats the line above")
            times = count // len(line)
        parts[-1] += line * times
        if count is not None:
            vouched = True
        elif not vouched:  # the line alone must show that it begins with an offset
            only_bytes = re.fullmatch(r"(?:\s{2,}[0-9a-f]{2})(?:\s+[0-9a-f]{2})*\s*", row.rest, re.IGNORECASE)
            zero = not row.offset.strip("0") and (len(row.offset) % 2 or only_bytes)
            vouched = bool(row.colon or zero or line in _shown(row, _cuts(row, True)))
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


def _swapped(rows: list[DumpRow]) -> bool:
    """Return whether groups are little-endian words: as of hexdump and od, not xxd, unless a text column differs.

    `od --endian=big` prints words as they are: the message's own size, which is in front, shows it.
    """
    data = b"".join(cuts[-1][0] for row in rows if (cuts := _cuts(row, False)))
    last, ends = rows[-1], {len(data)}
    for base in _bases(last) if not last.rest.strip() else ():
        with suppress(InputError):
            ends.add(_number(last.offset, base))
    sized = len(data) > 4 and int.from_bytes(data[:4], "big") + 4 in ends
    usual = not (rows[0].colon or rows[0].prefix) and not sized
    return usual ^ any(not _shown(row, _cuts(row, usual)) and _shown(row, _cuts(row, not usual)) != [] for row in rows)


def _cuts(row: DumpRow, swapped: bool) -> list[tuple[bytes, int]]:
    """Return (bytes, where they end in the line) for each group of digits at which the line's bytes may end."""
    cuts, data, end = [], b"", 0
    while found := GROUP.match(row.rest, end):
        group, end = bytes.fromhex(found[1]), found.end()
        data += group[::-1] if swapped else group
        cuts.append((data, end))
    return cuts


def _line(row: DumpRow, count: int | None, swapped: bool) -> bytes:
    """Return the line's first `count` bytes, for None as many as its text shows; raise `InputError` without so many."""
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
    """Return the bytes of those cuts that are followed by a text column which shows just them, in any tool's form.

    tcpdump prints a dot for a space too, Wireshark's streams have a gap after eight characters.
    """
    found: list[bytes] = []
    for data, end in cuts:
        if not row.rest[end : end + 2].isspace():
            continue
        text, line = row.rest[end:].strip(), "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)
        if len(text) == len(data) + 2 and text[0] + text[-1] in {"||", "><"}:
            text, shown = text[1:-1], {line}
        else:
            shown = {line.strip(), line.replace(" ", "."), f"{line[:8]} {line[8:]}".strip()}
        for one in shown:
            like = (a in {b, "."} or (b == "." and not a.isalnum()) for a, b in zip(text, one, strict=False))
            if len(text) == len(one) and all(like):
                found.append(data)
                break
    return found
