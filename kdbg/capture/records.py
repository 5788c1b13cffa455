"""Capture-file formats: a stream of bytes goes in, (time, link type, bytes) of every packet comes out.

scapy's raw readers do the reading (scapy.utils); this module mends what they do not do:
  - they end a damaged file without a word            -> `Damaged` says where
  - they read a packet of more than 65,535 bytes short -> read with a larger limit
  - RawPcapNgReader keeps the interfaces of the section before, takes a snaplen of 0 (no limit) for "no bytes" in
    simple packets, passes over if_tsoffset, gives the file up over one wrong option, and reads a block of any size
    it is told into memory                             -> `_Blocks`
  - they log warnings to stderr                        -> silenced; what matters is noted
This is the only module that imports scapy.utils (0.1 s): import it when a capture is opened.
"""

from __future__ import annotations

import io
import logging
import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from scapy.error import Scapy_Exception
from scapy.utils import RawPcapNgReader, RawPcapReader

from kdbg.capture.source import Source
from kdbg.errors import UnknownCapture

Record: TypeAlias = tuple[int | None, int, bytes]
"""(nanoseconds since the epoch or None where the file keeps no time, link type, the packet's bytes)."""

LARGEST_PACKET = 262_140
"""scapy reads no more of one packet; libpcap's largest snaplen is 4 bytes more."""
LARGEST_BLOCK = 16 << 20
"""Wireshark's bound for a pcapng block."""

SECTION, SECTION_MAGIC = 0x0A0D0D0A, b"\x0a\x0d\x0d\x0a"
PACKET_BLOCKS = frozenset({2, 3, 6})
PCAP_MAGICS = frozenset(bytes.fromhex(magic) for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1"))

_log = logging.getLogger("scapy.runtime")
if _log.level == logging.NOTSET:
    _log.setLevel(logging.CRITICAL)


class Damaged(Exception):
    """No more packets can be read: the text may name {last}, the last whole packet's number, and {next}."""


def open_records(source: Source, note: Callable[[str], None]) -> Iterator[Record]:
    """Read the file's header; raises UnknownCapture. `note` is told of what is odd but does not end the reading."""
    magic = source.stream.read(4)
    if magic not in PCAP_MAGICS and magic != SECTION_MAGIC:
        raise UnknownCapture(source.name, _unknown(magic, source.feed.trouble))
    kind: Any = _Blocks if magic == SECTION_MAGIC else RawPcapReader
    try:
        reader = type.__call__(kind, source.name, source.stream, magic)  # past scapy's metaclass, which guesses anew
    except (Scapy_Exception, Damaged) as error:
        raise UnknownCapture(source.name, "the file ends or is damaged inside its header") from error
    if isinstance(reader, _Blocks):
        reader.note = note
        return reader.records()
    return _pcap(reader, source)


def _unknown(magic: bytes, trouble: str) -> str:
    if trouble:
        return trouble
    return f"is neither pcap nor pcapng (it begins {magic.hex(' ')})" if magic else "is empty"


def _pcap(reader: Any, source: Source) -> Iterator[Record]:
    read, link, unit = reader._read_packet, reader.linktype & 0xFFFF, 1 if reader.nano else 1000
    most = max(reader.snaplen, LARGEST_PACKET + 4)
    used = 24
    while True:
        try:
            data, (seconds, fraction, _, length) = read(LARGEST_PACKET)
        except EOFError:
            break
        if len(data) != length:
            if length > most:
                raise Damaged(f"packet {{next}} claims {length:,} bytes: the file is damaged from there on")
            if len(data) < LARGEST_PACKET:
                raise Damaged("the file ends inside packet {next}")
        used += 16 + length
        yield seconds * 1_000_000_000 + fraction * unit, link, data
    if source.feed.count > used:
        raise Damaged("the file ends inside packet {next}")
    if source.feed.count < used:
        raise Damaged("the file ends inside packet {last}")


class _Blocks(RawPcapNgReader):
    """scapy's pcapng reader with every block read whole and checked before it is looked into."""

    note: Callable[[str], None]
    endian: str

    def records(self) -> Iterator[Record]:
        read = self._read_block
        self.blocktypes.pop(10, None)  # TLS secrets: nothing is decrypted here
        while True:
            try:
                found = read(LARGEST_BLOCK)
            except EOFError:
                return
            if found is None:
                continue
            data, (link, (resolution, offset), high, low, *_) = found
            time = None if high is None else ((high << 32) + low) * 1_000_000_000 // resolution + offset
            yield time, link, data

    def _read_block(self, size: int = LARGEST_BLOCK) -> Any:
        head = self.f.read(8)
        if len(head) < 8:
            if head:
                raise Damaged("the file ends inside the block after packet {last}")
            raise EOFError
        kind, length = struct.unpack(self.endian + "II", head)
        if kind == SECTION:
            return self._section(head[4:])
        return self._look(kind, self._body(length, 8), size)

    def _body(self, length: int, begun: int) -> bytes:
        """The rest of a block, without the length that ends it."""
        if not 12 <= length <= LARGEST_BLOCK:
            raise Damaged(f"the block after packet {{last}} claims {length:,} bytes: the file is damaged from there on")
        wanted = length + (-length % 4) - begun
        rest = self.f.read(wanted)
        if len(rest) < wanted:
            raise Damaged("the file ends inside the block after packet {last}")
        if struct.unpack(self.endian + "I", rest[-4:])[0] != length:
            raise Damaged("the block after packet {last} has two different lengths: the file is damaged from there on")
        return rest[: length - begun - 4]

    def _look(self, kind: int, block: bytes, size: int) -> Any:
        look = self.blocktypes.get(kind)
        if look is None:
            return None
        try:
            found = look(block, size)
        except Exception:
            # most likely a wrong option; the packet before the options may be sound
            found = self._without_options(block, size) if kind == 6 else None
            if found is None:
                self.note(f"a pcapng block of type {kind} is damaged and passed over")
        else:
            if found is None and kind in PACKET_BLOCKS:
                self.note("a packet names an interface that the file does not describe, and is passed over")
        return found

    def _without_options(self, block: bytes, size: int) -> Any:
        if len(block) < 20:
            return None
        captured: int = struct.unpack_from(self.endian + "I", block, 12)[0]
        return self._read_block_epb(block[: 20 + captured], size)

    def _section(self, begun: bytes) -> None:
        """A section header amid the file: its byte order may differ, and interfaces are counted anew."""
        try:
            self._read_block_shb(begun)
        except (EOFError, Scapy_Exception) as error:
            raise Damaged("the section header after packet {last} is damaged") from error

    def _read_block_shb(self, begun: bytes = b"") -> None:
        stream = self.f
        head = begun + stream.read(8 - len(begun))
        order = ">" if head[4:] == b"\x1a\x2b\x3c\x4d" else "<"
        length = struct.unpack(order + "I", head[:4])[0] if len(head) == 8 else 0
        if not 28 <= length <= LARGEST_BLOCK:
            raise Damaged("the section header after packet {last} is damaged")
        self.f = io.BytesIO(head + stream.read(length + (-length % 4) - 12))
        try:
            super()._read_block_shb()
        finally:
            self.f = stream
        self.interfaces.clear()

    def _read_block_idb(self, block: bytes, size: int) -> None:
        super()._read_block_idb(block, size)
        link, snaplen, options = self.interfaces[-1]
        offset = self._read_options(block[8:]).get(14, b"")
        seconds = struct.unpack(self.endian + "q", offset)[0] if isinstance(offset, bytes) and len(offset) == 8 else 0
        options["tsresol"] = options["tsresol"], seconds * 1_000_000_000  # scapy hands it on with every packet
        self.interfaces[-1] = link, snaplen or LARGEST_BLOCK, options
