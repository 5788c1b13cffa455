"""The first screen of `kdbg stats`: when and how much, who, with whom, about what, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping

from ...analysis.stats.dimensions import Key
from ...analysis.stats.measures import Tally, named
from ...analysis.stats.statistics import SECTIONS, Overview
from ...protocol.findings import Kind
from ...protocol.findings.amounts import count, rounded
from .stats_table import ANY_WIDTH, Lines, lines
from .style import Look
from .summary import size
from .values import latency, moment

SHOWN = {
    "clients": ("exchanges", "errors", "request_bytes", "response_bytes", "connections", "no_response"),
    "brokers": ("exchanges", "errors", "p50_ms", "p95_ms", "p99_ms", "request_bytes", "response_bytes", "connections"),
    "apis": (
        "exchanges",
        "errors",
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "request_bytes",
        "response_bytes",
        "max_ms",
        "no_response",
    ),
    "errors": ("errors", "first_time", "last_time"),
}
"""Section by section the measures shown, those of the most weight first."""
WEIGHTS = {"errors": 0.6, "apis": 0.7}
"""How readily rows of a section are left out where there is no room for all, 1 for most."""
TIMES = "latencies (±1%) exclude the allowed wait, such as fetch.max.wait.ms"
"""The note below."""


def screen(
    found: Overview,
    findings: Mapping[str, int],
    packets: int | None,
    look: Look,
    width: int = ANY_WIDTH,
    height: int | None = None,
) -> str:
    """Return the screen; with a `height` no more lines than that, as far as every section keeps a row.

    `findings` are all, with those that belong to no exchange; `packets` how many were read, None if unknown.
    """
    head, tail = _head(found.total, packets, look), _tail(found, findings, look)
    sections = {name: _section(found, name, look, width) for name in found if found[name].rows}
    room = None if height is None else height - len(head) - len(tail)
    airy = room is None or sum(2 + _many(part.rows) for part in sections.values()) + 1 <= room
    if room is not None and not airy:
        room -= len(sections)
        _shorten(sections, room)
    made = head
    for name, part in sections.items():
        left = len(found[name].rows) - len(part.rows)
        more = [look.paint("dim", f"… {left:,} more: --by {','.join(SECTIONS[name])}")] if left else []
        made = [*made, *([""] if airy else []), part.heading, *part.rows, *more]
    return "\n".join([*made, *([""] if airy else []), *tail, ""])


def _head(total: Tally, packets: int | None, look: Look) -> list[str]:
    """Return the time span, and the totals."""
    if not total.exchanges:
        return [look.paint("heading", "no exchanges"), *([] if packets is None else [count(packets, "packet")])]
    begin, end = moment(total.first)[:23], moment(total.last)[:23]
    span = total.last - total.first
    until = end[11:] if end[:10] == begin[:10] else end
    rate = f" ({rounded(total.exchanges / span * 1e9)}/s)" if span > 0 else ""
    parts = [
        f"{count(total.exchanges, 'exchange')}{rate}",
        count(len(total.connections), "connection"),
        *([] if packets is None else [count(packets, "packet")]),
        f"req {size(total.request_bytes)}B",
        f"resp {size(total.response_bytes)}B",
    ]
    when = f"{begin} to {until} UTC · {latency(span)}" if span > 0 else f"{begin} UTC"
    return [look.paint("heading", when), " · ".join(parts)]


def _tail(found: Overview, findings: Mapping[str, int], look: Look) -> list[str]:
    """Return what was not answered, what is odd, the normal steps, and what the times are."""
    lines, total = [], found.total
    if total.unanswered:
        by_api = [(str(key[0] or "unknown"), tally.unanswered) for key, tally in found["apis"].sorted("no_response")]
        listed = ", ".join(f"{name} {count:,}" for name, count in by_api if count)
        lines.append(f"{look.paint('note', 'no response')}  {total.unanswered:,}: {listed}")
    odd = sorted(
        ((kind, count) for kind, count in findings.items() if kind != Kind.NO_RESPONSE), key=lambda item: -item[1]
    )
    if odd:
        listed = ", ".join(f"{kind} {count:,}" for kind, count in odd)
        lines.append(f"{look.paint('note', 'findings')}  {listed}  {look.paint('dim', f'kdbg explain {odd[0][0]}')}")
    if total.steps:
        listed = ", ".join(f"{name} {count:,}" for name, count in named(total.steps).items())
        lines.append(look.paint("dim", f"expected errors  {listed}"))
    if total.late.counts:
        lines.append(look.paint("dim", TIMES))
    return lines


def _section(found: Overview, name: str, look: Look, width: int) -> Lines:
    table = found[name]
    rows: list[tuple[Key | str, Tally]] = list(table.sorted("errors" if name == "errors" else None))
    if table.others is not None:
        rows.append(("others", table.others))
    return lines(table.by, rows, look, width, SHOWN[name])


def _shorten(sections: dict[str, Lines], room: int) -> None:
    """Leave out the last rows of the longest sections until all have room; each keeps one, and says what is missing."""
    whole = {name: part.rows for name, part in sections.items()}

    def used() -> int:
        return sum(_many(part.rows) + (len(part.rows) < len(whole[name])) for name, part in sections.items())

    while used() > room:
        longest = max(sections, key=lambda name: _many(sections[name].rows) * WEIGHTS.get(name, 1.0))
        if len(sections[longest].rows) <= 1:
            return
        sections[longest] = sections[longest]._replace(rows=sections[longest].rows[:-1])


def _many(rows: list[str]) -> int:
    """Return how many lines rows take; some are wrapped."""
    return sum(row.count("\n") + 1 for row in rows)
