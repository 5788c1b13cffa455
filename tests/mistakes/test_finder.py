"""Mistakes of programs that write messages: each is made in a valid message, found, and corrected."""

from __future__ import annotations

import pytest

from kdbg.exchanges.guess.pieces import pieces

from ..cases import for_each

METADATA = bytes.fromhex("0003 0001 00000002 0004 6b646267 00000001 0003 666f6f")
VERSIONS = bytes.fromhex("0012 0003 00000001 0006 746573742d31 00 056b616661 0431 2e30 00".replace(" ", ""))
TOPICS = bytes.fromhex("0003 0009 00000002 0004 6b646267 00 02 04 666f6f 00 01 00 00 00".replace(" ", ""))


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def swapped(data: bytes) -> bytes:
    head = data[1::-1] + data[3:1:-1] + data[7:3:-1] + data[9:7:-1]
    return len(data).to_bytes(4, "little") + head + data[10:]


CASES = {
    "size that counts itself": ("size-counts-itself", b"\0\0\0\x1b" + METADATA, METADATA),
    "little-endian": ("little-endian-header", swapped(METADATA), METADATA),
    "compact client id": (
        "compact-client-id", framed(VERSIONS[:8] + b"\7test-1" + VERSIONS[16:]), VERSIONS,
    ),
    "header without tags": ("missing-header-tags", framed(VERSIONS[:16] + VERSIONS[17:]), VERSIONS),
    "header with tags": ("unexpected-header-tags", framed(METADATA[:14] + b"\0" + METADATA[14:]), METADATA),
    "missing tags": ("missing-tagged-fields", framed(VERSIONS[:-1]), VERSIONS),
    "INT32 length": ("int32-length", framed(TOPICS[:15] + b"\0\0\0\1" + TOPICS[16:]), TOPICS),
}  # fmt: skip


@for_each("name", CASES)
def test_a_mistake_is_named_with_the_bytes_as_they_should_be(name: str) -> None:
    mistake, wrong, right = CASES[name]
    (piece,) = pieces(wrong)
    first = piece.mistakes[0]
    assert (first.kind, first.corrected.hex()) == (mistake, framed(right).hex())


@pytest.mark.parametrize("data", [METADATA, VERSIONS, TOPICS])
def test_valid_messages_have_none(data: bytes) -> None:
    assert [piece.mistakes for piece in pieces(framed(data))] == [()]
