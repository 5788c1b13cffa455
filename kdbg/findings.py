"""What is odd in the traffic, as data: a finding never stops the decoding around it."""

from __future__ import annotations

from typing import NamedTuple

KINDS: dict[str, str] = {
    "gap": "bytes of the TCP stream are missing from the capture",
    "skipped": "bytes were passed over until a frame proved itself again",
    "truncated": "the message ends inside a field",
    "leftover": "the message was complete before its length said so",
    "bad-length": "a length or count that no message can have",
    "bad-value": "a value that its type does not have",
    "null": "null where the grammar allows none",
    "not-utf8": "a string that is not valid UTF-8",
    "non-minimal-varint": "a varint written in more bytes than it needs",
    "unknown-api": "an API key that kdbg has no grammar for",
    "unknown-version": "a version of a known API that kdbg has no grammar for",
    "unknown-tag": "a tagged field that the grammar does not name",
    "tag-order": "tagged fields out of order, or one of them twice",
    "crc": "a checksum that does not match its record batch or message",
    "compression": "a compressed batch that does not decompress",
    "order": "offsets or times in a file that only grow, and here do not",
    "record-set": "bytes in a record set that are no batch and no message",
    "payload": "bytes inside a field or a record that are not what they should be",
    "dialect": "not the layout of this version, but a known other form of it",
    "unanswered": "no response was seen",
    "unasked": "a response whose request was not seen",
    "not-kafka": "a connection that does not speak Kafka in the clear",
    "capture": "the capture file itself is damaged",
}
"""Every kind of finding there is, with the sentence that explains it."""


class Finding(NamedTuple):
    """One odd thing.

    `start` and `length` are bytes, counted from the first byte of the message's header (the 4-byte size not
    counted); `path` is the field, where one can be named.
    """

    kind: str
    text: str
    path: str = ""
    start: int | None = None
    length: int = 0

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


NOTICES = frozenset({"dialect", "unknown-tag", "unanswered", "unasked", "non-minimal-varint"})
"""Kinds that tell of something notable in traffic that was nevertheless decoded whole: they leave exit status 0."""
