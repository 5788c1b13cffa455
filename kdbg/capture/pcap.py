"""The pcap format: bytes of a file go in, what its header says and its packets come out, and back. Opens no file.

Understood are microseconds and nanoseconds, both byte orders, and the form of some old Linux distributions ("modified
pcap"), whose packet headers are longer. See draft-ietf-opsawg-pcap.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from kdbg.protocol.findings.amounts import count

RawPacket: TypeAlias = tuple[int | None, int, int, int]
"""(nanoseconds since the epoch or None where the file tells no time; link type; where the packet begins and ends).

The places are those in the bytes that it was found in: its headers are read there, and only its payload is copied.
"""

HEADER, PACKET_HEADER = 24, 16
"""Bytes of the file's header, and of a packet's unless the file is of the modified form."""
MODIFIED_HEADER = 24
SNAPLEN = 262_144
"""libpcap's largest snaplen: a packet may have as many bytes, whatever the file's header says."""
LARGEST = 16 << 20
"""Bytes of a packet or block that are believed, which is Wireshark's bound for a pcapng block."""

_FORMS = {0xA1B2C3D4: (1000, PACKET_HEADER), 0xA1B23C4D: (1, PACKET_HEADER), 0xA1B2CD34: (1000, MODIFIED_HEADER)}
"""By magic number: the nanoseconds in a unit of time, the bytes of a packet's header."""
MAGICS = {struct.pack(order + "I", magic): (order, *form) for magic, form in _FORMS.items() for order in ("<", ">")}
"""The same by a file's first four bytes, after the byte order that they show."""


class PcapBlock(NamedTuple):
    """What was found at the beginning of some bytes of a file.

    `packets` are whole, `used` bytes are done with, and at least `missing` bytes must follow before more can be said.
    Where there is `damage`, no more packets can be read: the text may name {last}, the number of the last whole
    packet, and {next}, the number after it.
    """

    packets: list[RawPacket]
    used: int
    missing: int
    damage: str = ""


class Layout(NamedTuple):
    """What the header of a pcap file says.

    `head` is the header itself, `order` the byte order as struct names it, `unit` the nanoseconds in a unit of time,
    `record` the bytes of a packet's header, `most` the bytes that a packet can have, `link` the link type.
    """

    head: bytes
    order: str
    unit: int
    record: int
    most: int
    link: int

    @classmethod
    def of(cls, head: bytes) -> Layout | None:
        """Read a file's first bytes; return None for what is no pcap file."""
        form = MAGICS.get(head[:4])
        if form is None or len(head) < HEADER:
            return None
        snaplen, link = struct.unpack_from(form[0] + "II", head, 16)
        return cls(
            head[:HEADER], *form, min(max(snaplen, SNAPLEN), LARGEST), link & 0xFFFF
        )  # above it: bits on the FCS

    def time(self, packet: bytes) -> int | None:
        """Return nanoseconds since the epoch for a packet that begins with these bytes; None if they are too few."""
        if len(packet) < PACKET_HEADER:
            return None
        seconds, fraction = struct.unpack_from(self.order + "II", packet)
        return int(seconds * 1_000_000_000 + fraction * self.unit)


def file_header(link: int, snaplen: int = SNAPLEN) -> bytes:
    """Return the header of a file whose packets have their times in nanoseconds."""
    return struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snaplen, link)


def packet_record(time: int, packet: bytes) -> bytes:
    """Return a whole packet as such a file has it; `time` is nanoseconds since the epoch."""
    return struct.pack("<IIII", *divmod(time, 1_000_000_000), len(packet), len(packet)) + packet


class PcapReader:
    """Takes the packets out of the bytes that follow a file's header."""

    cut = "the file ends inside packet {next}"
    """The damage of a file whose last bytes are no whole packet."""
    counted: Mapping[Any, Any] = MappingProxyType({})
    """What was counted while it was captured: a file of this format does not say."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._header = struct.Struct(f"{layout.order}III").unpack_from
        self._sent = struct.Struct(f"{layout.order}I").unpack_from

    def divide(self, data: bytes) -> tuple[int, int, None]:
        """Return how many bytes the whole packets at the beginning of `data` take, how many these are, and its state.

        A reader with this state reads them anywhere.
        """
        length_at, record, most = self._sent, self._layout.record, self._layout.most
        place, count, last = 0, 0, len(data) - record
        while place <= last:
            length = length_at(data, place + 8)[0]
            behind = place + record + length
            if length > most or behind > last + record:
                break
            place = behind
            count += 1
        return place, count, None

    def resume(self, state: None) -> None:
        """Go on with the state that `divide` returned."""

    def take(self, data: bytes) -> PcapBlock:
        """Return the whole packets at the beginning of `data`, which begins with a packet's header."""
        _, _, unit, record, most, link = self._layout
        header, packets, place, end = self._header, list[RawPacket](), 0, len(data)
        append, last = packets.append, end - record
        while place <= last:
            seconds, fraction, length = header(data, place)
            start = place + record
            behind = start + length
            if behind > end or length > most:
                if length > most:
                    damage = f"packet {{next}} declares {count(length, 'byte')}: the file is damaged from there on"
                    return PcapBlock(packets, place, 0, damage)
                return PcapBlock(packets, place, behind - end)
            append((seconds * 1_000_000_000 + fraction * unit, link, start, behind))
            place = behind
        return PcapBlock(packets, place, place + record - end)

    def sent(self, data: bytes, start: int) -> int:
        """Return the bytes that the packet at `start` had on the wire, by the header in front of it."""
        length: int = self._sent(data, start - self._layout.record + 12)[0]
        return length
