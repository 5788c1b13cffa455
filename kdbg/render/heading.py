"""The lines around the two halves of an exchange: who spoke to whom, what, when, how long it took, what was odd."""

from __future__ import annotations

from datetime import UTC, datetime

from ..findings import Finding
from ..messages.exchange import CapturedMessage, Exchange, Peers
from ..messages.message import Message
from ..wire import Api
from ..wire.language.api import DIRECTIONS
from .look import Look
from .values import Memo, quote

_seconds = Memo(lambda second: f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}")
_clocks = Memo(lambda second: _seconds[second][11:])
_moments = Memo(lambda second: _seconds[second].encode())
_sizes = Memo(lambda size: f"{size:,}".encode())
_latencies: Memo[bytes] = Memo(lambda between: b"" if between is None else f" · {latency(between)}".encode())


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
    """Writes the heading of an exchange and the lines of its halves: one per output, which looks styles up once.

    What is the same in many is a template that is remembered.
    """

    bold: str
    plain: str
    dim: str
    undim: str

    def __init__(self, look: Look) -> None:
        self.bold, self.plain = look.on("heading"), look.off("heading")
        self.dim, self.undim = look.on("dim"), look.off("dim")
        self.look = look
        self._titles: Memo[bytes] = Memo(lambda known: self._title(*known))
        self._halves: dict[str, tuple[bytes, ...]] = {name: self._templates(name) for name in DIRECTIONS}

    def title(self, exchange: Exchange) -> bytes:
        """Return two lines: API, version, correlation id and latency; then client, broker and connection."""
        request, response = exchange.request, exchange.response
        between = response.first_time - request.last_time if request is not None and response is not None else None
        return self._titles[exchange.peers, exchange.api, exchange.version, exchange.client_id] % (
            exchange.number, exchange.correlation_id, _latencies[between],
        )  # fmt: skip

    def _title(self, peers: Peers, api: Api | None, version: int, client_id: str | None) -> bytes:
        """Return the template of titles, for number, correlation id and latency."""
        correlation = " · correlation id %d"
        if api is None:
            words = f"Response{self.plain}{correlation}"
        elif api.key >= 0:
            words = f"{template(api.name)} v{version}{self.plain}{correlation}"
        else:
            words = f"{template(api.name)}{self.plain}%.0a"
        client = "" if client_id is None else f"client {quote(client_id, self.look.max_text)} · "
        ends = f"{endpoint(peers.client)} → {endpoint(peers.broker)}"
        who = template(f"{client}{ends} · connection {peers.number}")
        return encode(f"{self.bold}#%d {words}%b\n{self.dim}{who}{self.undim}")

    def half(self, half: CapturedMessage | None, exchange: Exchange, name: str) -> bytes:
        """Return the heading of one half: size, time and packets, or why there is no such half."""
        if half is None:
            return encode(self._missing(exchange, name))
        first, last, time = half.first_packet, half.last_packet, half.first_time
        nowhere, one, several = self._halves[name]
        known = _sizes[half.size], _moments[time // 1_000_000_000], time // 1000 % 1_000_000
        if first == last and first:
            return one % (*known, first)
        return several % (*known, first, last) if first else nowhere % known

    def _templates(self, name: str) -> tuple[bytes, ...]:
        """Return the templates of a half's heading for no packet, one and several."""
        return tuple(
            encode(f"{self.bold}{name}{self.plain}  {self.dim}%b bytes  %b.%06d UTC{packets}{self.undim}")
            for packets in ("", "  packet %d", "  packets %d–%d")
        )

    def _missing(self, exchange: Exchange, name: str) -> str:
        """Return the heading of a half that there is not."""
        if name == "response" and not exchange.answered:
            return f"{self.bold}{name}{self.plain}  {self.dim}none wanted (acks=0){self.undim}"
        return f"{self.bold}{name}{self.plain}  {self.look.paint('note', 'not seen')}"


def template(text: str) -> str:
    """Return text as it stands in a template."""
    return text.replace("%", "%%")


def encode(text: str) -> bytes:
    """Return text as a view writes it; what was captured in it is escaped."""
    return text.encode("utf-8", "backslashreplace")


def findings_of(half: CapturedMessage, message: Message) -> list[Finding]:
    """Return the findings of a message, without those of a cut end that the exchange reports already."""
    return [finding for finding in message.findings if not (half.missing and finding.kind.cut)]
