"""Capture files: a stream of bytes goes in, their packets come out as they arrive, whatever format it is.

The bytes are read in chunks and given to the format's reader, which takes the packets out of them. A live pipe is read
as far as it has come, and never waited on for more than the packet that has begun. However many bytes a packet claims,
memory is taken only as they come.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from kdbg.capture.pcap import HEADER, MAGICS, Layout, PcapReader, RawPacket
from kdbg.capture.source import CHUNK, Source
from kdbg.errors import UnknownCapture

if TYPE_CHECKING:
    from kdbg.capture.pcapng import PcapngReader

Batch: TypeAlias = tuple[bytes, list[RawPacket]]
"""Bytes of a file, and the packets that were found in them."""


class Damaged(Exception):
    """No more packets can be read: the text may name {last}, the last whole packet's number, and {next}."""


FormatReader: TypeAlias = "PcapReader | PcapngReader"


def open_packets(source: Source, note: Callable[[str], None]) -> Iterator[Batch]:
    """Read the file's header; return what yields its packets, as many at a time as have come.

    `note` is told of what is odd but does not end the reading. Raises UnknownCapture; the iterator raises Damaged,
    after the packets before the damage.
    """
    reader, data = open_reader(source, note)
    return packets_of(source.stream, reader, data)


def open_reader(
    source: Source, note: Callable[[str], None], secrets: Callable[[bytes], object] = len
) -> tuple[FormatReader, bytes]:
    """Read the file's header; return the reader of its format, and bytes to give it before all others.

    `note` is told of what is odd, `secrets` is given the TLS key logs that stand in the file. Raise `UnknownCapture`
    for what is no capture.
    """
    magic = _exactly(source.stream, 4)
    if magic in MAGICS:
        layout = Layout.of(magic + _exactly(source.stream, HEADER - 4))
        if layout is None:
            raise _beginning(source)
        return PcapReader(layout), b""
    from kdbg.capture.pcapng import MAGIC, PcapngReader  # which pcap files do without

    if magic == MAGIC:
        reader = PcapngReader(note, secrets)
        return reader, _first_section(source, reader, magic)
    raise UnknownCapture(source.name, _unknown(magic, source.feed.trouble))


def _unknown(magic: bytes, trouble: str) -> str:
    if trouble:
        return trouble
    return f"not a pcap or pcapng file (starts with {magic.hex(' ')})" if magic else "is empty"


def _beginning(source: Source) -> UnknownCapture:
    return UnknownCapture(source.name, "the file ends or is damaged inside its header")


def _first_section(source: Source, reader: PcapngReader, data: bytes) -> bytes:
    """Read a pcapng file's first block and return it, so that a file without one is refused when it is opened."""
    while True:
        taken = reader.take(data)
        if taken.used:
            return data
        if taken.damage or not (more := _exactly(source.stream, taken.missing)):
            raise _beginning(source)
        data += more


def packets_of(
    stream: io.BufferedReader, reader: FormatReader, data: bytes, is_silent: Callable[[], bool] = lambda: False
) -> Iterator[Batch]:
    """Yield the packets of `data` and of the stream behind it, as `open_packets` says.

    `is_silent` is asked before the source is waited on; if it is, a batch without packets is yielded first.
    """
    while True:
        packets, used, missing, damage = reader.take(data)
        if packets:
            yield data, packets
        if damage:
            raise Damaged(damage)
        data = data[used:]
        if is_silent():
            yield b"", []
        more = _at_least(stream, missing if data else 1)
        if not more:
            break
        data = data + more if data else more
    if data:
        raise Damaged(reader.cut)


def _at_least(stream: io.BufferedReader, size: int) -> bytes:
    """Read so many bytes and what else has come with them, fewer at the end of the stream."""
    pieces = []
    while size > 0 and (piece := stream.read1(CHUNK)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _exactly(stream: io.BufferedReader, size: int) -> bytes:
    """Read so many bytes, fewer at the end of the stream; memory is taken as they come."""
    pieces = []
    while size > 0 and (piece := stream.read(min(size, CHUNK))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
