"""What a user gets of payloads: captures decoded, bytes explained, JSON edited and encoded again, exit statuses."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import kdbg

from ..traffic import Talk, pcap
from .calls import CAPTURES, Outcome, spawn

Cli = Callable[..., Outcome]
INTERNAL = CAPTURES / "real-4.4.0-internal-topics.pcap"
REBALANCE = CAPTURES / "real-3.9.2-rebalance.pcap"
SUBSCRIPTION = bytes.fromhex("0000 00000001 0006 6f7264657273 ffffffff")


def joining(tmp_path: Path, metadata: bytes) -> Path:
    """A capture of a consumer that joins a group with this subscription."""
    protocols = [{"name": "range", "metadata": metadata}]
    talk = Talk().ask("JoinGroup", 5, protocol_type="consumer", protocols=protocols).answer()
    path = tmp_path / "join.pcap"
    path.write_bytes(pcap(talk))
    return path


def test_what_brokers_keep_in_topics_of_their_own(cli: Cli) -> None:
    outcome = cli("decode", INTERNAL)
    assert "value  OffsetCommitValue, 42 bytes" in outcome.out
    assert "value  TransactionLogValue, " in outcome.out
    assert "value  TopicRecord, 29 bytes" in outcome.out
    assert "finding (unsolicited-response 1)" in outcome.closing


def test_ids_have_names_from_the_log_that_made_the_topics(cli: Cli) -> None:
    outcome = cli("decode", INTERNAL, "-f", "summary", "--topic", "__consumer_offsets")
    fetches = [line for line in outcome.out.splitlines() if " Fetch v18 " in line]
    assert len(fetches) > 5
    lines = cli("decode", INTERNAL, "-f", "json", "--topic", "__consumer_offsets").lines
    assert any("__consumer_offsets" in line.get("topic_names", {}).values() for line in lines)


def test_user_data_of_an_assignor_opens_inside_the_subscription(cli: Cli) -> None:
    out = cli("decode", REBALANCE, "--api", "JoinGroup").out
    assert "user_data  CooperativeStickyAssignorUserDataV0, 4 bytes" in out


def test_a_broken_payload_is_told_and_counts(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("decode", joining(tmp_path, SUBSCRIPTION[:-2]))
    assert outcome.status == 1
    assert "✗ malformed-payload: protocols[0].metadata.user_data: invalid ConsumerProtocolSubscription: " in outcome.out
    assert "1 finding (malformed-payload 1)" in outcome.closing
    assert cli("decode", joining(tmp_path, SUBSCRIPTION)).status == 0


@pytest.mark.parametrize("format", ["tree", "json", "hex"])
def test_what_is_explained_opens_too(cli: Cli, format: str) -> None:
    protocols = [{"name": "range", "metadata": SUBSCRIPTION}]
    body = {"protocol_type": "consumer", "protocols": protocols}
    header = {"correlation_id": 7, "client_id": "kdbg"}
    data = kdbg.encode(body, api="JoinGroup", version=5, direction="request", header=header)
    outcome = cli("explain", data.hex(), "-f", format)
    assert outcome.status == 0
    assert "ConsumerProtocolSubscription" in outcome.out
    cut = data.replace(SUBSCRIPTION, SUBSCRIPTION[:-4] + b"\0\0\0\1")
    outcome = cli("explain", cut.hex(), "-f", format)
    assert outcome.status == 1
    assert "invalid ConsumerProtocolSubscription" in outcome.out


def test_an_edited_payload_is_encoded(cli: Cli, tmp_path: Path) -> None:
    line = cli("decode", joining(tmp_path, SUBSCRIPTION), "-f", "json").lines[0]
    kept = json.loads(spawn("encode", "-", "--format", "base64", stdin=json.dumps(line).encode()).out)
    assert SUBSCRIPTION in base64.b64decode(kept["request"])
    line["request"]["body"]["protocols"][0]["metadata"]["value"]["topics"] = ["pay"]
    edited = json.loads(spawn("encode", "-", "--format", "base64", stdin=json.dumps(line).encode()).out)
    assert bytes.fromhex("0000000f 0000 00000001 0003 706179 ffffffff") in base64.b64decode(edited["request"])


def test_a_payload_is_built_from_its_value_alone(cli: Cli) -> None:
    metadata = {"payload": "ConsumerProtocolSubscription", "value": {"version": 0, "topics": ["orders"]}}
    body = {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": metadata}]}
    outcome = cli("encode", "join-group", "--version", "5", "--body", json.dumps(body))
    assert SUBSCRIPTION.hex() in outcome.out
    body["protocols"][0]["metadata"]["value"]["topic"] = "orders"  # type: ignore[index]
    outcome = cli("encode", "join-group", "--version", "5", "--body", json.dumps(body))
    assert outcome.status == 2
    assert "protocols[0].metadata.topic: this version has no such field" in outcome.err
