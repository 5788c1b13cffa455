"""Findings as views show them: a line with the mark of its weight, a style, an object of JSON."""

from __future__ import annotations

from typing import Any

from ...protocol.findings import Finding, Kind
from ...protocol.findings.quirks import quirk_of
from ...protocol.findings.text import Origin, text_of
from .style import Look
from .values import escape


def finding_line(finding: Finding, look: Look, origin: Origin | None = None) -> str:
    """Return one line for a finding, painted, with the mark of its severity in front.

    `origin` is what its byte is counted from, where that is not the size of its message.
    """
    return look.paint(style(finding.kind), f"{mark(finding.kind)} {note(finding, origin)}")


def mark(kind: Kind) -> str:
    """Return ✗ for an error, ! for a warning or a note."""
    return "✗" if kind.is_error else "!"


def style(kind: Kind) -> str:
    """Return the name of the style in which findings of this kind are painted."""
    return "bad" if kind.is_error else "note"


def note(finding: Finding, origin: Origin | None = None) -> str:
    """Return kind and sentence of a finding, escaped, as the field `notes` has them."""
    return f"{finding.kind}: {escape(text_of(finding, origin))}"


def finding_object(finding: Finding, origin: Origin | None = None) -> dict[str, Any]:
    """Return a finding as a JSON object; `offset` is counted as hexdumps count, null if it is in no message.

    That of a known quirk says which one, who wrote it, and how sure that is.
    """
    known = quirk_of(finding)
    quirk = {"quirk": {"code": known.code, "by": list(known.senders), "sure": str(known.sure)}} if known else {}
    offset = finding.byte if origin is None or finding.start is None else origin.first + finding.start
    return {
        "kind": finding.kind.value, "old_kind": finding.kind.old_name, "severity": finding.severity.value,
        "side": finding.side, "path": finding.path, "offset": offset, "text": escape(text_of(finding, origin)), **quirk,
    }  # fmt: skip
