"""Which clients another release of Kafka would stop, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from ...analysis.diagnosis.readiness import Client, Missing
from ...protocol.findings import amounts
from .clock import Clock
from .style import Look
from .values import escape

MARKS = {"stops": ("✗", "bad"), "unclear": ("?", "note")}
SAID = {"stops": "breaks", "unclear": "may break"}
INDENT = "    "


class ReadinessView:
    """Writes clients; `release` is what they are held against."""

    def __init__(self, look: Look, release: str) -> None:
        self.look, self.release = look, release
        self.clock = Clock(local=look.local)

    def lines(self, clients: Sequence[Client]) -> Iterator[str]:
        """Yield the lines: those that stop, those that may, then how many are fine."""
        for client in clients:
            if client.verdict in MARKS:
                yield from self._client(client)
        counts = {verdict: sum(client.verdict == verdict for client in clients) for verdict in ("fine", "broker")}
        clients_fine = f"{amounts.count(counts['fine'], 'client')} compatible with Kafka {self.release}"
        brokers = f", {amounts.count(counts['broker'], 'broker')} not checked" if counts["broker"] else ""
        yield self.look.paint("good" if counts["fine"] else "dim", f"{clients_fine}{brokers}") + "\n"

    def _client(self, client: Client) -> Iterator[str]:
        mark, style = MARKS[client.verdict]
        name = f"client {client.client_id}" if client.client_id else "client without client.id"
        where = f"{client.host} · {client.software or 'unknown software'}"
        count = amounts.count(client.connections, "connection")
        text = self.look.paint(style, f"{mark} {escape(name)} {SAID[client.verdict]}")
        yield f"{text}  {self.look.paint('dim', escape(f'{where} · {count}'))}\n"
        for one in client.missing:
            said = self.said(one)
            width = max(self.look.width - len(INDENT), 40)
            for line in (
                [said] if self.look.long_lines else wrap(said, width, subsequent_indent="  ", break_on_hyphens=False)
            ):
                yield f"{INDENT}{line}\n"

    def said(self, one: Missing) -> str:
        """Return what is missing, in a line."""
        if one.lowest is None:
            has = f"Kafka {self.release} does not have {one.api}"
        elif one.lowest == one.highest:
            has = f"Kafka {self.release} supports only v{one.lowest}"
        else:
            has = f"Kafka {self.release} supports v{one.lowest} to v{one.highest}"
        last = f"; Kafka {one.until} is the last that supports v{one.version}" if one.until else ""
        came = f"; Kafka {one.since} is the first that supports v{one.version}" if one.since and not one.until else ""
        first = self.clock.times[one.first.time // 1_000_000] if one.first.time > 0 else "an unknown time"
        more = ""
        if one.negotiable:
            above = one.highest is not None and one.version > one.highest
            more = "; the client negotiates versions and may support a lower one" if above else (
                "; its broker offered no higher version, so the client may support one"
            )  # fmt: skip
        return f"{one.api} v{one.version}: {has}{last}{came}; first #{one.first.number} at {first}{more}"
