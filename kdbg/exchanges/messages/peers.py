"""The two ends of a connection, and what stands between them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import NoConnection

End: TypeAlias = tuple[str, int]
"""Address and port: ("", 0) is an end that nobody names, and the port 0 is none."""


class Decrypted(NamedTuple):
    """What was spoken went over TLS: its version, its cipher suite, the name that the client asked for, ALPN."""

    version: str
    cipher: str
    server_name: str
    protocols: tuple[str, ...]


class Via(NamedTuple):
    """A proxy or a balancer stands between: what it speaks, and the ends that it told of, "" for one that it did not.

    `source` is the client's true address, `target` what it asked for, both as `address:port`.
    """

    protocol: str
    source: str = ""
    target: str = ""


class Process(NamedTuple):
    """A process at an end of a connection: its number and name, its container's id and its pod's uid, "" for none."""

    pid: int
    name: str
    container: str = ""
    pod: str = ""


class Peers(NamedTuple):
    """A connection: `number` in order of appearance, its ends as (address, port), its first packet in the capture.

    `number` is 0 in archives, which are decoded in parts: there nobody counts connections or exchanges. `tls` says what
    it was decrypted from, if it was, and `via` what was said with a proxy before. `processes` are those at its ends,
    the client's first, where this machine knows any. `start` is the time of the first packet, in nanoseconds.
    """

    number: int
    client: End
    broker: End
    first_packet: int = 0
    tls: Decrypted | None = None
    via: Via | None = None
    processes: tuple[Process | None, Process | None] | None = None
    start: int = 0


def endpoint(end: End) -> str:
    """Return `address:port`, with IPv6 addresses in brackets; a dash for an end that nobody names."""
    if not end[1]:
        return end[0] or "–"
    return f"[{end[0]}]:{end[1]}" if ":" in end[0] else f"{end[0]}:{end[1]}"


def connection_object(peers: Peers) -> dict[str, Any]:
    """Return a connection as JSON has it; with what is known of its TLS and of a proxy, if any."""
    client, broker = (endpoint(end) if end[0] else None for end in (peers.client, peers.broker))
    found: dict[str, Any] = {"client": client, "broker": broker, "id": peers.number}
    if (tls := peers.tls) is not None:
        said = {"version": tls.version, "cipher": tls.cipher, "server_name": tls.server_name or None}
        found["tls"] = {**said, "protocols": list(tls.protocols)}
    if (via := peers.via) is not None:
        found["proxy"] = {"protocol": via.protocol, "source": via.source or None, "target": via.target or None}
    if peers.processes is not None:
        ends = zip(("client", "broker"), peers.processes, strict=True)
        found["processes"] = {
            end: None if one is None else {**one._asdict(), "container": one.container or None, "pod": one.pod or None}
            for end, one in ends
        }
    return found


MOST: Final = 4096
"""Of host, end and outcome that are distinguished."""


class Attempts(NamedTuple):
    """Connection attempts of `host` to `broker` that failed, with the last finding: refused, or not answered.

    `connections` is how many they were, `tries` how often they were asked for together, from `since` to `until` in
    nanoseconds since 1970. `number` and `first_packet` are those of the first.
    """

    host: str
    broker: End
    finding: Finding
    connections: int
    tries: int
    since: int
    until: int
    number: int
    first_packet: int

    @property
    def kind(self) -> Kind:
        """What came of them."""
        return self.finding.kind


class Tried:
    """Takes the findings of connections that never came to be, in bounded memory; `found` has what they come to."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, End, Kind], Attempts] = {}

    def take(self, peers: Peers, finding: Finding) -> None:
        """Take the finding of a connection."""
        facts = finding.facts
        if not isinstance(facts, NoConnection):
            return
        key = peers.client[0], peers.broker, finding.kind
        first = Attempts(*key[:2], finding, 0, 0, facts.time, facts.until, peers.number, peers.first_packet)
        known = self._found.get(key, first)
        if known is not first or len(self._found) < MOST:
            self._found[key] = known._replace(
                finding=finding, connections=known.connections + 1, tries=known.tries + facts.tries,
                since=min(known.since, facts.time), until=max(known.until, facts.until),
                number=min(known.number, peers.number), first_packet=min(known.first_packet, peers.first_packet),
            )  # fmt: skip

    @property
    def found(self) -> list[Attempts]:
        """All of them, in the order of the first of each."""
        return sorted(self._found.values(), key=lambda one: one.first_packet)
