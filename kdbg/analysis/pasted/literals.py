"""Literals in a text, of bytes: strings with escapes, hex or base64 in them, and lists of numbers; closed or cut short.

Lists are those of C, Java, Go, Rust, Erlang, Node and others. Items are numbers of one byte, characters and strings;
Erlang's may have a width (`31:32`). What programs write beside them (casts, suffixes, comments) is passed over.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from dataclasses import dataclass, replace
from typing import NamedTuple

ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|u00([0-9a-fA-F]{2})|([0-7]{1,3})|(\n|.))", re.DOTALL)
SIMPLE = dict(
    zip(b"abfnrtv\\'\"\n", (b"\a", b"\b", b"\f", b"\n", b"\r", b"\t", b"\v", b"\\", b"'", b'"', b""), strict=True)
)
BRACES = re.compile(r"\\[ux]\{([0-9a-fA-F]{1,2})\}")
"""As Rust, JavaScript, Swift and Perl write them."""
NAMES = re.compile(r"\\(?:NUL|SOH|STX|ETX|EOT|ENQ|ACK|DLE|DC[1-4]|DEL)")
"""Escapes that Haskell alone has, which writes control characters by their names and others by decimal numbers."""
CONTROLS = (
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI", "DLE",
    "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US",
)  # fmt: skip
HASKELL = re.compile(
    rf"\\(?:(?P<name>{'|'.join(sorted((*CONTROLS, 'DEL'), key=len, reverse=True))})|(?P<number>\d{{1,3}})|&)"
)
DECIMAL = re.compile(r"(?:[^\\]|\\\d{3}|\\[^\dxu])*")
"""Nothing but escapes of three digits, as OCaml and Lua have them; they are decimal if there is an 8 or a 9."""
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
LITERAL = re.compile(r"(?<![\w\\])(?P<prefix>[bB][rR]?|[rR][bB]|x|X)?(?P<quote>[\"'`])")
BETWEEN = re.compile(r"(?:[\s+\\]|\.(?=\s)|<>)*(?=[\"'`]|[bB][\"'])")
"""What parts the pieces of one literal."""
ESCAPES = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u00[0-9a-fA-F]{2}|[ux]\{[0-9a-fA-F]{1,2}\}|[0-7]{1,3}|0)")
HEX = re.compile(r"(?:0x|\\x)?[0-9a-fA-F][0-9a-fA-F\s:,-]*", re.IGNORECASE)
BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
DOTS = re.compile(r"\.{3,}\Z|…\Z")
REPLACED = "\ufffd"
LOST = b"\xef\xbf\xbd"
SHORT_NUL = re.compile(r"\\0(?![0-7]{2})")
RUST_NUL = re.compile(r"\\0")
"""Rust has no octal escapes: what follows its \\0 is a digit of the text."""
OCTAL = re.compile(r"\\[1-7]")
LONGEST = 1 << 24


def unescaped(text: str) -> bytes:
    """Return the bytes of a string with escapes, as programs of any language write them."""

    def byte(found: re.Match[bytes]) -> bytes:
        if digits := found[1] or found[2]:
            return bytes([int(digits, 16)])
        return bytes([int(found[3], 8) & 255]) if found[3] else SIMPLE.get(found[4][0], found[0])

    return ESCAPE.sub(byte, usual(text).encode("utf-8", "surrogatepass"))


def usual(text: str) -> str:
    """Return a text with the escapes that some languages alone have as most write them."""
    if "\\" not in text:
        return text
    if NAMES.search(text):

        def byte(found: re.Match[str]) -> str:
            if found["name"]:
                return f"\\x{CONTROLS.index(found['name']) if found['name'] != 'DEL' else 127:02x}"
            return f"\\x{int(found['number']) & 255:02x}" if found["number"] else ""

        text = HASKELL.sub(byte, text)
    elif re.search(r"\\\d{0,2}[89]", text) and DECIMAL.fullmatch(text):
        text = re.sub(r"\\(\d{3})", lambda found: f"\\x{int(found[1]) & 255:02x}", text)
    return BRACES.sub(lambda found: f"\\x{int(found[1], 16):02x}", text)


@dataclass(frozen=True)
class Take:
    """Bytes that stand at `start` to `end` of a text, written as a `form`.

    `cut`: more bytes followed, which the text leaves out; `more` says how many, if the text does. `lost` counts the
    characters U+FFFD among them, each of which stands for bytes that nobody can tell any more. `odd` is the place of
    hex digits, counted from the text's beginning, that are not two for each byte; -1 where all are. `parted`
    is the place of a space inside a byte, counted in digits.
    """

    data: bytes
    form: str
    start: int
    end: int
    cut: bool = False
    more: int | None = None
    lost: int = 0
    odd: int = -1
    parted: int = -1


class Item(NamedTuple):
    """What stands for bytes in a list: a number as it is written and the bytes it takes, or bytes."""

    word: str = ""
    width: int = 1
    data: bytes = b""
    length: bool = False
    """A variable that holds the length of what follows."""
    little: bool = False


def list_at(text: str, start: int) -> Take | None:
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
    if data is None or len(items) < (1 if opener[0] in ("<<", "<Buffer") else LEAST):
        return None
    if not any(item.word or item.length for item in items):  # strings are text, unless some have what no text has
        letters = all(byte in PRINTABLE for byte in data)
        if letters or not (opener[0] == "<<" or all(len(item.data) == 1 for item in items)):
            return None
    return Take(data, "list of numbers", start, at, cut, more)


def _one_a_line(text: str, start: int, inside: int, closer: str) -> Take | None:
    """Return the bytes of a list with one number in each line and anything after it; None if it is none."""
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
        chunk = item.data
        if item.length:
            chunk = (size & (1 << 8 * item.width) - 1).to_bytes(item.width, "big")
        elif item.word:
            number, bits = _number(item.word, hexadecimal), 8 * item.width
            if number is None or not -(1 << bits - 1) <= number < 1 << bits:
                return None
            chunk = (number & (1 << bits) - 1).to_bytes(item.width, "little" if item.little else "big")
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(reversed(chunks))


def _number(word: str, hexadecimal: bool) -> int | None:
    word = word.lower()
    if hexadecimal:
        return int(word, 16)
    sign, digits = (-1, word[1:]) if word[0] == "-" else (1, word.lstrip("+"))
    for prefix, base in (("0x", 16), ("16#", 16), ("0b", 2)):
        if digits.startswith(prefix):
            return sign * int(digits[len(prefix) :], base)
    return sign * int(digits) if digits.isdecimal() else None


def literal_at(text: str, start: int) -> tuple[Take | None, int]:
    """Return the bytes of the literal that begins here, with all its pieces, or None; and where the search goes on."""
    found = LITERAL.match(text, start)
    if found is None:
        return None, start + 1
    pieces, cut, at = [], False, start
    marked = False
    while found is not None:
        quote, begin = found["quote"], found.end()  # it ends on its line, but for one in backticks
        pattern = rf"(?:[^{quote}\\\n]|\\.)*+" if quote != "`" else r"[^`]*+"
        inside = re.compile(pattern, re.DOTALL).match(text, begin, begin + LONGEST)
        assert inside is not None, "it may be empty"
        inner, closed = inside[0], text.startswith(quote, inside.end())
        end = inside.end() + closed
        long_hex = len(inner) >= 16 and HEX.fullmatch(inner.rstrip(" .…")) is not None
        if not closed and (len(ESCAPES.findall(inner)) < 4 and not long_hex):
            break
        pieces.append(inner)
        marked = marked or (found["prefix"] or "").lower() in ("b", "br", "rb")
        cut, at = not closed, end
        between = BETWEEN.match(text, end)
        found = LITERAL.match(text, between.end()) if closed and between else None
    if not pieces:
        return None, start + 1
    take = _of_pieces(pieces, marked, start, at)
    if take is not None and cut:
        take = replace(take, end=at, cut=True)
    return take, at


def _of_pieces(pieces: list[str], marked: bool, start: int, end: int) -> Take | None:
    """Return what the pieces of a literal stand for; None for text."""
    cut = bool(DOTS.search(pieces[-1]))
    inner = DOTS.sub("", "".join(pieces))
    lost = inner.count(REPLACED)
    if ESCAPES.search(inner) or NAMES.search(inner) or lost or (marked and not is_wrapped(inner)):
        if marked:
            rust = SHORT_NUL.search(inner) and not OCTAL.search(inner)
            inner = (RUST_NUL if rust else SHORT_NUL).sub(r"\\x00", inner)
        data = unescaped(inner).replace(LOST, b"\xff")
        return Take(data, "bytes literal" if marked else "quoted string", start, end, cut, None, lost)
    body = inner.strip()
    if (take := _hex(inner, start, end, cut)) is not None or BASE64.fullmatch(body) is None:
        return take
    found = from_base64(body) if body.startswith("AA") else None  # a message begins with zeros
    return Take(found, "base64", start, end, cut) if found is not None else None


def is_wrapped(inner: str) -> bool:
    """Return whether a literal holds the letters of hex or base64, which no message begins with."""
    return re.fullmatch(r"00(?:[0-9a-fA-F]{2}){7,}|AA(?=.*[^A])(?:[A-Za-z0-9+/]{2}){7,}={0,2}", inner) is not None


def _hex(inner: str, start: int, end: int, cut: bool) -> Take | None:
    if HEX.fullmatch(inner) is None:
        return None
    groups = re.sub(r"0x|\\x|[\s:,-]+", " ", inner, flags=re.IGNORECASE).split()
    digits = "".join(groups)
    if len(digits) < 4 or (re.fullmatch(r"[\d:.-]+", inner) is not None and len(digits) < 12 and digits[:2] != "00"):
        return None
    short = next((number for number, group in enumerate(groups) if len(group) % 2), -1)
    before = "".join(groups[: short + 1])
    if len(digits) % 2 == 0:
        return Take(bytes.fromhex(digits), "hex", start, end, cut, parted=len(before) if short >= 0 else -1)
    if len(digits) < 16:
        return None
    return Take(bytes.fromhex(f"{before}0{digits[len(before) :]}"), "hex", start, end, cut, odd=len(before))


def from_base64(text: str) -> bytes | None:
    """Return what base64 of either alphabet stands for, padded or not; None where it is none."""
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return a2b_base64(plain + "=" * (-len(plain) % 4))
    except Error:
        return None
