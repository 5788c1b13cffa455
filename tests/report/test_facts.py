"""Facts of the scripted capture, each worked out by hand from scripted.py."""

from __future__ import annotations

from contextlib import closing
from io import BytesIO
from pathlib import Path
from random import Random

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.capture import open_capture
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.query.report import Reported
from kdbg.views.report import facts, queries
from kdbg.views.report.facts import MOST_BINS, WIDTHS, Bins, lag
from kdbg.views.report.page import clients, report
from kdbg.views.report.queries import LONGEST, rounded
from tests.cli.calls import SHIPPED

from ..cases import by_day
from .conftest import Asking
from .scripted import BEGIN, ESCAPES, FAILED, HEARTBEATS, HOSTILE

MS = 1000
HEADER = 24
PCAPS = [path for path in SHIPPED if path.read_bytes()[:4] == bytes.fromhex("d4c3b2a1")]
"""Files whose header ends there."""
SECONDS = Bins(BEGIN, 1_000_000, 10)


def test_the_whole_in_numbers(asking: Asking, capture: Path) -> None:
    total = facts.total(asking(capture))
    assert total is not None
    # one ApiVersions and 100 heartbeats; seven of billing; six of the hostile client; two of the login
    assert total.exchanges == 1 + HEARTBEATS + 7 + 6 + 2
    assert (total.erroneous, total.unanswered) == (2 + 1, 1)  # a heartbeat's REBALANCE_IN_PROGRESS is a normal step
    assert (total.connections, total.clients) == (4, 4)
    assert total.first == BEGIN + 2 * MS  # behind SYN and SYN-ACK


def test_latencies_of_1_to_100_ms_have_the_percentiles_that_one_expects(asking: Asking, capture: Path) -> None:
    found = {row[0]: row[1:] for row in facts.latency_by_api(asking(capture), queries.LATENCY).rows}
    assert found["Heartbeat"] == (HEARTBEATS, 50 * MS, 95 * MS, 99 * MS, 100 * MS)
    assert found["ApiVersions"] == (1, MS, MS, MS, MS)
    assert "Metadata" not in found


def test_every_answer_is_in_the_heat_map_once(asking: Asking, capture: Path) -> None:
    _, heat = facts.latencies(asking(capture), SECONDS)
    rows = dict(zip(heat.edges, heat.counts, strict=True))
    assert sum(map(sum, heat.counts)) == 1 + HEARTBEATS + 4 + 2 + 2
    assert sum(rows[50 * MS]) == 50  # heartbeats after 50 to 99 ms
    assert sum(rows[100 * MS]) == 1
    _, heat = facts.latencies(asking(capture), SECONDS, queries.POLLS)
    rows = dict(zip(heat.edges, heat.counts, strict=True))
    assert sum(map(sum, heat.counts)) == 2 + 4  # a Fetch and a JoinGroup; of the hostile client two of each
    assert sum(rows[500 * MS]) == 1  # the JoinGroup


def test_traffic_over_time_adds_up(asking: Asking, capture: Path) -> None:
    ask = asking(capture)
    series = facts.over_time(ask, SECONDS, queries.EXCHANGES_OVER)
    assert list(series.lines)[:2] == ["Heartbeat", "OffsetCommit"]
    assert sum(series.lines["Heartbeat"]) == HEARTBEATS  # type: ignore[arg-type]
    assert len(series.lines) == facts.MOST_SERIES + 1
    assert sum(value or 0 for line in series.lines.values() for value in line) == 1 + HEARTBEATS + 15
    # the k-th is asked 2 + 2 + sum(2..k) ms after the start: within the first second those with k up to 43
    within = sum(1 for k in range(HEARTBEATS) if 4 + sum(i + 2 for i in range(k)) < 1000)
    assert series.lines["Heartbeat"][0] == within


def test_errors_by_code_and_by_topic(asking: Asking, capture: Path) -> None:
    ask = asking(capture)
    assert [row[:3] for row in facts.listed(ask, queries.ERRORS_BY_API).rows] == [
        ("NOT_LEADER_OR_FOLLOWER", "Fetch", 2),
        ("SASL_AUTHENTICATION_FAILED", "SaslAuthenticate", 1),
    ]
    assert sorted(facts.listed(ask, queries.ERRORS_BY_TOPIC).rows) == [
        (topic, "NOT_LEADER_OR_FOLLOWER", "Fetch", 1, 1) for topic in (ESCAPES, HOSTILE)
    ]


def test_normal_steps_of_protocols_stand_apart(asking: Asking, capture: Path) -> None:
    steps = facts.listed(asking(capture), queries.EXPECTED)
    assert [row[:3] for row in steps.rows] == [("REBALANCE_IN_PROGRESS", "Heartbeat", FAILED)]


def test_lag_is_the_end_of_the_log_less_what_was_committed_last(asking: Asking, capture: Path) -> None:
    found = lag(asking(capture), SECONDS)
    line = found.groups.lines["billing"]
    # 40 of 100 committed within the first second; the log ends at 130 from 3.5 s on; 125 committed from 6.5 s on
    assert line == [60, 60, 60, 90, 90, 90, 5, 5, 5, 5]
    assert ("billing", "orders", 0, 130, 125, 5) in found.partitions.rows


def test_a_rebalance_lasts_from_the_first_join_to_the_last_sync(asking: Asking, capture: Path) -> None:
    [found] = [row for row in facts.rebalances(asking(capture)).rows if row[0] == "billing"]
    # asked after 2 ms; answered 501 ms later; synced in the next two packets
    assert found == ("billing", 4, BEGIN + 2 * MS, BEGIN + 505 * MS, 1, "a new pod")


def test_clients_say_what_software_they_are(asking: Asking, capture: Path) -> None:
    rows = {row[0].text: [cell.text for cell in row[1:7]] for row in clients(asking(capture)).tables[0].rows}
    assert rows["shop"] == ["shopkit", "1.2", "–", "1", "1", str(1 + HEARTBEATS)]
    assert rows["ops"] == ["–", "–", "PLAIN", "1", "1", "2"]


def test_filters_leave_out_what_they_leave_out(asking: Asking, capture: Path) -> None:
    ask = asking(capture, api="heartbeat", errors="all")
    total = facts.total(ask)
    assert total is not None
    assert (total.exchanges, total.connections, total.erroneous) == (FAILED, 1, 0)
    limited = facts.total(asking(capture, capture, limit=7))
    assert limited is not None
    assert limited.exchanges == 7


def test_nothing_is_a_fact_too(asking: Asking, capture: Path) -> None:
    assert facts.total(asking(capture, client_id="nobody")) is None


def test_what_does_not_fit_into_a_table_is_counted(asking: Asking, capture: Path) -> None:
    found = facts.listing(asking(capture), "SELECT DISTINCT latency_us FROM exchanges", "latency_us", most=3)
    assert (len(found.rows), found.left) == (3, len(range(1, 101)) + 2 - 3)  # 1 to 100 ms, 501 ms and none


@pytest.mark.parametrize("path", by_day(SHIPPED, 3), ids=lambda path: path.name)
def test_every_exchange_of_a_shipped_capture_is_counted(asking: Asking, path: Path) -> None:
    ask = asking(path)
    total = facts.total(ask)
    assert total is not None
    bins = Bins.over(total.first, total.last)
    series = facts.over_time(ask, bins, queries.EXCHANGES_OVER)
    assert sum(value or 0 for line in series.lines.values() for value in line) == total.exchanges
    assert sum(row[1] for row in facts.listed(ask, queries.APIS).rows) == total.exchanges
    for which, of_apis in ((queries.ANSWERS, queries.LATENCY), (queries.POLLS, queries.LONG_POLLS)):
        _, heat = facts.latencies(ask, bins, which)
        assert sum(map(sum, heat.counts)) == sum(row[1] for row in facts.latency_by_api(ask, of_apis).rows)


@given(st.integers(-(10**16), 10**16), st.integers(0, 10**17))
def test_bins_cover_all_of_a_span_and_are_few(first: int, length: int) -> None:
    bins = Bins.over(first, first + length)
    assert bins.start <= first
    assert bins.start + bins.many * bins.width > first + length
    assert bins.many <= MOST_BINS or bins.width == WIDTHS[-1]


@given(st.integers(0, 2**63 - 1), st.integers(1, 4))
def test_rounding_keeps_the_first_digits(number: int, digits: int) -> None:
    [(found,)] = duckdb.sql(f"SELECT {rounded('x', digits)} FROM (SELECT {number}::BIGINT AS x)").fetchall()
    kept = len(str(number)) if number >= 10 ** (LONGEST - 1) else digits
    assert str(found) == str(number)[:kept] + "0" * (len(str(number)) - kept)


@given(st.lists(st.integers(0, 50), min_size=1))
def test_percentiles_are_those_of_the_nearest_rank(numbers: list[int]) -> None:
    found = facts.percentiles([(number, 1) for number in numbers])
    ordered = sorted(numbers)
    assert found == tuple(ordered[-(-percent * len(ordered) // 100) - 1] for percent in facts.PERCENTS)


@given(st.sampled_from(PCAPS), st.randoms(use_true_random=False), st.sampled_from([3, 30, 300]))
def test_whatever_stands_in_a_capture_becomes_a_report(path: Path, dice: Random, changes: int) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(changes):
        data[dice.randrange(HEADER, len(data))] = dice.randrange(256)
    with closing(Reported(Filters())) as collected, open_capture(BytesIO(bytes(data))) as found:
        collected.capture(found)
        assert report(collected.ask).sections
