"""The likely cause of a broken message in words, with the bytes as they should be."""

from __future__ import annotations

import textwrap
from typing import Final

from ..guess.mistakes import Cause, Mistake
from ..messages.message import carries_secrets, grammar_of
from .look import Look

SAID: Final = {
    Mistake.SIZE_COUNTS_ITSELF: "the size in front counts its own four bytes; it must count only those behind it",
    Mistake.LITTLE_ENDIAN: "numbers are written with their lowest byte first (little-endian); Kafka writes the "
    "highest first",
    Mistake.COMPACT_CLIENT_ID: "the client id in the header is written as a COMPACT_STRING; the header's client id is "
    "always a NULLABLE_STRING with an INT16 length, in flexible versions too, and the tagged fields stand behind it",
    Mistake.HEADER_WITHOUT_TAGS: "the header lacks its tagged fields: {api} {direction} v{version} is flexible, so a "
    "byte 00 (no tagged fields) ends the header",
    Mistake.HEADER_WITH_TAGS: "the header ends with a byte for tagged fields: {api} {direction} v{version} has an "
    "older header, without it",
    Mistake.OTHER_VERSION: "the body is laid out as v{version}, though the header says another version",
    Mistake.MISSING_TAGS: "a byte for tagged fields (00) is missing: in a flexible version structures end with one",
    Mistake.SURPLUS_TAGS: "there is a byte 00 too many: no structure ends here",
    Mistake.INT32_LENGTH: "an array or bytes have an INT32 length: v{version} is flexible, so it is one "
    "byte, length + 1",
    Mistake.INT16_LENGTH: "a string has an INT16 length: v{version} is flexible, so it is one byte, length + 1",
    Mistake.COMPACT_LENGTH: "a length is written in the compact form, length + 1 in one byte: v{version} is not "
    "flexible",
}
PER_LINE = 16
MOST = 24
"""Lines of bytes."""


def cause_lines(cause: Cause, offset: int, look: Look) -> list[str]:
    """Return what probably went wrong, where, and the bytes as they should be."""
    said = SAID[cause.mistake].format(api=cause.api.name, direction=cause.direction, version=cause.version)
    body = "" if cause.body else "; the body is missing altogether"
    text = f"Likely cause: at byte 0x{offset + cause.at:04x}, {said}{body}."
    lines = ["", *textwrap.wrap(text, max(look.width, 40), break_long_words=False, break_on_hyphens=False)]
    secret = carries_secrets(grammar_of(cause.api, cause.version, cause.direction)) and not look.show_secrets
    if not cause.mended or secret:
        return lines
    data = cause.mended
    rows = [f"{at:04x}  {data[at : at + PER_LINE].hex(' ')}" for at in range(0, len(data), PER_LINE)][:MOST]
    return [*lines, "As it should be" + ("" if cause.body else ", the body left out") + ":", *rows]
