"""Source that writes lines of a tree: neighbouring lines become one template, filled with one `%`.

The texts of values are what a `Tree` shows of them, encoded, remembered by the bytes that say it.

What stands in front of a line depends on the branches above it, which are known when a message is drawn: `├──` or
`└──` for the last item of an array. So a template is made for each prefix that occurs, once, by its `Scope`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
"""Parts of a template that are known late: what stands in front of the first line of an item, and of the others."""
Part: TypeAlias = bytes | int
Prefixes: TypeAlias = tuple[bytes, bytes]
"""`HEAD` and `BELOW`."""
DrawSet: TypeAlias = Callable[[tuple[Any, ...], bytes, int, int, list[bytes], "list[Odd] | None"], None]

PLAIN = bytes(range(0x20, 0x7F)).replace(b"\\", b"")
"""What stands in quotes as it is."""


class Scope:
    """The templates of lines that have the same prefix in front of them, and the scopes of the items below.

    `at(prefixes)` returns a tuple of what its `names` stand for in generated source.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._makers: list[Callable[[Prefixes], Any]] = []

    def add(self, name: str, make: Callable[[Prefixes], Any]) -> None:
        """Add a name and what makes its value for prefixes."""
        self.names.append(name)
        self._makers.append(make)

    def at(self, prefixes: Prefixes) -> tuple[Any, ...]:
        """Return what the names stand for below these prefixes."""
        return tuple(make(prefixes) for make in self._makers)

    def items(self, mid: Sequence[Part], mid_below: bytes, last: Sequence[Part], last_below: bytes) -> Any:
        """Return what makes a pair of this scope's tuples: for items with others after them, and for the last."""

        def make(prefixes: Prefixes) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            below = prefixes[BELOW]
            return (
                self.at((filled(mid, prefixes), below + mid_below)),
                self.at((filled(last, prefixes), below + last_below)),
            )

        return make


def filled(parts: Sequence[Part], prefixes: Prefixes) -> bytes:
    """Return the bytes of a template below these prefixes."""
    return b"".join(prefixes[part] if isinstance(part, int) else part for part in parts)


def literal(text: str) -> bytes:
    """Return text as it stands in a template."""
    return text.encode("utf-8", "backslashreplace").replace(b"%", b"%%")


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
        self.record_sets: dict[RecordsNode, tuple[DrawSet, Scope]] = {}
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

    texts: Texts
    tree: Tree
    mid: str
    last: str
    mid_below: str
    last_below: str

    def __init__(self, texts: Texts, *, records: bool, **rest: Any) -> None:
        super().__init__(texts, records=records, **rest)
        self.texts, self.tree = texts, texts.tree
        self.names["counts"] = texts.counts
        tree = self.tree
        self.mid, self.last = tree.mid, tree.last
        self.mid_below, self.last_below = tree.mid_below, tree.last_below
        self.scope: Scope = Scope()
        self.held: list[tuple[Part, str]] = []
        """The parts of the template at hand, each with the expression that fills it, "" where nothing does."""
        self.below = ""
        """What stands in front of the lines below the one at hand, after the prefix of the item that it is in."""
        self.index = ""
        """The expression of the number of the item at hand."""
        self._outside: list[tuple[Scope, str, int, str | None, str]] = []
        self._head: str | None = None
        self._deeper: str = ""

    # Blocks

    def text(self, *texts: str | int) -> None:
        """Add texts to the block; `HEAD` and `BELOW` stand for prefixes."""
        for text in texts:
            if not isinstance(text, int):
                self.held.append((literal(text), ""))
            elif self._head is None:
                self.held.append((text, ""))
            else:
                self.held += (BELOW, ""), (literal(self._head if text == HEAD else self._deeper), "")

    def put(self, value: str, code: str = "%b") -> None:
        """Add the value of an expression to the block, formatted by `code`."""
        self.held.append((code.encode(), value))

    def emit(self, depth: int, to: str = "add({})") -> None:
        """Write what appends the block's lines, or does with their expression what `to` says; begin a new block."""
        self.flush(depth)
        parts, values = [part for part, _ in self.held], [value for _, value in self.held if value]
        self.held = []
        if not parts:
            return
        name = self.fresh("T")
        if values:
            self.scope.add(name, lambda prefixes: filled(parts, prefixes))
            name = f"{name} % ({', '.join(values)},)"
        else:
            self.scope.add(name, lambda prefixes: filled(parts, prefixes) % ())
        self.line(depth, to.format(name))

    # Scopes

    def enter(self, scope: Scope, source: str) -> None:
        """Begin the lines of a scope, whose tuple the expression `source` gives."""
        self._outside.append((self.scope, source, len(self.lines), self._head, self._deeper))
        self.scope, self._head, self._deeper = scope, None, ""

    def leave(self, depth: int) -> None:
        """End the lines of the scope."""
        self.emit(depth)
        names = ", ".join(self.scope.names)
        self.scope, source, at, self._head, self._deeper = self._outside.pop()
        if names:
            self.lines.insert(at, f"{'    ' * depth}{names}, = {source}")

    def items(self) -> tuple[Scope, str]:
        """Return a scope for items below the line at hand, and the name of its tuples: for any item, for the last."""
        scope, name, below = Scope(), self.fresh("S"), self._deeper + self.below
        pair = scope.items(
            (BELOW, literal(below + self.mid)), literal(below + self.mid_below),
            (BELOW, literal(below + self.last)), literal(below + self.last_below),
        )  # fmt: skip
        self.scope.add(name, pair)
        return scope, name

    def only(self, depth: int, write: Inside) -> None:
        outside, below = (self._head, self._deeper, self.below), self._deeper + self.below
        self._head, self._deeper, self.below, self.index = below + self.last, below + self.last_below, "", "0"
        write(depth)
        self.emit(depth)
        self._head, self._deeper, self.below = outside

    def loop_numbered(self, count: str, depth: int, write: Inside) -> None:
        self.emit(depth)
        scope, pair = self.items()
        i, last, below = self.fresh("i"), self.fresh("m"), self.below
        self.line(depth, f"if {count} > len(data): raise Unreadable")
        self.line(depth, f"{last} = {count} - 1")
        self.line(depth, f"for {i} in range({count}):")
        self.enter(scope, f"{pair}[{i} == {last}]")
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

    def function(self, arguments: str) -> Any:
        """Return the function with the lines written so far; its first argument is its scope's tuple, `scope`."""
        if self.scope.names:
            self.lines.insert(0, f"    {', '.join(self.scope.names)}, = scope")
        return self.define(f"draw(scope, {arguments})", "None")

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
            self.put(value, "%d")
        else:
            self.put(self.text_of(texts, value))

    def of_bytes(self, node: Sized, data: str) -> str:
        return self.of_text(node, data) if node.text else self.text_of(self.texts.octets(node), data)

    def of_null(self, node: Sized) -> str:
        return self.named("null", self.texts.null(node))

    def null(self, depth: int) -> None:
        self.text(f"  {self.tree.null}\n")
        self.emit(depth)
