"""A tree that shows what matters: defaults are folded, alike items are a table, a batch of records is a line."""

from __future__ import annotations

from typing import Any

from ....protocol.wire.nodes import WireArray
from ....protocol.wire.records.sets import RecordFormat
from ..tree import Draw
from .base import FoldingTree
from .folding import codes_in, items_of
from .records import CompactRecords
from .table import table


class CompactTree(FoldingTree):
    """Draws what matters of a message."""

    def _array(self, node: WireArray) -> Draw:
        item, struct, codes = self._item(node.item), items_of(node), codes_in(node.item)

        def array(found: list[Any] | None, head: str, below: str) -> None:
            if found and len(found) == 1 and struct is not None and not (self.look.full or self.deepest):
                self.lines.append(f"{head}{self.look.paint('name', '[0]')}")
                self.fields(struct, found[0], below)
                return
            self.lines.append(f"{head}  {self.count(None if found is None else len(found))}")
            if not found:
                return
            if self.deepest:
                self.inside(node, found, below)
            elif struct is None or self.look.full or not table(self, struct, found, below, self.chosen(found, codes)):
                self.several(found, below, item, codes)

        return array

    def records(self, format: RecordFormat) -> Draw:
        return CompactRecords(self, format).draw
