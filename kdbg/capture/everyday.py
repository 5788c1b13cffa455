"""The TCP segments of many packets at once: places of packets go in, Packets come out.

The everyday packet (a link without tags, IPv4 or IPv6 without options, TCP) is read here where it stands, by one
unpack; every other goes to the dissector of its link type, and what comes out is the same as if all had gone there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from kdbg.capture.links import IPV4, IPV6, TCP
from kdbg.capture.packet import SHUT, Packet, Segment
from kdbg.capture.pcap import RawPacket


class LinkForm(NamedTuple):
    """How everyday packets of a link type begin: see `_form`."""

    ip: int
    """Where the IP header begins."""
    least: int
    """Bytes up to TCP's window over IPv4, that included."""
    kinds: tuple[bytes, bytes]
    """What announces IPv4 and IPv6; nothing where the version in the IP header does."""
    ipv4: Callable[[bytes, int], tuple[Any, ...]]
    """kind, total length, fragment, protocol, flow; TCP's seq, ack, offset, flags, window."""
    ipv6: Callable[[bytes, int], tuple[Any, ...]]
    """kind, payload length, next header, flow; TCP's seq, ack, offset, flags, window."""


def _form(ip: int, kind: int | None = None) -> LinkForm:
    """Return the form of a link whose header has `ip` bytes, among them two at `kind` that say what follows."""
    link = f"{ip}x0s" if kind is None else f"{kind}x2s{ip - kind - 2}x"
    ipv4, ipv6 = struct.Struct(f">{link}2xH2xHxB2x12sIIBBH"), struct.Struct(f">{link}4xHBx36sIIBBH")
    kinds = (b"", b"") if kind is None else (IPV4, IPV6)
    return LinkForm(ip, ipv4.size, kinds, ipv4.unpack_from, ipv6.unpack_from)


FORMS = {
    0: _form(4),
    1: _form(14, 12),
    **dict.fromkeys((12, 14, 101, 228, 229), _form(0)),
    108: _form(4),
    113: _form(16, 14),
    276: _form(20, 0),
}
"""By link type. Those not in it have no everyday packets."""
NONE = FORMS[1]._replace(least=1 << 62)
"""Of a link type that has no everyday packets: none is so long."""
LONGER = 20
"""Bytes that IPv6's header has more than IPv4's."""


def segments(
    data: bytes, packets: list[RawPacket], number: int, time: int, odd: Callable[[int, bytes, int], Segment | None]
) -> tuple[list[Packet], int, int]:
    """Return the TCP segments of the packets in `data`, how many bytes the packets have, and the last one's time.

    The packets follow packet `number`, and one without a time has that of the one before it; before the first that is
    `time`. `odd` is asked for what is in a packet that is not an everyday one.
    """
    found: list[Packet] = []
    add, size, form = found.append, 0, -1
    ip, least, (kind4, kind6), ipv4, ipv6 = NONE
    for moment, link, start, stop in packets:  # one loop without calls, as it runs for every packet of a capture
        number += 1
        if moment is not None:
            time = moment
        length = stop - start
        size += length
        if link != form:
            form = link
            ip, least, (kind4, kind6), ipv4, ipv6 = FORMS.get(link, NONE)
        if length >= least and (version := data[start + ip]) == 0x45:
            kind, total, fragment, protocol, flow, seq, ack, offset, flags, window = ipv4(data, start)
            plain = protocol == TCP and kind == kind4 and not fragment & 0x3FFF
            body = start + ip + 20
            end = start + ip + total if total else stop
        elif length >= least + LONGER and version >> 4 == 6:
            kind, total, protocol, flow, seq, ack, offset, flags, window = ipv6(data, start)
            plain = protocol == TCP and kind == kind6
            body = start + ip + 40
            end = body + total if total else stop
        else:
            plain = False
        if plain and offset >= 0x50:
            begin = body + (offset >> 2 & 0x3C)
            if begin <= end:
                if not window:
                    flags |= SHUT
                add((number, time, flow, seq, ack, flags, data[begin : end if end < stop else stop], end - begin))
                continue
        if segment := odd(link, data[start:stop], time):
            add((number, time, *segment))
    return found, size, time
