"""Source that reads leaves and makes their text, each by what a tree shows of it (texts.py)."""

from __future__ import annotations

from typing import Any

from ....protocol.grammars.payloads import SPECIAL
from ....protocol.wire.nodes import Fixed, Node, RemainingBytes, Sized, UuidNode, Varint, WireArray
from ....protocol.wire.readings.codegen import Unsuited
from ..values import CHECKSUM, Memo
from .lines import Lines
from .texts import Encoded, Texts


class Leaves(Lines):
    """Writes a function that makes texts of leaves: of strings and bytes while they are read.

    `records`: the messages hold record sets, which are drawn here only if they are not those of Kafka's own topics.
    """

    def __init__(self, texts: Texts, *, records: bool, **rest: Any) -> None:
        super().__init__(texts.tree, **rest)
        self.texts, self.holds_records = texts, records
        self.names |= {"ids": texts.ids, "SPECIAL": SPECIAL, "counts": texts.counts}

    def show(self, node: Node, depth: int) -> None:
        """Write what reads a leaf, and put its text into the block."""
        if isinstance(node, Sized):
            self.put(self.value(node, depth))
        elif isinstance(node, UuidNode):
            raw = self.take("16s", self.fresh())
            if node.kind == "topic_id" and self.holds_records:
                self.flush(depth)
                self.line(depth, f"if topics.get(ids[{raw}], ids[{raw}]) in SPECIAL: raise Unreadable")
            self.put(self.text_of(self.texts.uuids(node), raw))
        elif isinstance(node, RemainingBytes):
            self.put(self.text_of(self.texts.octets(node), self.value(node, depth)))
        elif isinstance(node, (Fixed, Varint)):
            self.put_number(node, self.value(node, depth))
        else:
            raise Unsuited

    def put_number(self, node: Node, value: str) -> None:
        """Put the text of a number into the block, given the expression of the number."""
        texts = self.texts.number(node)
        if node.kind == "crc":
            self.put(f"{value} & 0xFFFFFFFF", CHECKSUM)
        elif texts is None:
            self.put(value, "%d")
        else:
            self.put(self.text_of(texts, value))

    def of_bytes(self, node: Sized, data: str) -> str:
        if not node.text:
            return self.text_of(self.texts.octets(node), data)
        own = node.kind == "topic" and self.holds_records
        return self.text_of(self.texts.other_topics if own else self.texts.strings, data)

    def of_null(self, node: Sized) -> str:
        return self.named("null", self.texts.null(node))

    def text_of(self, texts: Memo[bytes] | Encoded, value: str) -> str:
        """Return the expression of the text of a value."""
        name = self.named("texts", texts)
        return f"{name}[{value}]" if isinstance(texts, Memo) else f"{name}({value})"

    def array_shown(self, node: WireArray, depth: int) -> str:
        """Write what proves an array that stands on one line; return the expression of its text."""
        if isinstance(node.item, Sized) and node.item.holds is not None:
            raise Unsuited
        start, text = self.fresh(), self.fresh()
        self.flush(depth)
        self.line(depth, f"{start} = pos")
        self.read(node, depth)
        self.flush(depth)
        self.line(depth, f"{text} = {self.text_of(self.texts.array(node), f'data[{start}:pos]')}")
        return text

    def draw_null(self, depth: int) -> None:
        """Write what ends a line with a null."""
        self.text(f"  {self.tree.null}\n")
        self.emit(depth)
