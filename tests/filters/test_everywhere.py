"""Every filter selects the same exchanges wherever it is offered: decode, library, report, a task of the pipeline."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.capture import open_capture
from kdbg.exchanges.filters.filter import ValueForm
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.exchanges.filters.table import FILTERS
from kdbg.scale.query.report import Reported

from ..cases import for_each
from ..cli.calls import call

CAPTURES = Path(kdbg.__file__).resolve().parents[1] / "captures"
ERRORS, TLS = CAPTURES / "errors.pcap", CAPTURES / "tls" / "real-tls-1.2.pcap"
Found = list[tuple[str, int]]
"""The client's end and the correlation id of each exchange."""


def times() -> tuple[float, float]:
    every = [one.time for one in kdbg.read(ERRORS)]
    return every[len(every) // 3] / 1e9, every[len(every) // 2] / 1e9


def packet() -> int:
    third = list(kdbg.read(ERRORS))[2].response
    assert third is not None
    return third.last_packet


SINCE, UNTIL = times()
PACKET = packet()
ASKED: dict[str, Any] = {
    "api": "produce", "client_id": "shop", "topic": "orders", "group": "billing", "errors": True,
    "slower_than": 0.1, "since": SINCE, "until": UNTIL, "port": 9093, "connection": 2, "limit": 3, "host": "*:9093",
    "partition": 0, "error": "UNKNOWN_TOPIC*", "correlation_id": 3, "exchange": "5-9",
    "where": 'api == "Produce" && latency_ms > 0.02',
    "packet": PACKET, "tls_keys": str(TLS.with_name("real-tls-1.2.keys")), "pid": os.getpid(),
}  # fmt: skip


def asked_of(name: str) -> Path:
    """The capture that a filter is asked of: keys are of no use to plain traffic."""
    return TLS if name == "tls_keys" else ERRORS


def end(peers: kdbg.Exchange | Any) -> str:
    host, port = peers.client
    return f"{host}:{port}"


def library(name: str, value: Any) -> Found:
    return [(end(one.peers), one.correlation_id) for one in kdbg.read(asked_of(name), **{name: value})]


def decode(name: str, value: Any) -> Found:
    option = [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
    lines = call("decode", asked_of(name), "-f", "json", *option).lines
    return [(line["connection"]["client"], line["correlation_id"]) for line in lines]


def report(name: str, value: Any) -> Found:
    with closing(Reported(Filters(**{name: value}))) as collected, open_capture(asked_of(name)) as opened:
        collected.capture(opened)
        return [(client, number) for client, number in collected.ask("SELECT client, correlation_id FROM exchanges")]


def data_source(name: str, value: Any) -> Found:
    """What a worker of Spark does for a data frame of captures, without a cluster around it."""
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    from kdbg.scale.spark.source import Captures, SourceOptions

    given = "true" if value is True else str(value)
    reader = Captures(SourceOptions.of({"path": str(asked_of(name)), name: given}))
    batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    columns = ("client", "correlation_id")
    return [row for batch in batches for row in zip(*(batch.column(name).to_pylist() for name in columns), strict=True)]


WAYS = [(way, name) for name in ASKED for way in (decode, report, data_source)
        if way is not data_source or FILTERS[name].archives]  # fmt: skip


@for_each(("way", "name"), WAYS, ids=[f"{way.__name__}-{name}" for way, name in WAYS])
def test_it_selects_what_it_selects_in_the_library(way: Callable[[str, Any], Found], name: str) -> None:
    wanted = library(name, ASKED[name])
    if FILTERS[name].form is ValueForm.FILES:
        assert len(wanted) > len(list(kdbg.read(asked_of(name)))) == 0, "without them nothing is read"
    elif name != "pid":  # which opens what is encrypted, and hides nothing
        assert 0 < len(wanted) < len(list(kdbg.read(ERRORS))), "the capture must have some of each"
    assert sorted(way(name, ASKED[name])) == sorted(wanted)


def test_every_filter_is_asked_here() -> None:
    assert ASKED.keys() == FILTERS.keys()
