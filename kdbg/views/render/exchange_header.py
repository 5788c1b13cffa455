"""The lines around the two halves of an exchange: who spoke to whom, what, when, how long, where the time went.

Where logs, or captures of several places, tell of the exchange too, a line says what they tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ...exchanges.messages.capture_points import UNNUMBERED, Bounds, Split
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import UNTIMED, Message
from ...exchanges.messages.peers import Peers, endpoint
from ...protocol.findings import Finding
from ...protocol.findings.amounts import count
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS
from .findings import finding_line
from .style import Look
from .values import SECOND, Clock, Memo, escape, latency, quote

if TYPE_CHECKING:
    from ...exchanges.multipoint.flows import ClockOffset


_sizes = Memo(lambda size: f"{size:,}".encode())
_latencies: Memo[bytes] = Memo(lambda between: b"" if between is None else f" · {latency(between)}".encode())


def remarks(exchange: Exchange, look: Look) -> list[str]:
    """Return the lines below the title of an exchange: its findings, what logs and other places tell, its times.

    Those of logs are on one line: `log of librdkafka: request line 12, response line 13 (+0.3 ms)`.
    """
    if not (exchange.findings or exchange.lines or exchange.capture_points or exchange.timing):
        return []
    found = [finding_line(finding, look) for finding in exchange.findings]
    logs: dict[tuple[str, str], list[str]] = {}
    for line in exchange.lines:
        half = exchange.request if line.half == "request" else exchange.response
        late = ""
        if half is not None and half.data and line.time != UNTIMED:  # by how much it was written after the last byte
            apart = line.time - half.last_time
            late = f" ({'+' * (apart >= 0)}{latency(apart)})"
        which = "" if line.half == "both" else f"{line.half} "
        logs.setdefault((line.dialect, line.log), []).append(f"{which}line {line.number}{late}")
    names = {key: " ".join(filter(None, ["log of", key[0], escape(key[1])])) for key in logs}
    if logs:
        found.append(look.paint("dim", " · ".join(f"{names[key]}: {', '.join(each)}" for key, each in logs.items())))
    return [*found, *places_lines(exchange, look), *timing_lines(exchange, look)]


class Headings:
    """Writes the heading of an exchange and the lines of its halves: one per output, which looks styles up once.

    What is the same in many is a template, made once: of titles by their kind, of halves by their direction. `request`
    and `response` stand in front of the lines of halves.
    """

    def __init__(self, look: Look, *, request: str = "", response: str = "") -> None:
        self.bold: str = look.on("heading")
        self.plain: str = look.off("heading")
        self.dim: str = look.on("dim")
        self.undim: str = look.off("dim")
        self.look = look
        self.names: dict[str, str] = {
            name: f"{guide}{self.bold}{name}{self.plain}"
            for name, guide in zip(DIRECTIONS, (request, response), strict=True)
        }
        said = f"  {self.dim}%b bytes  %b.%06d%b%b{self.undim}\n"
        self.halves: dict[str, bytes] = {name: encode(f"{line}{said}") for name, line in self.names.items()}
        self._second: Callable[[int], tuple[bytes, bytes]] = lru_cache(1 << 12)(self._moment)
        self._titles: Memo[bytes] = Memo(lambda kind: self._title(*kind))

    def title(self, exchange: Exchange) -> bytes:
        """Return two lines: API, version, correlation id and latency; then client, broker and connection."""
        template = self._titles[exchange.peers, exchange.api, exchange.version, exchange.client_id]
        if exchange.correlation_id == UNNUMBERED:
            template = template.replace(b" \xc2\xb7 correlation id %d", b"%.0a", 1)
        return template % (exchange.number, exchange.correlation_id, _latencies[exchange.latency])

    def _title(self, peers: Peers, api: Api | None, version: int, client_id: str | None) -> bytes:
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
        proxy = ""
        if (via := peers.via) is not None:
            target = f" to {escape(via.target)}" if via.target and not via.source else ""
            source = f", for {escape(via.source)}" if via.source else ""
            proxy = f" · via {via.protocol} proxy{target}{source}"
        who = template(f"{client}{ends}{' · ' * bool(ends)}connection c{peers.number}{tls}{proxy}")
        return encode(f"{self.bold}#%d {words}%b\n{self.dim}{who}{self.undim}")

    def half(self, half: CapturedMessage | None, exchange: Exchange, name: str) -> bytes:
        """Return the line above one half: size, time and packets, or why there is no such half."""
        if half is None or (exchange.lines and not half.data):
            return encode(f"{self.names[name]}{self._without_bytes(half, exchange, name)}\n")
        first, last, time = half.first_packet, half.last_packet, half.first_time
        packets = b""
        if first:
            packets = b"  packet %d" % first if first == last else b"  packets %d\xe2\x80\x93%d" % (first, last)
        when, zone = self._second(time // SECOND)
        return self.halves[name] % (_sizes[half.size], when, time // 1000 % 1_000_000, zone, packets)

    def _without_bytes(self, half: CapturedMessage | None, exchange: Exchange, name: str) -> str:
        """Return what is said of a half that is not there, or only in a log, perhaps without size or time."""
        if half is None:
            style = "note" if name != "response" or exchange.answered else "dim"
            return f"  {self.look.paint(style, why_missing(exchange, name))}"
        said = [count(half.size, "byte")] if half.size else []
        if half.first_time != UNTIMED:
            when, zone = self._second(half.first_time // SECOND)
            said.append(f"{when.decode()}.{half.first_time // 1000 % 1_000_000:06d}{zone.decode()}")
        return "".join(f"  {self.dim}{one}{self.undim}" for one in said)

    def _moment(self, second: int) -> tuple[bytes, bytes]:
        """Return seconds since 1970 as date and time of day, and the name of the zone after a space."""
        clock = Clock(local=self.look.local)
        return f"{clock.at(second):%Y-%m-%d %H:%M:%S}".encode(), f" {clock.zone(second)}".encode()


def why_missing(exchange: Exchange, name: str) -> str:
    """Return why an exchange lacks its request or response: the last SASL token and acks=0 get no response."""
    if name == "request" or exchange.answered:
        return "not in the capture"
    return "none expected" if exchange.api is None or exchange.api.headerless else "none expected (acks=0)"


def template(text: str) -> str:
    """Return text as it stands in a template."""
    return text.replace("%", "%%")


def encode(text: str) -> bytes:
    """Return text as a view writes it; what was captured in it is escaped."""
    return text.encode("utf-8", "backslashreplace")


def findings_of(half: CapturedMessage, message: Message) -> list[Finding]:
    """Return the findings of a message, without those of a cut end that the exchange reports already."""
    return [finding for finding in message.findings if not (half.missing and finding.kind.cut)]


def places_lines(exchange: Exchange, look: Look) -> list[str]:
    """Return the lines on the places: where the time went, then the files with their packets, and their clocks."""
    places = exchange.capture_points
    if places is None:
        return []
    names = names_of([place.file for place in places.seen])
    if len(names) == 1:
        return [look.paint("note", f"only in {names[0]}")]
    where = []
    for name, place in zip(names, places.seen, strict=True):
        packets = []
        for half in (place.request, place.response):
            first, last = (half.first_packet, half.last_packet) if half is not None else (0, 0)
            packets.append("not captured" if half is None else f"{first}" if first == last else f"{first}–{last}")
        ends = f" ({place.client} → {place.broker})" if place.client else ""
        where.append(f"{name}{ends} {', '.join(packets)}")
    lines = [" → ".join(where)]
    if places.network is not None:
        time = f"network {latency(places.network)}"
        if places.there is not None and places.back is not None:
            there, back = places.there, places.back
            time += (
                f" (to broker {latency(there.middle)}, to client {latency(back.middle)}, each ± {latency(there.slack)})"
            )
        lines = [f"{time} · broker {latency(places.broker)}", *lines]
    if not places.certain:
        lines.append("addresses differ (NAT?); matched by sequence numbers and payload")
    if places.ahead is not None:
        lines.append(f"the clock of {names[-1]} {_ahead(places.ahead)} the clock of {names[0]}")
    return [look.paint("dim", line) for line in lines]


def names_of(files: Sequence[str]) -> list[str]:
    """Return the names of files, without folders where these do not tell them apart."""
    names = [file.rpartition("/")[2] for file in files]
    return [*map(escape, names if len(set(names)) == len(names) else files)]


def clock_lines(clocks: Mapping[tuple[int, int], ClockOffset], files: Sequence[str]) -> list[str]:
    """Return what is said of the clocks once captures were read, by the pairs of places."""
    names = names_of(files)
    lines = []
    for (first, second), clock in clocks.items():
        if (bounds := clock.bounds) is not None:
            set_at = ", and one clock was adjusted during the capture" if clock.steps else ""
            lines.append(f"clock of {names[second]} {_ahead(bounds)} that of {names[first]}{set_at}")
    return lines


def _ahead(ahead: Bounds) -> str:
    """Return how far a clock is ahead of another, or behind it, to as many places as are known."""
    nanoseconds, slack = abs(ahead.middle), ahead.slack
    unit, scale, name = (9, 1e9, "s") if nanoseconds >= 1_000_000_000 else (6, 1e6, "ms")
    places = max(0, min(unit, unit - len(str(max(slack, 1))) + 1))
    words = "ahead of" if ahead.middle >= 0 else "behind"
    return f"is {nanoseconds / scale:,.{places}f} {name} ± {latency(slack)} {words}"


def places_words(exchange: Exchange) -> str:
    """Return the same for a summary: `net 2.1 ms`; "" where nothing is known of the network."""
    places = exchange.capture_points
    if places is None:
        return ""
    if len(places.seen) == 1:
        return f"only in {names_of([places.seen[0].file])[0]}"
    return "" if places.network is None else f"net {latency(places.network).replace(' ', '')}"


LEAST: Final = 1_000
"""Nanoseconds below which a part is not worth a word."""
ON_PURPOSE: Final = {
    0: "until replicas acknowledged", 1: "by long polling (max_wait_ms)", 78: "by long polling (max_wait_ms)",
    11: "until the group was complete", 14: "until the leader's assignment",
}  # fmt: skip
"""What a broker waits for, by API key."""


def timing_lines(exchange: Exchange, look: Look) -> list[str]:
    """Return a line on where the time went, and one on TCP; none where nobody asked.

    That on TCP is `tcp: round trip 0.1 ms · retransmissions: 2 by the broker · closed by the client`.
    """
    timing = exchange.timing
    if timing is None:
        return []
    key = exchange.api.key if exchange.api is not None else -1
    lines = [split_text(timing.split, key)] if timing.split.broker is not None else []
    if (tcp := timing.tcp) is not None:
        said = ["handshake not in the capture" if tcp.round_trip is None else f"round trip {latency(tcp.round_trip)}"]
        if tcp.syns > 1:
            said.append(f"{tcp.syns} SYNs")
        for name, pair in (("retransmissions", tcp.resent), ("zero windows", tcp.shut)):
            by = [f"{count} by the {end}" for count, end in zip(pair, ("client", "broker"), strict=True) if count]
            if by:
                said.append(f"{name}: {', '.join(by)}")
        if tcp.closed is not None:
            said.append(f"{'reset' if tcp.reset else 'closed'} by the {tcp.closed}")
        lines.append(f"tcp: {' · '.join(said)}")
    return [look.paint("dim", line) for line in lines]


def split_text(split: Split, api_key: int) -> str:
    """Return where the time went, in order: `behind #3 1.1 s · network 0.2 ms · broker 2 ms · then sent for 3 ms`."""
    said = []
    if split.waiting:
        said.append(f"queued behind #{split.behind} {latency(split.waiting)}")
    if split.throttle:
        said.append(f"throttled {latency(split.throttle)}")
    if split.network is not None:
        said.append(f"network {latency(split.network)}")
    if split.held:
        said.append(f"held {ON_PURPOSE.get(api_key, 'by long polling')} {latency(split.held)}")
    if split.broker is not None:
        said.append(f"broker{' and replicas' * (split.held is None)} {latency(split.broker)}")
    after = []
    if (split.sending or 0) >= LEAST:
        late = f" (client did not read for {latency(split.reading)})" if (split.reading or 0) >= LEAST else ""
        after.append(f"last byte {latency(split.sending)} later{late}")
    if split.acknowledged is not None:
        after.append(f"acknowledged after {latency(split.acknowledged)}")
    return "time: " + " · ".join(said) + (f"; {', '.join(after)}" if after else "")
