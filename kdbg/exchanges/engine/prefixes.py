"""What the requests of a connection began with, so that one which begins like an earlier one is not decoded again.

A header is read from its own bytes alone. So what was read of one holds for each request with the same bytes there,
whatever its correlation id: the same API, version and client id, and for a Produce request, whose prefix goes on to
its `acks`, whether it wants a response. Where all that ends in the bytes is what the grammars say.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from ...protocol.wire import Api
from ...protocol.wire.nodes import WireStruct
from ...protocol.wire.readings.compiled import UNREADABLE, Reader, reader
from ..messages.message import header_grammar
from .requests import RequestHeader

PRODUCE = 0
MOST, LONGEST = 64, 512
"""Prefixes that are remembered of a connection, and bytes of one; a client has few, and short ones."""


class Prefix(NamedTuple):
    """What the first `end` bytes of a request say; `same` are those behind the correlation id.

    `wants_answer` is False for acks=0.
    """

    end: int
    same: bytes
    api: Api
    version: int
    client_id: str | None
    wants_answer: bool


class Prefixes(dict[bytes, Prefix]):
    """The newest prefix for each API and version, by the four bytes that tell these; all are of one client id."""

    __slots__ = ()

    def remember(self, prefix: Prefix, message: bytes) -> None:
        """Remember the prefix of this message, unless it is longer than any client's."""
        if prefix.end > LONGEST:
            return
        if len(self) >= MOST:
            self.clear()
        self[message[:4]] = prefix


def read_prefix(header: RequestHeader, message: bytes) -> Prefix | None:
    """Return the prefix of a request with this header; None where its grammar is unknown, or cannot read so far."""
    api, version, _, client_id, known, cut = header
    if not known or cut:
        return None
    read_head, read_acks = _readers(api, version)
    try:
        _, end = read_head(message, 0)
        fields, end = read_acks(message, end) if read_acks is not None else (None, end)
    except UNREADABLE:
        return None
    if end > len(message):
        return None
    wants_answer = fields is None or fields["acks"] != 0
    return _prefix(end, message[8:end], api, version, client_id, wants_answer)


_prefix = lru_cache(maxsize=4096)(Prefix)
"""Makes prefixes; those of many connections that are alike are one."""


@cache
def _readers(api: Api, version: int) -> tuple[Reader, Reader | None]:
    """Return the readers of a request's header, and of a Produce request's fields up to `acks`, not beyond."""
    read_head = reader(header_grammar(api, version, "request"))
    fields = api.at("request", version).fields
    names = [field.name for field in fields]
    if api.key != PRODUCE or "acks" not in names:
        return read_head, None
    return read_head, reader(WireStruct(fields[: names.index("acks") + 1], None))
