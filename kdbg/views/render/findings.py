"""Findings as views show them: marks by severity, lines, objects of JSON; failed connection attempts in a line each."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from ...exchanges.messages.peers import Attempts, endpoint
from ...protocol.findings import Finding, Kind, Severity
from ...protocol.findings.amounts import count
from ...protocol.findings.quirks import quirk_of
from .style import Look
from .values import Clock, escape

if TYPE_CHECKING:
    from ...protocol.findings.text import Origin

MARKS: Final = {Severity.ERROR: ("✗", "bad"), Severity.WARNING: ("!", "note"), Severity.NOTE: ("·", "dim")}
"""The mark and the style of each severity."""


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
    from ...protocol.findings.text import text_of  # which what is clean does without

    return f"{finding.kind}: {escape(text_of(finding, origin))}"


def finding_object(finding: Finding, origin: Origin | None = None) -> dict[str, Any]:
    """Return a finding as a JSON object; `offset` is counted as hexdumps count, null if it is in no message.

    That of a known quirk says which one, who wrote it, and how sure that is.
    """
    from ...protocol.findings.text import text_of

    known = quirk_of(finding)
    quirk = {"quirk": {"code": known.code, "by": list(known.senders), "sure": str(known.sure)}} if known else {}
    offset = finding.byte if origin is None or finding.start is None else origin.first + finding.start
    return {
        "kind": finding.kind.value, "old_kind": finding.kind.old_name, "severity": finding.severity.value,
        "side": finding.side, "path": finding.path, "offset": offset, "text": escape(text_of(finding, origin)), **quirk,
    }  # fmt: skip


def note_of(found: dict[str, Any]) -> str:
    """Return the note for the object of a finding: what `note` returns."""
    return f"{found['kind']}: {found['text']}"


def attempts_text(found: Attempts) -> str:
    """Return who tried to connect: `10.0.0.1 → 10.0.0.2:9092: 2 connections refused (c3, from packet 7 on)`."""
    again = f", {count(found.tries, 'attempt')}" if found.tries > found.connections else ""
    outcome = "refused" if found.kind is Kind.CONNECTION_REFUSED else "timed out"
    which = f"c{found.number}, first packet {found.first_packet}"
    return (
        f"{escape(found.host)} → {escape(endpoint(found.broker))}: {count(found.connections, 'connection')} {outcome}"
        f"{again} ({which})"
    )


def attempts_lines(found: Sequence[Attempts], look: Look) -> str:
    """Return a line on each, with its kind and when it was, as views for people have it."""
    clock = Clock(local=look.local)
    lines = []
    for one in found:
        since, until = (clock.times[time // 1_000_000] for time in (one.since, one.until))
        when = since if since == until else f"{since} to {until}"
        text = f"! {one.kind}: {attempts_text(one)} · {when}"
        pieces = [text] if look.full or look.long_lines else wrap(text, look.width, subsequent_indent="    ")
        lines += [look.paint("note", piece) + "\n" for piece in pieces]
    return "".join(lines)
