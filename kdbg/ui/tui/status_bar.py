"""The lines around the panes: what is shown above, what a field is below, the keys at the foot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from ...protocol.findings.amounts import count
from ...views.render.values import cut, escape
from .fields import Branch
from .keys import SHORT

NAMED = 3
"""Files that are named."""


class Shown(NamedTuple):
    """What the first line says: the files, how many exchanges, how they are shown, how far the reading is."""

    files: Sequence[str]
    whole: int
    shown: int
    filter: str
    filtering: bool
    marked: int
    by: str
    descending: bool
    following: bool
    over: bool
    read: int
    size: int | None
    notes: bool
    forgotten: int = 0
    lost: int = 0
    live: bool = False
    holding: str = ""
    held: int = 0


def title(it: Shown, width: int) -> Text:
    """Return the first line."""
    parts = [count(it.whole, "exchange")]
    if it.forgotten:
        parts.append(f"last {it.whole - it.forgotten:,} kept")
    if it.lost:
        parts.append(f"{count(it.lost, 'packet')} not shown: arriving too fast")
    if it.filter:
        parts.append(f"{it.shown:,} shown{' so far' * it.filtering}: {escape(it.filter)}")
    if it.marked:
        parts.append(f"{it.marked:,} marked")
    if it.by:
        parts.append(f"by {it.by} {'↓' if it.descending else '↑'}")
    if it.following:
        parts.append("following")
    if it.holding or it.held:
        parts.append(f"{it.held:,} held: {escape(it.holding)}")
    if it.live:
        parts.append("live" if not it.over else "ended")
    elif not it.over:
        parts.append(f"reading {it.read * 100 // it.size} %" if it.size else "reading")
    elif it.notes:
        parts.append("a: notes")
    names = escape(", ".join(it.files[:NAMED])) + " …" * (len(it.files) > NAMED)
    head, rest = " kdbg " if it.live else " kdbg browse ", " · ".join(parts)
    text = Text(head, "bold", no_wrap=True, overflow="ellipsis")
    return text.append(f"{cut(names, max(width - len(head) - 4 - len(rest), 12))} · {rest}", "not bold")


def field_text(branch: Branch | None, width: int) -> Text:
    """Return two lines: which field it is and what it says, then what it means."""
    if branch is None:
        return Text()
    if not branch.name:
        return Text(branch.note, no_wrap=False)
    leaf = branch.leaf
    text = Text(no_wrap=True, overflow="ellipsis").append(escape(branch.path), "bold")
    if leaf is not None:
        size = f", {count(leaf.place.end - leaf.place.start, 'byte')}" if leaf.place is not None else ""
        text.append(f"  {leaf.type.partition(':')[0]}{size}  {leaf.says}")
        text.truncate(width, overflow="ellipsis")
        return text.append(f"\n{cut(leaf.means, width)}")
    places = branch.places
    size = count(places[0].end - places[0].start, "byte") if places else ""
    return text.append(f"  {size}\n{branch.note}")


def keys_text() -> Text:
    """Return the last line: the keys that matter most."""
    text = Text(" ", no_wrap=True, overflow="crop")
    for key, what in SHORT.items():
        text.append(key, "bold").append(f" {what}  ")
    return text
