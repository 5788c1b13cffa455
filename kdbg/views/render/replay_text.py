"""Requests that were sent again, as lines, trees and JSON Lines: what the answers differ in from those before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ...analysis.compare.answers import ReplayedRequest, Verdict
from ...analysis.compare.messages import ABSENT, Difference
from ...exchanges.messages.peers import connection_object
from ...protocol.findings.amounts import count, rounded, times
from .comparison import value_text
from .jsonlines import dump
from .style import Look
from .values import cut, escape

FEW = 3
"""Fields that differ that a summary names."""
STYLES: Mapping[Verdict, str] = {
    Verdict.SAME: "good", Verdict.DIFFERS: "bad", Verdict.FAILED: "bad", Verdict.UNCOMPARED: "dim",
}  # fmt: skip
WIDEST, LONGEST = 32, 12
"""Columns of an API with its version, and of a verdict."""
Render = Callable[[ReplayedRequest, str], "str | bytes"]


def summary(look: Look, width: int) -> Render:
    """Return what renders an outcome, called so, as one line, and the first fields that differ below it."""
    return lambda outcome, name: _lines(outcome, name.rjust(width), look, FEW)


def tree(look: Look, width: int) -> Render:
    """Return what renders an outcome with all fields that differ."""
    return lambda outcome, name: _lines(outcome, name.rjust(width), look, None)


def json(look: Look, width: int) -> Render:
    """Return what renders an outcome as a line of JSON."""
    return lambda outcome, name: json_outcome(outcome, name, look)


VIEWS: Mapping[str, Callable[[Look, int], Render]] = {"summary": summary, "tree": tree, "json": json}
"""By their names, as --format takes them; the width is that of the longest name of an exchange."""


def _lines(outcome: ReplayedRequest, name: str, look: Look, most: int | None) -> str:
    exchange = outcome.exchange
    api = f"{exchange.api.name} v{exchange.version}" if exchange.api is not None else "unknown API"
    verdict = look.paint(STYLES[outcome.verdict], f"{outcome.verdict:<{LONGEST}}")
    head = f"{name}  {api:<{WIDEST}}  {verdict}  {_about(outcome)}".rstrip()
    differences = outcome.differences[:most]
    lines = [head, *(_difference(one, look) for one in differences)]
    if more := len(outcome.differences) - len(differences):
        lines.append(look.paint("dim", f"{'':8}and {count(more, 'more field')} (-f tree)"))
    return "".join(f"{line}\n" for line in lines)


def _about(outcome: ReplayedRequest) -> str:
    """Return what is to be said beside the verdict."""
    parts = [f"as v{outcome.version}"] if outcome.version != outcome.exchange.version else []
    parts += [f"without {', '.join(map(escape, outcome.lost))}"] if outcome.lost else []
    parts += [escape(outcome.why)] if outcome.why else []
    parts += [f"sent {times(outcome.tries)}"] if outcome.tries > 1 else []
    parts += ["succeeded at once, unlike in the capture"] if outcome.sooner else []
    return " · ".join(parts)


def _difference(one: Difference, look: Look) -> str:
    """Return a field that differs, with its value in the capture and the one of now; below it where that is long."""
    path, (a, b) = escape(one.path), (value_text(one.node, side, look.max_text) for side in (one.a, one.b))
    line = f"{'':8}{path}  {a} → {b}"
    if len(line) > look.max_line:
        line = f"{'':8}{path}\n{'':10}{a}\n{'':8}→ {b}"
    return "\n".join(part if look.full else cut(part, look.width) for part in line.split("\n"))


def json_outcome(outcome: ReplayedRequest, name: str, look: Look) -> bytes:
    """Return an outcome as a line of JSON."""
    exchange, answer = outcome.exchange, outcome.answer
    return dump({
        "name": name,
        "number": exchange.number,
        "connection": connection_object(exchange.peers),
        "api": exchange.api.name if exchange.api is not None else None,
        "api_version": exchange.version,
        "sent_version": outcome.version,
        "verdict": str(outcome.verdict),
        "why": outcome.why or None,
        "tries": outcome.tries,
        "sooner": outcome.sooner,
        "left_out": outcome.lost,
        "latency_ms": {"captured": exchange.latency_ms, "replayed": answer.latency_ms if answer is not None else None},
        "differences": [_object(one) for one in outcome.differences],
    }, show_secrets=look.show_secrets)  # fmt: skip


def _object(one: Difference) -> dict[str, Any]:
    """Return a difference; a side that has not got the field has no member."""
    sides = {name: value for name, value in (("captured", one.a), ("replayed", one.b)) if value is not ABSENT}
    return {"path": one.path, **sides}


def closing(counts: Counter[Verdict], connections: int, seconds: float) -> str:
    """Return the closing line."""
    parts = [count(counts.total(), "request")]
    parts += [f"{counts[verdict]:,} {verdict}" for verdict in Verdict]
    parts += [count(connections, "connection"), f"{rounded(seconds)} s"]
    return " · ".join(parts)
