"""The lines around the panes: what is shown above, what a field is below, the keys at the foot."""

from __future__ import annotations

from rich.text import Text

from ...protocol.findings.amounts import count
from ...views.render.values import cut, escape
from .fields import Branch
from .keys import SHORT
from .views import Shell

NAMED = 3
"""Files that are named."""


def title(shell: Shell, width: int) -> Text:
    """Return the first line: the files, how many exchanges, how they are shown, how far the reading is."""
    feed, order, files = shell.feed, shell.order, shell.files
    whole, first, progress, live = len(feed.index), feed.index.first, feed.progress, feed.most is not None
    parts = [count(whole, "exchange")]
    if first:
        parts.append(f"last {whole - first:,} kept")
    if progress.lost:
        parts.append(f"{count(progress.lost, 'packet')} not shown: arriving too fast")
    if shell.filter:
        parts.append(f"{len(order):,} shown{' so far' * shell.filtering}: {escape(shell.filter)}")
    if shell.marked:
        parts.append(f"{len(shell.marked):,} marked")
    if order.by:
        parts.append(f"by {order.by} {'↓' if order.descending else '↑'}")
    if shell.following:
        parts.append("following")
    if shell.holding or shell.held_count:
        parts.append(f"{shell.held_count:,} held: {escape(shell.holding)}")
    if live:
        parts.append("live" if not feed.over else "ended")
    elif not feed.over:
        parts.append(f"reading {progress.read * 100 // progress.whole} %" if progress.whole else "reading")
    elif feed.notes:
        parts.append("a: notes")
    names = escape(", ".join(files[:NAMED])) + " …" * (len(files) > NAMED)
    head, rest = " kdbg " if live else " kdbg browse ", " · ".join(parts)
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
