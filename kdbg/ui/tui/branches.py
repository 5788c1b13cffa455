"""The fields of an exchange as a tree: branches and leaves, some of them folded, and the lines that this comes to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .fields import ByteRange, MessageFields, OpenedExchange, OpenedField

STEP = re.compile(r"[^.\[\]]+|\[\d+\]")
MANY = 24
"""Items of a list, and fields of a message: of more, each item is folded at first."""


@dataclass(eq=False)
class Branch:
    """A field, an item of a list, or a message, with what stands in it."""

    name: str
    above: Branch | None
    leaf: OpenedField | None = None
    note: str = ""
    below: list[Branch] = field(default_factory=list)
    folded: bool = False
    part: int = 0

    @property
    def depth(self) -> int:
        """How many branches it stands in."""
        return 0 if self.above is None else self.above.depth + 1

    @property
    def places(self) -> list[ByteRange]:
        """Where its bytes are, one place in each buffer."""
        found: dict[int, ByteRange] = {}
        todo = [self]
        while todo:
            one = todo.pop()
            todo += one.below
            if one.leaf is not None and one.leaf.place is not None:
                place = one.leaf.place
                old = found.get(place.buffer, place)
                found[place.buffer] = ByteRange(place.buffer, min(old.start, place.start), max(old.end, place.end))
        return [found[buffer] for buffer in sorted(found)]

    @property
    def path(self) -> str:
        """Its path in the message; the message's name for that itself."""
        if self.leaf is not None:
            return self.leaf.path
        above = "" if self.above is None or self.above.above is None else self.above.path
        if self.above is None:
            return self.name
        return above + self.name if self.name.startswith("[") else ".".join(filter(None, [above, self.name]))


class Branches:
    """The tree of an exchange; `lines` are the branches that are to be seen, from above."""

    def __init__(self, opened: OpenedExchange) -> None:
        self.roots: list[Branch] = [_grown(part, number) for number, part in enumerate(opened.parts)]
        self._of = {id(one.leaf): one for root in self.roots for one in everything(root) if one.leaf is not None}
        self.lines: list[Branch] = []
        self.lay()

    def lay(self) -> None:
        """Find out anew which branches are to be seen."""
        self.lines = []
        todo = self.roots[::-1]
        while todo:
            one = todo.pop()
            self.lines.append(one)
            if not one.folded:
                todo += one.below[::-1]

    def fold(self, branch: Branch, *, folded: bool | None = None) -> None:
        """Fold or unfold a branch."""
        if branch.below:
            branch.folded = not branch.folded if folded is None else folded
            self.lay()

    def fold_all(self, *, folded: bool) -> None:
        """Fold or unfold all but the messages."""
        for root in self.roots:
            for one in everything(root):
                one.folded = folded and bool(one.below) and one is not root
        self.lay()

    def line_of(self, branch: Branch) -> int:
        """Return the line of a branch, after unfolding what it stands in."""
        above, changed = branch.above, False
        while above is not None:
            changed = changed or above.folded
            above.folded = False
            above = above.above
        if changed:
            self.lay()
        return self.lines.index(branch)

    def branch_of(self, one: OpenedField) -> Branch | None:
        """Return the branch of a field."""
        return self._of.get(id(one))


def everything(root: Branch) -> list[Branch]:
    """Return a branch, and all below it in their order."""
    found, todo = [], [root]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += one.below[::-1]
    return found


def _grown(part: MessageFields, number: int) -> Branch:
    """Return the tree of a message."""
    root = Branch(part.name, None, note=part.missing, part=number)
    root.below += [Branch("", root, note=text, part=number) for text in part.notes]
    known: dict[tuple[str, ...], Branch] = {}
    for one in part.fields:
        steps = tuple(STEP.findall(one.path)) or (one.path,)
        above = root
        for depth in range(1, len(steps)):
            above = _step(known, steps[:depth], above)
        here = known.get(steps)
        if here is None or here.leaf is not None:
            here = Branch(steps[-1], above, part=number)
            above.below.append(here)
            known.setdefault(steps, here)
        here.leaf = one
    for here in everything(root):
        if len(part.fields) > MANY and here.name.startswith("[") and here.below:
            here.folded = here.above is not None and len(here.above.below) > MANY
    return root


def _step(known: dict[tuple[str, ...], Branch], steps: tuple[str, ...], above: Branch) -> Branch:
    found = known.get(steps)
    if found is None:
        found = known[steps] = Branch(steps[-1], above, part=above.part)
        above.below.append(found)
    return found
