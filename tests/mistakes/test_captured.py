"""Mistakes in captures: in responses of a broker, and in requests that can be read and that the broker rejects."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import kdbg
from kdbg.protocol.findings import Kind

from ..traffic import Talk, pcap
from .making import ANY, BATCH, Made, cases
from .messages import batch, records
from .score import samples

SEED, EACH, NAMED = 501, 4, 0.85
UNNOTICED = {"little-endian integer", "batch length", "tagged fields twice"}
"""Responses with these are read to their end: the batch as a partial one, a byte 00 as padding that clients skip."""


def kinds_of(exchange: kdbg.Exchange) -> set[str]:
    return {getattr(one.facts, "kind", "") for one in exchange.all_findings() if one.kind is Kind.ENCODING_MISTAKE}


def captured(made: list[Made], path: Path) -> list[set[str]]:
    """The mistakes that are found in these responses, each on a connection of its own."""
    talks = []
    for at, one in enumerate(made):
        talk = Talk(client=("10.0.0.1", 40_000 + at), at=at * 50).ask(one.sample.api.key, one.sample.version)
        talks.append(talk.reply(one.data[:4] + talk.correlation_id.to_bytes(4, "big") + one.data[8:]).end())
    path.write_bytes(pcap(*talks))
    found = {40_000 + at: set[str]() for at in range(len(made))}
    for one in kdbg.read(path):
        found[one.peers.client[1]] |= kinds_of(one)
    return [found[40_000 + at] for at in range(len(made))]


def test_mistakes_in_responses_are_named(tmp_path: Path) -> None:
    responses = [one for one in samples(SEED) if one.direction == "response" and one.api.name[:4] != "Sasl"]
    total = named = 0
    for name in [*ANY, *BATCH]:
        made = [one for one in cases(name, responses, SEED, EACH) if one.sample.direction == "response"]
        if not made or name in UNNOTICED:
            continue
        found = captured(made, tmp_path / "responses.pcap")
        right = [one for one, kinds in zip(made, found, strict=True) if one.kinds & kinds]
        assert right, name
        total, named = total + len(made), named + len(right)
    assert named >= NAMED * total


@pytest.mark.parametrize("code", [None, 0, 2, 42, 87])
def test_a_request_that_can_be_read_and_is_rejected_has_its_mistake(code: int | None, tmp_path: Path) -> None:
    """By CORRUPT_MESSAGE, INVALID_REQUEST or INVALID_RECORD, or (None) by a connection that is closed after it."""
    rows, delta = records(random.Random(1))
    wrong = batch(random.Random(2), rows=rows, delta=delta, last=len(rows))
    part = {"index": 0, "records": wrong}
    talk = Talk().ask("Produce", 7, acks=1, timeout_ms=30_000, topic_data=[{"name": "t", "partition_data": [part]}])
    if code is not None:
        answer = {"index": 0, "error_code": code, "base_offset": -1, "log_append_time_ms": -1, "log_start_offset": -1}
        talk.answer(responses=[{"name": "t", "partition_responses": [answer]}])
    path = tmp_path / "rejected.pcap"
    path.write_bytes(pcap(talk.end()))
    (exchange,) = kdbg.read(path)
    assert kinds_of(exchange) == (set() if code == 0 else {"wrong-last-offset-delta"})
