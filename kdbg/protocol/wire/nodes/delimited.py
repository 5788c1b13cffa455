"""Text between marks, as the tokens of SASL mechanisms have it (RFC 4616, RFC 5802, RFC 7628): no length stands there.

    "user" / Marked(",n=", ",")       the text behind `,n=`, up to the next comma or the end
    "extensions" / Each("\\x01", ...)  as many items as there are such marks ahead

What ends a text is not part of it: the mark of the next field begins there. In place of a length on the wire, `Mark`
and `Ahead` read what stands in front of the text and look how far it goes.
"""

from __future__ import annotations

from typing import Any

from ....errors import BadValue, BuildError
from ...findings.faults import MarkMissing
from ..language.types import At, Declaration, Struct
from . import WireArray
from .leaves import Length, Node, Sized, Stream, to_bytes

STEP = 256
"""Bytes looked at in one go: texts are short."""


class Mark(Node):
    """The mark in front of a text; its value is the length of that, -1 where `absent` stands instead of the mark."""

    bnf = "MARK"
    mark: bytes
    stop: bytes
    absent: bytes | None

    def __init__(self, mark: bytes, stop: bytes, absent: bytes | None) -> None:
        super().__init__()
        self.mark, self.stop, self.absent = mark, stop, absent

    def _parse(self, stream: Stream, context: Any, path: str) -> int:
        start = stream.tell()
        if stream.read(len(self.mark)) == self.mark:
            return self._extent(stream)
        stream.seek(start)
        if self.absent is None or stream.read(len(self.absent)) != self.absent:
            raise BadValue(path, start, MarkMissing(self.mark.decode()), "TEXT")
        return -1

    def _extent(self, stream: Stream) -> int:
        """Return the number of bytes up to the stop, which is one byte, or up to the end; read none of them."""
        start = stream.tell()
        while piece := stream.read(STEP):
            found = piece.find(self.stop) if self.stop else -1
            if found >= 0:
                stream.seek(found - len(piece), 1)
                break
        length = stream.tell() - start
        stream.seek(start)
        return length

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        stream.write(self.mark if value >= 0 else self.absent or b"")
        return value


class Marked(Sized):
    """Text behind a mark, up to `stop` (one letter, or "" for the end).

    `absent` is what stands in place of both where the text is missing, which makes it null; None: it never is.
    `when`: as for `Secret`.
    """

    def __init__(self, mark: str, stop: str = "", *, absent: str | None = None, kind: str = "", when: str = "") -> None:
        self.mark: Mark = Mark(mark.encode(), stop.encode(), None if absent is None else absent.encode())
        super().__init__("TEXT", Length(self.mark, 0), text=True, nullable=absent is not None, kind=kind)
        self.when = when

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        stop = self.mark.stop
        if stop and value is not None and stop in to_bytes(value, path, self.bnf):
            raise BuildError(path, f"{stop.decode()!r} would end the text")
        return super()._build(value, stream, context, path)


class Ahead(Node):
    """How often a mark stands ahead, without those at the very end; nothing of it is on the wire."""

    bnf = "AHEAD"

    def __init__(self, mark: bytes) -> None:
        super().__init__()
        self.mark = mark

    def _parse(self, stream: Stream, context: Any, path: str) -> int:
        start = stream.tell()
        count = stream.read().rstrip(self.mark).count(self.mark)
        stream.seek(start)
        return count

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        return value


class Each(Declaration):
    """As many structures as there are marks ahead that begin one."""

    mark: bytes
    of: Struct

    def __init__(self, mark: str, *fields: Any) -> None:
        super().__init__()
        self.mark, self.of = mark.encode(), Struct(*fields)

    def at(self, at: At, *, nullable: bool = False) -> WireArray:
        return WireArray("ARRAY", Length(Ahead(self.mark), 0), self.of.structure(at), nullable=False)
