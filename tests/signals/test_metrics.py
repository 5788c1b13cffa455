"""Prometheus' text: read by its own library and by promtool, with the numbers of `kdbg stats`."""

from __future__ import annotations

import shutil
import subprocess
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kdbg.errors import InputError
from kdbg.scale.signals import metrics as module
from kdbg.scale.signals.metrics import BUCKETS, FAMILIES, Metrics, Totals, place, serve, text

from ..cases import by_day, for_each
from ..cli.calls import CAPTURES, SHIPPED, Outcome
from ..traffic import Talk

Cli = Callable[..., Outcome]
ERRORS = CAPTURES / "errors.pcap"
Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


def samples(text: str) -> Samples:
    found: Samples = defaultdict(dict)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = tuple(sorted(sample.labels.items()))
            assert key not in found[sample.name], "each once"
            found[sample.name][key] = sample.value
    return found


def counted(cli: Cli, *arguments: object) -> Samples:
    outcome = cli("stats", *arguments, "-f", "prometheus")
    assert outcome.status in (0, 1), outcome.err
    return samples(outcome.out)


def by(found: dict[tuple[tuple[str, str], ...], float], *labels: str) -> Counter[tuple[str, ...]]:
    sums = Counter[tuple[str, ...]]()
    for key, value in found.items():
        sums[tuple(dict(key)[label] for label in labels)] += int(value)
    return sums


@pytest.mark.parametrize("path", by_day(SHIPPED, 3), ids=lambda path: path.name)
def test_numbers_are_those_of_stats(cli: Cli, path: Path) -> None:
    found = counted(cli, path)
    rows = cli("stats", path, "--by", "client,api,version", "-f", "json").lines
    none = module.NONE

    def wanted(measure: str, *labels: str) -> Counter[tuple[str, ...]]:
        sums = Counter[tuple[str, ...]]()
        for row in rows:
            raw = row["api"] is not None and row["api"].startswith("SASL token")
            said = {"api": row["api"] or module.UNKNOWN, "version": none if raw or not row["api"] else row["version"],
                    "client_id": none if row["client"] is None else row["client"]}  # fmt: skip
            sums[tuple(str(said[label]) for label in labels)] += row[measure]
        return +sums

    assert by(found["kdbg_exchanges_total"], "client_id", "api") == wanted("exchanges", "client_id", "api")
    for side in ("request", "response"):
        assert +by(found[f"kdbg_{side}_bytes_total"], "api") == wanted(f"{side}_bytes", "api")
    assert +by(found.get("kdbg_records_total", {}), "api") == wanted("records", "api")
    (total,) = [row for row in cli("stats", path, "-f", "json").lines if row["table"] == "total"]
    findings = by(found.get("kdbg_findings_total", {}), "finding")
    assert findings[("no-response",)] == total["unanswered"]
    lines = cli("decode", path, "-f", "json").lines
    late = Counter((line["api"] or module.UNKNOWN,) for line in lines if line["latency_ms"] is not None)
    assert by(found.get("kdbg_latency_seconds_count", {}), "api") == late
    assert found["kdbg_connections_total"][()] == total["connections"]


def test_errors_are_told_from_steps(cli: Cli) -> None:
    found = counted(cli, ERRORS)
    errors = by(found["kdbg_exchange_errors_total"], "error")
    rows = cli("stats", ERRORS, "--by", "error", "-f", "json").lines
    wanted = {row["error"]: row["exchanges"] for row in rows if row["error"]}
    steps = by(found["kdbg_exchange_steps_total"], "error")
    assert {name: count for (name,), count in (errors + steps).items()} == wanted
    assert ("UNSUPPORTED_VERSION",) in steps
    assert ("MESSAGE_TOO_LARGE",) in errors


def test_histograms_are_those_of_the_latencies(cli: Cli) -> None:
    found = counted(cli, ERRORS)
    lines = [line for line in cli("decode", ERRORS, "-f", "json", "--latency").lines if line["number"]]
    for name, label in (("latency_seconds", None), ("latency_part_seconds", "broker")):
        for api, broker in {(line["api"], line["connection"]["broker"]) for line in lines if line["response"]}:
            here = [line for line in lines if line["api"] == api and line["connection"]["broker"] == broker]
            chosen = [line for line in here if line["response"]]
            times = [(line["latency_ms"] if label is None else line["split"]["broker_ms"]) / 1000 for line in chosen]
            for bound in BUCKETS:
                key = {"api": api, "le": str(bound), "broker": broker} | ({"part": label} if label else {})
                value = found[f"kdbg_{name}_bucket"][tuple(sorted(key.items()))]
                assert value == sum(time <= bound for time in times)
            key = {"api": api, "broker": broker} | ({"part": label} if label else {})
            total = found[f"kdbg_{name}_sum"][tuple(sorted(key.items()))]
            assert total == pytest.approx(sum(times))


def test_lag_is_that_of_the_built_in_query(cli: Cli) -> None:
    seen = 0
    for path in (CAPTURES / f"{name}.pcap" for name in ("real-3.9.2-rebalance", "real-4.4.0-new-group", "real-go")):
        found = counted(cli, path).get("kdbg_consumer_lag", {})
        lags = {tuple(sorted(labels)): int(lag) for labels, lag in found.items()}
        rows = cli("query", path, "--ask", "lag", "-f", "json").lines
        wanted = {
            (("group", row["group_id"]), ("partition", str(row["partition"])), ("topic", row["topic"])): row["lag"]
            for row in rows if row["lag"] is not None
        }  # fmt: skip
        assert lags.items() <= wanted.items(), path
        seen += len(lags)
    assert seen > 3


@pytest.mark.parametrize("path", SHIPPED[::3], ids=lambda path: path.name)
def test_promtool_has_nothing_to_say(cli: Cli, path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed: it comes with Debian's prometheus")
    text = cli("stats", path, "-f", "prometheus").out
    done = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_several_captures_are_added_up(cli: Cli) -> None:
    one, two = counted(cli, ERRORS), counted(cli, CAPTURES / "first-contact.pcap")
    both = counted(cli, ERRORS, CAPTURES / "first-contact.pcap")
    for name in ("kdbg_packets_total", "kdbg_connections_total"):
        assert both[name][()] == one[name][()] + two[name][()]
    exchanges = [sum(found["kdbg_exchanges_total"].values()) for found in (one, two, both)]
    assert exchanges[2] == exchanges[0] + exchanges[1]


def test_hostile_names_are_escaped(cli: Cli, write: Callable[..., Path]) -> None:
    found = counted(cli, write(Talk(client_id='a"b\\c\nd\x1b').ask("Metadata", 1).answer()))
    assert by(found["kdbg_exchanges_total"], "client_id") == {('a"b\\\\c\\nd\\x1b',): 1}


def test_open_connections(cli: Cli, write: Callable[..., Path]) -> None:
    ended = Talk(client=("10.0.0.1", 20_000)).ask("Metadata", 1).answer().end()
    going_on = Talk(client=("10.0.0.1", 20_001)).ask("Metadata", 1).answer()
    found = counted(cli, write(ended, going_on))
    assert found["kdbg_connections_total"][()] == 2
    assert found["kdbg_open_connections"][()] == 1


@pytest.mark.parametrize("option", [("--by", "api"), ("--top", 3), ("--sort", "p99")])
def test_tables_are_no_text_of_prometheus(cli: Cli, option: tuple[object, ...]) -> None:
    outcome = cli("stats", ERRORS, "-f", "prometheus", *option)
    assert outcome.status == 2
    assert "cannot be combined with --format prometheus" in outcome.err


def test_every_family_is_counted_somewhere() -> None:
    counts = Metrics()
    counts.total(Totals(1, 1, 1, 1, 1))
    counts.causes([("packet-loss", "warning", 3)])
    names = {family.name for family in text_string_to_metric_families(text(counts).decode())}
    assert names >= {"kdbg_causes", "kdbg_packets", "kdbg_packets_lost", "kdbg_connections", "kdbg_build_info"}
    assert all(name.removeprefix("kdbg_") in FAMILIES for name in names)


def test_they_are_served() -> None:
    counts = Metrics()
    server = serve(counts, "127.0.0.1", 0)
    try:
        url = f"http://127.0.0.1:{server.server_port}/metrics"
        with urllib.request.urlopen(url) as answer:
            assert samples(answer.read().decode())["kdbg_packets_total"][()] == 0
        counts.total(Totals(packets=7))
        with urllib.request.urlopen(url) as answer:
            assert samples(answer.read().decode())["kdbg_packets_total"][()] == 7
        with urllib.request.urlopen(f"{url}?name[]=kdbg_packets") as answer:
            assert answer.status == 200
        with pytest.raises(InputError, match=r"cannot serve metrics .*; choose another port"):
            serve(counts, "127.0.0.1", server.server_port)
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("9464", ("127.0.0.1", 9464)), ("0.0.0.0:1", ("0.0.0.0", 1)), ("[::1]:2", ("::1", 2)), ("host:0", ("host", 0))],
)
def test_places(text: str, wanted: tuple[str, int]) -> None:
    assert place(text) == wanted


@for_each("text", ["", "host", "host:", ":1", "1:2:3", "http://x:1", "99999", "x:99999", "a@b:1", "-1"])
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(InputError, match="not an address for metrics; write "):
        place(text)
