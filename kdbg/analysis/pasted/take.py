"""Bytes that were found in a text, and where."""

from __future__ import annotations

from dataclasses import dataclass


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
