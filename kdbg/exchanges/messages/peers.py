"""The two ends of a connection, and what stands between them."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

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
    the client's first, where this machine knows any.
    """

    number: int
    client: End
    broker: End
    first_packet: int = 0
    tls: Decrypted | None = None
    via: Via | None = None
    processes: tuple[Process | None, Process | None] | None = None


def endpoint(end: End) -> str:
    """Return `address:port`, with IPv6 addresses in brackets; a dash for an end that nobody names."""
    if not end[1]:
        return end[0] or "–"
    return f"[{end[0]}]:{end[1]}" if ":" in end[0] else f"{end[0]}:{end[1]}"


def endpoint_text(end: End) -> str | None:
    """Return the same, None for an end that nobody names."""
    return endpoint(end) if end[0] else None


def connection_object(peers: Peers) -> dict[str, Any]:
    """Return a connection as JSON has it; with what is known of its TLS and of a proxy, if any."""
    found: dict[str, Any] = {
        "client": endpoint_text(peers.client), "broker": endpoint_text(peers.broker), "id": peers.number,
    }  # fmt: skip
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
