"""Tagged fields as they stand on the wire: behind a structure (KIP-482), or in front of it (the draft of KIP-482).

KIP-482: a count, then tag, size and value of each; count, tag and size are UNSIGNED_VARINTs.

The draft calls them optional fields: every structure, the message itself included, begins with a buffer of entries,
each a VARINT length, an INT16 tag and the value; a length of 0, which neither tag nor value follow, ends the buffer.
What the draft leaves open is decided here:

- The length counts the value alone: "a field length, followed by a two-byte tag, followed by the field itself". KIP-482
  kept it so. No type takes 0 bytes (a boolean takes 1, an empty string 2, an empty structure the 1 that ends its own
  buffer), so the 0 at the end is never mistaken for a value.
- VARINT is what Kafka called so at the time, zigzag as in record batches: 5 is written 0a. A negative length is none.
- "Any value from 0 to 65535, inclusive, is a legal tag": the two bytes are unsigned, and tags ascend as such.
- Headers are no structure of the message: the buffer begins the body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....errors import BadLength, BuildError
from ...findings.faults import NegativeFieldLength
from .leaves import UINT16, UVARINT, VARINT, Stream

TAGGED = "tagged_fields"
"""The key under which a structure's unknown tagged fields stand, tag -> bytes; absent where there are none."""

NO_TAGS = b"\0"
"""What stands behind a structure of which no tagged field is set."""
LAST_FRONT_TAG = 0xFFFF
TagPosition = tuple[int, int, int]
"""(tag, where the entry starts, size of its value); whoever asks for entries reads the values in between."""


def read_tags(stream: Stream, path: str, *, front: bool) -> Iterator[TagPosition]:
    """Yield the place of each tagged field of one structure; `front` reads the draft's form."""
    return _read_front(stream, path) if front else _read_behind(stream, path)


def _read_behind(stream: Stream, path: str) -> Iterator[TagPosition]:
    for _ in range(UVARINT._parse(stream, None, path)):
        start = stream.tell()
        tag = UVARINT._parse(stream, None, path)
        yield tag, start, UVARINT._parse(stream, None, path)


def _read_front(stream: Stream, path: str) -> Iterator[TagPosition]:
    while True:
        start = stream.tell()
        size = front_size(VARINT._parse(stream, None, path), path, start)
        if size == 0:
            return
        yield UINT16._parse(stream, None, path), start, size


def front_size(size: int, path: str, start: int) -> int:
    """Return the length in bytes of an optional field, read at `start`; raise `BadLength` for one below 0."""
    if size < 0:
        raise BadLength(path, start, NegativeFieldLength(size), VARINT.bnf)
    return size


def write_tags(entries: Mapping[int, bytes], stream: Stream, path: str, *, front: bool) -> None:
    """Write the tagged fields of one structure, lowest tag first; `front` writes the draft's form.

    Raise `BuildError` for an optional field that takes no bytes or has a tag above 65535.
    """
    write = _write_front if front else _write_behind
    write(sorted(entries.items()), stream, path)


def _write_behind(entries: list[tuple[int, bytes]], stream: Stream, path: str) -> None:
    UVARINT._build(len(entries), stream, None, path)
    for tag, data in entries:
        UVARINT._build(tag, stream, None, path)
        UVARINT._build(len(data), stream, None, path)
        stream.write(data)


def _write_front(entries: list[tuple[int, bytes]], stream: Stream, path: str) -> None:
    for tag, data in entries:
        if not data:
            raise BuildError(
                f"{path}.{tag}", "an optional field has at least 1 byte: length 0 ends the optional fields"
            )
        if tag > LAST_FRONT_TAG:
            raise BuildError(f"{path}.{tag}", f"the tag of an optional field must be 0 to {LAST_FRONT_TAG}")
        VARINT._build(len(data), stream, None, path)
        UINT16._build(tag, stream, None, path)
        stream.write(data)
    VARINT._build(0, stream, None, path)
