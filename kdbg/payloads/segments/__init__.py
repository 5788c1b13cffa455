"""Files of a broker's disk: bytes in, the pieces they are made of out, one after the other and in bounded memory.

A log segment is a record set without an end; beside it lie its indexes, a snapshot of its producers, checkpoints. A
file is recognised by what it holds; its name says whose it is (piece.py) and decides where the content
leaves a doubt, as zeros do. `open_file` puts the two together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from . import files
from .log import Log
from .piece import FileKind, LogLocation, Read, SegmentPiece, place_of

__all__ = ["File", "FileKind", "LogLocation", "SegmentPiece", "more_wanted", "named_kind", "open_file", "place_of"]


HEAD = 1 << 14
"""Bytes that a file is recognised by."""
log_kind: Final = Log()
snapshot: Final = files.Snapshot()
KINDS: tuple[FileKind, ...] = (
    log_kind, files.checkpoint, files.quorum_state, files.properties, snapshot, files.transaction_index,
    files.time_index, files.offset_index,
)  # fmt: skip
"""Those that their first bytes give away come first: four small numbers may be the entries of any index."""
CHECKPOINTS = ("leader-epoch", "recovery-point-offset", "replication-offset", "log-start-offset", "cleaner-offset")
SUFFIXES: dict[str, FileKind] = {
    ".log": log_kind, ".checkpoint": log_kind, ".index": files.offset_index, ".timeindex": files.time_index,
    ".txnindex": files.transaction_index, ".snapshot": snapshot, "quorum-state": files.quorum_state,
    "meta.properties": files.properties, "partition.metadata": files.properties,
    **{f"{name}-checkpoint": files.checkpoint for name in CHECKPOINTS},
}  # fmt: skip
"""What a file is by its name, where it holds nothing, zeros, or damage at its very beginning."""


@dataclass(frozen=True)
class File:
    """A file that was recognised; its pieces are there to be gone through once."""

    kind: FileKind
    place: LogLocation
    read: Read

    @property
    def is_log(self) -> bool:
        """Whether its pieces are batches and messages, and no entries."""
        return isinstance(self.kind, Log)

    def hides(self, piece: SegmentPiece) -> bool:
        """Whether bytes of it that cannot be read may hold secrets."""
        return isinstance(self.kind, Log) and self.kind.hides(piece)

    def pieces(self) -> Iterator[SegmentPiece]:
        return self.kind.pieces(self.read)


def open_file(name: str, head: bytes, read: Read) -> File | None:
    """Recognise a file, which `read` gives from its start, by that or by its name; return None if it is no broker's."""
    place = place_of(name)
    named = SUFFIXES.get(place.suffix)
    kind = next((kind for kind in filter(None, (named, *KINDS)) if kind.begins(head)), named)
    return None if kind is None else File(Log(place.topic, head) if kind is log_kind else kind, place, read)


def more_wanted(head: bytes) -> bool:
    """Whether more bytes of a file are needed to recognise it."""
    return len(head) < HEAD and not log_kind.begins(head)


def named_kind(name: str, head: bytes) -> FileKind | None:
    """Return a file's kind if both its name and its first bytes say so, else None."""
    named = SUFFIXES.get(place_of(name).suffix)
    return named if named is not None and named.begins(head[:HEAD]) else None
