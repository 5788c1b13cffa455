"""Failed connection attempts: one line each below the exchanges, or an object without an exchange."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from ...exchanges.messages.peers import Attempts
from ...protocol.findings import Kind
from ...protocol.findings.amounts import count
from .clock import Clock
from .exchange_header import endpoint
from .findings import finding_object, note
from .jsonlines import dump
from .style import Look
from .values import escape


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


def attempts_json(found: Sequence[Attempts]) -> bytes:
    """Return one object per line: as for exchanges, with `attempts` in place of the messages."""
    return b"".join(dump(_object(one)) for one in found)


def _object(one: Attempts) -> dict[str, Any]:
    return {
        "connection": {"client": one.host, "broker": endpoint(one.broker), "id": one.number},
        "api": None, "api_key": None, "api_version": None, "number": None, "correlation_id": None, "client_id": None,
        "latency_ms": None, "errors": [], "notes": [note(one.finding)], "findings": [finding_object(one.finding)],
        "attempts": {
            "outcome": one.kind.value, "old_outcome": one.kind.old_name, "connections": one.connections,
            "tries": one.tries, "since": one.since / 1e9, "until": one.until / 1e9, "first_packet": one.first_packet,
        },
        "request": None, "response": None,
    }  # fmt: skip
