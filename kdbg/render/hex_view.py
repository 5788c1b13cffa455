"""The view of exchanges as explained hexdumps: clean messages straight from their bytes, all others by inspection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain

from ..messages.exchange import CapturedMessage, Exchange
from ..messages.message import grammar_of, header_grammar
from ..records.sets import record_sets
from ..wire import Api
from ..wire.language.api import Direction
from ..wire.readings.topic_names import ALWAYS, Topics
from ..wire.readings.walk import UNREADABLE
from .dumped import Dumping, Texts, dumping
from .findings import finding_line
from .heading import Headings, encode, half_values, kind, title_values
from .hexdump import hexdump
from .look import Look
from .values import Memo


class HexView:
    """Renders exchanges: one heading, then the hexdumps of request and response."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.look, self.topics = look, topics
        self.headings: Headings = Headings(look)
        self._titles: Memo[bytes] = Memo(lambda kind: self.headings.title_template(*kind) + b"\n")
        self._halves: dict[str, bytes] = {name: b"\n%b\n" % half for name, half in self.headings.halves.items()}
        self.texts: Texts = Texts(look, topics)
        self.dumping: Callable[[Api, int, Direction], Dumping | None] = cache(self.compiled)

    def __call__(self, exchange: Exchange) -> bytes:
        return b"".join(self.pieces(exchange))

    def pieces(self, exchange: Exchange) -> Iterator[bytes]:
        """Return the text in pieces."""
        above = [self._titles[kind(exchange)] % title_values(exchange)]
        above += [encode(f"  {finding_line(finding, self.look)}\n") for finding in exchange.findings]
        parts: list[Iterable[bytes]] = [above]
        for half, name in ((exchange.request, "request"), (exchange.response, "response")):
            if half is None:
                parts.append([b"\n%b\n" % self.headings.half(half, exchange, name)])
            else:
                parts += [self._halves[name] % half_values(half)], self.half(half, exchange)
        parts.append([b"\n"])
        return chain.from_iterable(parts)

    def half(self, half: CapturedMessage, exchange: Exchange) -> Iterable[bytes]:
        """Return the lines below the heading of one half, in pieces."""
        api, version = exchange.api, exchange.version
        dump = self.dumping(api, version, half.direction) if api is not None and not half.missing else None
        if dump is not None:
            try:
                lines = dump(half.data, half.known.topics if half.known is not None else ALWAYS)
            except UNREADABLE:
                pass
            else:
                half.sound = True
                return lines
        asked = half.data, api, version, half.direction, self.look, self.topics
        return [encode(f"{line}\n") for line in hexdump(*asked, size=half.size - 4, text=True, context=half.context)]

    def compiled(self, api: Api, version: int, direction: Direction) -> Dumping | None:
        """Return what dumps such messages straight from their bytes; None where nothing does."""
        if version not in api.versions or not api.reads(direction, version) or api.headerless:
            return None
        if self.look.read is not None and record_sets(grammar_of(api, version, direction)):
            return None
        return dumping(self.texts, header_grammar(api, version, direction), grammar_of(api, version, direction))
