"""The lines around the two halves of an exchange: who spoke to whom, what, when, how long it took, what was odd."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeAlias

from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import Message
from ...exchanges.messages.peers import Peers, Via
from ...exchanges.messages.peers import endpoint as endpoint
from ...exchanges.messages.places import UNNUMBERED, UNTIMED
from ...protocol.findings import Finding
from ...protocol.findings.amounts import count, rounded
from ...protocol.wire import Api
from ...protocol.wire.language.api import DIRECTIONS
from .clock import Clock
from .style import Look
from .values import Memo, escape, quote

_seconds = Memo(lambda second: f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}")
clocks = Memo(lambda millisecond: f"{_seconds[millisecond // 1000][11:]}.{millisecond % 1000:03d}")
_moments = Memo(lambda second: _seconds[second].encode())
HalfValues: TypeAlias = tuple[bytes, bytes, int, bytes]
_sizes = Memo(lambda size: f"{size:,}".encode())
_latencies: Memo[bytes] = Memo(lambda between: b"" if between is None else f" · {latency(between)}".encode())
BEYOND = 253_402_300_800 * 1_000_000_000
"""Nanoseconds from 1970 to the end of the year 9999, the last that a calendar here has."""
SECOND = 1_000_000_000
"""Nanoseconds of a second."""
iso_seconds = Memo(lambda second: _seconds[second].replace(" ", "T").encode())
"""Seconds since 1970 in ISO 8601, as bytes, without the zone."""


def iso(time: int) -> str:
    """Return a time in nanoseconds since 1970 in ISO 8601, in UTC, to the nanosecond."""
    return f"{iso_seconds[time // SECOND].decode()}.{time % SECOND:09d}Z"


@lru_cache
def _local_moment(second: int) -> tuple[bytes, bytes]:
    """Return seconds since 1970 as date and time of day in local time, and the name of the zone."""
    clock = Clock(local=True)
    return f"{clock.at(second):%Y-%m-%d %H:%M:%S}".encode(), f" {clock.zone(second)}".encode()


def has_date(time: int) -> bool:
    """Return whether a time in nanoseconds since 1970 has a date: not before that, nor beyond the year 9999."""
    return 0 <= time < BEYOND


def moment(time: int) -> str:
    """Return a time in nanoseconds since 1970 as date and time of day in UTC, to the microsecond."""
    return f"{_seconds[time // 1_000_000_000]}.{time // 1000 % 1_000_000:06d}"


def latency(nanoseconds: int | None) -> str:
    """Return a duration in nanoseconds as text in s, ms or µs; a dash for None."""
    if nanoseconds is None:
        return "–"
    size = abs(nanoseconds)
    unit, scale = ("s", 1e9) if size >= 999_500_000 else ("ms", 1e6) if size >= 999_500 else ("µs", 1e3)
    return f"{rounded(nanoseconds / scale)} {unit}"


class Headings:
    """Writes the heading of an exchange and the lines of its halves: one per output, which looks styles up once.

    What is the same in many is a template: `title_template` is filled by `title_values`, `halves` by `half_values`.
    """

    bold: str
    plain: str
    dim: str
    undim: str

    def __init__(self, look: Look) -> None:
        self.bold, self.plain = look.on("heading"), look.off("heading")
        self.dim, self.undim = look.on("dim"), look.off("dim")
        self.look = look
        said = f"  {self.dim}%b bytes  %b.%06d{'' if look.local else ' UTC'}%b{self.undim}"
        self.halves: dict[str, bytes] = {name: encode(f"{self.bold}{name}{self.plain}{said}") for name in DIRECTIONS}
        self.values: Callable[[CapturedMessage], HalfValues] = local_values if look.local else half_values
        """What fills the heading of a half."""

    def title(self, exchange: Exchange) -> bytes:
        """Return two lines: API, version, correlation id and latency; then client, broker and connection."""
        template = self.title_template(*kind(exchange))
        if exchange.correlation_id == UNNUMBERED:
            template = template.replace(b" \xc2\xb7 correlation id %d", b"%.0a", 1)
        return template % title_values(exchange)

    def title_template(self, peers: Peers, api: Api | None, version: int, client_id: str | None) -> bytes:
        """Return the template of the titles of exchanges of a kind."""
        correlation = " · correlation id %d"
        if api is None:
            words = f"Response{self.plain}{correlation}"
        elif api.key >= 0:
            said_version = f" v{version}" if version >= 0 else ""
            words = f"{template(api.name)}{said_version}{self.plain}{correlation}"
        else:
            words = f"{template(api.name)}{self.plain}%.0a"
        client = "" if client_id is None else f"client {quote(client_id, self.look.max_text)} · "
        ends = " → ".join(endpoint(end) for end in (peers.client, peers.broker) if end[0])
        tls = f" · decrypted, {peers.tls.version}" if peers.tls is not None else ""
        who = template(f"{client}{ends}{' · ' * bool(ends)}connection c{peers.number}{tls}{proxy(peers.via)}")
        return encode(f"{self.bold}#%d {words}%b\n{self.dim}{who}{self.undim}")

    def half(self, half: CapturedMessage | None, exchange: Exchange, name: str) -> bytes:
        """Return the heading of one half: size, time and packets, or why there is no such half."""
        if half is None:
            return encode(self._missing(exchange, name))
        if exchange.lines and not half.data:
            return encode(self._logged_half(half, name))
        return self.halves[name] % self.values(half)

    def _logged_half(self, half: CapturedMessage, name: str) -> str:
        """Return the heading of a half without bytes: its size and time, as far as a log tells."""
        zone = "" if self.look.local else " UTC"
        said = [count(half.size, "byte")] if half.size else []
        if half.first_time != UNTIMED:
            second, of_zone = _local_moment(half.first_time // SECOND) if self.look.local else (b"", b"")
            when = f"{second.decode()}.{half.first_time // 1000 % 1_000_000:06d}" if second else moment(half.first_time)
            said.append(f"{when}{zone}{of_zone.decode()}")
        return f"{self.bold}{name}{self.plain}" + "".join(f"  {self.dim}{one}{self.undim}" for one in said)

    def _missing(self, exchange: Exchange, name: str) -> str:
        """Return the heading of a half that there is not."""
        expected = name != "response" or exchange.answered
        text = why_missing(exchange, name)
        text = self.look.paint("note", text) if expected else f"{self.dim}{text}{self.undim}"
        return f"{self.bold}{name}{self.plain}  {text}"


def why_missing(exchange: Exchange, name: str) -> str:
    """Return why an exchange lacks its request or response: the last SASL token and acks=0 get no response."""
    if name == "request" or exchange.answered:
        return "not in the capture"
    return "none expected" if exchange.api is None or exchange.api.headerless else "none expected (acks=0)"


def proxy(via: Via | None) -> str:
    """Return what a proxy told of a connection, behind the other words on it."""
    if via is None:
        return ""
    target = f" to {escape(via.target)}" if via.target and not via.source else ""
    source = f", for {escape(via.source)}" if via.source else ""
    return f" · via {via.protocol} proxy{target}{source}"


def kind(exchange: Exchange) -> tuple[Peers, Api | None, int, str | None]:
    """Return what exchanges have in common whose titles have the same template."""
    return exchange.peers, exchange.api, exchange.version, exchange.client_id


def title_values(exchange: Exchange) -> tuple[int, int, bytes]:
    """Return what fills the template of a title: number, correlation id and latency."""
    return exchange.number, exchange.correlation_id, _latencies[exchange.latency]


def half_values(half: CapturedMessage) -> HalfValues:
    """Return what fills the template of a half's heading: size, second, microseconds and packets."""
    first, last, time = half.first_packet, half.last_packet, half.first_time
    if first == last:
        packets = b"  packet %d" % first if first else b""
    else:
        packets = b"  packets %d\xe2\x80\x93%d" % (first, last) if first else b""
    return _sizes[len(half.data) + half.missing + 4], _moments[time // 1_000_000_000], time // 1000 % 1_000_000, packets


def local_values(half: CapturedMessage) -> HalfValues:
    """Return the same in local time; the name of the zone, which depends on the time, stands in front of packets."""
    size, _, micros, packets = half_values(half)
    moment, zone = _local_moment(half.first_time // SECOND)
    return size, moment, micros, zone + packets


def template(text: str) -> str:
    """Return text as it stands in a template."""
    return text.replace("%", "%%")


def encode(text: str) -> bytes:
    """Return text as a view writes it; what was captured in it is escaped."""
    return text.encode("utf-8", "backslashreplace")


def findings_of(half: CapturedMessage, message: Message) -> list[Finding]:
    """Return the findings of a message, without those of a cut end that the exchange reports already."""
    return [finding for finding in message.findings if not (half.missing and finding.kind.cut)]
