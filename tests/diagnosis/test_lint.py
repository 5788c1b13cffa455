"""`kdbg lint`: everything that is looked for, on traffic that does it, and on real traffic that does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import kdbg
from kdbg.analysis.diagnosis.lint import ALL, BY_FINDING, LINTS, Linter, Remark
from kdbg.analysis.ledgers import Ledgers
from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.protocol.findings import Severity

from ..cases import for_each
from ..cli.calls import call
from ..test_findings import MADE
from ..traffic import Talk, pcap
from .books import CAPTURES, STAGED

GUIDE = (Path(kdbg.__file__).parent / "ui" / "guide" / "lints.md").read_text()
OFFERS = [{"api_key": 0, "min_version": 3, "max_version": 9}, {"api_key": 1, "min_version": 4, "max_version": 12},
          {"api_key": 3, "min_version": 0, "max_version": 9}]  # fmt: skip
DOCUMENT = r"KIP-\d+(, KIP-\d+)*|Kafka protocol guide|Security: [a-zA-Z/ ]+SASL/PLAIN|\w+ configs: [a-z.]+"
HEALTHY = ("members-come-and-go-java", "members-come-and-go-new-protocol", "transactions-committed",
           "everyday-franz-go", "everyday-kafkajs", "idle-long-polls")  # fmt: skip


def linted(path: Path) -> list[Remark]:
    engine = Engine()
    ledgers = Ledgers(engine.names_then)
    linter = Linter(ledgers)
    with open_capture(path) as capture:
        for packets in capture.blocks():
            ledgers.packets(packets)
            exchanges = list(engine.receive_all(packets))
            ledgers.take(exchanges)
            linter.take(exchanges)
    exchanges = list(engine.close())
    ledgers.take(exchanges)
    linter.take(exchanges)
    return linter.remarks()


def made(talk: Talk, tmp_path: Path) -> list[Remark]:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(talk))
    return linted(path)


def offered(talk: Talk | None = None) -> Talk:
    return (talk or Talk(most=60_000)).ask("ApiVersions", 2).answer(api_keys=OFFERS)


def fetch(talk: Talk, session_id: int, epoch: int, leader: int = -1) -> Talk:
    topics = [{"topic": "t", "partitions": [{"partition": 0, "current_leader_epoch": leader}]}]
    talk.ask("Fetch", 11, session_id=session_id, session_epoch=epoch, topics=topics)
    return talk.answer(session_id=7, responses=[])


def produce(talk: Talk, version: int, *, acks: int = -1, **batch: object) -> Talk:
    one = {**batch, "records": [{"value": b"x"}]} if batch["magic"] == 2 else {**batch, "value": b"x"}
    rows = [{"name": "t", "partition_data": [{"index": 0, "records": [one]}]}]
    talk.ask("Produce", version, acks=acks, topic_data=rows)
    return talk if acks == 0 else talk.answer(responses=[])


def numbered(talk: Talk, *sequences: tuple[int, int]) -> Talk:
    """Batches of a producer id: epochs and first sequence numbers."""
    for epoch, sequence in sequences:
        produce(talk, 7, magic=2, producer_id=9, producer_epoch=epoch, base_sequence=sequence)
    return talk


def beats(apart: int) -> Talk:
    """A member whose session timeout is 3 s, and its heartbeats, so many ms apart."""
    talk = Talk(most=60_000)
    talk.ask("JoinGroup", 4, group_id="g", session_timeout_ms=3000, rebalance_timeout_ms=3000, member_id="m")
    talk.answer(generation_id=1, member_id="m")
    for number in range(1, 9):
        talk.at = number * apart
        talk.ask("Heartbeat", 2, group_id="g", generation_id=1, member_id="m").answer()
    return talk


DONE: dict[str, Callable[[], Talk]] = {
    "acks-none": lambda: produce(offered(), 7, acks=0, magic=2),
    "acks0-response": lambda: produce(offered(), 7, acks=0, magic=2).answer(responses=[]),
    "client-id-changes": lambda: changed(offered()),
    "topic-auto-creation": lambda: offered().ask(
        "Metadata", 4, topics=[{"name": "t"}], allow_auto_topic_creation=True).answer(brokers=[]),
    "deprecated-version": lambda: produce(offered(), 2, magic=1),
    "fetch-session-epoch": lambda: fetch(fetch(fetch(offered(), 0, 0), 7, 1), 7, 1),
    "heartbeat-interval-too-long": lambda: beats(2500),
    "leader-epoch-decreased": lambda: fetch(fetch(offered(), 0, 0, 4), 7, 1, 3),
    "no-client-id": lambda: offered(Talk(client_id="")).ask("Metadata", 1).answer(brokers=[]),
    "no-idempotence": lambda: produce(offered(), 7, magic=2, producer_id=-1),
    "no-api-versions-request": lambda: Talk().ask("Metadata", 1).answer(brokers=[]),
    "old-record-format": lambda: produce(offered(), 2, magic=1),
    "plain-without-tls": lambda: Talk().ask("SaslHandshake", 1, mechanism="PLAIN").answer(mechanisms=["PLAIN"]),
    "producer-epoch-decreased": lambda: numbered(offered(), (1, 0), (2, 0), (1, 1)),
    "sequence-gap": lambda: numbered(offered(), (1, 0), (1, 1), (1, 5)),
    "unsupported-version": lambda: fetch(offered(), 0, 0).ask("Fetch", 13).answer(),
    "response-order": lambda: swapped(offered()),
}  # fmt: skip
NOT_DONE: dict[str, Callable[[], Talk]] = {
    "topic-auto-creation": lambda: offered().ask(
        "Metadata", 4, topics=[{"name": "t"}], allow_auto_topic_creation=False).answer(brokers=[]),
    "fetch-session-epoch": lambda: fetch(fetch(fetch(fetch(offered(), 0, 0), 7, 1), 7, 2), 0, 0),
    "heartbeat-interval-too-long": lambda: beats(900),
    "leader-epoch-decreased": lambda: fetch(fetch(offered(), 0, 0, 4), 7, 1, 5),
    "producer-epoch-decreased": lambda: numbered(offered(), (1, 0), (2, 0), (2, 1)),
    "sequence-gap": lambda: numbered(offered(), (1, 0), (1, 1), (1, 1), (1, 2)),
    "no-idempotence": lambda: numbered(offered(), (1, 0)),
    "unsupported-version": lambda: fetch(offered(), 0, 0),
}  # fmt: skip


def changed(talk: Talk) -> Talk:
    talk.ask("Metadata", 1).answer(brokers=[])
    talk.client_id = "another"
    return talk.ask("Metadata", 1).answer(brokers=[])


def swapped(talk: Talk) -> Talk:
    talk.ask("Metadata", 1).ask("Metadata", 1)
    talk.asked.reverse()
    return talk.answer(brokers=[]).answer(brokers=[])


def test_the_registry_is_ordered_and_in_the_guide() -> None:
    assert [lint.code for lint in ALL] == sorted(LINTS)
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| (error|warning|note) \| (.*) \|$", GUIDE, re.M)
    assert listed == [(lint.code, lint.severity.value, lint.what) for lint in ALL]
    assert all(re.fullmatch(DOCUMENT, lint.document) for lint in ALL)
    assert all(not lint.what.endswith(".") for lint in ALL)


def test_all_is_made_here_or_by_the_tests_of_findings() -> None:
    assert LINTS.keys() - DONE.keys() == {BY_FINDING[kind].code for kind in BY_FINDING} - {"response-order"}


@pytest.mark.parametrize("code", DONE)
def test_it_is_found(code: str, tmp_path: Path) -> None:
    found = {remark.lint.code: remark for remark in made(DONE[code](), tmp_path)}
    assert code in found
    assert found[code].seen.first is not None
    assert bool(found[code].party.broker) == (code in ("acks0-response", "response-order"))


@pytest.mark.parametrize("code", NOT_DONE)
def test_it_is_not_found(code: str, tmp_path: Path) -> None:
    assert code not in {remark.lint.code for remark in made(NOT_DONE[code](), tmp_path)}


@pytest.mark.parametrize("kind", [kind for kind in BY_FINDING if kind in MADE])
def test_findings_tell(kind: str, tmp_path: Path) -> None:
    assert kind in {remark.lint.code for remark in made(MADE[kind](), tmp_path)}


@for_each("name", HEALTHY)
def test_healthy_clients_do_nothing_wrong(name: str) -> None:
    found = linted(STAGED / f"{name}.pcap.gz")
    assert [one for one in found if one.lint.severity is not Severity.NOTE] == []


def test_it_is_told_by_software_with_the_first_exchange() -> None:
    (gap,) = [one for one in linted(STAGED / "sequence-gap.pcap.gz") if one.lint.code == "sequence-gap"]
    assert gap.party.client_id == "ledger-writer"
    assert (gap.about, gap.seen.first and gap.seen.first.number) == ("ledger/0", 7)


def test_the_command() -> None:
    notes = call("lint", CAPTURES / "first-contact.pcap")
    assert notes.status == 0
    assert "client shop · 127.0.0.1 · confluent-kafka-python 2.16.1-rdkafka-2.16.0\n" in notes.out
    assert call("lint", CAPTURES / "first-contact.pcap", "--no-notes").out == "no violations found\n"
    old = call("lint", CAPTURES / "real-0.10.1.1.pcap", "-f", "json", "--no-notes")
    assert old.status == 1
    assert {line["code"] for line in old.lines} == {"deprecated-version", "old-record-format"}
    assert old.lines[0]["who"] == {"client_id": "console-producer", "host": "127.0.0.1"}
    assert old.lines[0]["exchanges"] == [4]
