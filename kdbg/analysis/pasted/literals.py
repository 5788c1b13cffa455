"""String and bytes literals in a text: with escapes, hex or base64 in them, in pieces, closed or cut short."""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from dataclasses import replace

from ...capture.escapes import NAMES, unescaped
from .take import Take

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


def literal_at(text: str, start: int) -> tuple[Take | None, int]:
    """Return the bytes of the literal that begins here, with all its pieces, or None; and where the search goes on."""
    found = LITERAL.match(text, start)
    if found is None:
        return None, start + 1
    pieces, cut, at = [], False, start
    marked = False
    while found is not None:
        inner, end, closed = _inner(text, found)
        if not closed and (len(ESCAPES.findall(inner)) < 4 and not _is_long_hex(inner)):
            break
        pieces.append(inner)
        marked = marked or (found["prefix"] or "").lower() in ("b", "br", "rb")
        cut, at = not closed, end
        between = BETWEEN.match(text, end)
        found = LITERAL.match(text, between.end()) if closed and between else None
    if not pieces:
        return None, start + 1
    take = _take(pieces, marked, start, at)
    if take is not None and cut:
        take = replace(take, end=at, cut=True)
    return take, at


def _inner(text: str, found: re.Match[str]) -> tuple[str, int, bool]:
    """Return what stands inside a literal, where it ends, and whether it is closed: on its line, but for backticks."""
    quote, begin = found["quote"], found.end()
    pattern = rf"(?:[^{quote}\\\n]|\\.)*+" if quote != "`" else r"[^`]*+"
    inner = re.compile(pattern, re.DOTALL).match(text, begin, begin + LONGEST)
    assert inner is not None, "it may be empty"
    closed = text.startswith(quote, inner.end())
    return inner[0], inner.end() + closed, closed


def _is_long_hex(inner: str) -> bool:
    return len(inner) >= 16 and HEX.fullmatch(inner.rstrip(" .…")) is not None


def _take(pieces: list[str], marked: bool, start: int, end: int) -> Take | None:
    """Return what the pieces of a literal stand for; None for text."""
    cut = bool(DOTS.search(pieces[-1]))
    inner = DOTS.sub("", "".join(pieces))
    lost = inner.count(REPLACED)
    if ESCAPES.search(inner) or NAMES.search(inner) or lost or (marked and not _wrapped(inner)):
        return Take(
            _unescaped(inner, marked), "bytes literal" if marked else "quoted string", start, end, cut, None, lost
        )
    return _hex(inner, start, end, cut) or _base64(inner, start, end, cut)


def _wrapped(inner: str) -> bool:
    """Return whether a bytes literal holds the letters of hex or base64: no message begins with those."""
    return re.fullmatch(r"00(?:[0-9a-fA-F]{2}){7,}|AA(?=.*[^A])(?:[A-Za-z0-9+/]{2}){7,}={0,2}", inner) is not None


def _unescaped(inner: str, marked: bool) -> bytes:
    if marked:
        rust = SHORT_NUL.search(inner) and not OCTAL.search(inner)
        inner = (RUST_NUL if rust else SHORT_NUL).sub(r"\\x00", inner)
    return unescaped(inner).replace(LOST, b"\xff")


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


def _base64(inner: str, start: int, end: int, cut: bool) -> Take | None:
    """Return base64 that decodes to something that begins as a message does, with zeros."""
    body = inner.strip()
    if BASE64.fullmatch(body) is None or not body.startswith("AA"):
        return None
    plain = body.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = a2b_base64(plain + "=" * (-len(plain) % 4))
    except Error:
        return None
    return Take(data, "base64", start, end, cut)
