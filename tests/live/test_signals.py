"""`--otlp` and `--metrics` of what is live: clients of a proxy, and an interface, seen by a receiver and a scraper."""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from ..cli.calls import call
from ..cli.test_proxy import Proxying, proxying, send
from ..signals.received import Receiver, receiver, spans_in
from ..signals.test_collector import free_port
from ..signals.test_metrics import Samples, by, samples
from .watches import port, produce

__all__ = ["receiver"]
PLACE = re.compile(r"kdbg: metrics: (http://127\.0\.0\.1:\d+/metrics)\n")
TRIES = 400


def scraped(url: str) -> Samples:
    with urllib.request.urlopen(url) as answer:
        return samples(answer.read().decode())


def said_place(*lines: str) -> str:
    """The address that a command says it serves metrics at, in one of these lines."""
    (found,) = [found[1] for line in lines if (found := PLACE.fullmatch(line))]
    return found


def until(wanted: Any) -> Any:
    """What `wanted` gives, once that is something."""
    for _ in range(TRIES):
        if found := wanted():
            return found
        Event().wait(0.025)
    raise AssertionError("it did not come")


def names(receiver: Receiver) -> Counter[str]:
    return Counter(
        span.name
        for request in receiver.requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    )


def ended(proxy: Proxying) -> tuple[int, list[Any], str]:
    status, out, err = proxy.end()
    return status, [json.loads(line) for line in out.splitlines()], err


def test_a_proxys_clients_are_spans_and_numbers(receiver: Receiver) -> None:
    with proxying("-f", "json", "--otlp", receiver.url, "--metrics", "0") as proxy:
        url = said_place(*(proxy.process.stderr.readline() for _ in range(2)))  # type: ignore[union-attr]
        for _ in range(3):
            assert send(proxy.address, "metadata", "--topic", "orders").returncode in (0, 1)
        until(lambda: names(receiver)["connection"] >= 3)  # which end with their connections, not with the proxy
        found = until(lambda: (now := scraped(url))["kdbg_open_connections"][()] == 0 and now)
        status, lines, err = ended(proxy)
    assert status == 130
    seen = Counter(f"{line['api']} v{line['api_version']}" for line in lines)
    connections = len({line["connection"]["id"] for line in lines})
    assert names(receiver) == seen + Counter(connection=connections)
    assert f"{len(lines) + connections} spans sent to {receiver.url}" in err
    assert sum(found["kdbg_exchanges_total"].values()) == len(lines)
    assert by(found["kdbg_exchanges_total"], "api") == Counter((line["api"],) for line in lines)
    assert all("split" in line for line in lines), "where their time went is known"


def test_a_dead_collector_does_not_hinder_a_proxy() -> None:
    with proxying("--otlp", f"http://127.0.0.1:{free_port()}") as proxy:
        for _ in range(5):
            assert send(proxy.address, "metadata", "--topic", "orders").returncode in (0, 1)
        status, out, err = proxy.end()
    assert status == 130
    assert out.count("Metadata") == 5
    assert "Traceback" not in err
    assert err.count("spans are dropped: ") == 1
    assert re.search(r"kdbg: 0 spans sent to http\S+\nkdbg: \d+ spans not accepted", err)


def test_a_collector_that_hangs_does_not_hinder_a_proxy(receiver: Receiver) -> None:
    receiver.silent.clear()
    with proxying("-f", "json", "--otlp", receiver.url) as proxy:
        for _ in range(5):
            assert send(proxy.address, "metadata", "--topic", "orders").returncode in (0, 1)
        shown = [json.loads(proxy.process.stdout.readline()) for _ in range(15)]  # type: ignore[union-attr]
        receiver.silent.set()
        status, _, err = proxy.end()
    assert Counter(line["api"] for line in shown)["Metadata"] == 5
    assert status == 130
    assert "Traceback" not in err


@pytest.mark.parametrize("option", ["--tui", "--no-decode"])
@pytest.mark.parametrize("said", [("--otlp", "spans.jsonl"), ("--metrics", "0")])
def test_what_nothing_is_read_for_is_refused(option: str, said: tuple[str, str]) -> None:
    outcome = call("proxy", "-b", "127.0.0.1:1", option, *said)
    assert outcome.status == 2
    assert outcome.err == f"kdbg: use either {said[0]} or {option}, not both (kdbg proxy --help)\n"


def test_a_port_that_is_taken_is_one_line(receiver: Receiver) -> None:
    outcome = call("proxy", "-b", "mock:1", "-l", f"127.0.0.1:{free_port()}", "--metrics", receiver.url[7:])
    assert outcome.status == 2
    assert outcome.err.splitlines()[-1].endswith("cannot serve metrics (Address already in use); choose another port")


@pytest.mark.usefixtures("capturing")
class TestWatch:
    def test_it_has_spans_in_a_file_and_numbers(self, watching: Any, broker: str, tmp_path: Path) -> None:
        path = tmp_path / "spans.jsonl"
        watch = watching("--port", port(broker), "--otlp", path, "--metrics", "0")
        url = said_place(watch.first)
        assert b"capturing on lo" in watch.process.stderr.readline()
        produce(broker, 15)  # what is shown fits into a pipe that nobody reads
        found = until(lambda: by((now := scraped(url))["kdbg_exchanges_total"], "api")[("Produce",)] == 15 and now)
        assert sum(found["kdbg_records_total"].values()) == 15
        status, lines, err = watch.end()
        assert status == 130
        spans = spans_in(path.read_text())
        exchanges = [one for one in spans if "kafka.exchange" in one.attributes]
        assert [one.attributes["kafka.exchange"] for one in exchanges] == [line["number"] for line in lines]
        assert len(spans) > len(exchanges)
        assert f"kdbg: {len(spans)} spans sent to {path}" in err

    def test_causes_are_numbers_too(self, watching: Any, broker: str) -> None:
        watch = watching("--port", port(broker), "--diagnose", "--metrics", "0")
        url = said_place(watch.first)
        assert b"capturing on lo" in watch.process.stderr.readline()

        def found() -> Any:
            with socket.create_connection(("127.0.0.1", int(port(broker)))) as browser:
                browser.sendall(b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n")
            return scraped(url).get("kdbg_causes")

        causes = until(found)
        _, cases, _ = watch.end()
        assert {dict(key)["cause"] for key in causes} == {"http-to-kafka-port"}
        assert "http-to-kafka-port" in {case["cause"] for case in cases}
