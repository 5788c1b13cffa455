"""What is odd in the messages of public test suites (see test_vectors.py), and that none of them is passed over."""

from __future__ import annotations

from collections import Counter

import pytest

import kdbg
from kdbg.errors import WireError

from ..cases import for_each
from .test_vectors import (
    COUNT,
    EXPLAINED,
    NOT_CLEAN,
    PAYLOAD,
    PUBLIC,
    Vector,
    as_json,
    clean,
    kinds,
    odd,
    others,
    place,
    public,
    question,
    read_body,
    read_opened,
    snake_cased,
)

if not PUBLIC.is_file():
    pytest.skip(f"{PUBLIC} is absent: test suites of others, which may not be copied", allow_module_level=True)


@pytest.fixture(scope="module")
def vectors() -> list[Vector]:
    return public()


def test_every_row_is_in_one_test_or_explained(vectors: list[Vector]) -> None:
    assert len(clean(vectors)) == 1225
    assert sorted(map(place, odd(vectors))) == sorted(NOT_CLEAN)
    assert sorted(map(place, others(vectors))) == sorted(EXPLAINED)
    assert {place(vector) for vector in clean(vectors) if kinds(read_opened(vector))} == set(PAYLOAD)
    assert 1225 + len(NOT_CLEAN) + len(EXPLAINED) == COUNT


@for_each("place_", [*NOT_CLEAN, *EXPLAINED])
def test_rows_that_are_not_clean_are_found_to_be_what_they_are(place_: str, vectors: list[Vector]) -> None:
    expected = (NOT_CLEAN | EXPLAINED)[place_]
    (vector,) = (
        vector for vector in vectors if place(vector) == place_ and (vector["class"] != "ok") == (place_ in EXPLAINED)
    )
    message = read_body(vector)
    assert tuple(finding.kind for finding in message.findings) == expected.kinds, expected.why
    body = bytes.fromhex(vector["body_hex"])
    if expected.raises is None:
        assert kdbg.decode(body, header=False, **question(vector)) == message
        return
    with pytest.raises(WireError) as caught:
        kdbg.decode(body, header=False, **question(vector))
    assert caught.value.kind == expected.raises, expected.why


def test_a_wrong_checksum_spoils_nothing_else(vectors: list[Vector]) -> None:
    vector = next(v for v in odd(vectors) if v["source"] == "kafka-rust/kafka-rust")
    message = read_body(vector)
    assert as_json(message.grammar, message.body) == snake_cased(vector["values"])
    (entry,) = message.body["responses"][0]["partitions"][0]["records"]
    assert (entry["crc"], entry["key"]) == (0x58585858, None)
    assert entry["value"].startswith(b'01."Well, Prince')


def test_zeros_in_place_of_a_record_set_are_kept(vectors: list[Vector]) -> None:
    for vector in odd(vectors):
        if vector["source"] == "pixie-io/pixie":
            message = read_body(vector)
            assert as_json(message.grammar, message.body) == snake_cased(vector["values"])
            ((name, data),) = message.body["responses"][0]["partitions"][0]["records"][0].items()
            assert name == "raw"
            assert not any(data)


def test_many_apis_and_both_directions_are_among_them(vectors: list[Vector]) -> None:
    assert len({(vector["api"], vector["direction"], vector["version"]) for vector in clean(vectors)}) > 250
    assert len(Counter(vector["source"] for vector in vectors)) == 8
