"""What stands beside the bytes of values: what a `Describer` says of them, encoded, remembered by what says it."""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from ....protocol.findings.amounts import count
from ....protocol.grammars.payloads import SPECIAL
from ....protocol.wire.nodes import Fixed, Node, Sized, UuidNode
from ....protocol.wire.readings.runtime import UUIDS, Unreadable, Uuids
from ....protocol.wire.readings.topics import Topics
from ..annotations import Describer, note_on_length, size_text
from ..grid import PRINTABLE, Grid, Parts
from ..hexdump import WIDEST_MEANING
from ..style import Look
from ..tree_codegen.texts import Encoded, encoded
from ..values import MOST_KEPT, Memo

LONGEST = 64
"""Bytes of a string whose parts are remembered, and of a value that is put in quotes before it is written."""
PLAINLY = PRINTABLE.replace(b"\\", b".")
"""Changes whatever does not stand in quotes as it is, for `translate`."""
SHORTEST_NOTE, LEAST_BESIDE = 28, 20
"""Columns of the shortest type with a note on a length, and of what stands in front of it at least."""


class Cells(dict[bytes, tuple[bytes, bytes]]):
    """The hex digits and the text of bytes that fit on a line, not too many."""

    def __missing__(self, data: bytes) -> tuple[bytes, bytes]:
        if len(self) >= MOST_KEPT:
            self.clear()
        found = self[data] = hexlify(data, b" "), data.translate(PRINTABLE)
        return found


class Quoted:
    """The bytes of `data` from `start` to `stop` in quotes, put there when they are asked for."""

    __slots__ = ("data", "start", "stop")

    def __init__(self, data: bytes, start: int, stop: int) -> None:
        self.data, self.start, self.stop = data, start, stop

    def __bytes__(self) -> bytes:
        return b'"%b"' % self.data[self.start : self.stop]


Octets: TypeAlias = Callable[[bytes, int, int, list[bytes]], "bytes | Quoted"]


class Texts:
    """What is said of values in a look that shows all and has no colours; what is remembered serves all layouts."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.grid: Grid = Grid(look, text=True)
        self.describe: Describer = Describer(look, topics, self.grid.room)
        self.noted: bool = self.grid.room >= SHORTEST_NOTE + LEAST_BESIDE
        """Whether there may be room for notes on lengths."""
        self.ids: Uuids = UUIDS
        self.parts: Callable[[bytes, int, int, int], Parts] = self.grid.parts
        self.cells: Cells = Cells()
        self.strings: Memo[bytes] = Memo(lambda raw: self._string(raw.decode()))
        self.other_topics: Memo[bytes] = Memo(self._other_topic)
        """As `strings`, but unreadable for a topic whose records are payloads."""
        self.counts: Memo[bytes] = Memo(encoded(lambda size: count(size, "byte")))
        """What is said of bytes that are not told but by their number."""
        self._parts: dict[tuple[bytes, int], Parts] = {}
        self._shared: dict[Hashable, Memo[bytes]] = {}

    def parts_of_string(self, data: bytes, place: int) -> Parts:
        """Return the parts of a string with its length in front, of which many are the same at the same place."""
        key = data, place
        found = self._parts.get(key)
        if found is None:
            found = self.parts(data, 0, len(data), place)
            if len(data) <= LONGEST:
                if len(self._parts) >= MOST_KEPT:
                    self._parts.clear()
                self._parts[key] = found
        return found

    def number(self, node: Node) -> Memo[bytes] | Encoded | None:
        """Return the texts of numbers by value, or what makes them; None for those that are shown as digits."""
        show = self.describe.number(node)
        if show is None:
            return encoded(str) if isinstance(node, Fixed) and node.code == "d" else None
        return self._memo((node.kind, node.bnf == "BOOLEAN", node if node.names else None), show)

    def size(self, node: Node) -> Memo[bytes]:
        """Return the texts of lengths and counts by their number; -1 is null."""
        return self._memo(("size", type(node)), lambda size: size_text(node, None if size < 0 else size))

    def note(self, node: Sized) -> Memo[bytes]:
        """Return the notes on lengths by the length; -1 is null."""
        return self._memo(("note", node.length.bias), lambda size: note_on_length(node, None if size < 0 else size))

    def uuids(self, node: UuidNode) -> Encoded:
        """Return what makes the texts of UUIDs from their bytes; the names of topics are looked up each time."""
        ids, describe = self.ids, self.describe
        return lambda raw: describe.value(node, ids[raw]).encode()

    def null(self, node: Sized) -> bytes:
        """Return what a null is said to be."""
        return self.describe.value(node, None).encode()

    def octets(self, node: Sized) -> Octets:
        """Return what says the meaning of bytes.

        It takes the data, where the bytes begin and end in it, and a list of meanings that count for the width of their
        column: to those it adds its own, if it is short enough.
        """
        describe, plain = self.describe, node.kind != "address"

        def octets(data: bytes, start: int, stop: int, meanings: list[bytes]) -> bytes | Quoted:
            value = data[start:stop]
            if plain and value.translate(PLAINLY) == value != b"":
                if stop - start > LONGEST:
                    return Quoted(data, start, stop)
                meaning = b'"%b"' % value
            else:
                meaning = describe.value(node, value).encode()
            if len(meaning) <= WIDEST_MEANING or not meaning.isascii():
                meanings.append(meaning)
            return meaning

        return octets

    def _memo(self, key: Hashable, show: Callable[[Any], str]) -> Memo[bytes]:
        """Return the texts that are shared under a key, made by `show`."""
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = Memo(encoded(show))
        return found

    def _string(self, text: str) -> bytes:
        return self.describe.text(text).encode()

    def _other_topic(self, raw: bytes) -> bytes:
        if raw.decode() in SPECIAL:
            raise Unreadable
        return self.strings[raw]
