"""Exchanges as bytes: what comes out is what went in, for every capture; names of topic ids go along."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.serialization import Packed, Parcels, unpack

CAPTURES = sorted((Path(__file__).resolve().parents[2] / "captures").glob("*.pcap*"))


def half(message: CapturedMessage | None) -> Any:
    """All that makes a half."""
    if message is None:
        return None
    what = message.data, message.direction, message.missing, message.api, message.version, message.names
    when = message.first_time, message.last_time, message.first_packet, message.last_packet
    facts = message.known.facts.get("mechanism") if message.known is not None else None
    return what, when, facts, message.asked.data if message.asked is not None else None


def whole(exchange: Exchange) -> Any:
    """All that makes an exchange."""
    who = exchange.peers, exchange.client_id, exchange.api, exchange.version, exchange.correlation_id
    told = exchange.number, exchange.answered, exchange.findings, exchange.all_findings()
    return who, told, half(exchange.request), half(exchange.response)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_what_comes_out_is_what_went_in(path: Path) -> None:
    packed, engine = Packed(), Engine()
    with open_capture(path) as capture:
        exchanges = list(engine.run(capture.blocks()))
    for exchange in exchanges:
        packed.add(exchange, 7)
    numbers, common, data = packed.take()
    out = list(unpack(numbers, common, b"".join(data), engine.topic_names))
    assert [capture for capture, _ in out] == [7] * len(exchanges)
    assert [whole(exchange) for _, exchange in out] == [whole(exchange) for exchange in exchanges]
    assert len(packed) == 0


def test_a_copy_is_told_each_name_once() -> None:
    here, there = (Parcels({UUID(int=7): "orders"}) for _ in range(2))
    there.unpack(b"".join(here.pack([], 0)))
    here.topics[UUID(int=8)] = "payments"
    there.unpack(b"".join(here.pack([], 0)))
    assert there.topics == here.topics
    there.topics.clear()
    there.unpack(b"".join(here.pack([], 0)))
    assert there.topics == {}


def test_a_copy_that_is_made_later_knows_what_was_learnt_by_then() -> None:
    here, there = Parcels({UUID(int=7): "orders"}), Parcels({})
    here.pack([], 0)
    here.topics[UUID(int=8)] = "payments"
    there.unpack(b"".join(here.pack([], 1)))
    assert there.topics == {}
