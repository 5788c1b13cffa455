"""Packets that links.py does not read itself: scapy finds the innermost IP packet with TCP in it, whose bytes come out.

Only the finding is scapy's; the IP packet is then read by links.py like any other. A hundred times slower than there.
The only module that imports scapy's layers (0.2 s): import it when a packet needs it.
"""

from __future__ import annotations

import importlib
import logging
from functools import cache

from scapy.config import conf
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.packet import NoPayload, Packet

__all__ = ["innermost", "require"]

for _layers in ("layers.ppp", "layers.vxlan", "contrib.geneve", "contrib.mpls"):
    importlib.import_module(f"scapy.{_layers}")  # each binds itself to the layers below it

MORE = {105: "layers.dot11", 119: "layers.dot11", 127: "layers.dot11", 163: "contrib.avs", 192: "layers.ppi"}
"""Link types that further layers of scapy declare."""

_log = logging.getLogger("scapy.runtime")


@cache
def require(link: int) -> type[Packet]:
    """Return scapy's class for a link type. Raise `LookupError` where it has none."""
    if link in MORE:
        importlib.import_module(f"scapy.{MORE[link]}")
    found: type[Packet] = conf.l2types[link]
    return found


def innermost(link: int, data: bytes) -> bytes | None:
    """Return a packet's bytes from the innermost IP header that has TCP directly in it; None where there is none."""
    level = _log.level
    _log.setLevel(logging.CRITICAL)
    found = network = None
    try:
        layer = require(link)(data)
        while not isinstance(layer, NoPayload):
            if isinstance(layer, IP | IPv6):
                network = layer
            elif isinstance(layer, TCP) and network is not None:
                found = network.original
            layer = layer.payload
        return found
    except Exception:  # whatever a dissector of scapy's raises over broken bytes: there is no TCP to be had
        return None
    finally:
        _log.setLevel(level)
