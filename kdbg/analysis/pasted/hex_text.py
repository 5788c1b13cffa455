"""Text that somebody pasted goes in, the bytes it stands for come out, with the form it had; no file is ever opened.

The order of trying settles what fits two forms: a line with an offset is a dump before it is hex, and digits that can
be hex are never base64.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from typing import NamedTuple

from ...capture.packet import Segment
from ...errors import InputError
from ...protocol.findings.amounts import count
from .dumps import dumped
from .literals import is_wrapped, unescaped

FORMS = (
    "hex, base64, hexdumps (xxd, hexdump -C, od -t x1, tcpdump -X, Wireshark), "
    "bytes literals, escaped strings and lists of numbers"
)
LINKS = (1, 101, 113, 276, 0)  # Ethernet, IP, Linux "any" twice, BSD loopback: what people dump
HEADERS = 200  # no Ethernet, IP and TCP headers with their options and padding are longer

NO_ESCAPES = re.compile(r"[0-9a-f]{6,}\s|[bB]?[\"']|.*/\*", re.DOTALL)  # od -c, an open quote, a program's comment
LITERAL = re.compile(r"""(\b[bB])?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", re.DOTALL)
AROUND_LITERALS = re.compile(r"(?:[A-Za-z_]\w*+|\[\s*\d*\s*\]|[\s\\+();=,.&*$-])*+")
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


def read_bytes(text: str | bytes) -> Pasted:
    """Return the bytes that `text` stands for, with the form they had. Raise `InputError` where it stands for none.

    Bytes that are no text are taken as they are, as "raw".
    """
    if isinstance(text, bytes):
        raw = text
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            return Pasted(raw, "raw")
        if is_binary(text):
            return Pasted(raw, "raw")
    text = text.replace("\r\n", "\n").lstrip("\ufeff")
    if not text.strip():
        raise InputError(f"no bytes found in the input; accepted: {FORMS}")
    if dump := dumped(text):
        return _payload(*dump)
    for reader in (_quoted, _escaped, _listed, _hex, _base64):
        if found := reader(text):
            return _payload([found.data], found.form)
    raise NoBytes(_complaint(text))


def is_binary(text: str) -> bool:
    """Return whether a text has control characters that no text has."""
    return re.search(r"[^\t\n\f\r -~\x80-\U0010ffff]", text) is not None


def _payload(parts: list[bytes], form: str) -> Pasted:
    """Return the parts joined; of parts that are whole packets, only what TCP carries.

    Raise `InputError` for packets of several connections or directions, and for packets without payload.
    """
    found = streams(parts, form)
    if found is None:
        return Pasted(b"".join(parts), form)
    if len(found) > 1:
        raise InputError("the packets are from several connections or directions; pass those of one direction")
    return found[0]


def streams(parts: list[bytes], form: str) -> list[Pasted] | None:
    """Return what TCP carries in parts that are whole packets, joined by connection and direction; None if none is.

    Raise `InputError` where no packet has a payload.
    """
    segments = [segment for part in parts if (segment := _segment(part, form == "tcpdump -X"))]
    if not segments:
        return None
    payloads: dict[object, bytes] = {}
    for segment in segments:
        payloads[segment[0]] = payloads.get(segment[0], b"") + segment[4]
    if not any(payloads.values()):
        raise InputError(f"{count(len(segments), 'TCP segment')} without payload: there is no message to explain")
    return [Pasted(data, f"{form}, TCP payload") for data in payloads.values() if data or len(payloads) == 1]


def _segment(data: bytes, cut: bool) -> Segment | None:
    """Return the TCP segment if these bytes are one whole packet, else None; with `cut`, its end may be missing."""
    from ...capture.links import Fragment, dissector

    for link in LINKS:
        segment = dissector(link)(data)
        if segment is None or isinstance(segment, Fragment):
            continue
        if len(data) - len(segment[4]) <= HEADERS and (cut or len(segment[4]) == segment[5]):
            return segment
    return None


def _quoted(text: str) -> Pasted | None:
    """Read string and bytes literals of any language, joined; decode hex or base64 where the code around them does."""
    literals, around = LITERAL.findall(text), LITERAL.sub(" ", text)
    if not literals or not AROUND_LITERALS.fullmatch(around):
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
    if re.fullmatch(r"\\x(?:[0-9a-fA-F]{2})+", text) or NO_ESCAPES.match(text):
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
    column = (
        len(lines) >= 8
        and all(re.fullmatch(r"-?\d{1,3}", line) for line in lines)
        and text.count("\n") >= len(lines) - 1
    )
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
        index = _reach(rf".*?(?<![0-9a-fA-F])(?={odd}(?![0-9a-fA-F]))", text)
        raise InputError(f"{odd!r} at {_place(text, index)} has an odd number of hex digits")
    return Pasted(bytes.fromhex("".join(groups)), "hex")


def _base64(text: str, sure: bool = False) -> Pasted | None:
    """Read base64 of either alphabet, padded or not, in lines of one length; a word or a name only if `sure`."""
    lines = [line.strip() for line in text.strip().split("\n")]
    joined = "".join(lines)
    body = joined.rstrip("=").replace("-", "+").replace("_", "/")
    if (
        len({max(len(line), 16) for line in lines[:-1]}) > 1
        or not re.fullmatch("[A-Za-z0-9+/]+", body)
        or len(body) % 4 == 1
    ):
        return None
    padded = body + "=" * (-len(body) % 4)
    if (WORDS.fullmatch(joined) and not sure) or ("=" in joined and len(joined) != len(padded)):
        return None
    data = a2b_base64(padded)
    return Pasted(data, "base64") if b2a_base64(data, newline=False).decode() == padded else None


def _place(text: str, index: int) -> str:
    line = text.count("\n", 0, index) + 1
    character = index - (text.rfind("\n", 0, index) + 1) + 1
    return f"line {line}, character {character}" if "\n" in text.strip() else f"character {character}"


def _complaint(text: str) -> str:
    """Return an error message that names the first character which fits neither hex nor base64, and its place."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    index = _reach(r"[0-9a-fA-F\s:,\\xX-]*", text)
    if index == start and (further := _reach(r"[A-Za-z0-9_+/=\s-]*", text)) < end:
        index = further
    index = index if index < end else start
    return f"cannot parse {text[index]!r} at {_place(text, index)}; accepted input: {FORMS}"


def _reach(pattern: str, text: str) -> int:
    found = re.match(pattern, text, re.DOTALL)
    return found.end() if found else 0
