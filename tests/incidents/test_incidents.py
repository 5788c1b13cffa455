"""The stage: its entries are whole, its captures show what the entries say, and a few are staged anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from ..brokers.pool import needed
from ..cases import for_each
from . import CAPTURES, codes, foreign, other_brokers, platforms
from .clusters import CLUSTERS
from .incident import PARTIES, Incident
from .making import CURED, truth
from .scenarios import INCIDENTS, TABLES
from .shown import missing, packets

STORED = {line["name"]: line for line in truth(CAPTURES)}
LARGEST, ALL = 150_000, 6_000_000
ANEW = ("plaintext-java-to-tls", "sequence-gap", "network-delay")
BEYOND_WORDS = {
    **dict.fromkeys(("untrusted-certificate-python", "untrusted-certificate-librdkafka", "untrusted-certificate-java",
                     "client-certificate-missing-librdkafka", "client-certificate-missing-java",
                     "client-certificate-expired-librdkafka", "client-certificate-expired-java",
                     "client-certificate-of-stranger-librdkafka"), "the alert is encrypted"),
    **dict.fromkeys(("one-key-for-all", "consumer-too-slow-librdkafka", "consumer-too-slow-java",
                     "no-fetch-sessions-kept"), "a matter of how the numbers of many exchanges are spread"),
    **dict.fromkeys(("poll-too-late-librdkafka", "poll-too-late-new-protocol", "consumer-paused-for-ever"),
                    "a matter of what does not come"),
    **dict.fromkeys(("more-members-than-partitions", "more-members-than-partitions-new-protocol"),
                    "a matter of what an assignment leaves out"),
    **dict.fromkeys(("client-reads-late", "network-delay", "network-delay-java", "network-loss", "network-cut",
                     "long-packets-dropped-from-client", "long-packets-dropped-to-client"),
                    "a matter of when packets come"),
    "response-larger-than-client-takes": "a matter of what does not come after a response",
    **dict.fromkeys(("clock-of-a-host-is-slow", "clock-of-a-host-is-slow-kafka-python"),
                    "a matter of times that differ"),
    **dict.fromkeys(("commit-of-the-last-record", "no-offset-and-no-reset-java", "no-offset-and-no-reset-librdkafka",
                     "pattern-fits-no-topic", "partitions-that-nobody-reads", "consumer-never-commits",
                     "consumer-never-commits-kafka-python", "partitions-that-nobody-reads-kafka-python",
                     "pattern-fits-no-topic-kafka-python",
                     "share-records-released-for-ever"), "a matter of what does not come"),
    **dict.fromkeys(("request-in-two-pieces", "thin-line-librdkafka", "thin-line-java", "idle-connections-forgotten",
                     "packets-overtake-one-another", "request-without-tagged-fields", "receive-buffer-too-small"),
                    "a matter of when packets come"),
    "one-member-gets-all-topics": "a matter of what an assignment leaves out",
}  # fmt: skip
"""Incidents whose failure is more than one exchange or packet tells, and why."""
TIMEOUT = 300
TOP = Path(__file__).parents[2]


def entry(name: str) -> Incident:
    return INCIDENTS[name.removesuffix(CURED)]


def test_names_are_not_given_twice() -> None:
    assert len(INCIDENTS) == sum(len(table.INCIDENTS) for table in TABLES)


@for_each("incident", INCIDENTS.values(), ids=lambda incident: incident.name)
def test_an_entry_is_whole(incident: Incident) -> None:
    assert incident.cause in codes.CAUSES
    assert incident.cluster in CLUSTERS
    assert incident.evidence
    assert incident.who.keys() <= set(PARTIES)
    assert bool(incident.looks_like) == incident.healthy
    assert bool(incident.who and incident.advice) == (not incident.healthy)
    assert not (incident.healthy and incident.cured)


def test_every_cause_is_staged_or_argued() -> None:
    staged = {incident.cause for incident in INCIDENTS.values()}
    known = set(codes.AGREED) | codes.OURS.keys() | codes.NO_RULE_YET.keys()
    assert known == staged - {codes.HEALTHY} | codes.ARGUED.keys()
    assert not staged & codes.ARGUED.keys()


def test_there_are_enough() -> None:
    healthy = [incident for incident in INCIDENTS.values() if incident.healthy]
    assert len(healthy) >= 15
    assert len(INCIDENTS) - len(healthy) >= 40


def test_each_incident_and_each_cure_is_stored() -> None:
    wanted = {one.name for one in INCIDENTS.values() if one.stored}
    wanted |= {f"{one.name}{CURED}" for one in INCIDENTS.values() if one.stored and one.cured is not None}
    assert STORED.keys() == wanted
    assert {path.name for path in CAPTURES.glob("*.pcap*")} == {line["file"] for line in STORED.values()}


def test_captures_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in CAPTURES.glob("*.pcap.gz")}
    assert {name: size for name, size in sizes.items() if size > LARGEST} == {}
    assert sum(sizes.values()) <= ALL


@for_each("name", [name for name in STORED if not name.endswith(CURED)], by=lambda name: name[0])
def test_captures_of_an_incident_are_what_the_entry_says(name: str) -> None:
    """What the capture of an incident shows is gone with the advice applied."""
    failing, incident = STORED[name], entry(name)
    is_what_the_entry_says(failing)
    assert missing(CAPTURES / failing["file"], incident.evidence) == []
    if cured := STORED.get(f"{name}{CURED}"):
        is_what_the_entry_says(cured)
        assert name in BEYOND_WORDS or missing(CAPTURES / cured["file"], incident.evidence)


def is_what_the_entry_says(line: dict[str, Any]) -> None:
    incident = entry(line["name"])
    failing = not incident.healthy and not line["name"].endswith(CURED)
    assert line["cause_code"] == (incident.cause if failing else codes.HEALTHY)
    assert line["who"].items() >= incident.who.items() if failing else not line["who"]
    assert line["healthy"] is not failing
    moments = [packet.at for packet in packets(CAPTURES / line["file"])]
    assert moments[0] - 15 <= line["since"] <= moments[-1]


@pytest.mark.nightly
def test_a_few_are_staged_anew_with_their_cures(tmp_path: Path) -> None:
    """What the new captures show is what the stored ones do."""
    for tool in ("tcpdump", "unshare", "ip", "setpriv", "node", "npm", "go", "javac"):
        if which(tool) is None:
            pytest.skip(f"{tool} is not installed, and staging wants it")
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here: staging wants root")
    if not Path("/dev/net/tun").exists():
        pytest.skip("there is no /dev/net/tun, of which lines are made")
    with needed():
        foreign.install()
        platforms.install()
        other_brokers.install()
    command = [sys.executable, "-m", "tests.incidents", *ANEW, "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=TOP)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = {line["name"]: line for line in truth(tmp_path)}
    assert lines.keys() == {f"{name}{end}" for name in ANEW for end in ("", CURED)}
    for name in ANEW:
        assert missing(tmp_path / lines[name]["file"], INCIDENTS[name].evidence) == []
