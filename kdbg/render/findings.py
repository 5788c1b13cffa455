"""Findings as views show them: a line with the mark of its weight, a style, an object of JSON."""

from __future__ import annotations

from typing import Any

from ..findings import Finding, Kind
from .look import Look
from .values import escape


def finding_line(finding: Finding, look: Look) -> str:
    """One finding, behind the mark of its weight."""
    return look.paint(style(finding.kind), f"{mark(finding.kind)} {finding.kind}: {escape(finding.text)}")


def mark(kind: Kind) -> str:
    """The mark of an error, or of less."""
    return "✗" if kind.is_error else "!"


def style(kind: Kind) -> str:
    """The style that findings of a kind are shown in."""
    return "bad" if kind.is_error else "note"


def note(finding: Finding) -> str:
    """Kind and sentence, as `notes` have them."""
    return escape(str(finding))


def finding_object(finding: Finding) -> dict[str, Any]:
    """A finding as JSON has it; `offset` is counted as `Finding.start` is, null where the place is in no message."""
    return {
        "kind": finding.kind.value, "severity": finding.severity.value, "side": finding.side, "path": finding.path,
        "offset": finding.start, "text": escape(finding.text),
    }  # fmt: skip
