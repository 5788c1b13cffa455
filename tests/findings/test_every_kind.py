"""A finding of every kind, from an input that has it: how serious it is, where it is, and what its facts say."""

from __future__ import annotations

import io
import json
import struct

import pytest

from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.protocol.findings import Finding, Kind, Severity, faults, pack, unpack
from kdbg.protocol.findings import facts as of
from kdbg.protocol.findings.facts import FactKind
from kdbg.protocol.findings.faults import FaultKind
from kdbg.protocol.findings.quirks import FALLBACK
from tests.segments.made import pieces
from tests.test_findings import MADE, OF_FILES, OF_THE_PROXY
from tests.traffic import START, client_hello, pcap

from ..cases import for_each

TOPIC = "topics[0].name"
BATCH = "topic_data[0].partition_data[0].records[0]"
ANSWERS = of.Answers(
    (
        (12, "Heartbeat", (3, 1, 2)),
        (13, "LeaveGroup", (2, 1)),
        (25, "AddOffsetsToTxn", (2, 0, 1)),
        (26, "EndTxn", (2, 0, 1)),
    ),
    likely=False,
    read=True,
)
UNSUPPORTED = "the v0 layout, with which brokers reject versions they do not support (KIP-511)"
ERROR, WARNING, NOTE = Severity
EXPECTED: dict[str, tuple[Severity, Finding, str]] = {
    kind: (severity, Finding(Kind(kind), *place, facts), text)  # type: ignore[arg-type]
    for kind, severity, place, facts, text in [
        ("tcp-gap", ERROR, ("request", "", None, 100), FactKind.BYTES_MISSING.of(5),
            "the capture lacks 100 bytes from the client, before packet 5"),
        ("undecoded-bytes", ERROR, ("request", "", None, 120), of.PlainFact.BYTES_UNPROVED,
            "120 bytes from the client skipped: no Kafka frame recognised"),
        ("truncated", ERROR, ("request", TOPIC, 20, 0), of.Stopped(20, faults.TooFewBytes("STRING", 6, 5)),
            "topics[0].name: STRING needs 6 bytes, only 5 left (byte 24 of the frame, 0x0018)"),
        ("trailing-bytes", ERROR, ("request", "", 18, 2), FaultKind.LEFTOVER.of(2),
            "2 trailing bytes after the last field"),
        ("invalid-length", ERROR, ("request", "topics", 14, 0),
            of.Stopped(14, faults.NegativeLength("NULLABLE_ARRAY", -7)),
            "topics: NULLABLE_ARRAY has the invalid length -7 (byte 18 of the frame, 0x0012)"),
        ("invalid-value", ERROR, ("request", "topics", 15, 0),
            of.Stopped(15, FaultKind.ENDLESS_VARINT.of(type="UNSIGNED_VARINT", size=5)),
            "topics: UNSIGNED_VARINT does not end within 5 bytes (byte 19 of the frame, 0x0013)"),
        ("unexpected-null", ERROR, ("request", TOPIC, 18, 2), FaultKind.NULL_FORBIDDEN.of("STRING"),
            "STRING must not be null"),
        ("invalid-utf8", ERROR, ("request", TOPIC, 20, 1), FaultKind.NOT_UTF8.of("STRING"),
            "STRING is not valid UTF-8"),
        ("non-minimal-varint", WARNING, ("request", "topics", 15, 2), FaultKind.LONG_VARINT.of(value=1, size=2),
            "1 is encoded in 2 bytes, more than necessary"),
        ("unknown-api", ERROR, ("request", "body", 14, 4), FaultKind.NO_API.of(key=31_999, left=4),
            "unknown API key 31999; 4 body bytes not decoded"),
        ("unknown-version", ERROR, ("request", "body", 17, 1),
            FaultKind.NO_VERSION.of(api="Metadata", version=99, left=1),
            "unknown version 99 of Metadata; 1 body byte not decoded"),
        ("injected-fault", NOTE, ("", "", None, 0), FactKind.FAULT_DONE.of("Fetch: delay 500ms"),
            "kdbg proxy applied the fault rule: Fetch: delay 500ms"),
        ("unknown-tag", NOTE, ("request", "tagged_fields", 22, 1), FaultKind.TAG_UNKNOWN.of(tag=99, size=1),
            "unknown tag 99, 1 byte"),
        ("tag-order", ERROR, ("request", "tagged_fields", 23, 0), FaultKind.TAG_BEHIND.of(tag=98, last=99),
            "tag 98 follows tag 99; tags must be unique and ascending"),
        ("reserved-bits", WARNING, ("request", f"{BATCH}.attributes", 62, 2), faults.BitsSet(0x80),
            "reserved bit 7 is set"),
        ("crc-mismatch", ERROR, ("request", f"{BATCH}.crc", 58, 4),
            FaultKind.CHECKSUM_WRONG.of(of="batch", algorithm="CRC-32C", says=1, gives=0xDC16B1E2),
            "batch: stored CRC-32C 0x00000001, computed 0xdc16b1e2"),
        ("decompression-failed", ERROR, ("request", f"{BATCH}.compressed_records", 102, 0),
            faults.CodecFault("gzip", FaultKind.LIBRARY_REFUSED.of("incorrect header check")),
            "gzip: incorrect header check"),
        ("malformed-record-set", ERROR, ("request", BATCH, 41, 30), faults.PlainFault.NO_ENTRY,
            "not a record batch or message"),
        ("malformed-payload", ERROR, ("request", "protocols[0].metadata.topics", 55, 0),
            of.InPayload("ConsumerProtocolSubscription", of.Stopped(2, faults.TooFewBytes("INT32", 4, 0)), False),
            "protocols[0].metadata.topics: invalid ConsumerProtocolSubscription: INT32 needs 4 bytes, only 0"
            " left (byte 59 of the frame, 0x003b)"),
        ("known-variant", NOTE, ("response", "", None, 0), FactKind.KNOWN_FORM.of(UNSUPPORTED),
            "decoded as the v0 layout, with which brokers reject versions they do not support (KIP-511)"),
        ("known-quirk", NOTE, ("response", "", None, 0), of.KnownQuirk(FALLBACK, (), "certain"),
            "the broker does not support this version and responds with v0, as KIP-511 requires"),
        ("midstream", NOTE, ("response", "", None, 40), of.PlainFact.BEFORE_FIRST,
            "40 bytes from the broker skipped: the tail of a message sent before the capture"),
        ("request-too-large", ERROR, ("request", "", 0, 0),
            FactKind.REQUEST_TOO_LARGE.of(api="Produce", version=3, size=(100 << 20) + 1, most=100 << 20),
            "Produce v3 of 104,857,601 bytes exceeds socket.request.max.bytes (default 104,857,600)"),
        ("no-response", WARNING, ("request", "", None, 0), None,
            "the capture contains no response to this request"),
        ("unsolicited-response", WARNING, ("response", "body", 4, 6), ANSWERS,
            "the request is not in the capture; the layout possibly matches a response to Heartbeat v3 (or "
            "v1, 2, which have the same layout), or LeaveGroup v2, AddOffsetsToTxn v2, EndTxn v2"),
        ("not-kafka", ERROR, ("", "", None, 33), FactKind.FOREIGN.of("an HTTP GET request"),
            "an HTTP GET request; not decoded"),
        ("connection-refused", WARNING, ("", "", None, 0),
            of.NoConnection(1, START * 10**9, START * 10**9 + 10**6, refused=True),
            "connection refused: nothing listens on that address and port"),
        ("connection-timeout", WARNING, ("", "", None, 0),
            of.NoConnection(3, START * 10**9, (START + 3) * 10**9, refused=False),
            "no reply to 3 connection attempts (SYN)"),
        ("not-decrypted", ERROR, ("", "", None, len(client_hello("kafka.example"))),
            of.Encrypted("TLS 1.3", "", "kafka.example", (), (), (), (), "unanswered"),
            "TLS 1.3 offered, server name kafka.example; not decrypted: no reply to the ClientHello "
            "(probably a plaintext listener)"),
        ("damaged-capture", ERROR, ("", "", None, 0), of.CaptureTrouble("the file ends inside packet 4"),
            "the file ends inside packet 4"),
        ("memory-limit", ERROR, ("request", f"{BATCH}.compressed_records", 107, 0), FaultKind.MEMORY_SPENT.of(512),
            "not decoded further: over 512 MiB of decoded data in one message; raise --max-memory"),
        ("encoding-mistake", ERROR, ("request", "", 0, 22),
            of.MessageMistake("sasl-authenticate-after-v0", "SaslAuthenticate", 1, "", "", "certain"),
            "a SaslAuthenticate request after SaslHandshake v0, expected a raw SASL token "
            "(byte 4 of the frame, 0x0004)"),
        ("search-limit", NOTE, ("request", "", None, 0), FactKind.SEARCH_LIMIT.of(most=16, seconds=10),
            "not searched for mistakes: the limit is 16 similar messages in 10 seconds"),
        ("out-of-order", ERROR, ("", "", 0, 0),
            FactKind.BEHIND.of(name="relative_offset", number=10, before=20, growing="offsets"),
            "relative_offset 10 follows 20, but offsets must increase"),
    ]
}  # fmt: skip


def found_in(data: bytes) -> list[Finding]:
    """Every finding of a capture: of its exchanges, its connections, itself."""
    session = Engine()
    with open_capture(io.BytesIO(data)) as capture:
        found = [finding for exchange in session.run(capture.blocks()) for finding in exchange.all_findings()]
        return [*found, *(finding for _, finding in session.findings), *capture.problems]


def made(kind: str) -> list[Finding]:
    if kind in OF_THE_PROXY:
        return [EXPECTED[kind][1]]
    if kind in OF_FILES:
        entries = b"".join(struct.pack(">ii", 10 * n, 4096 * n) for n in (1, 2, 1))
        return [finding for piece in pieces(entries, f"{0:020}.index") for finding in piece.findings]
    return found_in(pcap(MADE[kind]())[: -1 if kind == "damaged-capture" else None])


def test_no_kind_is_left_out() -> None:
    assert EXPECTED.keys() == set(Kind)


@for_each("kind", EXPECTED)
def test_a_finding_says_how_serious_it_is_where_and_what(kind: str) -> None:
    severity, expected, text = EXPECTED[kind]
    found = next(finding for finding in made(kind) if finding.kind == kind)
    assert found == expected
    assert type(found.facts) is type(expected.facts)
    assert (found.severity, found.text, str(found)) == (severity, text, f"{kind}: {text}")


@for_each("kind", EXPECTED)
def test_a_finding_is_immutable_data_that_json_carries(kind: str) -> None:
    for found in made(kind):
        again = unpack(json.loads(json.dumps(pack(found))))
        assert again == found
        assert type(again.kind) is Kind
        assert (type(again.facts), again.text) == (type(found.facts), found.text)
        assert len({found, again}) == 1


TRAITS: dict[str, set[str]] = {
    "shifts": {"truncated", "trailing-bytes", "invalid-length", "invalid-value", "unexpected-null", "tag-order"},
    "breaks": {"truncated", "invalid-length", "invalid-value"},
    "harmless": {
        "invalid-utf8",
        "non-minimal-varint",
        "reserved-bits",
        "unknown-tag",
        "malformed-payload",
        "known-variant",
        "known-quirk",
        "encoding-mistake",
        "search-limit",
    },
    "unread": {"unknown-api", "unknown-version", "unknown-tag", "memory-limit"},
    "cut": {"truncated", "malformed-record-set"},
}


@pytest.mark.parametrize("trait", TRAITS)
def test_what_kinds_mean_for_the_bytes_around_them(trait: str) -> None:
    assert {kind.value for kind in Kind if getattr(kind, trait)} == TRAITS[trait]


def test_the_exit_status_goes_by_the_severity() -> None:
    mild = {
        "known-variant", "known-quirk", "midstream", "injected-fault", "unknown-tag", "no-response",
        "unsolicited-response", "non-minimal-varint", "reserved-bits",
        "connection-refused", "connection-timeout", "search-limit",
    }  # fmt: skip
    assert {kind for kind in Kind if not kind.is_error} == mild
    assert all(kind.is_error == (kind.severity is ERROR) for kind in Kind)


def test_the_side_of_a_gap_is_the_message_that_its_sender_sends() -> None:
    talk = MADE["truncated"]().lose(40, broker=True).ask("Metadata", 1).answer()
    gap = next(finding for finding in found_in(pcap(talk)) if finding.kind is Kind.TCP_GAP)
    assert (gap.side, gap.text[:42]) == ("response", "the capture lacks 40 bytes from the broker")
