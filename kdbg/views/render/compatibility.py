"""Two definitions of a message compared, as a person reads it: which rules the newer breaks, and what else changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...protocol.definitions.compatible import RULES, DefinitionDiff, Difference
from .columns import aligned, wrap
from .style import Look
from .values import escape


def history_text(found: Sequence[DefinitionDiff], look: Look) -> str:
    """Return the comparisons one after the other; where there are several, each is headed by its two files."""
    if len(found) == 1:
        return comparison_text(found[0], look)
    return "\n".join(comparison_text(it, look, f" {escape(it.old.file)} → {escape(it.new.file)}:") for it in found)


def comparison_text(found: DefinitionDiff, look: Look, files: str = "") -> str:
    """Return the verdict, the broken rules with file, line and field, and the compatible changes."""
    broken, changes = found.broken, found.changes
    verdict = f"not compatible: {rules(broken)} broken" if broken else "compatible"
    style = "bad" if broken else "good"
    lines = [f"{look.paint('heading', found.new.name)}{files} {look.paint(style, verdict)}"]
    if broken:
        lines += aligned(map(_row, broken), look, ("dim", "bad"), indent=2, widest=24)
        lines += [""] * bool(changes)
    if changes:
        lines += wrap("Changes that are compatible:" if broken else "Changed:", look.width)
        lines += aligned(map(_row, changes), look, ("dim", "dim"), indent=2, widest=24)
    return "\n".join(lines) + "\n"


def rules(broken: list[Difference]) -> str:
    """Return how many rules are broken, and their names: `2 rules (…, …)`."""
    names = list(dict.fromkeys(difference.rule for difference in broken))
    return f"{len(names)} rule{'s' * (len(names) != 1)} ({', '.join(names)})"


def _row(it: Difference) -> tuple[str, str]:
    said = f"{it.path}: {it.text}" if it.path else it.text
    return escape(f"{it.file}:{it.line}"), said + (f" ({RULES[it.rule]})" if it.rule else "")


def comparison_object(found: DefinitionDiff) -> dict[str, Any]:
    """Return the verdict, the broken rules and the compatible changes as a JSON object."""
    return {
        "message": found.new.name, "old": found.old.file, "new": found.new.file, "compatible": not found.broken,
        "broken": [{"rule": it.rule, "says": RULES[it.rule]} | _object(it) for it in found.broken],
        "changes": [_object(it) for it in found.changes],
    }  # fmt: skip


def _object(it: Difference) -> dict[str, Any]:
    return {"field": it.path or None, "text": it.text, "file": it.file, "line": it.line}
