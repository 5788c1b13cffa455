"""Every known quirk: made in traffic, told as a note that names it and who wrote it, as sure as that is."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.serialization import Parcels
from kdbg.protocol.findings import Finding, Severity
from kdbg.protocol.findings.quirks import QUIRKS, Sure, quirk_of
from kdbg.ui.cli import run

from ..traffic import Talk, pcap

GUIDE = Path(__file__).parents[2] / "kdbg" / "ui" / "guide" / "findings.md"
ALL_TOPICS = bytes.fromhex("00000000 01 00 00")
"""The body of librdkafka's Metadata v13 for all topics: a null of four bytes, two options, no tagged fields."""
SUBSCRIPTION = bytes.fromhex("0001 00000001 0001 74 00000000")
SCRAM = {"deletions": [{"name": "bob", "mechanism": 2}], "upsertions": []}


def hello(talk: Talk, software: str) -> Talk:
    """A client that says which software it is."""
    return talk.ask("ApiVersions", 3, client_software_name=software, client_software_version="2").answer()


def scram(talk: Talk) -> Talk:
    return talk.ask_bytes("AlterUserScramCredentials", 0, b"\x02\x04bob\x02\x00\x01\x00\x00").answer()


def joins(talk: Talk) -> Talk:
    protocols = [{"name": "range", "metadata": SUBSCRIPTION}]
    return talk.ask("JoinGroup", 5, protocol_type="consumer", protocols=protocols).answer()


MADE: dict[str, Callable[[Talk], Talk]] = {
    "all-topics-count": lambda talk: talk.ask_bytes("Metadata", 13, ALL_TOPICS).answer(),
    "api-versions-array": lambda talk: talk.ask_bytes("ApiVersions", 0, bytes(4)).answer(),
    "scram-tags-twice": scram,
    "api-versions-fallback": lambda talk: talk.ask("ApiVersions", 4).answer_bytes(b"\0\x23" + bytes(4)),
    "subscription-v1-as-v0": joins,
}
GROUP_CLIENTS = ("kafka-go", "KafkaJS 1", "Kayrock", "sarama-cluster")
UNTOLD: dict[str, tuple[tuple[str, ...], Sure]] = {
    "all-topics-count": (("librdkafka 2.1 or later",), Sure.LIKELY),
    "api-versions-array": (("librdkafka before 1.5",), Sure.LIKELY),
    "scram-tags-twice": (("librdkafka 2.2 or later",), Sure.LIKELY),
    "api-versions-fallback": ((), Sure.CERTAIN),
    "subscription-v1-as-v0": (GROUP_CLIENTS, Sure.GUESS),
}
"""Who is named where the connection says nothing of its client."""


def exchanges(talk: Talk) -> list[Exchange]:
    with open_capture(io.BytesIO(pcap(talk))) as capture:
        return [*Engine().run(capture.blocks())]


def quirks_of(talk: Talk) -> list[Finding]:
    return [one for exchange in exchanges(talk) for one in exchange.all_findings() if quirk_of(one)]


def test_every_quirk_is_made_here_and_has_its_place_in_the_guide() -> None:
    assert MADE.keys() == UNTOLD.keys() == QUIRKS.keys()
    section = GUIDE.read_text().split("\n### known-quirk\n")[1].split("\n### ")[0]
    for code, quirk in QUIRKS.items():
        assert f"`{code}`" in section
        assert all(sender.name in section for sender in quirk.senders)
        assert quirk.says[0].islower()
        assert not quirk.says.endswith(".")


@pytest.mark.parametrize("code", MADE)
def test_it_is_a_note_that_names_it_and_no_more_than_is_known_of_who_wrote_it(code: str) -> None:
    talk = MADE[code](Talk(client_id="shop-7"))
    found = [one for exchange in exchanges(talk) for one in exchange.all_findings()]
    assert [one.severity for one in found] == [Severity.NOTE]
    facts = quirk_of(found[0])
    assert facts is not None
    assert (facts.code, (facts.senders, facts.sure)) == (code, UNTOLD[code])
    assert QUIRKS[code].says in found[0].text


@pytest.mark.parametrize("code", MADE)
@pytest.mark.parametrize("format", ["tree", "json", "hex"])
def test_all_views_show_it_and_the_exit_status_is_0(
    code: str, format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(MADE[code](Talk())))
    assert run(["decode", str(path), "-f", format]) == 0
    out, _ = capsys.readouterr()
    if format == "json":
        (found,) = json.loads(out)["findings"]
        senders, sure = UNTOLD[code]
        assert found["quirk"] == {"code": code, "by": list(senders), "sure": sure}
    else:
        words = " ".join(out.split())
        assert QUIRKS[code].says[:20] in words


@pytest.mark.parametrize("code", [code for code, quirk in QUIRKS.items() if quirk.senders])
def test_a_client_that_says_what_it_is_wrote_it_for_certain(code: str) -> None:
    (finding,) = quirks_of(MADE[code](hello(Talk(), "acme-client")))
    facts = quirk_of(finding)
    assert facts is not None
    assert (facts.senders, facts.sure) == (("acme-client",), Sure.CERTAIN)
    assert finding.text.endswith("; by acme-client")


@pytest.mark.parametrize(
    ("client_id", "name"),
    [("app@host (github.com/segmentio/kafka-go)", "kafka-go"), ("kafkajs", "KafkaJS 1"), ("sarama", "sarama-cluster")],
)
def test_a_client_id_that_a_library_gives_itself_makes_it_likely(client_id: str, name: str) -> None:
    (finding,) = quirks_of(joins(Talk(client_id=client_id)))
    facts = quirk_of(finding)
    assert facts is not None
    assert (facts.senders, facts.sure) == ((name,), Sure.LIKELY)


def test_a_subscription_that_a_broker_passes_on_may_be_of_another_client() -> None:
    members = [{"member_id": "m", "metadata": SUBSCRIPTION}]
    talk = hello(Talk(), "acme-client").ask("JoinGroup", 5, protocol_type="consumer", protocols=[])
    talk.answer(protocol_name="range", leader="m", member_id="m", members=members)
    facts = [quirk_of(one) for one in quirks_of(talk)]
    assert [one and (one.senders, one.sure) for one in facts] == [(GROUP_CLIENTS, Sure.GUESS)]


def test_other_bytes_left_over_are_an_error_as_before() -> None:
    for body in (b"\0\0\0\0\2\0\0", b"\0\0\0\0\1\0", b"\1\0\0\0\1\0\0"):
        (exchange,) = exchanges(Talk().ask_bytes("Metadata", 13, body).answer())
        assert {str(one.kind) for one in exchange.all_findings()} - {"encoding-mistake"} == {"trailing-bytes"}


@pytest.mark.parametrize("version", [6, 99])
def test_a_version_that_neither_kdbg_nor_the_broker_knows_is_an_ordinary_try(version: int) -> None:
    talk = Talk().ask_bytes(18, version, b"\0\1\1\0").answer_bytes(b"\0\x23" + bytes(4))
    (exchange,) = exchanges(talk)
    assert [(one.side, str(one.kind)) for one in exchange.all_findings()] == [
        ("request", "known-quirk"), ("response", "known-quirk"),
    ]  # fmt: skip
    parcels = Parcels({})
    (again,) = parcels.unpack(b"".join(parcels.pack([exchange], 0)))
    assert again.all_findings() == exchange.all_findings()
    (refused,) = exchanges(Talk().ask_bytes(18, version, b"\0\1\1\0").answer_bytes(bytes(6)))
    assert refused.all_findings()[0].kind == "unknown-version"


def test_redacted_spare_bytes_are_the_same_quirk_and_an_unread_body_is_blanked(tmp_path: Path) -> None:
    talk = Talk().ask_bytes("Metadata", 13, ALL_TOPICS).answer()
    talk.ask_bytes(18, 99, b"\0\x08private\1\0").answer_bytes(b"\0\x23" + bytes(4))
    source, target = tmp_path / "in.pcap", tmp_path / "out.pcap"
    source.write_bytes(pcap(talk))
    assert run(["redact", str(source), str(target)]) == 0
    assert b"private" not in target.read_bytes()
    with open_capture(target) as capture:
        found = [one for exchange in Engine().run(capture.blocks()) for one in exchange.all_findings()]
    assert [one and one.code for one in map(quirk_of, found)] == [
        "all-topics-count", "api-versions-fallback", "api-versions-fallback",
    ]  # fmt: skip
