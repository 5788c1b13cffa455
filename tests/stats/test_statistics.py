"""Tables filled from captures: the numbers of `decode --format json` counted another way, and sums that must hold."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kdbg.analysis.stats import statistics as module
from kdbg.analysis.stats.dimensions import DIMENSIONS, dimensions
from kdbg.analysis.stats.measures import MEASURES, Tally
from kdbg.analysis.stats.statistics import Overview, Statistics, StatsTable, folded
from kdbg.capture import open_capture
from kdbg.errors import InputError
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.rejection import is_normal_step
from kdbg.exchanges.messages.requested_wait import beyond_wait

from ..cases import by_day
from ..cli.calls import CAPTURES, SHARED, SHIPPED
from ..traffic import Talk, pcap

INCIDENTS = CAPTURES.parents[1] / "shared" / "incidents"
FILES = [*SHIPPED, *SHARED]
WIDE = [name for name, one in DIMENSIONS.items() if one.of is not None]
INNER = [name for name in DIMENSIONS if name not in WIDE]
SUMS = ("exchanges", "request_bytes", "response_bytes", "unanswered", "findings")
"""Measures that an exchange has as a whole; the others belong to one cell of it."""


def chunks(path: Path) -> Iterator[tuple[Engine, list[Exchange]]]:
    engine = Engine()
    with open_capture(path) as capture:
        for chunk in engine.chunks(capture.blocks()):
            yield engine, chunk


def fill(tables: Sequence[StatsTable], *paths: Path) -> None:
    statistics = Statistics(tables)
    for path in paths:
        for count, (engine, chunk) in enumerate(chunks(path)):
            if not count:
                statistics.capture(path.name, engine.names_then)
            statistics.take(chunk, lambda finding: None)
        statistics.finish()


def table(path: Path, *by: str) -> StatsTable:
    made = StatsTable(dimensions(by))
    fill([made], path)
    return made


def numbers(tally: Tally) -> dict[str, object]:
    return {name: one.of(tally) for name, one in MEASURES.items()}


@pytest.fixture(scope="module", params=by_day(FILES, 3), ids=lambda path: path.name)
def tables(request: pytest.FixtureRequest) -> dict[str, StatsTable]:
    """A table by each dimension, and one of all."""
    made = {name: StatsTable(dimensions([name])) for name in DIMENSIONS} | {"": StatsTable(())}
    fill(list(made.values()), request.param)
    return made


def test_rows_of_what_an_exchange_has_once_add_up_to_the_whole(tables: dict[str, StatsTable]) -> None:
    whole = numbers(tables[""].row(()))
    for name in WIDE:
        rows = folded(list(tables[name].rows.items()))
        assert numbers(rows or Tally()) == whole, name


def test_errors_and_records_add_up_to_the_whole_however_they_are_told_apart(tables: dict[str, StatsTable]) -> None:
    whole = tables[""].row(())
    for name in INNER:
        rows = list(tables[name].rows.values())
        for measure in ("errors", "steps", "records"):
            assert sum(MEASURES[measure].of(row) for row in rows) == MEASURES[measure].of(whole), (name, measure)
        for measure in SUMS:
            many = [MEASURES[measure].of(row) for row in rows]
            assert sum(many) >= MEASURES[measure].of(whole) >= max(many, default=0), (name, measure)


@pytest.mark.parametrize("path", by_day(FILES, 3), ids=lambda path: path.name)
def test_the_numbers_are_those_of_the_exchanges(path: Path) -> None:
    """Counted from the exchanges themselves, one by one."""
    exchanges, errors, times = Counter[str](), Counter[tuple[str, str]](), dict[str, list[int]]()
    for _, chunk in chunks(path):
        for exchange in chunk:
            api = exchange.api.name if exchange.api is not None else None
            exchanges[str(api)] += 1
            for error in exchange.errors:
                if not is_normal_step(exchange.api, error.code):
                    errors[str(api), error.name] += 1
            if (late := beyond_wait(exchange)) is not None:
                times.setdefault(str(api), []).append(max(late, 0))
    made = {str(key[0]): tally for key, tally in table(path, "api").rows.items()}
    assert {api: tally.exchanges for api, tally in made.items()} == exchanges
    told = {
        (api, name): count for api, tally in made.items() for name, count in MEASURES["error_names"].of(tally).items()
    }
    assert told == errors
    for api, found in times.items():
        for part, name in ((0.5, "p50_ms"), (0.99, "p99_ms")):
            true = sorted(found)[max(-(-len(found) * round(part * 100) // 100) - 1, 0)]
            assert MEASURES[name].of(made[api]) == pytest.approx(true / 1e6, rel=0.01)
        assert MEASURES["max_ms"].of(made[api]) == max(found) / 1e6


@pytest.mark.parametrize("by", [("api",), ("client", "error"), ("topic", "partition", "error"), ("minute", "group")])
def test_parts_add_up_to_the_whole(by: tuple[str, ...]) -> None:
    whole, parts = StatsTable(dimensions(by)), [StatsTable(dimensions(by)) for _ in SHIPPED]
    fill([whole], *SHIPPED)
    for part, path in zip(parts, SHIPPED, strict=True):
        fill([part], path)
    merged = StatsTable(dimensions(by))
    for part in parts:
        merged.merge(part.rows)
    assert {key: numbers(row) | {"connections": 0} for key, row in merged.rows.items()} == {
        key: numbers(row) | {"connections": 0} for key, row in whole.rows.items()
    }


def test_sums_that_reach_the_tables_early_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    path = CAPTURES / "real-errors.pcap"
    before = [table(path, "client", "api"), table(path, "topic", "error")]
    monkeypatch.setattr(module, "MOST_SUMS", 1)
    monkeypatch.setattr(module, "MOST_CELLS", 1)
    after = [table(path, "client", "api"), table(path, "topic", "error")]
    for one, other in zip(before, after, strict=True):
        assert {key: numbers(row) for key, row in one.rows.items()} == {
            key: numbers(row) for key, row in other.rows.items()
        }


def test_rows_beyond_the_most_are_others_and_nothing_is_lost() -> None:
    path = CAPTURES / "real-errors.pcap"
    full, few = table(path, "api"), StatsTable(dimensions(["api"]), most=3)
    fill([few], path)
    assert len(few.rows) == 3
    assert few.others is not None
    assert {key: numbers(row) for key, row in few.rows.items()}.items() <= {
        key: numbers(row) for key, row in full.rows.items()
    }.items()
    assert numbers(folded(list(few.rows.items()), few.others) or Tally()) == numbers(
        folded(list(full.rows.items())) or Tally()
    )


class TestByHand:
    """captures/first-contact.pcap has 31 exchanges, which `decode --format summary` shows on a page."""

    def test_apis(self) -> None:
        made = table(CAPTURES / "first-contact.pcap", "api")
        counts = {key[0]: tally.exchanges for key, tally in made.rows.items()}
        assert counts == {
            "ApiVersions": 10, "Metadata": 5, "Fetch": 4, "Produce": 3, "FindCoordinator": 2, "Heartbeat": 1,
            "JoinGroup": 1, "LeaveGroup": 1, "ListOffsets": 1, "OffsetCommit": 1, "OffsetFetch": 1, "SyncGroup": 1,
        }  # fmt: skip

    def test_a_client_that_says_what_it_is(self) -> None:
        made = table(CAPTURES / "first-contact.pcap", "client", "software")
        assert {key: (tally.exchanges, len(tally.connections)) for key, tally in made.rows.items()} == {
            ("billing-1", "confluent-kafka-python 2.16.1-rdkafka-2.16.0"): (23, 3),
            ("shop", "confluent-kafka-python 2.16.1-rdkafka-2.16.0"): (8, 2),
        }

    @pytest.mark.parametrize("together", [1, 9])
    def test_software_is_known_from_the_request_on_that_contains_it(self, tmp_path: Path, together: int) -> None:
        talk = Talk().ask("Metadata", 1, topics=[]).answer()
        talk.ask("ApiVersions", 3, client_software_name="probe", client_software_version="1.0").answer()
        path = tmp_path / "talk.pcap"
        path.write_bytes(pcap(talk.ask("Metadata", 1, topics=[]).answer()))
        exchanges = [exchange for _, chunk in chunks(path) for exchange in chunk]
        made = StatsTable(dimensions(("software", "api")))
        statistics = Statistics([made])
        for start in range(0, len(exchanges), together):
            statistics.take(exchanges[start : start + together], lambda finding: None)
        statistics.finish()
        found = {key: tally.exchanges for key, tally in made.rows.items()}
        assert found == {(None, "Metadata"): 1, ("probe 1.0", "ApiVersions"): 1, ("probe 1.0", "Metadata"): 1}

    def test_a_producer_that_does_not_follow_the_leader(self, tmp_path: Path) -> None:
        """Those who staged it counted 12 Produce that were well and 48 that were not."""
        name = "10-producer-never-refreshes-metadata-after-leader-moved.pcap"
        packed = INCIDENTS / f"{name}.gz"
        if not packed.exists():
            pytest.skip("the staged incidents are not here")
        path = tmp_path / name
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        made = table(path, "client", "api", "error", "topic", "partition", "broker")
        rows = {
            key: tally.exchanges
            for key, tally in made.rows.items()
            if key[0] == "route-gateway" and key[1] == "Produce"
        }
        place = ("routes", 0, ("127.0.0.21", 9092))
        assert rows == {
            ("route-gateway", "Produce", None, *place): 12,
            ("route-gateway", "Produce", "NOT_LEADER_OR_FOLLOWER", *place): 48,
        }


class TestOverview:
    def test_only_errors_worth_a_look_are_in_the_table_of_errors(self) -> None:
        overview = Overview()
        fill(overview.tables, CAPTURES / "errors.pcap")
        rows = overview["errors"].rows
        assert all(tally.errors and not tally.steps for tally in rows.values())
        assert sum(sum(tally.errors.values()) for tally in rows.values()) == sum(overview.total.errors.values())
        assert overview.total.steps

    def test_of_nothing_all_is_empty(self) -> None:
        overview = Overview()
        fill(overview.tables)
        assert overview.total.exchanges == 0
        assert not any(part.rows for part in overview.values())


class TestDimensions:
    def test_what_means_nothing_alone_stands_behind_what_it_is_of(self) -> None:
        assert [one.name for one in dimensions(["partition", "error", "version"])] == [
            "topic", "partition", "error", "api", "version",
        ]  # fmt: skip
        assert [one.name for one in dimensions(["error", "topic", "partition"])] == ["error", "topic", "partition"]

    def test_an_unknown_name_suggests_the_nearest(self) -> None:
        with pytest.raises(InputError, match="unknown dimension 'topics'; did you mean topic"):
            dimensions(["topics"])
        with pytest.raises(InputError, match="unknown dimension 'xyz'; choose from client, host"):
            dimensions(["xyz"])


class TestOrder:
    def test_by_exchanges_then_by_key(self) -> None:
        made = table(CAPTURES / "first-contact.pcap", "api")
        assert [key[0] for key, _ in made.sorted()][:6] == [
            "ApiVersions", "Metadata", "Fetch", "Produce", "FindCoordinator", "Heartbeat",
        ]  # fmt: skip

    def test_by_a_measure_and_by_a_dimension(self) -> None:
        made = table(CAPTURES / "errors.pcap", "api", "error")
        assert made.sorted("errors")[0][0] == ("Metadata", "UNKNOWN_TOPIC_OR_PARTITION")
        assert made.sorted("p99") == made.sorted("p99_ms")
        names = [key[1] for key, _ in made.sorted("error")]
        assert names[0] == "COORDINATOR_NOT_AVAILABLE"
        assert names[-1] is None

    def test_times_come_in_their_order(self) -> None:
        made = table(CAPTURES / "real-errors.pcap", "second", "api")
        seconds = [key[0] for key, _ in made.sorted()]
        assert seconds == sorted(seconds)
        assert len(set(seconds)) > 5

    def test_partitions_come_by_number(self) -> None:
        made = StatsTable(dimensions(["partition"]))
        for number in (10, 9, None, 1):
            made.row(("orders", number)).exchanges = 1
        assert [key[1] for key, _ in made.sorted("partition")] == [1, 9, 10, None]

    def test_by_nothing_that_there_is(self) -> None:
        with pytest.raises(InputError, match="unknown sort column 'exchange'; did you mean exchanges"):
            StatsTable(dimensions(["api"])).sorted("exchange")
        with pytest.raises(InputError, match="unknown sort column 'topic'"):
            StatsTable(dimensions(["api"])).sorted("topic")
