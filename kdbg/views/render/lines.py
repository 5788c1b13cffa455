"""The lines of logs that speak of an exchange, as the views show them beside it."""

from __future__ import annotations

from typing import Any

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.places import UNTIMED, LogLine
from .exchange_header import iso, latency
from .values import escape


def lines_text(exchange: Exchange) -> str:
    """Return the lines of an exchange in words: `log of librdkafka: request line 12, response line 13 (+0.3 ms)`.

    Beside a captured message stands by how much later than its last byte the line was written.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for line in exchange.lines:
        half = "" if line.half == "both" else f"{line.half} "
        found.setdefault((line.dialect, line.log), []).append(f"{half}line {line.number}{_late(line, exchange)}")
    names = {key: " ".join(filter(None, ["log of", key[0], escape(key[1])])) for key in found}
    return " · ".join(f"{names[key]}: {', '.join(each)}" for key, each in found.items())


def _late(line: LogLine, exchange: Exchange) -> str:
    half = exchange.request if line.half == "request" else exchange.response
    if half is None or not half.data or line.time == UNTIMED:
        return ""
    apart = line.time - half.last_time
    return f" ({'+' * (apart >= 0)}{latency(apart)})"


def line_words(exchange: Exchange) -> str:
    """Return the same for a summary: `log 12,13`."""
    return f"log {','.join(str(line.number) for line in exchange.lines)}"


def line_object(line: LogLine) -> dict[str, Any]:
    """Return a line as JSON has it."""
    when = iso(line.time) if line.time != UNTIMED else None
    said = {"dialect": line.dialect, "line": line.number, "half": line.half, "time_utc": when}
    return {"file": line.log, **said} if line.log else said
