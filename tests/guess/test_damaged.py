"""Messages that were cut off, and record batches with a wrong byte: named all the same, never wrongly certain."""

from __future__ import annotations

import random

import pytest

import kdbg
from kdbg.exchanges.guess.candidates import Guess, Hints, Sure, sureness
from kdbg.exchanges.guess.infer import infer
from kdbg.exchanges.guess.pieces import pieces

from ..cases import by_day, for_each
from ..grammars.test_vectors import SOURCES, Vector, Vectors

CUT_FROM, SAMPLE = 41, 25
AMONG_THREE, FLIPPED = 0.8, 0.95
FLIPS = 100


def is_row(guess: Guess, row: Vector) -> bool:
    return (guess.api.key, guess.direction) == (row["api_key"], row["direction"]) and row["version"] in guess.versions


def rows_of(source: Vectors) -> list[Vector]:
    rows = [row for row in source() if row["class"] == "ok" and row["form"] != "body"]
    return [row for row in rows if len(row["frame_hex"]) > 2 * CUT_FROM + 4]


@for_each("said", by_day([True, False], 2))
@for_each("sized", [True, False])
@for_each("source", SOURCES)
def test_a_message_that_is_cut_is_among_the_first_three_and_never_surely_another(
    source: Vectors, sized: bool, said: bool
) -> None:
    chance = random.Random(sized * 2 + said)
    rows = chance.sample(rows_of(source), SAMPLE)
    named, surely_wrong = 0, []
    for row in rows:
        data = bytes.fromhex(row["frame_hex"])
        end = chance.randrange(CUT_FROM, min(len(data), 400))
        guesses = next(pieces(data[0 if sized else 4 : end], Hints(cut=said))).guesses
        named += any(is_row(guess, row) for guess in guesses[:3])
        if guesses and sureness(guesses) is Sure.CERTAIN and not is_row(guesses[0], row):
            surely_wrong.append((row["file"], end))
    assert surely_wrong == []
    assert named / len(rows) >= AMONG_THREE


def batch(chance: random.Random) -> bytes:
    """A record batch of one to five records, as a producer writes it."""
    time = 1_700_000_000_000
    records = [
        {"key": chance.choice([None, b"key"]), "value": chance.randbytes(chance.randint(1, 60)), "timestamp": time + at}
        for at in range(chance.randint(1, 5))
    ]
    entry = {"magic": 2, "attributes": chance.choice([0, 0, 1]), "base_timestamp": time, "records": records}
    body = {
        "acks": 1,
        "timeout_ms": 1,
        "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": [entry]}]}],
    }
    data = kdbg.encode(body, api="produce", version=3, direction="request")
    return data[data.index(b"\x00\x01t\x00\x00\x00\x01") + 15 :]


def test_a_batch_with_one_wrong_byte_is_called_one_with_what_is_wrong() -> None:
    chance = random.Random(4)
    missed = []
    for _ in range(FLIPS):
        data = bytearray(batch(chance))
        at = chance.randrange(len(data))
        data[at] ^= chance.randrange(1, 256)
        guess = infer(bytes(data))[0]
        covered = 8 <= at < 12 or at >= 16  # the first offset and the leader epoch may be any number
        wrong = guess.reason.name == "STRUCTURE" or guess.mended is not None
        if guess.api.name not in ("RecordSet", "RecordBatch") or (covered and not wrong):
            missed.append(at)
    assert len(missed) <= (1 - FLIPPED) * FLIPS


@pytest.mark.parametrize(("at", "path", "should"), [(16, "magic", 2), (11, "batch_length", None)])
def test_a_wrong_field_in_front_of_the_checksum_is_named(at: int, path: str, should: int | None) -> None:
    data = bytearray(batch(random.Random(5)))
    says = data[at] = data[at] ^ 0x11
    mended = infer(bytes(data))[0].mended
    assert mended is not None
    assert (mended.path, mended.should) == (path, should or len(data) - 12)
    assert mended.says & 0xFF == says


@pytest.mark.parametrize("data", [bytes(5), b"\0\0\0\1", b"x" * 7])
def test_few_bytes_are_not_weighed(data: bytes) -> None:
    assert [guess for guess in infer(data) if guess.cut] == []


@for_each("end", range(11, 18))
def test_a_request_without_its_size_that_ends_in_its_client_id_is_named(end: int) -> None:
    header = {"correlation_id": 1, "client_id": "kafka-7"}
    whole = kdbg.encode({}, api="ApiVersions", version=3, direction="request", header=header)
    guesses = next(pieces(whole[:end])).guesses
    assert (guesses[0].api.name, guesses[0].direction, guesses[0].cut) == ("ApiVersions", "request", True)
    assert sureness(guesses) is not Sure.CERTAIN
