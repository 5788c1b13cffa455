"""Source that writes lines of a tree: neighbouring lines become one template, filled with one `%`.

The texts of values are what a `Tree` shows of them, encoded, remembered by the bytes that say it.

What stands in front of a line inside an item depends on the branches above it, which are known when a message is drawn:
`├──` or `└──` for the last item of an array. Variables have it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeAlias

from ....protocol.wire.nodes import Fixed, Node, RemainingBytes, Sized, UuidNode, Varint, WireArray
from ....protocol.wire.readings.codegen import Inside, Unsuited
from ....protocol.wire.readings.compiled import reader
from ....protocol.wire.readings.runtime import Odd, Unreadable
from ....protocol.wire.records import RecordsNode
from ..text_source import Encoded, TextSource, ValueTexts, encoded
from ..values import CHECKSUM, Memo, number, quote, timestamp
from .tree import Tree

HEAD, BELOW = 0, 1
"""What stands in front of the first line of an item, and of the others."""
DrawSet: TypeAlias = Callable[[bytes, bytes, int, int, list[bytes], "list[Odd] | None"], None]

LONGEST, MOST = 1 << 14, 256
"""Bytes of a template that is remembered, and branches whose prefixes are."""
PLAIN = bytes(range(0x20, 0x7F)).replace(b"\\", b"")
"""What stands in quotes as it is."""


def literal(text: str) -> bytes:
    """Return text as it stands in a template."""
    return text.encode("utf-8", "backslashreplace").replace(b"%", b"%%")


def behind(held: list[tuple[bytes, str]], names: list[str], prefixes: tuple[bytes, ...]) -> bytes:
    """Return the template of a block, given its parts, and the names of the variables of prefixes with their values."""
    texts = dict(zip(names, prefixes, strict=True))
    return b"".join([texts[value].replace(b"%", b"%%") if value in texts else part for part, value in held])


def prefixed(pairs: list[tuple[bytes, ...]], prefix: bytes) -> list[tuple[bytes, ...]]:
    """Return pairs of texts, each after a prefix."""
    return [tuple(prefix + text for text in pair) for pair in pairs]


class Texts(ValueTexts):
    """The values of messages as a tree shows them. Make one for a tree."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree.string, tree.show, tree.topics)
        look = tree.look
        self.tree = tree
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
        self.record_sets: dict[RecordsNode, DrawSet] = {}
        """What draws the record sets of fields (records.py)."""

    def number(self, node: Node) -> Memo[bytes] | Encoded | None:
        """Return the texts of numbers by value, or what makes them; None for those that are shown as digits.

        Those of doubles are not remembered: 0.0 and -0.0 are one key.
        """
        show = self.tree.show(node)
        if node.bnf == "FLOAT64":
            return encoded(show)
        return self.numbers(node, show) if number(node) is not None else None

    def octets(self, node: Sized | RemainingBytes) -> Encoded:
        """Return what makes the text of bytes; those that may be a payload are unreadable unless there are none."""
        show = self.tree.show(node)
        if node.holds is None:
            return encoded(show)

        def only_empty(raw: bytes) -> bytes:
            if raw:
                raise Unreadable
            return show(raw).encode()

        return only_empty

    def array(self, node: WireArray) -> Memo[bytes] | Encoded:
        """Return the texts of arrays that stand on one line, by all their bytes from the count on."""
        show, read = self.tree.show(node), reader(node)

        def text(raw: bytes) -> str:
            return show(read(raw, 0)[0])

        return encoded(text) if node.item.kind == "topic_id" else self.memo(node, text)


class Lines(TextSource):
    """Writes a function that appends bytes to the list `out` by its `add`."""

    def __init__(self, texts: Texts, *, records: bool, **rest: Any) -> None:
        super().__init__(texts, records=records, **rest)
        self.texts: Texts = texts
        self.tree: Tree = texts.tree
        self.names["counts"] = texts.counts
        self.held: list[tuple[bytes, str]] = []
        """The parts of the template at hand, each with the expression that fills it, "" where nothing does."""
        self.below = ""
        """What stands in front of the lines below the one at hand, after the prefix of the item that it is in."""
        self.index = ""
        """The expression of the number of the item at hand."""
        self.prefixes = [("", ""), ("", "")]
        """`HEAD` and `BELOW`: of each a variable, "" for none, and the text after it."""
        self._outside: list[list[tuple[str, str]]] = []

    # Blocks

    def text(self, *texts: str | int) -> None:
        """Add texts to the block; `HEAD` and `BELOW` stand for prefixes."""
        for text in texts:
            if not isinstance(text, int):
                self.held.append((literal(text), ""))
                continue
            variable, more = self.prefixes[text]
            self.held += [(b"%b", variable)] if variable else []
            self.held.append((literal(more), ""))

    def put(self, value: str, code: str = "%b") -> None:
        """Add the value of an expression to the block, formatted by `code`."""
        self.held.append((code.encode(), value))

    def emit(self, depth: int, to: str = "add({})") -> None:
        """Write what appends the block's lines, or does with their expression what `to` says; begin a new block."""
        self.flush(depth)
        held, self.held = self.held, []
        prefixes = [variable for variable, _ in self.prefixes if variable]
        values = [value for _, value in held if value and value not in prefixes]
        if prefixes and any(value in prefixes for _, value in held):  # branches are few: each has a template of its own
            name, key = self.named("T", Memo(partial(behind, held, prefixes), longest=LONGEST)), ", ".join(prefixes)
            self.line(depth, to.format(f"{name}[{key},] % ({''.join(f'{value}, ' for value in values)})"))
        elif held:
            template = b"".join([part for part, _ in held])
            name = self.named("T", template if values else template % ())
            self.line(depth, to.format(f"{name} % ({', '.join(values)},)" if values else name))

    # Items

    def front(self) -> str:
        """Return the expression of what stands in front of lines below the one at hand."""
        variable, more = self.prefixes[BELOW]
        text = repr((more + self.below).encode())
        return f"{variable} + {text}" if variable else text

    def items(self, depth: int) -> str:
        """Write what keeps the prefixes of items below the line at hand; return the variable: of any, of the last."""
        name, (variable, more) = self.fresh("P"), self.prefixes[BELOW]
        pairs = [tuple((more + self.below + guide).encode() for guide in guides) for guides in self.tree.guides]
        known = self.named("prefixes", lru_cache(MOST)(partial(prefixed, pairs)))  # each branch has one object: see `T`
        self.line(depth, f"{name} = {known}({variable or repr(b'')})")
        return name

    def enter(self, items: str, last: str, depth: int) -> None:
        """Begin the lines of an item, given the variable with the prefixes of items; `last` says whether it is that."""
        self._outside.append(self.prefixes)
        head, below = self.fresh("h"), self.fresh("b")
        self.prefixes = [(head, ""), (below, "")]
        self.line(depth, f"{head}, {below} = {items}[{last}]")

    def leave(self, depth: int) -> None:
        """End the lines of an item."""
        self.emit(depth)
        self.prefixes = self._outside.pop()

    def only(self, depth: int, write: Inside) -> None:
        outside, (variable, more) = (self.prefixes, self.below), self.prefixes[BELOW]
        self.prefixes = [(variable, more + self.below + guide) for guide in self.tree.guides[True]]
        self.below, self.index = "", "0"
        write(depth)
        self.emit(depth)
        self.prefixes, self.below = outside

    def loop_numbered(self, count: str, depth: int, write: Inside) -> None:
        self.emit(depth)
        items, i, last, below = self.items(depth), self.fresh("i"), self.fresh("m"), self.below
        self.line(depth, f"if {count} > len(data): raise Unreadable")
        self.line(depth, f"{last} = {count} - 1")
        self.line(depth, f"for {i} in range({count}):")
        self.enter(items, f"{i} == {last}", depth + 1)
        self.below, self.index = "", i
        write(depth + 1)
        self.leave(depth + 1)
        self.below = below

    def no_more_than_shown(self, count: str, depth: int) -> None:
        """Write what refuses more items than are shown."""
        if not self.tree.look.full:
            self.line(depth, f"if {count} > {self.tree.look.max_items}: raise Unreadable")

    def number(self) -> None:
        """Add the beginning of an item's line to the block: its number."""
        if self.index.isdigit():
            self.text(HEAD, f"[{self.index}]")
            return
        self.text(HEAD, "[")
        self.put(self.index, "%d")
        self.text("]")

    # Leaves

    def show(self, node: Node, depth: int) -> None:
        """Write what reads a leaf, and put its text into the block."""
        if isinstance(node, Sized):
            self.put(self.value(node, depth))
        elif isinstance(node, UuidNode):
            raw = self.take("16s", self.fresh())
            self.refuse_special(node, raw, depth)
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
            code, digits = self.digits(node, value)
            self.put(digits, code)
        else:
            self.put(self.text_of(texts, value))

    def of_bytes(self, node: Sized, data: str) -> str:
        return self.of_text(node, data) if node.text else self.text_of(self.texts.octets(node), data)

    def of_null(self, node: Sized) -> str:
        return self.named("null", self.texts.null(node))

    def null(self, depth: int) -> None:
        self.text(f"  {self.tree.null}\n")
        self.emit(depth)
