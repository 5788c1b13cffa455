"""Comparisons as text and as JSON Lines: two exchanges field by field, two captures row by row, requests sent again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...analysis.compare.answers import ReplayedRequest, Verdict
from ...analysis.compare.broker_assigned import ABSENT
from ...analysis.compare.captures import ComparisonRow, Profile
from ...analysis.compare.messages import Comparison, Difference
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import connection_object, endpoint
from ...protocol.findings.amounts import count, rounded, times
from ...protocol.wire.language.payload import OpenedPayload
from ...protocol.wire.nodes import Node
from ...protocol.wire.readings.layout import tails
from ...protocol.wire.readings.secrets import Hidden
from .answers import table
from .jsonlines import dump
from .style import Look
from .values import cells, content, cut, escape, latency, number, octets, quote

MOST_VALUES = 4
"""Values of a field that a line shows."""
LONGEST = 60
"""Columns of one of several values that a line shows."""
GAP = 2
NEWLINE = "\n"
TITLES = {
    "clients": "Clients",
    "versions": "APIs and their versions",
    "settings": "Request settings",
    "errors": "Errors",
    "answers": "Response latency, excluding the allowed wait",
}


def value_text(node: Node | None, value: Any, most: int) -> str:
    """Return a value in a line of about `most` columns, with its meaning; what a side has not got is a dash."""
    if value is ABSENT:
        return "–"
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return octets(value, most) if isinstance(value, (OpenedPayload, Hidden)) else content(value, most)
    if isinstance(value, str):
        return quote(value, most)
    if isinstance(value, Mapping):
        pairs = (f"{escape(str(name))} {value_text(None, item, most)}" for name, item in value.items())
        return cut(f"{{{', '.join(pairs)}}}", most)
    if isinstance(value, list):
        return cut(f"[{', '.join(value_text(None, item, most) for item in value)}]", most)
    text = number(node) if node is not None else None
    return " ".join((text(value) if text is not None else str(value)).split())


def heading(mark: str, name: str, exchange: Exchange, look: Look) -> str:
    """Return the line that says which exchange a side is; on a terminal that is too narrow for it, two lines."""
    api = f"{exchange.api.name} v{exchange.version}" if exchange.api is not None else "unknown API"
    who = f"  client {quote(exchange.client_id)}" if exchange.client_id is not None else ""
    where = f"{endpoint(exchange.peers.client)} → {endpoint(exchange.peers.broker)}"
    what = f"{mark}  {escape(name)}#{exchange.number}  {api}"
    fits = look.full or len(what) + len(who) + GAP + len(where) <= look.width
    return f"{look.paint('heading', what)}{who}{' ' * GAP if fits else f'{NEWLINE}   '}{look.paint('dim', where)}\n"


def exchanges(found: Comparison, look: Look) -> str:
    """Return what two exchanges differ in, as a table for each side of them, and a closing line."""
    parts = []
    for direction in ("request", "response"):
        differing = [one for one in found.differences if one.direction == direction]
        if differing:
            lines = [
                (escape(one.path), *(value_text(one.node, side, look.max_text) for side in one[3:]))
                for one in differing
            ]
            shown = "".join(f"{look.paint('name', name)}\n  A {a}\n  B {b}\n" for name, a, b in lines)
            if sum(max(map(cells, column)) + GAP for column in zip(*lines, strict=True)) <= look.max_line:
                shown = table(["field", "A", "B"], lines, look)  # else A and B are below each field, so none is cut
            parts.append("\n" + look.paint("heading", direction) + "\n" + shown)
    ignored = f" · {found.ignored:,} ids, times and checksums ignored (see --ids)" if found.ignored else ""
    different = len(found.differences)
    words = f"{count(different, 'field')} differ{'s' * (different == 1)}" if different else "no field differs"
    return "".join(parts) + look.paint("dim", f"\n{words} · {found.same:,} the same{ignored}\n")


def json_difference(one: Difference) -> bytes:
    """Return one differing field as a line of JSON."""
    return dump({"direction": one.direction, **_sides(one, "a", "b")})


def _sides(one: Difference, a: str, b: str) -> dict[str, Any]:
    """Return the path and both values of a field by the names of the sides; a side that lacks it has no member."""
    return {"path": one.path, **{name: value for name, value in ((a, one.a), (b, one.b)) if value is not ABSENT}}


def captures(rows: Sequence[ComparisonRow], look: Look, sides: Sequence[tuple[str, Profile]], same: int) -> str:
    """Return the rows as one table a section; `same` rows more are left out, and only counted."""
    parts = []
    for mark, (name, profile) in zip("AB", sides, strict=True):
        seconds = (profile.last - (profile.first or 0)) / 1e9 if profile.exchanges else 0
        holds = (
            f"{count(profile.exchanges, 'exchange')} on {count(len(profile.connections), 'connection')} in "
            f"{rounded(seconds)} s, {count(profile.bytes, 'byte')}"
        )
        unanswered = f", {count(profile.unanswered, 'request')} without a response" if profile.unanswered else ""
        parts.append(look.paint("heading", f"{mark}  {escape(name)}") + f"  {holds}{unanswered}\n")
    for section, title in TITLES.items():
        chosen = [row for row in rows if row.section == section]
        ends = Counter((row.api, end) for row in chosen for end in tails(row.name))
        lines = []
        for row in chosen:
            # a setting is named by the shortest end of its path that is no other field's of the API
            end = next((end for end in tails(row.name) if ends[row.api, end] == 1), row.name)
            name = f"{row.api} {end}" if row.section == "settings" else escape(row.name) or '""'
            lines.append((name, counted(row.a, row), counted(row.b, row)))
        if lines:
            parts.append("\n" + look.paint("heading", title) + "\n" + table(["", "A", "B"], lines, look))
    left_out = f"{count(same, 'identical row')} (show with --all)" if same else ""
    words = left_out if len(parts) > 2 else f"no significant differences{' · ' * bool(left_out)}{left_out}"
    return "".join(parts) + (look.paint("dim", f"\n{words}\n") if words else "")


def counted(values: Mapping[Any, int] | None, row: ComparisonRow) -> str:
    """Return values and how often each was seen, the most frequent first; a dash where there is none."""
    if not values:
        return "–"
    if row.section == "answers":
        return "  ".join(f"{percent} {latency(value)}" for percent, value in values.items())
    if len(values) > MOST_VALUES and all(isinstance(value, int) for value in values):
        return f"{count(len(values), 'value')}, {min(values):,} to {max(values):,}"
    ordered = sorted(values.items(), key=lambda item: -item[1])
    shown = []
    for value, seen in ordered[:MOST_VALUES]:
        text = value_text(row.node, value, LONGEST) if row.section == "settings" else escape(str(value))
        shown.append("v" * (row.section == "versions") + text + (f" ×{seen:,}" if len(values) > 1 else ""))
    more = [f"{len(values) - MOST_VALUES:,} more"] if len(values) > MOST_VALUES else []
    return ", ".join(shown + more)


def json_rows(rows: Sequence[ComparisonRow]) -> Iterator[bytes]:
    """Yield each row as a line of JSON: `a` and `b` are lists of value and count, or percentiles; null for none."""
    for row in rows:
        sides: dict[str, Any] = {"a": None, "b": None}
        for mark, values in (("a", row.a), ("b", row.b)):
            if row.section == "answers":
                sides[mark] = {f"{percent}_ms": value / 1e6 for percent, value in (values or {}).items()}
            elif values is not None:
                ordered = sorted(values.items(), key=lambda item: -item[1])
                sides[mark] = [{"value": value, "count": seen} for value, seen in ordered]
        yield dump({"section": row.section, "api": row.api, "name": row.name, **sides, "same": row.same})


STYLES: Mapping[Verdict, str] = {
    Verdict.SAME: "good", Verdict.DIFFERS: "bad", Verdict.FAILED: "bad", Verdict.UNCOMPARED: "dim",
}  # fmt: skip
Render = Callable[[ReplayedRequest, str], "str | bytes"]


def replay_view(format: str, look: Look, width: int) -> Render:
    """Return what renders an outcome and the name of its exchange, which has `width` letters at most.

    A summary has only the first fields that differ.
    """
    if format == "json":
        return lambda outcome, name: json_outcome(outcome, name, look)
    most = 3 if format == "summary" else None
    return lambda outcome, name: _lines(outcome, name.rjust(width), look, most)


def _lines(outcome: ReplayedRequest, name: str, look: Look, most: int | None) -> str:
    exchange = outcome.exchange
    api = f"{exchange.api.name} v{exchange.version}" if exchange.api is not None else "unknown API"
    verdict = look.paint(STYLES[outcome.verdict], f"{outcome.verdict:<12}")
    notes = [f"as v{outcome.version}"] if outcome.version != exchange.version else []
    notes += [f"without {', '.join(map(escape, outcome.lost))}"] if outcome.lost else []
    notes += [escape(outcome.why)] if outcome.why else []
    notes += [f"sent {times(outcome.tries)}"] if outcome.tries > 1 else []
    notes += ["succeeded at once, unlike in the capture"] if outcome.sooner else []
    lines = [f"{name}  {api:<32}  {verdict}  {' · '.join(notes)}".rstrip()]
    differences = outcome.differences[:most]
    for one in differences:
        a, b = (value_text(one.node, side, look.max_text) for side in (one.a, one.b))
        parts = [f"{'':8}{escape(one.path)}  {a} → {b}"]
        if len(parts[0]) > look.max_line:
            parts = [f"{'':8}{escape(one.path)}", f"{'':10}{a}", f"{'':8}→ {b}"]
        lines += [part if look.full else cut(part, look.width) for part in parts]
    if more := len(outcome.differences) - len(differences):
        lines.append(look.paint("dim", f"{'':8}and {count(more, 'more field')} (-f tree)"))
    return "".join(f"{line}\n" for line in lines)


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
        "differences": [_sides(one, "captured", "replayed") for one in outcome.differences],
    }, show_secrets=look.show_secrets)  # fmt: skip


def closing(counts: Counter[Verdict], connections: int, seconds: float) -> str:
    """Return the closing line."""
    parts = [count(counts.total(), "request")]
    parts += [f"{counts[verdict]:,} {verdict}" for verdict in Verdict]
    parts += [count(connections, "connection"), f"{rounded(seconds)} s"]
    return " · ".join(parts)
