"""The function that dumps clean messages of one layout straight from their bytes (see wire/readings/walk.py).

`dumping(texts, header, body)` returns `dump(data, topics, odd=None)`, which returns the lines in pieces, the size in
front of the message included; what it notes has no line (see anomalies.py). They are those of
hexdump.py; for all that only an inspection tells (payloads, secrets, tagged fields, faults) it raises one of
`UNREADABLE`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Protocol, TypeAlias

from ....exchanges.messages.secrets import may_hold_secrets
from ....protocol.wire.nodes import Node, WireStruct
from ....protocol.wire.nodes.children import contains
from ....protocol.wire.readings.anomalies import Odd
from ....protocol.wire.readings.codegen import Unsuited
from ....protocol.wire.readings.measure import begin
from ....protocol.wire.readings.secrets import has_secrets
from ....protocol.wire.records.node import RecordsNode
from ..annotations import LEFT_OVER
from ..hexdump import heading
from .blocks import Buffer
from .records import record_set
from .structures import Structures
from .texts import Texts

Gathering: TypeAlias = Callable[[bytes, list[Buffer], Mapping[uuid.UUID, str], "list[Odd] | None"], None]


class Dumping(Protocol):
    """Returns the lines of a message in pieces, given its bytes; notes what is odd and yet readable."""

    def __call__(
        self, data: bytes, topics: Mapping[uuid.UUID, str], odd: list[Odd] | None = None, /
    ) -> Iterator[bytes]: ...


def dumping(texts: Texts, header: Node, body: WireStruct) -> Dumping | None:
    """Return the function that dumps messages of this grammar; None where only an inspection can.

    `topics` are the names of topic ids by which records are told apart: those of Kafka's own topics hold payloads.
    """
    gather, look, noted = gathering(texts, header, body), texts.describe.look, texts.noted
    if gather is None:
        return None

    def dump(data: bytes, topics: Mapping[uuid.UUID, str], odd: list[Odd] | None = None, /) -> Iterator[bytes]:
        whole = Buffer([], [])
        buffers = [whole]
        gather(data, buffers, topics, odd)
        return whole.lines(noted=noted) if len(buffers) == 1 else chain.from_iterable(map(lines, buffers))

    def lines(buffer: Buffer) -> Iterator[bytes]:
        if buffer.name:
            yield f"\n{heading(look, buffer.name, buffer.size)}\n".encode()
        yield from buffer.lines(noted=noted)

    return dump


def gathering(texts: Texts, header: Node, body: WireStruct) -> Gathering | None:
    """Return the function that adds the rows of messages to buffers, of which there is one at first; None as above."""
    look = texts.describe.look
    if not look.full or look.colors or look.meanings or (has_secrets(body) and not look.show_secrets):
        return None
    try:
        return Dumped(texts, records=contains(body, lambda node: isinstance(node, RecordsNode))).message(header, body)
    except Unsuited:
        return None


class Dumped(Structures):
    """Writes a function that gathers the rows of messages."""

    notes = True
    suspicious: Callable[[bytes], bool]
    """Tells whether bytes behind a message may be shown."""

    def message(self, header: Node, body: WireStruct) -> Gathering:
        """Return the function for messages of this header and body, four bytes of size in front of them."""
        begin(self, header, body)
        self.line(1, "whole, shift = buffers[0], 4")
        self.line(1, "add, meanings = whole.blocks.append, whole.meanings")
        size, cell = self.fresh("n"), self.fresh_cell()
        self.line(1, f"{size} = len(data)")
        self.line(1, f"{cell} = cells[{size}.to_bytes(4, 'big')]")
        with self.at("size"):
            self.varying("INT32", "PLACES[0]", cell, self.digits(size))
        self.read(header, 1)
        self.read(body, 1)
        self.emit(1)
        self.suspicious = partial(may_hold_secrets, grammar=body)
        self.end(1)
        return self.define("gather(data, buffers, topics, odd, pos=0)", "None")  # type: ignore[no-any-return]

    def end(self, depth: int) -> None:
        self.line(depth, "if pos != len(data):")
        if not self.texts.describe.look.show_secrets:
            suspicious = self.named("suspicious", self.suspicious)
            self.line(depth + 1, f"if {suspicious}(data): raise Unreadable")
        self.line(depth + 1, "surplus(odd, pos, len(data))")
        with self.at(LEFT_OVER):
            self.bytes_row("BYTES", "len(data)", depth + 1)
        self.emit(depth + 1)

    def records(self, node: RecordsNode, depth: int) -> str:
        size = self.size_row(node.bnf, node, node.length, depth, nullable=node.nullable)
        self.emit(depth)
        gather = self.named("records", record_set(self.texts, node))
        self.line(depth, f"if {size} > 0:")
        self.line(depth + 1, f"if pos + {size} > len(data): raise Unreadable")
        path = self.keep_path(depth + 1)
        self.line(depth + 1, f"{gather}(data, pos, pos + {size}, {path}, buffers, shift, odd)")
        self.line(depth + 1, f"pos += {size}")
        return ""
