"""Bytes of any kind, explained for a program: what each piece of them is, how likely, what else it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from ...analysis.pasted.literals import Take
from ...analysis.pasted.search import takes_of
from ...errors import InputError
from ...exchanges.guess.candidates import Guess, Hints, words_of
from ...exchanges.guess.pieces import GuessedSpan, pieces_of
from ...exchanges.guess.structures import api_or_structure
from ...exchanges.messages.message import Message
from ...protocol import grammars
from ...protocol.findings import Finding
from ...protocol.findings.amounts import count
from ...protocol.wire.language import Direction
from ..render.explanation import Explained
from ..render.style import Look
from ..render.text import html
from ..render.views import view


@dataclass(frozen=True)
class Explanation:
    """One piece of the bytes, `start` to `end` (not included).

    `guesses` are what it may be, the likeliest first, with a likelihood each; none where no layout fits. `message` is
    the first of them, read; `findings` is what is odd in it; `explained` counts the bytes that it accounts for.
    """

    start: int
    end: int
    guesses: tuple[Guess, ...]
    message: Message | None
    findings: tuple[Finding, ...]
    explained: int
    _data: bytes
    _piece: GuessedSpan

    def text(self, format: str = "hex", *, width: int = 100, full: bool = True, show_secrets: bool = False) -> str:
        """Return it as `kdbg explain` shows it; raise `InputError` for a view that does not explain bytes."""
        show = view(format).explained
        if show is None:
            raise InputError(f"the format {format!r} cannot show an explanation")
        text, _ = show(self._data, self._piece, Look("", width, full, show_secrets))
        return text.decode() if isinstance(text, bytes) else text

    def to_dict(self, *, show_secrets: bool = False) -> dict[str, Any]:
        """Return what `kdbg explain --format json` prints of it."""
        found: dict[str, Any] = orjson.loads(self.text("json", show_secrets=show_secrets))
        return found

    def __repr__(self) -> str:
        what = "unknown" if not self.guesses else f"{self.guesses[0].api.name} {self.guesses[0].direction}"
        return (
            f"<Explanation {self.start}–{self.end}: {what}, {self.explained} of {count(self.end - self.start, 'byte')}>"
        )

    def _repr_html_(self) -> str:
        """Return the explained hexdump for a notebook."""
        return html(self.text())


def explain(
    data: bytes | str,
    *,
    api: str | int | None = None,
    version: int | None = None,
    direction: Direction | None = None,
    header: bool = True,
) -> list[Explanation]:
    """Explain bytes, or those that stand in a text, as `kdbg explain` does: the pieces one after another.

    A text may be hex, base64, a literal or a hexdump, with log lines or code around it; where it holds bytes in several
    places, positions count from the first byte of each. What is known of them may be said: `api` (or a payload, by its
    name), `version`, `direction`, and `header=False` for a body alone.

    Raises `InputError` for text without bytes in it, `UnknownApi` for an API that is not known.
    """
    if version is not None and api is None:
        raise InputError("version requires api")
    known, named = api_or_structure(api, grammars.api) if api is not None else (None, None)
    told = Hints(known, version, direction, header)
    if isinstance(data, bytes):
        takes = [Take(data, "bytes", 0, len(data))]
    else:
        takes, told = takes_of(data), told._replace(named=words_of(data))
    if not any(take.data for take in takes):
        raise InputError("no bytes to explain")
    explanations = []
    for take, pieces in zip(takes, pieces_of([(take.data, take.cut) for take in takes], told, named), strict=True):
        for piece in pieces:
            found = Explained(take.data, piece) if piece.guesses else None
            message, findings, count = (found.message, found.findings, found.explained) if found else (None, (), 0)
            explanations.append(Explanation(
                piece.start, piece.end, tuple(piece.guesses), message, tuple(findings), count, take.data, piece,
            ))  # fmt: skip
    return explanations
