"""A record set as a field of a message: the word grammars use for it, and the node it becomes.

How record sets are read and written is imported when there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....budget import MEMORY
from ....errors import BadLength, BuildError
from ...findings.faults import NullForbidden
from ..language.types import At, Declaration
from ..nodes import COMPACT_LENGTH, INT32, Length, Node, Sized, take

if TYPE_CHECKING:
    from .sets import RecordFormat


class RecordSet(Declaration):
    """A record set behind its length in bytes; `cut` says that a broker may have cut its last entry."""

    format: RecordFormat
    cut: bool

    def __init__(self, format: RecordFormat, *, cut: bool = False) -> None:
        super().__init__()
        self.format, self.cut = format, cut

    def at(self, at: At, *, nullable: bool = False) -> RecordsNode:
        name = f"{'COMPACT_' * at.flexible}{'NULLABLE_' * nullable}RECORDS"
        length = COMPACT_LENGTH if at.flexible else Length(INT32, 0)
        return RecordsNode(name, length, self.format, nullable=nullable, cut=self.cut)


class RecordsNode(Node):
    """A length, then a record set. `cut` says that an entry may be cut at the end: brokers do so in fetches."""

    bnf: str
    length: Length
    format: RecordFormat
    nullable: bool
    cut: bool

    def __init__(self, bnf: str, length: Length, format: RecordFormat, *, nullable: bool, cut: bool) -> None:
        super().__init__()
        self.bnf, self.length, self.format, self.nullable, self.cut = bnf, length, format, nullable, cut

    def default(self) -> Any:
        return None if self.nullable else []

    def sized(self) -> Sized:
        """Return the node that reads the record set's bytes as plain bytes, without decoding them."""
        return Sized(self.bnf, self.length, text=False, nullable=self.nullable)

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        from .sets import INTERPRETED, decode

        start = stream.tell()
        length = self.length.parse(stream, path, self.bnf)
        if length < 0:
            if not self.nullable:
                raise BadLength(path, start, NullForbidden(self.bnf), self.bnf)
            return None
        MEMORY.begin()
        return decode(take(stream, length, path, self.bnf), self.format, INTERPRETED, cut=self.cut)

    def _build(self, value: Any, stream: Any, context: Any, path: str) -> Any:
        from .build import build_set

        if value is not None and not isinstance(value, list):
            self.sized()._build(value, stream, context, path)
            return value
        if value is None and not self.nullable:
            raise BuildError(path, f"null, but {self.bnf} must not be null")
        data = b"" if value is None else build_set(value, self.format, path)
        self.length.build(-1 if value is None else len(data), stream, path)
        stream.write(data)
        return value
