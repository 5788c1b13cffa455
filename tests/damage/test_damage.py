"""Damage costs what it touched, and nothing else; nothing is invented; captures of brokers only are decoded."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import Exchange

from ..cases import by_day
from .run import SHARED, captures, rows, table
from .truth import whole
from .variants import DAMAGE, variant
from .verdict import Verdict, judge

GUIDE = Path(__file__).resolve().parents[2] / "kdbg" / "ui" / "guide" / "incomplete.md"
HOSTILE = SHARED / "hostile"
BEYOND = {"delay": 0.005, "mix": 0.005}
"""Kinds of damage that bring packets later than kdbg waits, and the share of what they may cost."""
MISPAIRED = {"mix": 2}
"""Halves that are paired wrongly, of a client of 0.8 whose requests all have the correlation id 0."""
WHOLE: dict[str, int] = {
    "client-id/ids1.pcap": 5,
    "client-id/ids2.pcap": 5,
    "client-id/ids3.pcap": 4,
    "client-id/ids4.pcap": 4,
    "client-id/ids5.pcap": 4,
    "hostile/first-request-dropped.pcap": 410,
    "hostile/first-request-key.pcap": 411,
    "hostile/first-request-one-bit-of-the-client-id-length.pcap": 410,
    "hostile/first-request-one-bit-of-the-key.pcap": 411,
    "hostile/first-request-size.pcap": 410,
    "hostile/kafka-python-clock_order-200180.pcap": 199,
    "hostile/errors-flips_of_lengths-200129.pcap": 174,
    "hostile/pipelined-drop_bursts-200033.pcap": 284,
    "hostile/rdkafka-oldversions-drop_some-100032.pcap": 89,
}
"""Reproducers, and how many requests in them get the response that answers them."""


@cache
def verdict(kind: str) -> Verdict:
    """Of one kind of damage: two workers that share these tests do not judge the same variants."""
    return rows(by_day(captures(), 2), [0], [kind])[kind]


@pytest.mark.parametrize("kind", DAMAGE)
def test_what_damage_does_not_touch_is_as_it_was(kind: str) -> None:
    found = verdict(kind)
    assert found.untouched > 100
    assert found.lost <= found.untouched * BEYOND.get(kind, 0), found.notes
    assert found.uncovered <= MISPAIRED.get(kind, 0), found.notes
    assert found.invented <= MISPAIRED.get(kind, 0), found.notes
    assert found.hidden <= found.touched / 6, found.notes


def test_packets_a_thousand_packets_late_cost_nothing_and_flag_nothing() -> None:
    found = verdict("delay ends")
    assert (found.lost, found.flagged) == (0, 0), found.notes
    assert verdict("delay copies").flagged == 0
    late = verdict("delay")
    assert late.flagged <= late.lost + 5, late.notes


def test_of_brokers_alone_nine_responses_in_ten_are_identified() -> None:
    found = verdict("brokers only")
    assert found.responses > 300
    assert found.identified >= 0.9 * found.responses
    assert found.invented == 0
    assert found.wrong <= 7, found.notes  # one in 200 of all captures


def test_of_clients_alone_every_request_is_shown() -> None:
    found = verdict("clients only")
    assert (found.lost, found.hidden, found.invented) == (0, 0, 0)
    assert found.touched > 300


@pytest.mark.nightly  # damages all captures in all ways; that of some is judged by day
def test_the_manual_shows_these_figures() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert table(rows(captures(), [0])) in text, "python -m tests.damage --write"


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(captures()), st.sampled_from(sorted(DAMAGE)), st.integers(0, 2**32))
def test_so_it_is_with_any_damage(path: Path, kind: str, seed: int) -> None:
    found = judge(whole(path), variant(whole(path), kind, seed))
    assert found.lost <= 2 + found.untouched * BEYOND.get(kind, 0) * 10, found.notes
    assert found.uncovered <= 1, found.notes
    assert found.invented <= 1, found.notes


def read(path: Path) -> list[Exchange]:
    if not path.exists():
        pytest.skip(f"{path} is absent: these recordings are no part of the project")
    with open_capture(path) as capture:
        return list(Engine().run(capture.blocks()))


@pytest.mark.parametrize("name", WHOLE)
def test_reproducers(name: str) -> None:
    pairs = [one for one in read(SHARED / name) if one.request is not None and one.response is not None]
    assert len(pairs) >= WHOLE[name]


@pytest.mark.parametrize("name", [name for name in WHOLE if name.startswith("hostile/")])
def test_no_exchange_is_shown_in_two_halves(name: str) -> None:
    exchanges = read(SHARED / name)
    waiting = {(one.peers.number, one.correlation_id) for one in exchanges if one.response is None and one.answered}
    assert not [one for one in exchanges if (one.peers.number, one.correlation_id) in waiting and one.request is None]


@pytest.mark.parametrize(("name", "responses"), [("real-0.10.1.1", 87), ("real-0.8.2.2", 36)])
def test_reproducers_of_one_side(name: str, responses: int) -> None:
    answered = read(HOSTILE / f"{name}-without-client.pcap")
    assert len(answered) >= responses
    assert all(one.response is not None and one.request is None for one in answered)
    asked = read(HOSTILE / f"{name}-without-broker.pcap")
    assert all(one.request is not None and one.response is None for one in asked)
