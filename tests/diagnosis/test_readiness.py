"""`kdbg readiness` on real clients and brokers of five generations; its table against what brokers say."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdbg.analysis.diagnosis.readiness import Client, readiness
from kdbg.errors import InputError
from kdbg.protocol.grammars import name_of, releases

from ..cli.calls import call
from ..traffic import Talk, pcap
from .books import CAPTURES, STAGED, book

REAL = [("real-0.10.1.1.pcap", "0.10.1"), ("real-2.8.2.pcap", "2.8"), ("real-3.9.2-rebalance.pcap", "3.9"),
        ("real-4.4.0-transactions.pcap", "4.4")]  # fmt: skip


NAMED = {("Produce", "4.4"), ("ControlledShutdown", "0.10.1")}
"""v0 to v2 are named and refused (KIP-896); v0 is served and not named."""


def verdicts(path: Path, release: str) -> dict[str, str]:
    return {client.client_id: client.verdict for client in readiness(book(path), release)}


def test_clients_that_do_not_ask_stop() -> None:
    found = verdicts(CAPTURES / "real-0.10.1.1.pcap", "4.0")
    assert found["console-producer"] == found["consumer-1"] == "stops"
    assert found["office-1"] == "unclear"  # librdkafka 2.16 with an old broker


def test_their_apis_are_named_with_the_exchange() -> None:
    client = readiness(book(CAPTURES / "real-0.10.1.1.pcap"), "4.0")[0]
    (one,) = client.missing
    assert (one.api, one.version, one.lowest, one.highest, one.until) == ("Produce", 2, 3, 12, "3.9")
    assert one.first.number == 4


@pytest.mark.parametrize("name", ["old-java-producer-at-4", "kafka-python-told-0.9"])
def test_clients_that_real_brokers_of_4_hung_up_on(name: str) -> None:
    assert "stops" in verdicts(STAGED / f"{name}.pcap.gz", "4.0").values()


@pytest.mark.parametrize("name", ["old-java-producer-at-4", "kafka-python-told-0.9"])
def test_their_newer_selves_are_fine(name: str) -> None:
    assert set(verdicts(STAGED / f"{name}.cured.pcap.gz", "4.0").values()) == {"fine"}


def test_brokers_are_told_apart() -> None:
    found = [client.verdict for client in readiness(book(CAPTURES / "real-2.8.2.pcap"), "4.0")]
    assert "broker" in found
    assert "stops" not in found


def test_a_downgrade_is_unclear_for_who_asks() -> None:
    (client, *_) = [one for one in readiness(book(CAPTURES / "first-contact.pcap"), "2.8") if one.client_id == "shop"]
    assert client.verdict == "unclear"
    assert {one.api for one in client.missing} == {"Produce"}


@pytest.mark.parametrize(("name", "release"), REAL)
def test_the_table_has_what_brokers_say(name: str, release: str) -> None:
    """The lowest and the highest version that a real broker offers, but those it keeps for itself and names only."""
    told = [session.offered for session in book(CAPTURES / name).sessions.values() if session.offered]
    assert told
    for key, (lowest, highest) in told[0].items():
        api = name_of(key)
        if api is None or (api, release) in NAMED:
            continue
        known = releases.versions_in(api, release)
        assert known[0] == lowest, api
        assert highest in known, api


@pytest.mark.parametrize(("name", "release"), REAL)
def test_nobody_stops_with_the_release_spoken_with(name: str, release: str) -> None:
    found: list[Client] = readiness(book(CAPTURES / name), release)
    assert found
    assert all(client.verdict in ("fine", "broker") for client in found)


def test_releases_are_ordered() -> None:
    names = ["0.8.2", "0.9.0.1", "0.10.0", "0.10.2", "1.0", "2.0", "2.8.2", "3.0", "3.10", "4.0"]
    assert sorted(set(names), key=releases.rank) == names
    assert releases.rank("4.0.1") == releases.rank("v4.0")
    for bad in ("4", "four", "", "4.x", "4.-1"):
        with pytest.raises(InputError):
            releases.rank(bad)


def test_the_command_counts_and_says_so_by_its_status() -> None:
    stops = call("readiness", CAPTURES / "real-0.10.1.1.pcap")
    assert stops.status == 1
    assert stops.out.endswith("1 client compatible with Kafka 4.0, 1 broker not checked\n")
    fine = call("readiness", CAPTURES / "first-contact.pcap", "-f", "json")
    assert fine.status == 0
    assert {line["verdict"] for line in fine.lines} == {"fine"}
    assert call("readiness", CAPTURES / "first-contact.pcap", "--kafka", "9.0").status == 2


def test_keys_that_nobody_knows_are_passed_over() -> None:
    assert call("readiness", CAPTURES / "real-2.8.2.pcap").status == 0
    assert call("diagnose", CAPTURES / "controlled-shutdown.pcap").status in (0, 1)


def test_a_broken_list_of_versions_offers_what_is_whole(tmp_path: Path) -> None:
    whole = b"\0\0\0\0\0\2" + b"\0\3\0\0\0\5"
    path = tmp_path / "broken.pcap"
    path.write_bytes(pcap(Talk().ask("ApiVersions", 0).answer_bytes(whole + b"\0")))
    (session,) = book(path).sessions.values()
    assert session.offered in ({3: (0, 5)}, {})
    assert call("readiness", path).status == 0
