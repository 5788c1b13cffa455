"""Where the time of an exchange went, and what TCP tells of its connection, as lines below a heading."""

from __future__ import annotations

from typing import Final

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.latency import Split, Tcp
from .exchange_header import latency
from .style import Look

LEAST: Final = 1_000
"""Nanoseconds below which a part is not worth a word."""
ON_PURPOSE: Final = {
    0: "until replicas acknowledged", 1: "by long polling (max_wait_ms)", 78: "by long polling (max_wait_ms)",
    11: "until the group was complete", 14: "until the leader's assignment",
}  # fmt: skip
"""What a broker waits for, by API key."""


def timing_lines(exchange: Exchange, look: Look) -> list[str]:
    """Return a line on where the time went, and one on TCP; none where nobody asked."""
    timing = exchange.timing
    if timing is None:
        return []
    key = exchange.api.key if exchange.api is not None else -1
    lines = [split_text(timing.split, key)] if timing.split.broker is not None else []
    if timing.tcp is not None:
        lines.append(f"tcp: {tcp_text(timing.tcp)}")
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


def tcp_text(tcp: Tcp) -> str:
    """Return what TCP tells: `round trip 0.1 ms · sent again: 2 by the broker · closed by the client`."""
    said = ["handshake not in the capture" if tcp.round_trip is None else f"round trip {latency(tcp.round_trip)}"]
    if tcp.syns > 1:
        said.append(f"{tcp.syns} SYNs")
    for name, pair in (("retransmissions", tcp.resent), ("zero windows", tcp.shut)):
        by = [f"{count} by the {end}" for count, end in zip(pair, ("client", "broker"), strict=True) if count]
        if by:
            said.append(f"{name}: {', '.join(by)}")
    if tcp.closed is not None:
        said.append(f"{'reset' if tcp.reset else 'closed'} by the {tcp.closed}")
    return " · ".join(said)
