"""The lines around the two halves of an exchange: who spoke to whom, what, when, how long it took, what was odd."""

from __future__ import annotations

from datetime import UTC, datetime

from ..findings import Finding
from ..messages.exchange import CapturedMessage, Exchange
from ..messages.message import Message
from .look import Look
from .values import Memo, quote

_seconds = Memo(lambda second: f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}")
_clocks = Memo(lambda second: _seconds[second][11:])
_ends = Memo(lambda ends: f"{endpoint(ends[0])} → {endpoint(ends[1])}")


def moment(time: int) -> str:
    """Return a time in nanoseconds since 1970 as date and time of day in UTC, to the microsecond."""
    return f"{_seconds[time // 1_000_000_000]}.{time // 1000 % 1_000_000:06d}"


def clock(time: int) -> str:
    """Return the time of day of a time in nanoseconds since 1970, in UTC, to the millisecond."""
    return f"{_clocks[time // 1_000_000_000]}.{time // 1_000_000 % 1000:03d}"


def endpoint(end: tuple[str, int]) -> str:
    """Return `address:port`, with IPv6 addresses in brackets."""
    return f"[{end[0]}]:{end[1]}" if ":" in end[0] else f"{end[0]}:{end[1]}"


def latency(nanoseconds: int | None) -> str:
    """Return a duration in nanoseconds as text in s, ms or µs; a dash for None."""
    if nanoseconds is None:
        return "–"
    size = abs(nanoseconds)
    unit, scale = ("s", 1e9) if size >= 999_500_000 else ("ms", 1e6) if size >= 999_500 else ("µs", 1e3)
    value = nanoseconds / scale
    return f"{value:.3g} {unit}" if abs(value) < 999.5 else f"{value:,.0f} {unit}"


class Headings:
    """Writes the heading of an exchange and the lines of its halves: one per output, which looks styles up once."""

    bold: str
    plain: str
    dim: str
    undim: str

    def __init__(self, look: Look) -> None:
        self.bold, self.plain = look.on("heading"), look.off("heading")
        self.dim, self.undim = look.on("dim"), look.off("dim")
        self.look = look
        self.clients: Memo[str] = Memo(lambda name: "" if name is None else f"client {quote(name, look.max_text)} · ")

    def title(self, exchange: Exchange) -> str:
        """Return two lines: API, version, correlation id and latency; then client, broker and connection."""
        api, peers = exchange.api, exchange.peers
        if api is not None and api.key >= 0:
            words = f"{api.name} v{exchange.version}{self.plain} · correlation id {exchange.correlation_id}"
        elif api is None:
            words = f"Response{self.plain} · correlation id {exchange.correlation_id}"
        else:
            words = f"{api.name}{self.plain}"
        if exchange.request is not None and exchange.response is not None:
            words += f" · {latency(exchange.latency)}"
        ends = _ends[peers.client, peers.broker]
        return (
            f"{self.bold}#{exchange.number} {words}\n"
            f"{self.dim}{self.clients[exchange.client_id]}{ends} · connection {peers.number}{self.undim}"
        )

    def half(self, half: CapturedMessage | None, exchange: Exchange, name: str) -> str:
        """Return the heading of one half: size, time and packets, or why there is no such half."""
        if half is None:
            if name == "response" and not exchange.answered:
                return f"{self.bold}{name}{self.plain}  {self.dim}none wanted (acks=0){self.undim}"
            return f"{self.bold}{name}{self.plain}  {self.look.paint('note', 'not seen')}"
        first, last = half.first_packet, half.last_packet
        packets = f"  packet {first}" if first == last else f"  packets {first}–{last}"
        return (
            f"{self.bold}{name}{self.plain}  {self.dim}{half.size:,} bytes  {moment(half.first_time)} UTC"
            f"{packets if first else ''}{self.undim}"
        )


def findings_of(half: CapturedMessage, message: Message) -> list[Finding]:
    """Return the findings of a message, without those of a cut end that the exchange reports already."""
    return [finding for finding in message.findings if not (half.missing and finding.kind.cut)]
