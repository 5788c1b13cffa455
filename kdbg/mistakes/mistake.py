"""What the finder returns: the field, its place, the actual and the expected value, and the corrected message."""

from __future__ import annotations

from typing import NamedTuple

from ..findings.mistakes import mistake_sentence
from ..findings.quirks import Sure
from ..wire.language.api import Direction


class Mistake(NamedTuple):
    """A mistake of the program that wrote a message.

    `kind` is a key of `findings.mistakes.MISTAKES`. `start` and `length` are bytes, counted as those of findings: from
    the first byte of the header, so that the size is at -4. `actual` and `expected` are the values as they are shown,
    "" where the kind says all. `corrected` is the whole message with its size, b"" where it is unknown.
    """

    kind: str
    api: str
    version: int
    direction: Direction
    path: str = ""
    start: int = 0
    length: int = 0
    actual: str = ""
    expected: str = ""
    sure: Sure = Sure.LIKELY
    corrected: bytes = b""

    @property
    def text(self) -> str:
        """The sentence of the mistake, without a full stop; not escaped."""
        return mistake_sentence(
            self.kind, self.sure, api=self.api, version=self.version, direction=self.direction, path=self.path,
            actual=self.actual, expected=self.expected,
        )  # fmt: skip
