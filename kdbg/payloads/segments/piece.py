"""What files of a broker's disk are made of, and what every kind of file can do with its pieces."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...exchanges.messages.message import Message
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import FactKind, PlainFact
from ...protocol.wire.readings.annotate import Inspection

Read = Callable[[int], bytes]
"""Gives some bytes, at most as many as it is asked for; none at the end."""
CHUNK = 1 << 18
"""Bytes that are asked for at once."""
LARGEST = (128 << 20) - 1
"""A piece has no more bytes: larger than any batch that brokers accept by default."""


@dataclass(frozen=True, slots=True)
class SegmentPiece:
    """A part of a file that stands for itself: a batch, a message, an entry of an index, a line; or damage.

    `position` is that of its first byte, counted from the file's. `findings` are those that are known without reading
    it. `whole` is false for bytes that are no entry; `zeros` counts bytes of zero, of which no copy is kept.
    """

    position: int
    data: bytes
    findings: tuple[Finding, ...] = ()
    whole: bool = True
    zeros: int = 0

    @property
    def size(self) -> int:
        return len(self.data) or self.zeros

    def odd(self, message: Message | None) -> list[Finding]:
        """Return its own findings, and those of its message; a damaged piece has only its own."""
        return [*self.findings, *(message.findings if message is not None and self.whole else ())]

    @property
    def padding(self) -> bool:
        """Whether it is space that a broker has set aside and not written to: nothing to show."""
        return bool(self.zeros) and not self.findings


def read_at_most(read: Read, most: int) -> Iterator[bytes]:
    """Read to the end, at most so many bytes."""
    while most > 0 and (more := read(min(CHUNK, most))):
        yield more
        most -= len(more)


def of_file(finding: Finding) -> Finding:
    """Return the finding of a message as one of a file, which has no request and no response."""
    return finding._replace(side="")


def ends_inside(what: str, position: int, data: bytes, size: int) -> SegmentPiece:
    """Make the piece for a file that ends inside `what`, which should have `size` bytes."""
    odd = Finding(Kind.TRUNCATED, "", "", 0, len(data), FactKind.ENTRY_CUT.of(what=what, left=len(data), size=size))
    return SegmentPiece(position, data, (odd,), whole=False)


def zeros_between(position: int, zeros: int) -> SegmentPiece:
    """Make the piece for bytes of zero that something follows."""
    return SegmentPiece(
        position, b"", (Finding(Kind.UNDECODED_BYTES, "", "", 0, zeros, PlainFact.ZEROS),), False, zeros
    )


class FileKind(ABC):
    """A kind of file. `name` is a word for it, `title` says what it is."""

    name: str
    title: str

    @property
    def timed(self) -> bool:
        """Whether pieces have a time."""
        return False

    @abstractmethod
    def begins(self, head: bytes) -> bool:
        """Whether a file that begins so may be of this kind; `head` is all of it if it is short."""

    @abstractmethod
    def pieces(self, read: Read) -> Iterator[SegmentPiece]:
        """Yield the pieces of a file that `read` gives from its start; never raise for what it holds."""

    @abstractmethod
    def message(self, piece: SegmentPiece, *, shallow: bool = False) -> Message:
        """Read a piece; `shallow` leaves the records of batches unread."""

    @abstractmethod
    def inspection(self, piece: SegmentPiece) -> Inspection:
        """Read a piece with the place of every byte, counted from the piece's first one."""

    def facts(self, message: Message, base_offset: int | None) -> dict[str, Any]:
        """Return what a piece means with the offset in the file's name: the offset that an index entry is for."""
        return {}

    def times(self, message: Message) -> tuple[int, int] | None:
        """Return the earliest and the latest time in a piece, in milliseconds since 1970; None without times."""
        return None


METADATA_TOPIC = "__cluster_metadata"
PASSING = re.compile(r"(\.(deleted|cleaned|swap|part|gz|zst))+$")
FOLDER = re.compile(r"(?P<topic>[A-Za-z0-9._-]+?)-(?P<partition>\d{1,10})(\.[0-9a-f]{32}-(delete|future|stray))?")
NUMBERED = re.compile(r"(?P<offset>\d{20})(-\d{10})?")


class LogLocation(NamedTuple):
    """What a name says: topic and partition by the folder, the first offset by the file; None where it does not.

    `suffix` is what tells kinds of files apart: ".log", ".index"; the whole name where there is no number in front.
    """

    topic: str | None = None
    partition: int | None = None
    base_offset: int | None = None
    suffix: str = ""


def place_of(name: str) -> LogLocation:
    """Return topic, partition and first offset of a path as the user wrote it."""
    *folders, file = name.replace("\\", "/").split("/")
    file = PASSING.sub("", file)
    stem, dot, suffix = file.rpartition(".")
    topic = partition = offset = None
    if found := FOLDER.fullmatch(folders[-1] if folders else ""):
        topic, partition = found["topic"], int(found["partition"])
    if suffix == "checkpoint" and topic is None:
        topic, partition = METADATA_TOPIC, 0
    if dot and (numbered := NUMBERED.fullmatch(stem)):
        offset, file = int(numbered["offset"]), dot + suffix
    return LogLocation(topic, partition, offset, file)
