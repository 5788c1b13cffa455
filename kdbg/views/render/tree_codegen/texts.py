"""Values as the bytes of their text: what a `Tree` shows of them, encoded, remembered by the bytes that say it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from ....protocol.grammars.payloads import SPECIAL
from ....protocol.wire.nodes import Node, RemainingBytes, Sized, UuidNode, WireArray
from ....protocol.wire.readings.anomalies import Odd
from ....protocol.wire.readings.compiled import reader
from ....protocol.wire.readings.runtime import UUIDS, Unreadable, Uuids
from ....protocol.wire.records.node import RecordsNode
from ..tree import Tree
from ..values import Memo, quote, timestamp, topic_id
from .lines import Scope

Encoded: TypeAlias = Callable[[Any], bytes]
DrawSet: TypeAlias = Callable[[tuple[Any, ...], bytes, int, int, list[bytes], "list[Odd] | None"], None]

PLAIN = bytes(range(0x20, 0x7F)).replace(b"\\", b"")
"""What stands in quotes as it is."""


class Texts:
    """The values of messages as a tree shows them. Make one for a tree: what it remembers serves all layouts."""

    def __init__(self, tree: Tree) -> None:
        look = tree.look
        self.tree = tree
        self.ids: Uuids = UUIDS
        self.strings: Memo[bytes] = Memo(self._string)
        self.other_topics: Memo[bytes] = Memo(self._other_topic)
        """As `strings`, but unreadable for a topic whose records are payloads."""
        self.counts: Memo[bytes] = Memo(lambda count: tree.count(None if count < 0 else count).encode())
        """What is said of an array in place of its items, by their number; -1 is null."""
        self.contents: Encoded = encoded(tree.contents)
        """The key or the value of a record."""
        self.quotes: tuple[bytes, bytes] = f'{look.on("text")}"'.encode(), f'"{look.off("text")}'.encode()
        """What stands around such a one if it is nothing but `PLAIN`."""
        self.names: Memo[bytes] = Memo(lambda raw: quote(raw.decode()).encode())
        """The name of a header of a record."""
        self.timestamps: Memo[bytes] = Memo(encoded(timestamp))
        """Times without a colour, as records have them."""
        self.record_sets: dict[RecordsNode, tuple[DrawSet, Scope]] = {}
        """What draws the record sets of fields (records.py)."""
        self._topic_ids: Memo[bytes] = Memo(lambda known: topic_id(*known).encode())
        self._shared: dict[Hashable, Memo[bytes]] = {}

    def number(self, node: Node) -> Memo[bytes] | Encoded | None:
        """Return the texts of numbers by value, or what makes them; None for those that are shown as digits.

        Those of doubles are not remembered: 0.0 and -0.0 are one key.
        """
        show = self.tree.show(node)
        if node.bnf == "FLOAT64":
            return encoded(show)
        if show is str:
            return None
        if show is timestamp:
            return self.timestamps
        return self._memo((node.kind, node.bnf == "BOOLEAN", node if node.names else None), show)

    def octets(self, node: Sized | RemainingBytes) -> Encoded:
        """Return what makes the text of bytes; those that may be a payload are unreadable unless there are none."""
        if node.holds is None:
            return encoded(self.tree.show(node))
        return only_empty(self.tree.show(node)(b"").encode())

    def null(self, node: Sized) -> bytes:
        """Return what a null is shown as."""
        return self.tree.show(node)(None).encode()

    def uuids(self, node: UuidNode) -> Memo[bytes] | Encoded:
        """Return the texts of UUIDs by their bytes; the names of topics are looked up each time."""
        if node.kind != "topic_id":
            return self._memo("uuid", lambda raw: str(UUIDS[raw]))
        ids, names, texts = self.ids, self.tree.topics, self._topic_ids

        def text(raw: bytes) -> bytes:
            topic_id = ids[raw]
            return texts[topic_id, names.get(topic_id)]

        return text

    def array(self, node: WireArray) -> Memo[bytes] | Encoded:
        """Return the texts of arrays that stand on one line, by all their bytes from the count on."""
        show, read = self.tree.show(node), reader(node)

        def text(raw: bytes) -> str:
            return show(read(raw, 0)[0])

        return encoded(text) if node.item.kind == "topic_id" else self._memo(node, text)

    def _memo(self, key: Hashable, show: Callable[[Any], str]) -> Memo[bytes]:
        """Return the texts that are shared under a key, made by `show`."""
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = Memo(encoded(show))
        return found

    def _string(self, raw: bytes) -> bytes:
        return self.tree.string(raw.decode()).encode()

    def _other_topic(self, raw: bytes) -> bytes:
        if raw.decode() in SPECIAL:
            raise Unreadable
        return self.strings[raw]


def encoded(show: Callable[[Any], str]) -> Encoded:
    """Return a function that gives a text as bytes."""
    return lambda value: show(value).encode()


def only_empty(text: bytes) -> Encoded:
    """Return a function that gives the text for no bytes, and finds any others unreadable."""

    def only(raw: bytes) -> bytes:
        if raw:
            raise Unreadable
        return text

    return only
