"""The view of exchanges as explained hexdumps: clean messages straight from their bytes, all others by inspection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import chain

from ....exchanges.messages.exchange import CapturedMessage, Exchange
from ....protocol.findings import Finding
from ....protocol.wire import Api
from ....protocol.wire.language import Direction
from ....protocol.wire.readings.codegen import UNREADABLE
from ....protocol.wire.readings.outline import ALWAYS, Topics
from ....protocol.wire.readings.runtime import Odd
from ..exchange_header import Headings, encode, remarks
from ..style import Look
from ..text_source import layout_of
from .grid import BYTES_AT
from .hexdump import note, pieces
from .rows import Texts
from .source import Dumping, dumping

NO_BYTES = "      log files contain no bytes: use --format tree"
SIZE = 4
"""Bytes of the size in front of a message, with which places begin in a hexdump."""


class HexView:
    """Renders exchanges: one heading, then the hexdumps of request and response."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.look, self.topics = look, topics
        self.headings: Headings = Headings(look, request="\n", response="\n")
        self.texts: Texts = Texts(look, topics)
        self.dumping: Callable[[Api, int, Direction], Dumping | None] = cache(self.compiled)

    def __call__(self, exchange: Exchange) -> bytes:
        return b"".join(self.pieces(exchange))

    def pieces(self, exchange: Exchange) -> Iterator[bytes]:
        """Return the text in pieces."""
        above = [self.headings.title(exchange), b"\n"]
        above += [encode(f"  {line}\n") for line in remarks(exchange, self.look)]
        parts: list[Iterable[bytes]] = [above]
        for half, name in ((exchange.request, "request"), (exchange.response, "response")):
            parts.append([self.headings.half(half, exchange, name)])
            if half is not None and exchange.lines and not half.data:
                parts.append([encode(f"{self.look.paint('dim', NO_BYTES)}\n")])
            elif half is not None:
                parts.append(self.half(half, exchange))
        parts.append([b"\n"])
        return chain.from_iterable(parts)

    def half(self, half: CapturedMessage, exchange: Exchange) -> Iterable[bytes]:
        """Return the lines below the heading of one half, in pieces."""
        api, version = exchange.api, exchange.version
        dump = self.dumping(api, version, half.direction) if api is not None and not half.missing else None
        if dump is not None:
            odd: list[Odd] = []
            with suppress(*UNREADABLE):
                lines = dump(half.data, half.known.topics if half.known is not None else ALWAYS, odd)
                findings = half.prove(odd)
                return self.with_notes(lines, findings) if findings else lines
        asked = half.data, api, version, half.direction, self.look, self.topics
        found = pieces(*asked, size=half.size - 4, text=True, context=half.context)
        return (encode(f"{line}\n") for line in found)

    def with_notes(self, lines: Iterable[bytes], findings: Iterable[Finding]) -> Iterator[bytes]:
        """Yield the lines of a message, with the findings of a byte below the row that begins there, in pieces.

        Those that belong to no row are below all.
        """
        places: dict[int, list[Finding]] = {}
        for finding in findings:
            places.setdefault((finding.start or 0) + SIZE, []).append(finding)
        left = deque(sorted(places))
        for piece in lines:
            while left:
                beginning = b"%04x  " % left[0]
                row = 0 if piece.startswith(beginning) else piece.find(b"\n" + beginning) + 1 or -1
                if row < 0:
                    break
                end = piece.index(b"\n", row) + 1
                yield piece[:end] + self.notes(places[left.popleft()])
                piece = piece[end:]
            yield piece
        for place in left:
            yield self.notes(places[place])

    def notes(self, findings: Iterable[Finding]) -> bytes:
        """Return the lines of findings, as they stand below the row of their byte."""
        return encode("".join(f"{line}\n" for finding in findings for line in note(finding, BYTES_AT, self.look)))

    def compiled(self, api: Api, version: int, direction: Direction) -> Dumping | None:
        """Return what dumps such messages straight from their bytes; None where nothing does."""
        found = layout_of(api, version, direction, self.look)
        return dumping(self.texts, *found) if found is not None else None
