"""The pcapng format: bytes of a file go in, the packets of its blocks come out. Reads no file.

A file is a chain of blocks, each with its kind and its length in front and the length again after. Sections have a
byte order and interfaces of their own, interfaces a link type, a snaplen and a clock. Statistics say how many packets
were lost. Blocks of other kinds (names, what is custom or unknown) are passed over unread.
See draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from math import gcd
from typing import NamedTuple, TypeAlias

from kdbg.capture.pcap import LARGEST, PcapBlock, RawPacket
from kdbg.protocol.findings.amounts import count

SECTION, INTERFACE, OBSOLETE, SIMPLE, STATISTICS, ENHANCED, SECRETS = 0x0A0D0D0A, 1, 2, 3, 5, 6, 10
"""Kinds of blocks that are looked into."""
MAGIC = b"\x0a\x0d\x0d\x0a"
"""A file's first bytes, in either byte order."""
ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
"""A section's byte order by its byte-order magic."""
SMALLEST, SMALLEST_SECTION, SMALLEST_ENHANCED = 12, 28, 32
"""Bytes of a block with nothing in it."""
TLS_KEY_LOG = 0x544C534B
"""The kind of secrets that are lines of a key log."""
END_OF_OPTIONS, IF_NAME, IF_TSRESOL, IF_TSOFFSET = 0, 2, 9, 14
ISB_DROPPED, ISB_ACCEPTED, ISB_SYSTEM_DROPPED, ISB_DELIVERED = 5, 6, 7, 8
LATEST = 1 << 63
"""Nanoseconds since the epoch, April 2262: later times fit neither 64 bits nor the tables made of them."""
CLOCKS = 256
"""Upper halves of clocks that are remembered: one of nanoseconds has another every 4.3 seconds."""
MOST_COUNTED = 4096
"""Interfaces whose statistics are remembered."""
NAME = 40
"""Characters of an interface's name that are shown."""


class Interface(NamedTuple):
    """An interface that a file describes: link type, snaplen (0: no limit), name and clock.

    A time in nanoseconds is ticks * multiplier // divisor + offset.
    """

    link: int
    snaplen: int
    name: str
    multiplier: int
    divisor: int
    offset: int


class Counted(NamedTuple):
    """What was counted at an interface since the capture began.

    `dropped` packets were lost by the interface or the system; `accepted` is how many were to be captured, those that
    were lost included, and `delivered` how many of them were handed on; None where that is not said.
    """

    dropped: int = 0
    accepted: int | None = None
    delivered: int | None = None

    @property
    def unread(self) -> int:
        """How many packets were captured, and not handed on."""
        if self.accepted is None or self.delivered is None:
            return 0
        return max(self.accepted - self.dropped - self.delivered, 0)


ReaderState: TypeAlias = "tuple[str, tuple[Interface | None, ...]]"
"""A section's byte order, and the interfaces that it has described so far."""


class PcapngReader:
    """Takes the packets out of the bytes of a file, from its first byte on.

    `note` is told of blocks passed over, `secrets` is given the key logs in it. `counted` has what statistics say, the
    latest of each interface by its section's number and its own.
    """

    cut = "the file ends inside the block after packet {last}"
    """The damage of a file whose last bytes are no whole block."""

    def __init__(self, note: Callable[[str], None], secrets: Callable[[bytes], object] = len) -> None:
        self._note, self._tell = note, secrets
        self._interfaces: list[Interface | None] = []
        self.counted: dict[tuple[int, int], Counted] = {}
        self._sections = 0
        self._use("<")

    def divide(self, data: bytes) -> tuple[int, int, ReaderState]:
        """Return how many bytes the everyday packets at the beginning of `data` take, how many these are, and a state.

        A reader with this state reads them anywhere.
        """
        packets: list[RawPacket] = []
        return self._ordinary(data, 0, packets), len(packets), (self._order, tuple(self._interfaces))

    def resume(self, state: ReaderState) -> None:
        """Go on with the state that `divide` returned."""
        if state != (self._order, tuple(self._interfaces)):
            self._use(state[0])
            self._interfaces = list(state[1])

    def take(self, data: bytes) -> PcapBlock:
        """Return the packets of the whole blocks at the beginning of `data`, which begins with a block."""
        packets, place, last = list[RawPacket](), 0, len(data) - SMALLEST
        while (place := self._ordinary(data, place, packets)) <= last:
            kind, length = self._pair(data, place)
            if kind == SECTION:
                length = self._section(data, place)
            end = place + length
            behind, absurd = end + (-length & 3), not SMALLEST <= length <= LARGEST
            if not absurd and behind > len(data):
                return PcapBlock(packets, place, behind - len(data))
            if absurd or self._single(data, behind - 4)[0] != length:
                what = f"declares {count(length, 'byte')}" if absurd else "has two different lengths"
                damage = f"the block after packet {{last}} {what}: the file is damaged from there on"
                if kind == SECTION:
                    damage = "the section header after packet {last} is damaged"
                return PcapBlock(packets, place, 0, damage)
            least, read = self._readers.get(kind, (0, None))
            if length - SMALLEST < least:
                self._note(f"damaged pcapng block of type {kind} skipped")
                if kind == INTERFACE:  # it still takes its number
                    self._interfaces.append(None)
            elif read is not None and (packet := read(data, place + 8, end - 4)) is not None:
                packets.append(packet)
            place = behind
        return PcapBlock(packets, place, place + SMALLEST - len(data))

    @property
    def context(self) -> tuple[int, int]:
        """What the blocks that follow may refer to: the section's number, and how many interfaces it describes."""
        return self._sections, len(self._interfaces)

    def sent(self, data: bytes, start: int) -> int:
        """Return the bytes that the packet at `start` had on the wire: every block says it right in front."""
        length: int = self._single(data, start - 4)[0]
        return length

    def _ordinary(self, data: bytes, place: int, packets: list[RawPacket]) -> int:
        """Take whole Enhanced Packet Blocks with nothing odd about them; return where the first other block begins.

        The length after a block is read together with the fields of the next one.
        """
        following, append = self._following, packets.append
        last = len(data) - SMALLEST_ENHANCED
        if place > last:
            return place
        now, link, base, unit = b"", 0, 0, 0
        kind, length, where, low, captured = self._beginning(data, place)
        while kind == ENHANCED and not length & 3 and length >= SMALLEST_ENHANCED + captured:
            if where != now:
                if (clock := self._clocks.get(where) or self._clock_at(where)) is None:
                    break
                now, (link, base, unit) = where, clock
            behind = place + length
            if behind > last:
                break
            append((base + low * unit, link, place + 28, place + 28 + captured))
            size = length
            again, kind, length, where, low, captured = following(data, behind - 4)
            if again != size:
                packets.pop()
                break
            place = behind
        return place

    def _clock_at(self, where: bytes) -> tuple[int, int, int] | None:
        """Return link type, nanoseconds where the lower half of the clock is 0, and in a tick; None where one is odd.

        `where` is a block's interface and the upper half of the clock, as they stand there.
        """
        number, high = self._pair(where, 0)
        interface = self._interfaces[number] if number < len(self._interfaces) else None
        if interface is None or interface.divisor != 1:
            return None
        base, unit = (high << 32) * interface.multiplier + interface.offset, interface.multiplier
        if base < 0 or base + (unit << 32) > LATEST:
            return None
        if len(self._clocks) >= CLOCKS:
            self._clocks.clear()
        self._clocks[where] = clock = interface.link, base, unit
        return clock

    def _use(self, order: str) -> None:
        """Read what follows in this byte order."""
        self._order = order
        self._single, self._pair, self._beginning, self._following = (
            struct.Struct(order + form).unpack_from for form in ("I", "II", "II8sII", "III8sII")
        )
        self._clocks: dict[bytes, tuple[int, int, int]] = {}
        self._readers: dict[int, tuple[int, Callable[[bytes, int, int], RawPacket | None]]] = {
            INTERFACE: (8, self._interface),
            OBSOLETE: (20, partial(self._packet, "H2xIII")),
            SIMPLE: (4, self._simple),
            STATISTICS: (12, self._statistics),
            ENHANCED: (20, partial(self._packet, "IIII")),
            SECRETS: (8, self._secrets),
        }
        """By the kind of block: the bytes that its body has at least, and what reads it."""

    def _section(self, data: bytes, place: int) -> int:
        """Begin a section; return its block's length, 0 if it is none that can be read."""
        order = ORDERS.get(data[place + 8 : place + 12])
        if order is None:
            return 0
        self._use(order)
        self._interfaces = []
        self._sections += 1
        length: int = self._single(data, place + 4)[0]
        major = data[place + 12 : place + 14]
        sound = length >= SMALLEST_SECTION and (len(major) < 2 or struct.unpack(order + "H", major)[0] == 1)
        return length if sound else 0

    def _interface(self, data: bytes, start: int, end: int) -> None:
        """Read an Interface Description Block; an option of a wrong size is as one left out."""
        link, _, snaplen = struct.unpack_from(self._order + "HHI", data, start)
        options = dict(self._options(data, start + 8, end))
        name = options.get(IF_NAME, b"").decode("utf-8", "replace")
        resolution = options.get(IF_TSRESOL, b"")
        power = resolution[0] if len(resolution) == 1 else 6
        ticks = 1 << (power & 0x7F) if power & 0x80 else 10**power  # in a second
        common = gcd(1_000_000_000, ticks)
        offset = options.get(IF_TSOFFSET, b"")
        seconds = struct.unpack(self._order + "q", offset)[0] if len(offset) == 8 else 0
        clock = 1_000_000_000 // common, ticks // common, seconds * 1_000_000_000
        self._interfaces.append(Interface(link, snaplen, name, *clock))

    def _options(self, data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Yield (code, value) of every whole option."""
        while start + 4 <= end:
            code, length = struct.unpack_from(self._order + "HH", data, start)
            value = start + 4
            if code == END_OF_OPTIONS or value + length > end:
                return
            yield code, data[value : value + length]
            start = value + length + (-length & 3)

    def _simple(self, data: bytes, start: int, end: int) -> RawPacket | None:
        """Read a Simple Packet Block: of the first interface, without a time, cut at the interface's snaplen."""
        interface = self._described(0)
        if interface is None:
            return None
        length = min(self._single(data, start)[0], interface.snaplen or LARGEST)
        return None, interface.link, start + 4, min(start + 4 + length, end)

    def _statistics(self, data: bytes, start: int, end: int) -> None:
        """Read an Interface Statistics Block; counts of a wrong size are as those left out."""
        counts = {
            code: struct.unpack(self._order + "Q", value)[0]
            for code, value in self._options(data, start + 12, end)
            if len(value) == 8
        }
        of = self._sections, self._single(data, start)[0]
        if of in self.counted or len(self.counted) < MOST_COUNTED:
            dropped = counts.get(ISB_DROPPED, 0) + counts.get(ISB_SYSTEM_DROPPED, 0)
            self.counted[of] = Counted(dropped, counts.get(ISB_ACCEPTED), counts.get(ISB_DELIVERED))

    def _secrets(self, data: bytes, start: int, end: int) -> None:
        """Read a Decryption Secrets Block; secrets of other kinds than TLS are passed over."""
        kind, length = self._pair(data, start)
        if kind == TLS_KEY_LOG:
            self._tell(data[start + 8 : min(start + 8 + length, end)])

    def _packet(self, form: str, data: bytes, start: int, end: int) -> RawPacket | None:
        """Read an Enhanced Packet Block, or a Packet Block, which came before it and counts drops beside its number.

        `form` is that of the interface's number, the two halves of the clock, and the length; options are left alone.
        """
        number, high, low, length = struct.unpack_from(self._order + form, data, start)
        interface = self._described(number)
        if interface is None:
            return None
        link, _, name, multiplier, divisor, offset = interface
        start, end = start + 20, min(start + 20 + length, end)
        time = (high << 32 | low) * multiplier // divisor + offset
        if 0 <= time < LATEST:
            return time, link, start, end
        called = f" ({name[:NAME]!a})" if name else ""
        self._note(
            f"interface {number}{called}: a packet's timestamp is outside the years 1970 to 2262; "
            "kdbg uses the time of the previous packet"
        )
        return None, link, start, end

    def _described(self, number: int) -> Interface | None:
        if number < len(self._interfaces) and (found := self._interfaces[number]) is not None:
            return found
        self._note("packet of an interface that the file does not describe skipped")
        return None
