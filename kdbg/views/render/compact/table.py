"""Alike structures as a table: a line each, a column for each field that says something in any of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....protocol.wire.nodes import TAGGED, Field, Fixed, WireStruct
from ..tree import is_plain
from ..values import cells, number
from .folding import codes_in

if TYPE_CHECKING:
    from .base import FoldingTree

GAP = "  "
GUIDE = 4
"""Letters of a guide in front of a line."""
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def table(tree: FoldingTree, struct: WireStruct, found: list[Any], below: str, shown: Sequence[int]) -> bool:
    """Draw items of an array as a table, if they are alike and there is room; return whether they are.

    Where there is little room, errors stand below the lines that they are of, and names are broken.
    """
    columns = columns_of(tree, struct, found)
    if len(found) < 2 or not columns:
        return False
    room = tree.look.width - bare(below) - GUIDE
    plain = [field for field in columns if field.node.kind != "error"]
    for wanted, broken in ((columns, False), (plain, False), (plain, True)):
        made = CompactTable(tree, wanted, found, shown, broken=broken)
        if made.width <= room and (wanted or not plain):
            made.draw(below, struct, [field for field in columns if field not in wanted])
            return True
    return False


class CompactTable:
    """The lines of a table: names above, an item a line."""

    def __init__(
        self, tree: FoldingTree, columns: Sequence[Field], found: list[Any], shown: Sequence[int], *, broken: bool
    ) -> None:
        self.tree, self.columns, self.found, self.shown = tree, columns, found, shown
        writes = [(field.name, tree.show(field.node)) for field in columns]
        self.rows = [[f"[{i}]", *(write(found[i][name]) for name, write in writes)] for i in shown]
        names = [[""], *(field.name.split("_") if broken else [field.name] for field in columns)]
        high = max(map(len, names))
        self.heads = [[*[""] * (high - len(words)), *words] for words in names]
        columns_of_text = zip(self.heads, zip(*self.rows, strict=True), strict=True)
        self.widths = [max(map(bare, (*head, *column))) for head, column in columns_of_text]
        self.right = [False, *(isinstance(field.node, Fixed) and number(field.node) is None for field in columns)]
        self.width: int = sum(self.widths) + len(GAP) * (len(self.widths) - 1)

    def draw(self, below: str, struct: WireStruct, apart: Sequence[Field]) -> None:
        """Draw it into the tree; the fields `apart`, errors all, stand below the lines that have them."""
        tree, found, shown = self.tree, self.found, self.shown
        folded = len(struct.members) - len(self.columns) - len(apart)
        note = f"{GAP}… {folded} default{'s' * (folded != 1)} each" if folded else ""
        heads = [self.line(line) for line in zip(*self.heads, strict=True)]
        fits = bare(below) + GUIDE + bare(heads[-1] + note) <= tree.look.width
        for head in [*heads[:-1], heads[-1] + note * fits]:
            tree.lines.append(f"{below}{tree.mid_below}{tree.look.paint('dim', head)}")
        for i, row in zip(shown, self.rows, strict=True):
            last = len(shown) == len(found) and i == shown[-1]
            guide, under = (tree.last, tree.last_below) if last else (tree.mid, tree.mid_below)
            tree.lines.append(f"{below}{guide}{self.line(row)}")
            for field in apart:
                if found[i][field.name]:
                    text = tree.show(field.node)(found[i][field.name])
                    tree.lines.append(f"{below}{under}{' ' * self.widths[0]}{GAP}{tree.label(field)}{GAP}{text}")
        tree.left_out(found, below, shown, codes_in(struct))

    def line(self, row: Sequence[str]) -> str:
        """Return the texts of a line in columns, numbers at the right."""
        texts = []
        for text, width, at_right in zip(row, self.widths, self.right, strict=True):
            blank = " " * (width - bare(text))
            texts.append(blank + text if at_right else text + blank)
        return GAP.join(texts).rstrip()


def columns_of(tree: FoldingTree, struct: WireStruct, found: list[Mapping[str, Any]]) -> list[Field]:
    """Return the fields that say something in any item; none where one of these is no plain value, or some lack one."""
    names = [field.name for field in struct.fields]
    if any(TAGGED in item or not all(name in item for name in names) for item in found):
        return []
    columns = []
    for field in struct.members:
        if all(field.name not in item or tree.folds(field, item) for item in found):
            continue
        if not is_plain(field.node) or field.name not in names:
            return []
        columns.append(field)
    return columns


def bare(text: str) -> int:
    """Return how many columns a text takes that may be painted."""
    return cells(COLOUR.sub("", text))
