"""What a clean message is about, straight from its bytes: the outline without the value (see codegen.py, outline.py).

`facts_reader(header, body)` returns `read(data, odd=None) -> Outline`, what `outline(body)` makes of the value. It
proves every byte that the compiled reader with `shallow` proves, and raises one of `UNREADABLE` where that raises, and
for what only a value tells (a topic or an error in a tagged field). So a message that it reads has no findings but
those of what it notes in `odd` (see runtime.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Protocol, cast

from ..nodes import Field, LengthPrefixed, Node, NullableStruct, UuidNode, WireArray, WireStruct, children
from ..records import RecordsNode
from .batches import Batches
from .codegen import CodeGenerator, Unsuited
from .measure import begin
from .outline import KINDS, Outline, best_name, relevant
from .runtime import Odd


class FactsReader(Protocol):
    """Returns what a message is about, given its bytes; notes what is odd and yet readable."""

    def __call__(self, data: bytes, odd: list[Odd] | None = None, /) -> Outline: ...


Around = dict[str, str]
"""The topic, partition, group and error that a structure stands in: kind -> variable."""
PASSED_ON = ("group", "topic", "partition")


@cache
def facts_reader(header: Node, body: WireStruct) -> FactsReader | None:
    """Return the reader of what messages of this grammar are about; None where only their values tell."""
    try:
        return Facts().function(header, body)
    except Unsuited:
        return None


@cache
def counter(node: RecordsNode) -> Callable[[bytes, int, int, list[Odd] | None], int]:
    """Return a function that counts the records between two places, and proves the checksums of their batches."""
    walk = Counter(node.format, cut=node.cut)
    walk.line(1, "total = 0")
    walk.loop_over_batches(1)
    return walk.define("count(data, pos, end, odd=None)", "total")  # type: ignore[no-any-return]


class Counter(Batches):
    """Writes a function that counts the records of sound batches."""

    deep = False
    notes = True

    def head(self, depth: int) -> None:
        self.line(depth, f"total += {self.fields['records_count']}")


class Facts(CodeGenerator):
    """Writes a function that gathers rows, groups and errors while it passes over all else."""

    notes = True
    factor = 0.25

    def function(self, header: Node, body: WireStruct) -> FactsReader:
        """Return the reader of messages of this header and body."""
        self.gather(header, body)
        source, lists = "".join(self.lines), ("rows", "groups", "errors")
        added = [f"tuple({name})" if re.search(rf"{name}\.(append|insert)\(", source) else "()" for name in lists]
        return self.define("read(data, odd=None, pos=0)", f"({', '.join(added)})")  # type: ignore[no-any-return]

    def gather(self, header: Node, body: WireStruct) -> None:
        """Write what gathers rows, groups and errors, and proves all bytes."""
        self.names["best_name"] = best_name
        begin(self, header, body)
        self.read(header, 1)
        self.line(1, "rows = []; groups = []; errors = []")
        self.about(body, {}, 1)
        self.flush(1)
        self.end(1)

    def about(self, node: WireStruct, around: Around, depth: int) -> None:
        """Write what reads a structure that says something; `around` is what it stands in."""
        tagged = any(map(self.tells, (node.tags or {}).values()))
        if node.front and tagged:
            raise Unsuited
        if node.front:
            self.flush(depth)
            self.tags(node, "{}", depth)
        own, empty, place = dict(around), list[str](), cast(str | None, None)
        for field in node.fields:
            if not relevant(field.node):
                self.other(field, own, depth)
            elif isinstance(field.node, RecordsNode):
                own["records"] = self.count_of(field.node, depth)
            elif not children(field.node):
                self.fact(field.node, own, place, depth, field.name)
            else:
                self.flush(depth)
                if place is None:
                    place = self.place(node, depth)
                below = {kind: name for kind, name in own.items() if kind in PASSED_ON}
                empty.append(self.inside(field.node, below, depth))
        if node.tags is not None and not node.front:
            self.flush(depth)
            if tagged:
                self.line(depth, "if data[pos]: raise Unreadable")
                self.line(depth, "pos += 1")
            else:
                self.tags(node, "{}", depth)
        self.row(own, around, empty, place, depth)

    def place(self, node: WireStruct, depth: int) -> str:
        """Write what remembers where the row of a structure goes, in front of those inside; return the variables' name.

        Return "" where that need not be known: a row for an array that is empty stands at the end anyway.
        """
        said = [field.node for field in node.fields if relevant(field.node)]
        if sum(bool(children(inner)) for inner in said) == 1 and all(inner.kind != "error" for inner in said):
            return ""
        place = self.fresh("p")
        self.line(depth, f"{place}, {place}_errors = len(rows), len(errors)")
        return place

    def tells(self, field: Field) -> bool:
        """Return whether a field says anything that this reading gathers."""
        return relevant(field.node)

    def other(self, field: Field, own: Around, depth: int) -> None:
        """Write what reads a field that says nothing of topics, groups and errors."""
        self.read(field.node, depth)

    def fact(self, node: Node, own: Around, place: str | None, depth: int, name: str = "") -> str:
        """Write what reads a leaf that says something, the field of this name; return the variable with its value.

        `place` is set after structures that were read already.
        """
        kind = node.kind if node.kind == "group" else KINDS[node.kind]
        if place is not None and kind != "error":
            raise Unsuited  # what was read already stands in it
        before, value = own.get(kind), self.kept(node, depth)
        if place and before is not None:
            raise Unsuited
        if kind == "group":
            self.line(depth, f"if {value} is not None: groups.append({value})")
        elif kind == "error":
            self.flush(depth)
            add = f"insert({place}_errors, {value})" if place else f"append({value})"  # those inside come after it
            self.line(depth, f"if {value}: errors.{add}")
        elif kind == "topic" and before is not None:
            self.flush(depth)
            self.line(depth, f"{value} = best_name({before}, {value})")
        own[kind] = f"({before} or {value})" if before and kind == "error" else value
        return value

    def kept(self, node: Node, depth: int) -> str:
        """Write what reads a leaf; return the variable with its value, good once the run is flushed."""
        value = self.value(node, depth)
        if not isinstance(node, UuidNode):
            return value
        self.flush(depth)
        name = self.fresh()
        self.line(depth, f"{name} = {value}")
        return name

    def count_of(self, node: RecordsNode, depth: int) -> str:
        """Write what counts the records of a record set; return the variable with their number."""
        count, read = self.fresh(), self.named("records", counter(node))
        size = self.counted(node.length, node.nullable, depth, f"{count} = 0")
        self.line(depth + 1, f"{count} = {read}(data, pos, pos + {size}, odd) if {size} else 0")
        self.line(depth + 1, f"pos += {size}")
        return count

    def inside(self, node: Node, around: Around, depth: int) -> str:
        """Write what reads a node that holds others; return the expression that says whether it is empty."""
        if isinstance(node, WireStruct):
            self.about(node, around, depth)
            self.flush(depth)
            return ""
        if isinstance(node, LengthPrefixed):
            end = self.begin_prefixed(node, depth)
            empty = self.inside(node.item, around, depth)
            self.line(depth, f"if pos != {end}: raise Unreadable")
            return empty
        found = self.fresh("f")
        if isinstance(node, NullableStruct):
            self.line(depth, f"{found} = 0")
            self.marked(node, depth)
            self.line(depth + 1, f"{found} = 1")
            self.inside(node.struct, around, depth + 1)
            return f"not {found}"
        assert isinstance(node, WireArray)
        count = self.counted(node.length, node.nullable, depth, f"{found} = 0")
        self.line(depth + 1, f"{found} = {count}")
        self.loop(count, depth + 1, lambda depth: self.one(node.item, around, depth))
        return f"not {found}"

    def one(self, node: Node, around: Around, depth: int) -> None:
        """Write what reads an item of an array: a structure, or a leaf that is no field of one."""
        if children(node):
            self.inside(node, around, depth)
        elif isinstance(node, RecordsNode):
            self.append(around | {"records": self.count_of(node, depth)}, depth)
        elif node.kind in ("group", "error"):
            self.fact(node, {}, None, depth)
        else:
            name = self.kept(node, depth)
            self.flush(depth)
            self.append(around | {KINDS[node.kind]: name}, depth)

    def row(self, own: Around, around: Around, empty: list[str], place: str | None, depth: int) -> None:
        """Write a row for a structure; for one that holds others, only if it has an error or one of these is empty."""
        if set(own) - set(around) <= {"error", "group"} and "topic" not in own:
            return
        self.flush(depth)
        if place is None:
            self.append(own, depth)
            return
        conditions = [*filter(None, empty), *([own["error"]] if "error" in own else [])]
        if conditions:
            self.line(depth, f"if {' or '.join(conditions)}:")
            add = f"insert({place}, {self.tuple(own)})" if place else f"append({self.tuple(own)})"
            self.line(depth + 1, f"rows.{add}")

    def append(self, own: Around, depth: int) -> None:
        """Write a row."""
        self.line(depth, f"rows.append({self.tuple(own)})")

    def tuple(self, own: Around) -> str:
        """Return the expression of a row."""
        return f"({own.get('topic')}, {own.get('partition')}, {own.get('error', 0)}, {own.get('records')})"
