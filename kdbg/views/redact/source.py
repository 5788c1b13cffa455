"""Where texts and bytes stand in a clean message, found by a generated reading of its grammar (see codegen.py).

`finder(api, version, direction)` returns what finds them. It proves every byte and raises one of `UNREADABLE` for what
is odd, and for what needs the message's values: payloads, control batches, compressed batches, Kafka's own topics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple, TypeAlias
from uuid import UUID

from ...exchanges.messages.message import NO_HEADER, grammar_of, header_grammar
from ...protocol.grammars.payloads import SPECIAL
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import Field, Node, RemainingBytes, Sized, UuidNode, WireStruct, contains
from ...protocol.wire.readings.batches import Batches
from ...protocol.wire.readings.codegen import CodeGenerator, Unsuited
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.sets import CODEC_MASK, CONTROL
from .fields import PLAIN, Content, content_of

Text: TypeAlias = tuple[int, int, Content]
"""Where the bytes of a field that is not empty begin and end, and what it holds."""
Names: TypeAlias = Mapping[UUID, str]


class Places(NamedTuple):
    """What is found in a message, in its order: texts; where the checksums of batches stand, and where these end."""

    texts: list[Text]
    batches: list[tuple[int, int]]


Finder: TypeAlias = Callable[[bytes, Places, Names], int]
"""Adds what it finds in the data; `names` are those of topic ids. Returns where the message ends."""


@cache
def finder(api: Api, version: int, direction: Direction) -> Finder | None:
    """Return what finds the texts of clean messages; None where only values tell them."""
    if version not in api.versions or not api.reads(direction, version):
        return None
    header = NO_HEADER if api.headerless else header_grammar(api, version, direction)
    body = grammar_of(api, version, direction)
    try:
        walk = MessageTexts(has_records=contains(body, lambda node: isinstance(node, RecordsNode)))
        walk.read(header, 1)
        walk.read(body, 1)
    except Unsuited:
        return None
    walk.flush(1)
    walk.end(1)
    return walk.define("find(data, found, names, pos=0)", "pos")  # type: ignore[no-any-return]


class Texts(CodeGenerator):
    """Writes what finds texts; `path` are the names of the fields around the one at hand."""

    path: tuple[str, ...] = ()

    def field(self, field: Field, depth: int) -> None:
        outside, self.path = self.path, (*self.path, field.name)
        super().field(field, depth)
        self.path = outside

    def note(self, node: Sized | RemainingBytes, end: str, depth: int) -> None:
        """Write what notes the bytes of a field from `pos` on."""
        content = self.named("content", content_of(".".join(self.path), node))
        self.line(depth, f"if pos < {end}: found.texts.append((pos, {end}, {content}))")

    def leaf(self, node: Node, depth: int) -> str:
        if isinstance(node, RemainingBytes):
            if node.holds is not None:
                raise Unsuited
            self.flush(depth)
            self.note(node, "len(data)", depth)
        elif not isinstance(node, (Sized, *PLAIN)):
            raise Unsuited
        return super().leaf(node, depth)

    def sized(self, node: Sized, depth: int, *, keep: bool) -> str:
        name, value = self.length(node.length, depth), self.fresh()
        if node.holds is not None:
            self.line(depth, f"if {name} > 0: raise Unreadable")
        self.guard_null(name, node.nullable, depth, f"{value} = None")
        end = self.fresh("e")
        self.line(depth + 1, f"{end} = pos + {name}")
        self.line(depth + 1, f"{value} = {self.of_bytes(node, f'data[pos:{end}]')}")
        self.note(node, end, depth + 1)
        self.line(depth + 1, f"pos = {end}")
        return value


class MessageTexts(Texts):
    """Writes what finds the texts of a message; with `has_records` the topics are looked at, whose they may be."""

    def __init__(self, *, has_records: bool, path: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.has_records, self.path = has_records, path
        self.names["SPECIAL"] = SPECIAL

    def leaf(self, node: Node, depth: int) -> str:
        if not self.has_records or node.kind not in ("topic", "topic_id"):
            return super().leaf(node, depth)
        value = self.value(node, depth)
        self.flush(depth)
        if isinstance(node, UuidNode):
            value = f"names.get({value}, {value})"
        self.line(depth, f"if (topic := {value}) is None or topic == '' or topic in SPECIAL: raise Unreadable")
        return value

    def records(self, node: RecordsNode, depth: int) -> str:
        find = self.named("records", _records_finder(node))
        size = self.counted(node.length, node.nullable, depth)
        self.line(depth + 1, f"{find}(data, pos, pos + {size}, found)")
        self.line(depth + 1, f"pos += {size}")
        return ""

    def tags(self, node: WireStruct, value: str, depth: int) -> None:
        if not node.tags:
            super().tags(node, value, depth)
            return
        tagged = self.fresh("tagged")
        self.line(depth, f"{tagged} = {{}}")
        super().tags(node, tagged, depth)
        self.line(depth, f"for each in {tagged}.values():")
        self.line(depth + 1, "found.texts.extend(each)")

    def tag_reader(self, field: Field) -> Callable[[bytes, int], tuple[list[Text], int]]:
        if contains(field.node, lambda node: isinstance(node, RecordsNode) or node.kind in ("topic", "topic_id")):
            raise Unsuited  # they may tell whose records follow
        walk = MessageTexts(has_records=False, path=(*self.path, field.name))
        walk.read(field.node, 1)
        walk.flush(1)
        find = walk.define("find(data, pos, found)", "pos")

        def read(data: bytes, pos: int) -> tuple[list[Text], int]:
            found = Places([], [])
            return found.texts, find(data, pos, found)

        return read


class RecordTexts(Texts, Batches):
    """Writes what finds the texts of records, and their batches."""

    makes = False
    unusual = CONTROL | CODEC_MASK

    def head(self, depth: int) -> None:
        self.line(depth, f"found.batches.append((start + {self.format.crc_at}, stop))")

    def content(self, node: Node, depth: int) -> str:
        return self.leaf(node, depth)

    def headers(self, node: Node, depth: int) -> None:
        self.path = ("headers",)
        super().headers(node, depth)


@cache
def _records_finder(node: RecordsNode) -> Callable[[bytes, int, int, Places], None]:
    walk = RecordTexts(node.format, cut=False)
    walk.loop_over_batches(1)
    return walk.define("find(data, pos, end, found)", "None")  # type: ignore[no-any-return]
