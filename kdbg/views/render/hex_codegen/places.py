"""The texts of places: of one, and of all those of a run of fields."""

from __future__ import annotations

from collections.abc import Sequence

from ..grid import NEAR, PLACE

KEPT = 256
"""Places of one run that are remembered."""


class Places(dict[int, tuple[bytes, ...]]):
    """The texts of the places of a run, by the place where it begins; those near to a message's beginning are kept."""

    def __init__(self, behind: Sequence[int]) -> None:
        super().__init__()
        self.behind: tuple[int, ...] = tuple(behind)

    def __missing__(self, place: int) -> tuple[bytes, ...]:
        texts = tuple([PLACE % (place + behind) for behind in self.behind])
        if place < NEAR:
            if len(self) >= KEPT:
                self.clear()
            self[place] = texts
        return texts


def place_text(place: str) -> str:
    """Return the expression of the text of a place."""
    return f"PLACES[{place}] if {place} < {NEAR} else PLACE % {place}"
