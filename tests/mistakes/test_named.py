"""Each mistake that programs make, made in messages of different APIs and versions: named, and nothing else named.

Each run tries a few of each; `KDBG_MISTAKES=20 python -m tests main tests/mistakes/test_named.py` many.
"""

from __future__ import annotations

import os
import random
import struct
from functools import cache

import pytest

from kdbg.exchanges.mistakes.finder import examine
from kdbg.protocol import grammars
from kdbg.protocol.findings.quirks import MISTAKES

from .making import ANY, BATCH, NAMES, cases, fields
from .messages import Sample, batch, plain, records
from .score import SOURCES, blamed, explained, found_in, misled, samples, score

EACH, SEED = int(os.environ.get("KDBG_MISTAKES", "4")), 77
NAMED = 0.9


@cache
def mixed(source: str = "dev") -> list[Sample]:
    return samples(SEED, source)


@pytest.mark.parametrize("source", SOURCES)
def test_each_mistake_is_named_and_none_wrongly(source: str) -> None:
    total = named = 0
    wrong = []
    for name in [*ANY, *BATCH]:
        made = score(cases(name, mixed(source), SEED, EACH))
        total, named = total + len(made.cases), named + len(made.named)
        wrong += [(name, str(one.sample), found.text, one.data.hex()) for one, found in made.wrong]
        assert made.named or len(made.cases) < EACH, name
    assert wrong == []
    assert named >= NAMED * total


def test_two_mistakes_of_one_message_are_both_named() -> None:
    """Each is made in what a client's test suite has: acks that nothing uses, and a batch whose numbers do not fit."""
    batch_mistakes = [name for name in BATCH if name != "message set where a batch is expected"]
    for name in batch_mistakes:
        both = [one for one in cases(name, [], SEED, 12) if one.sample.direction == "request"][:2]
        for one in both:
            acks = next(span for span in fields(one.sample) if span.path == "acks")
            data = one.data[: acks.start + 4] + b"\0\7" + one.data[acks.end + 4 :]
            found = {each.kind: each for each in found_in(data, one.sample)}
            assert one.kinds & found.keys(), name
            assert found["unused-value"].start == acks.start
        assert both


def test_a_mistake_after_a_corrected_one_is_named_where_it_is_in_the_bytes() -> None:
    """The first batch has no zigzag, by which the records are shorter than they should be."""
    value = b"v" * 100
    body = b"\0\0\0\1k" + plain(len(value)) + value + b"\0"
    first = batch(random.Random(2), rows=[plain(len(body)) + body])
    second = batch(random.Random(3), last=7, rows=records(random.Random(4))[0])
    parts = b"".join(struct.pack(">ii", at, len(one)) + one for at, one in enumerate((first, second)))
    frame = b"\0\0\0\3\0\0\0\7\0\1a" + b"\xff\xff\0\1\0\0\x75\x30\0\0\0\1\0\1t\0\0\0\2" + parts
    found = examine(frame, api=grammars.api("Produce"), version=3, direction="request").mistakes
    assert [one.kind for one in found] == ["missing-zigzag", "wrong-last-offset-delta"]
    assert frame[found[1].start :][:4] == b"\0\0\0\7"
    assert examine(found[1].corrected[4:], api=grammars.api("Produce"), version=3, direction="request").mistakes == ()


def test_explain_names_them_too() -> None:
    requests = [one for one in mixed() if one.direction == "request"]
    made = [one for name in [*ANY, *BATCH][::3] for one in cases(name, requests, SEED, 1)]
    assert len(score(made, explained).named) >= NAMED * len(made)


def test_a_valid_message_has_none() -> None:
    assert blamed(mixed()[: 25 * EACH]) == []


def test_a_damaged_byte_is_not_taken_for_another_mistake() -> None:
    assert misled(mixed()[: 25 * EACH], SEED) == []


def test_every_kind_has_its_words_and_is_made_here_or_in_a_connection() -> None:
    made = set().union(*NAMES.values())
    of_frames = {"size-missing", "wrong-size", "raw-sasl-token", "sasl-authenticate-after-v0", "reused-correlation-id"}
    assert made | of_frames == MISTAKES.keys()
    for kind, words in MISTAKES.items():
        assert kind == kind.lower()
        assert not words.sentence.endswith(".")
        assert words.explanation.endswith(".")
