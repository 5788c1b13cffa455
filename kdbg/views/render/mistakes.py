"""The mistake in a message as lines: what it is, where, and the bytes as they should be."""

from __future__ import annotations

import textwrap
from typing import Any

from ...exchanges.guess.pieces import GuessedSpan
from ...exchanges.messages.message import carries_secrets, grammar_of
from ...exchanges.mistakes import Mistake
from ...protocol.findings.amounts import count
from ...protocol.findings.quirks import Sure
from ...protocol.grammars import api
from .style import Look
from .values import escape

PER_LINE = 16
MOST = 24
"""Lines of bytes."""


INCOMPLETE = (
    "The message is too long to search it for all mistakes: kdbg tries changes in up to 60,000 fields and 1 MiB."
)


def intended(mistake: Mistake) -> str:
    """Return the message that a mistake is in: `probably a Metadata request v1`."""
    probably = "" if mistake.sure is Sure.CERTAIN else "probably "
    return f"{probably}a {mistake.api} {mistake.direction} v{mistake.version}"


def offset_of(piece: GuessedSpan, mistake: Mistake) -> int:
    """Return the byte of a mistake, counted from the first one of the input, as `explain` counts them."""
    return piece.start + (piece.guesses[0].start if piece.guesses else 4) + mistake.start


def _corrected(mistake: Mistake, look: Look) -> bytes:
    """Return the corrected message; nothing where it may hold secrets that are not to be shown."""
    secret = carries_secrets(grammar_of(api(mistake.api), mistake.version, mistake.direction))
    return b"" if secret and not look.show_secrets else mistake.corrected


def mistake_members(piece: GuessedSpan, look: Look) -> dict[str, Any]:
    """Return the members of a piece's JSON object for its mistakes: the first, and the others if there are any."""
    objects = [_object(piece, one, look) for one in piece.mistakes]
    return {**({"mistake": objects[0]} if objects else {}), **({"more_mistakes": objects[1:]} if objects[1:] else {})}


def _object(piece: GuessedSpan, mistake: Mistake, look: Look) -> dict[str, Any]:
    return {
        "kind": mistake.kind, "certainty": mistake.sure.value, "path": mistake.path,
        "offset": offset_of(piece, mistake), "length": mistake.length, "actual": mistake.actual,
        "expected": mistake.expected, "text": mistake.text, "corrected": _corrected(mistake, look) or None,
    }  # fmt: skip


def mistake_lines(piece: GuessedSpan, look: Look) -> list[str]:
    """Return the mistakes in a piece, and the corrected bytes; none where there is none."""
    if not piece.mistakes:
        return [] if piece.examined else ["", *_wrapped(INCOMPLETE, look)]
    lines = ["", *(line for one in piece.mistakes for line in _sentence(piece, one, look))]
    *_, data = b"", *filter(None, (_corrected(one, look) for one in piece.mistakes))
    if not data:
        return lines
    rows = [f"{at:04x}  {data[at : at + PER_LINE].hex(' ')}" for at in range(0, len(data), PER_LINE)]
    more = [f"… {count(len(rows) - MOST, 'more line')}"] if len(rows) > MOST and not look.full else []
    return [*lines, "Corrected bytes:", *(rows if look.full else rows[:MOST]), *more]


def _sentence(piece: GuessedSpan, mistake: Mistake, look: Look) -> list[str]:
    return _wrapped(f"Mistake at byte 0x{offset_of(piece, mistake):04x}: {escape(mistake.text)}.", look)


def _wrapped(text: str, look: Look) -> list[str]:
    return textwrap.wrap(text, max(look.width, 40), break_long_words=False, break_on_hyphens=False)
