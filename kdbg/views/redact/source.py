"""The places of texts and bytes in a valid message, found by a generated reading of its grammar.

It validates the message as validation.py does, and raises one of `UNREADABLE` for compressed batches as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from ...exchanges.messages.validation import Names, Validator
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import Field, Node, RemainingBytes, Sized, WireStruct
from ...protocol.wire.readings.batches import Batches
from ...protocol.wire.readings.codegen import CodeGenerator, Unsuited
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.sets import CODEC_MASK, CONTROL
from .fields import PLAIN, Content, content_of

Text: TypeAlias = tuple[int, int, Content]
"""Where the bytes of a field that is not empty begin and end, and what it holds."""


class FoundTexts(NamedTuple):
    """What is found in a message, in its order: texts; where the checksums of batches stand, and where these end."""

    texts: list[Text]
    batches: list[tuple[int, int]]


@cache
def finder(api: Api, version: int, direction: Direction) -> Callable[[bytes, Names, FoundTexts], None] | None:
    """Return the reading that finds texts; None where it needs the values of messages."""
    return MessageTexts().function(api, version, direction)


class FieldTexts(CodeGenerator):
    """Writes a reading that finds texts; `path` is the path of the field at hand, without indexes."""

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
        if isinstance(node, RemainingBytes) and node.holds is None:
            self.flush(depth)
            self.note(node, "len(data)", depth)
        elif not isinstance(node, (Sized, RemainingBytes, *PLAIN)):
            raise Unsuited
        return super().leaf(node, depth)

    def sized(self, node: Sized, depth: int, *, keep: bool) -> str:
        if node.holds is not None:
            return super().sized(node, depth, keep=keep)
        name, value, end = self.length(node.length, depth), self.fresh(), self.fresh("e")
        self.guard_null(name, node.nullable, depth, f"{value} = None")
        self.line(depth + 1, f"{end} = pos + {name}")
        self.line(depth + 1, f"{value} = {self.of_bytes(node, f'data[pos:{end}]')}")
        self.note(node, end, depth + 1)
        self.line(depth + 1, f"pos = {end}")
        return value


class MessageTexts(FieldTexts, Validator):
    """Writes a reading that finds the texts of a message."""

    more = ("found",)

    def of_records(self, node: RecordsNode) -> Callable[..., None]:
        walk = RecordTexts(node.format, cut=False)
        walk.loop_over_batches(1)
        return walk.define("find(data, pos, end, found)", "None")  # type: ignore[no-any-return]

    def tags(self, node: WireStruct, value: str, depth: int) -> None:
        if not node.tags:
            super().tags(node, value, depth)
            return
        tagged = self.fresh("tagged")
        self.line(depth, f"{tagged} = {{}}")
        super().tags(node, tagged, depth)
        self.line(depth, f"for each in {tagged}.values():")
        self.line(depth + 1, "found.texts.extend(each)")

    def tag_reader(self, field: Field) -> Callable[[bytes, int], tuple[Any, int]]:
        super().tag_reader(field)
        walk = MessageTexts()
        walk.path = (*self.path, field.name)
        walk.read(field.node, 1)
        walk.flush(1)
        find = walk.define("find(data, pos, found)", "pos")

        def read(data: bytes, pos: int) -> tuple[list[Text], int]:
            found = FoundTexts([], [])
            return found.texts, find(data, pos, found)

        return read


class RecordTexts(FieldTexts, Batches):
    """Writes a reading that finds the texts of records, and their batches."""

    makes = False
    unusual = CONTROL | CODEC_MASK

    def head(self, depth: int) -> None:
        self.line(depth, f"found.batches.append((start + {self.format.crc_at}, stop))")

    def content(self, node: Node, depth: int) -> str:
        return self.leaf(node, depth)

    def headers(self, node: Node, depth: int) -> None:
        self.path = ("headers",)
        super().headers(node, depth)
