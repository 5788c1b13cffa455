"""What generated views have in common: values as the bytes of their text, remembered, and source that looks these up.

How a value looks is asked of what writes the view of any value: of a `Tree`, of a `Describer`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from struct import calcsize
from typing import Any, TypeAlias

from ...exchanges.messages.message import grammar_of, header_grammar
from ...payloads.records.record import record_sets
from ...protocol.grammars.payloads import SPECIAL
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import Fixed, Length, Node, NullableStruct, Sized, UuidNode, Varint, WireStruct
from ...protocol.wire.readings.codegen import CodeGenerator, Inside
from ...protocol.wire.readings.outline import Topics
from ...protocol.wire.readings.runtime import UUIDS, Unreadable
from ...protocol.wire.records import RecordsNode
from .style import Look
from .values import Memo, topic_id

Encoded: TypeAlias = Callable[[Any], bytes]


def encoded(show: Callable[[Any], str]) -> Encoded:
    """Return a function that gives a text as bytes."""
    return lambda value: show(value).encode()


def layout_of(api: Api, version: int, direction: Direction, look: Look) -> tuple[Node, WireStruct] | None:
    """Return the grammars of header and body of messages that are written straight from their bytes; None of others."""
    if version not in api.versions or not api.reads(direction, version) or api.headerless:
        return None
    body = grammar_of(api, version, direction)
    if (look.read is not None or look.hide_values) and record_sets(body):  # records are not what their bytes are
        return None
    return header_grammar(api, version, direction), body


class ValueTexts:
    """The texts of values; `string` gives that of a string, `show` what gives those of the values of a node.

    What is remembered serves all layouts.
    """

    def __init__(
        self, string: Callable[[str], str], show: Callable[[Node], Callable[[Any], str]], topics: Topics
    ) -> None:
        self.show, self.topics = show, topics
        self.strings: Memo[bytes] = Memo(lambda raw: string(raw.decode()).encode())

        def other_topic(raw: bytes) -> bytes:
            if raw.decode() in SPECIAL:
                raise Unreadable
            return self.strings[raw]

        self.other_topics: Memo[bytes] = Memo(other_topic)
        """As `strings`, but unreadable for a topic whose records are payloads."""
        self._shared: dict[Hashable, Memo[bytes]] = {}
        self._topic_ids: Memo[bytes] = Memo(lambda known: topic_id(*known).encode())

    def memo(self, key: Hashable, show: Callable[[Any], str]) -> Memo[bytes]:
        """Return the texts that are shared under a key, made by `show`."""
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = Memo(encoded(show))
        return found

    def numbers(self, node: Node, show: Callable[[Any], str]) -> Memo[bytes]:
        """Return the texts of numbers by value: those that mean the same have the same texts."""
        return self.memo((node.kind, node.bnf == "BOOLEAN", node if node.names else None), show)

    def null(self, node: Sized) -> bytes:
        """Return what a null is shown as."""
        return self.show(node)(None).encode()

    def uuids(self, node: UuidNode) -> Memo[bytes] | Encoded:
        """Return the texts of UUIDs by their bytes; the names of topics are looked up each time."""
        if node.kind != "topic_id":
            return self.memo("uuid", lambda raw: str(UUIDS[raw]))
        names, texts = self.topics, self._topic_ids

        def text(raw: bytes) -> bytes:
            id = UUIDS[raw]
            return texts[id, names.get(id)]

        return text


DIGITS = Memo(encoded(str))
"""The digits of numbers."""


class BlockSource(CodeGenerator):
    """Writes a function that adds blocks: `held` is what the block at hand has by now, which `emit` writes as one."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.held: list[Any] = []
        self._is_in_loop = False
        self.names["DIGITS"] = DIGITS

    # What a view says

    def emit(self, depth: int) -> None:
        """Write what adds the block at hand, if there is something in it; begin a new one."""
        raise NotImplementedError

    def null(self, depth: int) -> None:
        """Write what adds a null."""

    def only(self, depth: int, write: Inside) -> None:
        """Write what adds the only item of an array; `write` writes what adds one."""
        raise NotImplementedError

    def loop_numbered(self, count: str, depth: int, write: Inside) -> None:
        """Write the loop over items."""
        raise NotImplementedError

    def digits(self, node: Node, value: str) -> tuple[str, str]:
        """Return the letter of a template that takes a number's digits, and the expression that fills it.

        Numbers of few bytes recur, and looking them up takes a third of the time of formatting them.
        """
        recurs = isinstance(node, Varint) or (isinstance(node, Fixed) and calcsize(f">{node.code}") <= 4)
        return ("%b", f"DIGITS[{value}]") if recurs and node.kind != "crc" else ("%d", value)

    def record_set(self, node: RecordsNode, end: str) -> str:
        """Return the call of what adds the record set from `pos` to `end`."""
        raise NotImplementedError

    # What all have in common

    def counted(self, length: Length, nullable: bool, depth: int, null: str = "") -> str:
        name = self.length(length, depth)
        self.emit(depth)
        self.guard_null(name, nullable, depth, null)
        return name

    def item(self, node: Node, depth: int) -> None:
        self.read(node, depth)
        self.emit(depth)

    def nullable_struct(self, node: NullableStruct, depth: int) -> str:
        self.emit(depth)
        self.marked(node, depth)
        self.item(node.struct, depth + 1)
        return ""

    def records(self, node: RecordsNode, depth: int) -> str:
        size, depth = self.counted(node.length, node.nullable, depth), depth + 1
        self.line(depth, f"if pos + {size} > len(data): raise Unreadable")
        self.line(depth, self.record_set(node, f"pos + {size}"))
        self.line(depth, f"pos += {size}")
        return ""

    def either(self, condition: str, depth: int, one: Inside, other: Inside | None = None) -> None:
        """Write a choice, and the block at hand at the beginning of both ways; after it a new block begins."""
        self.flush(depth)
        held = self.held
        for line, write in ((f"if {condition}:", one), ("else:", other)):
            self.held = held[:]
            self.line(depth, line)
            written = len(self.lines)
            if write is not None:
                write(depth + 1)
            self.emit(depth + 1)
            if len(self.lines) == written:
                self.line(depth + 1, "pass")

    def numbered(self, count: str, depth: int, write: Inside) -> None:
        """Write what adds the items of an array. Most have one item: it joins the block at hand, without a loop.

        Inside a loop there is no source of its own for one item, lest the source of nested arrays be too long.
        """
        if self._is_in_loop:
            self.loop_numbered(count, depth, write)
            return

        def several(depth: int) -> None:
            self._is_in_loop = True
            self.loop_numbered(count, depth, write)
            self._is_in_loop = False

        self.either(f"{count} == 1", depth, lambda depth: self.only(depth, write), several)


class TextSource(BlockSource):
    """Writes a function that looks up texts.

    `records`: the messages hold record sets, which are written here only if they are not those of Kafka's own topics.
    """

    def __init__(self, texts: ValueTexts, *, records: bool, **rest: Any) -> None:
        super().__init__(**rest)
        self.holds_records = records
        self._strings, self._other_topics = texts.strings, texts.other_topics
        self.names |= {"ids": UUIDS, "SPECIAL": SPECIAL}

    def text_of(self, texts: Memo[bytes] | Encoded, value: str) -> str:
        """Return the expression of the text of a value."""
        name = self.named("texts", texts)
        return f"{name}[{value}]" if isinstance(texts, Memo) else f"{name}({value})"

    def of_text(self, node: Sized, data: str) -> str:
        """Return the expression of the text of a string, given that of its bytes."""
        own = node.kind == "topic" and self.holds_records
        return self.text_of(self._other_topics if own else self._strings, data)

    def refuse_special(self, node: UuidNode, raw: str, depth: int) -> None:
        """Write what refuses the id of a topic whose records are payloads."""
        if node.kind == "topic_id" and self.holds_records:
            self.flush(depth)
            self.line(depth, f"if topics.get(ids[{raw}], ids[{raw}]) in SPECIAL: raise Unreadable")
