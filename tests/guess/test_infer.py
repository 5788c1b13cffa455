"""Guesses about bytes of which nothing is said: requests by their header, responses by what fits and makes sense."""

from __future__ import annotations

import pytest

import kdbg
from kdbg.exchanges.engine.foreign import looks_like, number
from kdbg.exchanges.guess.candidates import Guess, Hints
from kdbg.exchanges.guess.infer import infer
from kdbg.exchanges.guess.pieces import pieces
from kdbg.exchanges.guess.structures import Reason
from kdbg.exchanges.messages.message import forms
from kdbg.protocol import grammars
from kdbg.protocol.wire.readings.compiled import message_reader

from ..cases import by_day, for_each
from ..grammars.test_vectors import SOURCES, Vector, Vectors

REQUEST = bytes.fromhex("00000017 0003 0001 00000002 0004 6b646267 00000001 0003 666f6f")
FIRST = 0.75
"""The share of response vectors whose API is guessed first."""


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def metadata_response(correlation_id: int = 2) -> bytes:
    broker = {"node_id": 1, "host": "kafka-1.example", "port": 9092, "rack": None}
    partition = {"partition_index": 0, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}
    body = {"brokers": [broker], "controller_id": 1, "topics": [{"name": "orders", "partitions": [partition]}]}
    header = {"correlation_id": correlation_id}
    return kdbg.encode(body, api="metadata", version=1, direction="response", header=header)


def batch() -> bytes:
    records = [{"key": b"k", "value": b"one"}, {"key": None, "value": b"two"}]
    topic = {"name": "t", "partition_data": [{"index": 0, "records": [{"magic": 2, "records": records}]}]}
    body = {"acks": 1, "timeout_ms": 1000, "topic_data": [topic]}
    data = kdbg.encode(body, api="produce", version=3, direction="request")
    return data[data.index(b"\x00\x01t\x00\x00\x00\x01") + 15 :]


def frames(source: Vectors, direction: str) -> list[Vector]:
    return [it for it in source() if it["direction"] == direction and it["class"] == "ok" and it["form"] != "body"]


def is_row(guess: Guess, row: Vector) -> bool:
    return (guess.api.key, guess.direction) == (row["api_key"], row["direction"]) and row["version"] in guess.versions


@pytest.mark.parametrize("sized", by_day([True, False], 2))
@pytest.mark.parametrize("source", SOURCES)
def test_every_request_that_a_client_wrote_is_recognised(source: Vectors, sized: bool) -> None:
    rows = frames(source, "request")
    wrong = [row["file"] for row in rows if not is_row(infer(frame(row, sized))[0], row)]
    assert len(rows) > 200
    assert wrong == []


@pytest.mark.parametrize("sized", by_day([True, False], 2))
@pytest.mark.parametrize("source", SOURCES)
def test_every_response_that_a_broker_wrote_is_among_the_fits_and_most_are_first(source: Vectors, sized: bool) -> None:
    rows = by_day(frames(source, "response"), 3)
    guesses = [infer(frame(row, sized)) for row in rows]
    missed = [row["file"] for row, found in zip(rows, guesses, strict=True) if not any(is_row(g, row) for g in found)]
    first = sum(is_row(found[0], row) for row, found in zip(rows, guesses, strict=True))
    assert missed == []
    assert first / len(rows) > FIRST


def frame(row: Vector, sized: bool) -> bytes:
    data = bytes.fromhex(row["frame_hex"])
    return data if sized else data[4:]


def test_a_request_says_where_it_begins_and_how_it_is_known() -> None:
    guess = infer(REQUEST)[0]
    assert (guess.api.name, guess.version, guess.direction) == ("Metadata", 1, "request")
    assert (guess.start, guess.end, guess.size, guess.exact) == (4, 27, 23, True)
    assert guess.reason is Reason.HEADER
    assert infer(REQUEST[4:])[0].start == 0


@for_each("cut", range(1, 11))
def test_a_request_that_is_cut_is_still_one(cut: int) -> None:
    guess = infer(REQUEST[:-cut])[0]
    assert (guess.api.name, guess.direction, guess.exact, guess.size) == ("Metadata", "request", False, 23)


def test_responses_that_read_the_same_are_one_guess() -> None:
    first, *others = infer(framed(bytes.fromhex("00000005 00000000 0000")))
    assert (first.api.name, first.version, first.versions) == ("Heartbeat", 3, (1, 2, 3))
    assert "LeaveGroup" in {guess.api.name for guess in others}
    assert sum(guess.likelihood for guess in (first, *others)) == pytest.approx(1)
    assert first.likelihood == max(guess.likelihood for guess in (first, *others))


def test_sense_comes_before_nonsense() -> None:
    guess = infer(framed(metadata_response()))[0]
    assert (guess.api.name, guess.version, guess.direction) == ("Metadata", 1, "response")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (Hints(grammars.api("metadata"), 1, "response"), ("Metadata", "response", 1)),
        (Hints(grammars.api("metadata"), None, "response"), ("Metadata", "response", 1)),
        (Hints(grammars.api("metadata")), ("Metadata", "response", 1)),
        (Hints(None, None, "response"), ("Metadata", "response", 1)),
        (Hints(grammars.api("leave-group"), 0, "response"), ("LeaveGroup", "response", 0)),
    ],
)
def test_what_is_told_narrows_the_guesses(told: Hints, expected: tuple[str, str, int]) -> None:
    guess = infer(framed(metadata_response()), told)[0]
    assert (guess.api.name, guess.direction, guess.version) == expected


def test_a_body_alone_is_taken_for_one_only_when_that_is_said() -> None:
    body = metadata_response()[4:]
    guess = infer(body, Hints(header=False))[0]
    assert (guess.api.name, guess.direction, guess.versions, guess.header) == ("Metadata", "response", (1,), False)


def test_a_response_with_a_wrong_checksum_is_found_all_the_same() -> None:
    body = {"responses": [{"topic": "orders", "partitions": [{"partition_index": 0, "records": []}]}]}
    data = kdbg.encode(body, api="fetch", version=4, direction="response", header={"correlation_id": 9})
    inside = batch()
    broken = inside[:17] + b"\0\0\0\0" + inside[21:]
    guess = infer(framed(data[:-4] + framed(broken)))[0]
    assert (guess.api.name, guess.direction, guess.exact) == ("Fetch", "response", False)


@pytest.mark.parametrize("sized", [True, False])
def test_a_record_set_by_itself_is_known_by_its_checksum(sized: bool) -> None:
    data = batch() + batch()
    guess = infer(framed(data) if sized else data)[0]
    assert (guess.api.name, guess.header, guess.end - guess.start) == ("RecordSet", False, len(data))


@pytest.mark.parametrize("token", [b"\0alice\0s3cret", b"admin\0alice\0s3cret", b"n,,n=alice,r=fyko+d2lbbFgONRv9"])
def test_a_sasl_token_by_itself_is_known(token: bytes) -> None:
    assert infer(framed(token))[0].api.name == "SaslToken"
    assert infer(token)[0].api.name == "SaslToken"


@pytest.mark.parametrize(
    "data", [b"\xde\xad\xbe\xef\xde\xad\xbe\xef\0", b"x", b"\0\0\0\0", b"HTTP/1.1 400 Bad Request\r\n"]
)
def test_nothing_is_guessed_about_what_is_no_message(data: bytes) -> None:
    assert infer(data) == []


def test_messages_one_after_the_other_are_cut_by_their_sizes() -> None:
    data = REQUEST + framed(metadata_response()) + REQUEST
    found = [(piece.start, piece.end, piece.guesses[0].direction) for piece in pieces(data)]
    end = len(data) - 27
    assert found == [(0, 27, "request"), (27, end, "response"), (end, end + 27, "request")]


def test_a_response_behind_its_request_is_known_by_the_correlation_id() -> None:
    request = framed(bytes.fromhex("000d 0001 00000005 ffff 0001 67 0001 6d"))
    response = framed(bytes.fromhex("00000005 00000000 0000"))
    guess = list(pieces(request + response))[1].guesses[0]
    assert (guess.api.name, guess.version) == ("LeaveGroup", 1)
    assert guess.reason is Reason.CORRELATION_ID


def test_bytes_around_messages_are_pieces_of_their_own() -> None:
    data = b"\xff\xff\xff" + REQUEST + b"\0\0\0"
    assert [(piece.start, piece.end, bool(piece.guesses)) for piece in pieces(data)] == [
        (0, 3, False), (3, 30, True), (30, 33, False),
    ]  # fmt: skip


def test_many_frames_take_time_in_proportion() -> None:
    assert sum(1 for _ in pieces(REQUEST * 2000)) == 2000


@for_each(
    ("value", "what"),
    [
        (369295616, "TLS (handshake"),
        (352518400, "TLS (alert"),
        (1213486160, "an HTTP response"),
        (1195725856, "an HTTP GET request"),
        (1347375956, "an HTTP POST request"),
        (1397966893, "an SSH banner"),
        (50331667, "a remote desktop connection"),
        (1347571544, "a PROXY protocol header"),
    ],
)
def test_numbers_from_logs_are_known(value: int, what: str) -> None:
    found = number(value)
    assert found is not None
    assert found.what.startswith(what)
    assert found.advice.endswith(".")


@for_each("value", [0, 23, 100 << 20, -1, 1 << 31, -(1 << 31) - 1])
def test_other_numbers_are_not(value: int) -> None:
    assert number(value) is None


def test_no_frame_that_a_broker_accepts_looks_like_something_else() -> None:
    sizes = (0, 1, 4, 255, 0x7FFF, 0x10000, 0x1603, 0x160301, 0x030000, 0x03000013, 100 << 20)
    assert [size for size in sizes if looks_like(size.to_bytes(4, "big") + b"\0\x03\0\x01")] == []


def test_another_form_is_guessed_behind_what_is_laid_out_as_its_version_says() -> None:
    """Of two bytes behind a correlation id FindCoordinator can be made only as the 0.8 guide has it on errors."""
    names = [guess.api.name for guess in infer(bytes.fromhex("00000005 0010"))]
    assert names[0] == "Heartbeat"
    assert names[-1] == "FindCoordinator"


def test_few_readers_are_compiled_for_bytes_that_hardly_any_layout_reads() -> None:
    response = framed(metadata_response())
    for data in (response, response[:-1], response[4:-9], response[:30] + b"\x55" + response[31:]):
        forms.cache_clear()
        message_reader.cache_clear()
        infer(data)
        assert message_reader.cache_info().currsize < 25


@pytest.mark.parametrize("zeros", [20, 1000])
@pytest.mark.parametrize("source", SOURCES)
def test_requests_in_a_buffer_whose_rest_is_zero(source: Vectors, zeros: int) -> None:
    for row in frames(source, "request")[::40]:
        data = frame(row, True)
        first, *others = pieces(data + bytes(zeros))
        assert is_row(first.guesses[0], row)
        assert first.end == len(data)
        assert [piece.empty for piece in others] == [True]


def test_a_response_without_size_in_a_buffer_whose_rest_is_zero() -> None:
    data = bytes.fromhex("00000007 0000 00000002 000000000009 00010000000b 00000000")
    first, rest = pieces(data + bytes(96))
    assert (first.guesses[0].api.name, first.end, rest.empty) == ("ApiVersions", 26, True)


def test_a_request_with_a_byte_left_over_is_one() -> None:
    data = bytes.fromhex("00120003 00000000 000a636f6e73756d65722d31 00 01 01 00 00")
    (guess, *_) = infer(data)
    assert (guess.api.name, guess.direction, guess.version) == ("ApiVersions", "request", 3)
