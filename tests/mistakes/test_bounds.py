"""Messages that are long, hostile or full of fields: the search ends, and says so where it is not complete."""

from __future__ import annotations

import random

import pytest

from kdbg.exchanges.guess.pieces import pieces
from kdbg.exchanges.mistakes.finder import LONGEST, examine
from kdbg.exchanges.mistakes.search import STEPS, Budget, Search
from kdbg.protocol import grammars
from kdbg.views.render.explanation import mistake_lines
from kdbg.views.render.style import Look

from ..cases import by_day
from .messages import batch, with_records, zigzag

METADATA = grammars.api("Metadata")
HEADER = bytes.fromhex("00030001000000020004") + b"kdbg"
FULL = HEADER + (30_000).to_bytes(4, "big") + b"\0\1a" * 29_999


def test_no_more_fields_are_read_than_the_budget_has() -> None:
    budget = Budget()
    nodes = (METADATA.at("request", 1),)
    search = Search(FULL[14:], nodes, budget)
    list(search.singles())
    assert budget.steps <= 0
    assert budget.steps > -STEPS // 10


@pytest.mark.parametrize("body", by_day([FULL, HEADER + b"\0\0\x7f\xff" + b"a" * 200_000, HEADER + bytes(LONGEST)], 3))
def test_a_search_that_is_not_complete_is_said(body: bytes) -> None:
    examined = examine(body, api=METADATA, version=1, direction="request")
    assert examined.mistake is None
    assert not examined.complete


def test_records_are_read_within_the_budget() -> None:
    rows = [b"\x0c\0\0" + zigzag(at % 60)[:1] + b"\1\0\0" for at in range(40_000)]
    sample = with_records(random.Random(1), grammars.api("Produce"), 9, batch(random.Random(2), rows=rows, count=7))
    assert not examine(sample.frame, api=sample.api, version=9, direction="request").complete


def test_explain_says_so() -> None:
    (piece, *_) = pieces(len(FULL).to_bytes(4, "big") + FULL)
    assert not piece.examined
    assert "too long" in " ".join(mistake_lines(piece, Look()))
