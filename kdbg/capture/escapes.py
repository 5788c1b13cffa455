"""Escapes in string literals, as programs of many languages write them: text goes in, bytes come out."""

from __future__ import annotations

import re

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
        text = HASKELL.sub(_of_haskell, text)
    elif re.search(r"\\\d{0,2}[89]", text) and DECIMAL.fullmatch(text):
        text = re.sub(r"\\(\d{3})", lambda found: f"\\x{int(found[1]) & 255:02x}", text)
    return BRACES.sub(lambda found: f"\\x{int(found[1], 16):02x}", text)


def _of_haskell(found: re.Match[str]) -> str:
    if found["name"]:
        return f"\\x{CONTROLS.index(found['name']) if found['name'] != 'DEL' else 127:02x}"
    return f"\\x{int(found['number']) & 255:02x}" if found["number"] else ""
