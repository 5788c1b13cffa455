"""Every kind of file but the log: recognised by what it holds, read to its end, and its damage found."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.payloads.segments import KINDS, SUFFIXES, SegmentPiece, open_file
from kdbg.protocol.wire.records.sets import crc32c

from ..cases import for_each
from .made import TIME, batch, findings, message, opened, pieces

INDEX = b"".join(struct.pack(">ii", i * 10, i * 4096) for i in range(1, 6))
TIMES = b"".join(struct.pack(">qi", TIME + i, i * 10) for i in range(5))
ABORTED = b"".join(struct.pack(">hqqqq", 0, 7, i * 10, i * 10 + 5, i * 10 + 6) for i in range(3))
PRODUCERS = struct.pack(">i", 1) + struct.pack(">qhiqiqiq", 7, 0, 5, 99, 2, TIME, 0, -1)
SNAPSHOT = struct.pack(">hI", 1, crc32c(PRODUCERS)) + PRODUCERS
EPOCHS = b"0\n2\n0 0\n3 1234\n"
OFFSETS = b"0\n2\norders 0 17\n__consumer_offsets 3 -1\n"
PROPERTIES = b"#\n#Sat Nov 21 03:23:15 UTC 2026\nversion=1\nnode.id=1\ncluster.id=abc-123\n"
METADATA = b"version: 0\ntopic_id: kxgFLFuBTwyvFsGcen7wJg"
QUORUM = b'{"leaderId":1,"leaderEpoch":2,"votedId":-1,"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
FILES: dict[str, tuple[bytes, str]] = {
    "batches": (batch(0), "log"), "messages": (message(0) + message(1, 0), "log"), "index": (INDEX, "index"),
    "times": (TIMES, "timeindex"), "aborted": (ABORTED, "txnindex"), "producers": (SNAPSHOT, "snapshot"),
    "epochs": (EPOCHS, "checkpoint"), "offsets": (OFFSETS, "checkpoint"), "properties": (PROPERTIES, "properties"),
    "partition": (METADATA, "properties"), "quorum": (QUORUM, "quorum-state"),
}  # fmt: skip
every_file = for_each("what", FILES)


def values(data: bytes, name: str = "x") -> list[dict[str, Any]]:
    """What the pieces say."""
    file = opened(data, name)
    return [file.kind.message(piece).body for piece in file.pieces() if not piece.zeros]


@every_file
def test_it_is_recognised_by_its_content_alone(what: str) -> None:
    data, kind = FILES[what]
    assert opened(data, "a file of any name").kind.name == kind


@every_file
def test_its_content_wins_over_a_wrong_name_if_that_does_not_fit(what: str) -> None:
    data, kind = FILES[what]
    assert opened(data, "00000000000000000000.snapshot").kind.name == kind


@for_each("suffix", SUFFIXES)
@for_each("data", [b"", bytes(8), bytes(4096)], ids=["empty", "8 zeros", "4096 zeros"])
def test_nothing_and_zeros_are_what_their_name_says(suffix: str, data: bytes) -> None:
    name = suffix if not suffix.startswith(".") else f"{0:020}{suffix}"
    assert opened(data, name).kind.name == SUFFIXES[suffix].name
    assert open_file("x", data, lambda size: b"") is None


@every_file
def test_its_pieces_are_the_file(what: str) -> None:
    data, _ = FILES[what]
    for most in (1, 7, 1 << 20):
        found = pieces(data, "x", most)
        assert b"".join(piece.data for piece in found) == data
        assert [piece.position for piece in found] == [
            sum(piece.size for piece in found[:i]) for i in range(len(found))
        ]
        assert findings(found) == []


@every_file
def test_every_byte_is_explained(what: str) -> None:
    file = opened(FILES[what][0], "x")
    for piece in file.pieces():
        inspection = file.kind.inspection(piece)
        spans = [span for span in inspection.spans if span.buffer == 0]
        assert [span.start for span in spans[1:]] == [span.end for span in spans[:-1]]
        assert (spans[0].start, spans[-1].end) == (0, piece.size)
        assert inspection.findings == []


@given(st.sampled_from(sorted(FILES)), st.data())
def test_no_byte_is_lost_and_nothing_raised_whatever_is_in_it(what: str, draw: st.DataObject) -> None:
    data = bytearray(FILES[what][0])
    for _ in range(draw.draw(st.integers(1, 4))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    data = data[: draw.draw(st.integers(1, len(data)))]
    for kind in KINDS:
        stream = [bytes(data)]
        found = list(kind.pieces(lambda size: stream.pop() if stream else b""))  # noqa: B023
        assert b"".join(piece.data or bytes(piece.zeros) for piece in found) == data
        for piece in found:
            if piece.whole and not piece.zeros:
                kind.message(piece)
                kind.inspection(piece)


def test_entries_of_an_index_have_the_offset_they_are_for() -> None:
    file = opened(INDEX, "orders-0/00000000000000001000.index")
    first = next(file.pieces())
    message = file.kind.message(first)
    assert message.body == {"relative_offset": 10, "position": 4096}
    assert file.kind.facts(message, file.place.base_offset) == {"offset": 1010}
    assert file.kind.facts(message, None) == {}


@pytest.mark.parametrize(
    ("data", "name", "text"),
    [
        (INDEX[:16] + INDEX[:8], "index", "relative_offset 10 follows 20, but offsets must increase"),
        (INDEX[:8] + struct.pack(">ii", 11, 1), "index", "position 1 follows 4096, but positions must increase"),
        (TIMES[:24] + TIMES[:12], "timeindex", f"timestamp {TIME} follows {TIME + 1}, but times must increase"),
        (
            ABORTED[34:68] + ABORTED[:34],
            "txnindex",
            ("last_offset 5 follows 15, but transactions must end in offset order"),
        ),
    ],
)
def test_entries_out_of_order(data: bytes, name: str, text: str) -> None:
    (odd,) = [piece for piece in pieces(data, f"{0:020}.{name}") if piece.findings]
    assert (odd.findings[0].kind, odd.findings[0].text) == ("out-of-order", text)


def test_an_index_that_was_set_aside_ends_in_zeros() -> None:
    *entries, rest = pieces(INDEX + bytes(10_000_000), "x")
    assert (len(entries), rest.padding, rest.zeros) == (5, True, 10_000_000)


def test_zeros_that_entries_follow_are_damage() -> None:
    found = pieces(INDEX[:8] + bytes(16) + INDEX[8:], f"{0:020}.index")
    assert findings(found) == [(8, "undecoded-bytes")]
    assert len(found) == 6


def test_an_index_that_ends_inside_an_entry() -> None:
    assert findings(pieces(INDEX[:-3], f"{0:020}.index")) == [(32, "truncated")]


def test_a_snapshot_whose_checksum_is_wrong() -> None:
    (piece,) = pieces(SNAPSHOT[:-1] + b"\0", f"{0:020}.snapshot")
    assert piece.findings[0].text.startswith("snapshot: stored CRC-32C 0x")


def test_what_texts_say() -> None:
    assert values(EPOCHS) == [
        {"version": 0}, {"count": 2}, {"epoch": 0, "start_offset": 0}, {"epoch": 3, "start_offset": 1234},
    ]  # fmt: skip
    assert values(OFFSETS)[2:] == [
        {"topic": "orders", "partition": 0, "offset": 17},
        {"topic": "__consumer_offsets", "partition": 3, "offset": -1},
    ]
    assert values(PROPERTIES)[1:3] == [
        {"comment": "Sat Nov 21 03:23:15 UTC 2026"}, {"name": "version", "value": "1"},
    ]  # fmt: skip
    assert values(METADATA)[1] == {"name": "topic_id", "value": "kxgFLFuBTwyvFsGcen7wJg"}
    assert {one["name"]: one["value"] for one in values(QUORUM)} == {
        "leaderId": "1", "leaderEpoch": "2", "votedId": "-1", "currentVoters": '[{"voterId":1},{"voterId":2}]',
        "data_version": "0",
    }  # fmt: skip


def test_a_checkpoint_with_too_few_lines() -> None:
    found = pieces(EPOCHS[:-7], "leader-epoch-checkpoint")
    assert [str(finding) for piece in found for finding in piece.findings] == [
        "invalid-length: the file has 1 line, but declares 2"
    ]


def test_a_line_of_nonsense() -> None:
    file = opened(EPOCHS + b"\xff\x1b[31m what is this\n", "leader-epoch-checkpoint")
    *_, last = file.pieces()
    assert isinstance(last, SegmentPiece)
    assert file.kind.message(last).findings[0].text == "not a valid line of a checkpoint"
