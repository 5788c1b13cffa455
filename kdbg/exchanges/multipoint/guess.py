"""Who opened a connection, by one of its packets."""

from __future__ import annotations

from ...capture.packet import ACK, SYN

EPHEMERAL = 32_768


def opener(flow: bytes, flags: int) -> bool:
    """Return whether the source of a packet opened the connection: as its SYN says; else by the ports, a guess."""
    if flags & SYN:
        return not flags & ACK
    source, destination = int.from_bytes(flow[-4:-2], "big"), int.from_bytes(flow[-2:], "big")
    return not (source < destination and source < EPHEMERAL)
