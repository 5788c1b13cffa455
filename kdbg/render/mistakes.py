"""The mistake in a message as lines: what it is, where, and the bytes as they should be."""

from __future__ import annotations

import textwrap

from ..findings.quirks import Sure
from ..grammars import api
from ..guess.pieces import Piece
from ..messages.message import carries_secrets, grammar_of
from ..mistakes import Mistake
from .look import Look

PER_LINE = 16
MOST = 24
"""Lines of bytes."""


INCOMPLETE = (
    "The message is too long for all mistakes to be looked for: kdbg tries changes in 60,000 fields, up to 1 MiB."
)


def intended(mistake: Mistake) -> str:
    """Return the message that a mistake is in: `probably a Metadata request v1`."""
    probably = "" if mistake.sure is Sure.CERTAIN else "probably "
    return f"{probably}a {mistake.api} {mistake.direction} v{mistake.version}"


def mistake_lines(piece: Piece, look: Look) -> list[str]:
    """Return the mistake in a piece, with its byte counted from the first one of the input; none where there is none.

    The corrected bytes follow, unless they may hold secrets.
    """
    mistake = piece.mistake
    if mistake is None:
        return [] if piece.examined else ["", *_wrapped(INCOMPLETE, look)]
    before = piece.guesses[0].start if piece.guesses else 4
    text = f"Mistake at byte 0x{piece.start + before + mistake.start:04x}: {mistake.text}."
    lines = ["", *_wrapped(text, look)]
    secret = carries_secrets(grammar_of(api(mistake.api), mistake.version, mistake.direction))
    if not mistake.corrected or (secret and not look.show_secrets):
        return lines
    data = mistake.corrected
    rows = [f"{at:04x}  {data[at : at + PER_LINE].hex(' ')}" for at in range(0, len(data), PER_LINE)][:MOST]
    return [*lines, "Corrected bytes:", *rows]


def _wrapped(text: str, look: Look) -> list[str]:
    return textwrap.wrap(text, max(look.width, 40), break_long_words=False, break_on_hyphens=False)
