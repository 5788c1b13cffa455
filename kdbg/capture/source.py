"""Capture files: which of them a name stands for (a file, a folder, a glob), their bytes, and the packets in those.

What does not depend on where files are (globs, hidden names, the order of names) holds for object stores too. The bytes
are read in chunks and given to the format's reader, which takes the packets out of them. A live pipe is read as far as
it has come, and never waited on for more than the packet that has begun. However many bytes a packet claims, memory is
taken only as they come.
"""

from __future__ import annotations

import io
import os
import re
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias

from ..errors import CaptureError, CaptureRefused, UnknownCapture
from .pcap import HEADER, MAGICS, Layout, PcapReader, RawPacket

if TYPE_CHECKING:
    from .pcapng import PcapngReader

GLOB = re.compile(r"[*?]|\[!?\]?[^\]/]*\]")
_NATURAL = re.compile(r"(\d+)")
_SET = re.compile(r"\[(!?)(\]?[^\]/]*)\]")


def find(name: str) -> list[str]:
    """Return the files that a name stands for, in natural order and without hidden ones; raise `CaptureRefused`.

    A name that is neither a folder nor a glob stands for itself, whether there is such a file or not.
    """
    if name == "-" or os.path.isfile(name):  # noqa: PTH113 - pathlib takes 3 ms to import
        return [name]
    if os.path.isdir(name):  # noqa: PTH112
        found = list(_below(name))
    elif GLOB.search(name) and not os.path.lexists(name):
        fits = glob(name).fullmatch
        found = [path for each in _below(root_of(name)) if fits(path := each.removeprefix("./"))]
    else:
        return [name]
    if not found:
        raise CaptureRefused(name, "the folder contains no files")
    return sorted(found, key=natural)


def is_hidden(path: str) -> bool:
    """Return whether any part of a path is hidden: begins with a dot, or as what a program is still writing."""
    return any(part.startswith((".", "_")) for part in path.strip("/").split("/"))


def root_of(pattern: str) -> str:
    """Return the folder below which all files are that a glob may match."""
    found = GLOB.search(pattern)
    assert found is not None, "a glob has something to match"
    return pattern[: found.start()].rpartition("/")[0] or ("/" if pattern.startswith("/") else ".")


def glob(pattern: str) -> re.Pattern[str]:
    """Return the expression of a glob: `*`, `?` and `[…]` stay within a folder's level, `**` does not."""
    steps = [".*" if step == "**" else _step(step) for step in pattern.removeprefix("./").split("/")]
    return re.compile("/".join(steps).replace(".*/", "(?:.*/)?"))


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key for names by which x2 stands before x10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NATURAL.split(name) if part]


def _step(step: str) -> str:
    parts, at = list[str](), 0
    while at < len(step):
        inside = _SET.match(step, at)
        if inside is not None:
            unlike = "^" if inside[1] else ""
            parts.append(f"[{unlike}{inside[2].replace(chr(92), chr(92) * 2).replace('[', chr(92) + '[')}]")
            at = inside.end()
            continue
        letter = step[at]
        parts.append({"*": "[^/]*", "?": "[^/]"}.get(letter) or re.escape(letter))
        at += 1
    return "".join(parts)


def _below(folder: str) -> Iterator[str]:
    """Yield the files in a folder and its folders, without hidden ones, pipes, sockets and devices."""
    for here, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not is_hidden(each)]
        for path in (os.path.join(here, each) for each in files if not is_hidden(each)):  # noqa: PTH118
            if os.path.isfile(path) or not os.path.exists(path):  # noqa: PTH110, PTH113 - a link may lead nowhere
                yield path


CHUNK = 65536
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
STEPS = {"gzip": 1024, "zstd": 128}
"""Compressed bytes undone at a time: gzip can make 1 MiB of these, zstd 4 MiB (4 bytes can be a block of 128 KiB)."""


class ChunkStream(io.RawIOBase):
    """A raw stream over chunks of bytes; counts them, and takes a failure for the end.

    `heard` is called with every chunk that is taken: whoever wants to follow the reading sets it.
    """

    heard: Callable[[], None] | None = None

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self.count: int = 0
        self.trouble: str = ""
        self._chunks, self._rest = chunks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._rest:
            self._rest = memoryview(self._chunk())
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        self.count += size
        return size

    def tell(self) -> int:
        return self.count

    def ahead(self, least: int) -> bytes:
        """Return the bytes that come next without taking them: at least `least`, if so many are left."""
        while len(self._rest) < least and (more := self._chunk()):
            self._rest = memoryview(bytes(self._rest) + more)
        return bytes(self._rest)

    def _chunk(self) -> bytes:
        if self.heard is not None:
            self.heard()
        try:
            return next(self._chunks, b"")
        except OSError as error:
            self.trouble = error.strerror or str(error)
            return b""


class Source(NamedTuple):
    """An opened source: `stream` reads from `feed`; `close` leaves alone what was not opened here."""

    name: str
    feed: ChunkStream
    stream: io.BufferedReader
    close: Callable[[], None]
    pipe: int | None = None
    """The descriptor that is waited on where bytes come as they are written: a pipe, a socket, a terminal."""
    raw: Any = None
    """What the bytes are read from, still compressed if they are."""

    def extent(self) -> tuple[int, int | None]:
        """Return how many bytes were read, and how many there are: as they stand in the file, compressed or not.

        None stands for what is not known, such as the bytes that a pipe will bring; then the plain bytes are counted.
        """
        with suppress(AttributeError, OSError, ValueError):
            found = os.fstat(self.raw.fileno())
            if stat.S_ISREG(found.st_mode):
                return self.raw.tell(), found.st_size
        return self.feed.count, None

    def is_silent(self, seconds: float) -> bool:
        """Wait up to so many seconds for bytes; return whether none came. A file is never silent.

        Bytes that were read and are still held here are not seen: they count as silence.
        """
        return self.pipe is not None and not select.select([self.pipe], [], [], seconds)[0]


def open_source(source: str | os.PathLike[str] | BinaryIO) -> Source:
    """Open and look at the first bytes; raises CaptureError when there is nothing to read."""
    name, raw, close = _open(source)
    read: Callable[[int], bytes] = getattr(raw, "read1", raw.read)
    try:
        head = b""
        while len(head) < 4 and (more := read(4 - len(head))):
            head += more
        chunks: Iterator[bytes] = chain([head] if head else [], iter(lambda: read(CHUNK), b""))
        if head.startswith(GZIP):
            chunks = _inflated(chunks, "gzip", lambda: zlib.decompressobj(31), zlib.error)
        elif head == ZSTD:
            try:
                import zstandard
            except ImportError as error:
                remedy = "install zstandard: pip install zstandard"
                raise CaptureError(name, "is compressed with zstd", remedy) from error
            fresh = zstandard.ZstdDecompressor
            chunks = _inflated(chunks, "zstd", lambda: fresh().decompressobj(), zstandard.ZstdError)
    except CaptureError:
        close()
        raise
    except OSError as error:
        close()
        raise _refused(name, error) from error
    feed, pipe = ChunkStream(chunks), None
    with suppress(AttributeError, OSError, ValueError):  # a stream without a descriptor
        mode = os.fstat(raw.fileno()).st_mode
        pipe = raw.fileno() if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode) else None
    return Source(name, feed, io.BufferedReader(feed, CHUNK), close, pipe, raw)


def reopened(source: Source, place: int) -> Source:
    """Return the source of an opened file from a place on."""
    source.raw.seek(place)
    feed = ChunkStream(iter(lambda: source.raw.read(CHUNK), b""))
    feed.count = place
    return source._replace(feed=feed, stream=io.BufferedReader(feed, CHUNK))


def _open(source: str | os.PathLike[str] | BinaryIO) -> tuple[str, Any, Callable[[], None]]:
    if source == "-":
        if sys.stdin is None:
            raise CaptureRefused("stdin", "is closed")
        return "stdin", sys.stdin.buffer, lambda: None
    if not isinstance(source, str | os.PathLike):  # it stays the caller's, and open
        return str(getattr(source, "name", "stream")), source, lambda: None
    name = os.fspath(source)
    try:
        raw = io.FileIO(name)
    except (OSError, ValueError) as error:
        raise _refused(name, error) from error
    return name, raw, raw.close


def _refused(name: str, error: Exception) -> CaptureRefused:
    """Return the error to raise for a file that cannot be opened: the operating system's reason in plain words."""
    words: dict[type[Exception], str] = {
        FileNotFoundError: "no such file",
        IsADirectoryError: "is a directory, not a capture",
    }
    problem = words.get(type(error)) or getattr(error, "strerror", None) or str(error)
    return CaptureRefused(name, problem[0].lower() + problem[1:])


def _inflated(chunks: Iterator[bytes], codec: str, fresh: Callable[[], Any], error: type[Exception]) -> Iterator[bytes]:
    """Decompress, with a `fresh` decoder for each member or frame; zeros may pad the end of a gzip file."""
    decoder, step = fresh(), STEPS[codec]
    try:
        for chunk in chunks:
            for start in range(0, len(chunk), step):
                piece = chunk[start : start + step]
                while piece:
                    if decoder.eof:
                        if not (piece := piece.lstrip(b"\0")):
                            break
                        decoder = fresh()
                    if out := decoder.decompress(piece):
                        yield out
                    piece = decoder.unused_data
    except error as reason:
        raise OSError(f"the {codec} stream is damaged ({reason})") from reason
    if not decoder.eof:
        raise OSError(f"the {codec} stream is truncated")


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
    damaged = UnknownCapture(source.name, "the file ends or is damaged inside its header")
    magic = _exactly(source.stream, 4)
    if magic in MAGICS:
        layout = Layout.of(magic + _exactly(source.stream, HEADER - 4))
        if layout is None:
            raise damaged
        return PcapReader(layout), b""
    from kdbg.capture.pcapng import MAGIC, PcapngReader  # which pcap files do without

    if magic == MAGIC:
        reader, data = PcapngReader(note, secrets), magic
        while not (taken := reader.take(data)).used:  # a file without a first block is refused when it is opened
            if taken.damage or not (more := _exactly(source.stream, taken.missing)):
                raise damaged
            data += more
        return reader, data
    unknown = f"not a pcap or pcapng file (starts with {magic.hex(' ')})" if magic else "is empty"
    raise UnknownCapture(source.name, source.feed.trouble or unknown)


def packets_of(
    stream: io.BufferedReader, reader: FormatReader, data: bytes, is_silent: Callable[[], bool] = lambda: False
) -> Iterator[Batch]:
    """Yield the packets of `data` and of the stream after it, as `open_packets` says.

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
        pieces, wanted = [], missing if data else 1
        while wanted > 0 and (piece := stream.read1(CHUNK)):  # with what else has come
            pieces.append(piece)
            wanted -= len(piece)
        if not pieces:
            break
        data = b"".join([data, *pieces] if data else pieces)
    if data:
        raise Damaged(reader.cut)


def part(arrived: Iterator[Batch], skip: int, most: int | None) -> Iterator[Batch]:
    """Yield packets without the first ones, and no more than `most`; what comes after these is not looked at."""
    for data, packets in arrived:
        kept = packets[skip:] if most is None else packets[skip : skip + most]
        skip -= min(skip, len(packets))
        if kept:
            yield data, kept
        if most is not None:
            most -= len(kept)
            if not most:
                return


def _exactly(stream: io.BufferedReader, size: int) -> bytes:
    """Read so many bytes, fewer at the end of the stream; memory is taken as they come."""
    pieces = []
    while size > 0 and (piece := stream.read(min(size, CHUNK))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
