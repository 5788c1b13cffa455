"""Tokens, forwarded requests and metrics as a user sees them: real captures in every view, secrets hidden."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..traffic import Talk
from .calls import CAPTURES, FORMATS, MAIN, Outcome
from .test_secrets_hidden import leaks

Cli = Callable[..., Outcome]
Write = Callable[..., Path]
SCRAM = CAPTURES / "real-sasl-scram.pcap"
BEARERS = CAPTURES / "real-sasl-tokens.pcap"
ENVELOPE = CAPTURES / "real-3.9.2-envelope.pcap"
TELEMETRY = CAPTURES / "real-4.4.0-telemetry.pcap"
SHARED_SASL = MAIN.parent / "shared" / "captures" / "rdkafka-sasl.pcap"
KERBEROS = bytes.fromhex("60 30 06092a864886f712010202 0100")


def test_scram_by_librdkafka(cli: Cli) -> None:
    """Who logs in and how the exchange goes is shown, what a password could be guessed by is not."""
    out = cli("decode", SCRAM, "--api", "SaslAuthenticate").out
    names = [line.partition("auth_bytes  ")[2].partition(",")[0] for line in out.splitlines() if "auth_bytes" in line]
    login = [f"Scram{kind}Message" for kind in ("ClientFirst", "ServerFirst", "ClientFinal", "ServerFinal")]
    assert names[:4] == login
    assert set(names[4:]) == {*login, "<0 bytes redacted>"}, "the wrong password's proofs are answered with an error"
    assert '│       ├── user  "alice"' in out
    assert '│   ├── iterations  "4096"' in out
    for field in ("salt", "proof", "signature"):
        assert out.count(f"── {field}  <") == out.count(f"── {field}  "), field


@pytest.mark.parametrize("path", [SCRAM, CAPTURES / "sasl-plain-raw.pcap"], ids=lambda path: path.name)
def test_plain_in_bare_tokens(cli: Cli, path: Path) -> None:
    lines = cli("decode", path, "-f", "json").lines
    tokens = [line["request"]["body"]["token"] for line in lines if line["api"] == "SaslToken"]
    assert [token["payload"] for token in tokens] == ["PlainMessage"] * 2
    assert {token["value"]["user"] for token in tokens} == {"alice"}
    assert [token["value"]["password"] for token in tokens] == [
        {"redacted": 13, "hidden": 13},
        {"redacted": 11, "hidden": 11},
    ]
    assert all("base64" not in token for token in tokens)


def test_oauthbearer_and_delegation_tokens_by_java(cli: Cli) -> None:
    out = cli("decode", BEARERS).out
    assert '│       │   └── [0]  name "traceId"  value <1 byte redacted>' in out  # nobody knows what it holds
    assert '"{"status":"invalid_token"}"' in out.replace("\\", "")
    assert "OAuthBearerErrorAcknowledgement, 1 byte" in out
    assert out.count('├── tokenauth  "true"') == 2


@pytest.mark.parametrize("format", FORMATS)
def test_what_java_logs_in_with_is_in_no_view(cli: Cli, format: str) -> None:
    lines = cli("decode", BEARERS, "-f", "json", "--show-secrets").lines
    tokens = [line["request"]["body"]["auth_bytes"]["value"] for line in lines if line["api"] == "SaslAuthenticate"]
    secrets = {value[field].encode() for value in tokens for field in ("auth", "proof") if field in value}
    (created,) = [line["response"]["body"]["hmac"] for line in lines if line["api"] == "CreateDelegationToken"]
    secrets.add(base64.b64decode(created["base64"]))
    assert len(secrets) == 2 + 4 + 1
    outcome = cli("decode", BEARERS, "-f", format)
    for secret in secrets:
        assert leaks(outcome.out + outcome.err, secret) == []


@pytest.mark.skipif(not SHARED_SASL.exists(), reason=f"{SHARED_SASL} is absent: it stands beside the project")
def test_plain_in_sasl_authenticate(cli: Cli) -> None:
    lines = cli("decode", SHARED_SASL, "-f", "json", "--api", "SaslAuthenticate").lines
    assert {line["request"]["body"]["auth_bytes"]["payload"] for line in lines} == {"PlainMessage"}


def test_the_hexdump_shows_the_user_and_masks_the_password(cli: Cli) -> None:
    out = cli("decode", CAPTURES / "sasl-plain-raw.pcap", "-f", "hex").out
    assert "00 61 6c 69 63 65" in out
    assert "token.user" in out
    assert "<14 bytes redacted>" in out


TOKENS: dict[str, tuple[str, Callable[[bytes], bytes], bool]] = {
    "PLAIN": ("PLAIN", lambda word: b"\0alice\0" + word, False),
    "SCRAM salt": ("SCRAM-SHA-256", lambda word: b"r=fyko,s=" + word + b",i=4096", True),
    "SCRAM proof": ("SCRAM-SHA-512", lambda word: b"c=biws,r=fyko,p=" + word, False),
    "SCRAM signature": ("SCRAM-SHA-512", lambda word: b"v=" + word, True),
    "SCRAM's own extension": ("SCRAM-SHA-256", lambda word: b"n,,n=alice,r=fyko,x=" + word, False),
    "OAUTHBEARER": ("OAUTHBEARER", lambda word: b"n,,\1auth=Bearer " + word + b"\1traceId=7\1\1", False),
    "OAUTHBEARER's extension": ("OAUTHBEARER", lambda word: b"n,,\1auth=x\1idToken=" + word + b"\1\1", False),
    "Kerberos": ("GSSAPI", lambda word: KERBEROS + word, False),
    "unknown": ("AWS_MSK_IAM", lambda word: b'{"signature":"' + word + b'"}', False),
    "broken": ("PLAIN", lambda word: b"alice:" + word, False),
}


def login(name: str, word: bytes, version: int) -> Talk:
    """A handshake and a token, as a bare one (version 0) or in SaslAuthenticate (version 1)."""
    mechanism, make, from_broker = TOKENS[name]
    token = make(word)
    asked, answered = (b"n,,n=alice,r=fy", token) if from_broker else (token, b"")
    talk = Talk().ask("SaslHandshake", version, mechanism=mechanism).answer(mechanisms=[mechanism])
    if version == 0:
        size = len(asked).to_bytes(4, "big"), len(answered).to_bytes(4, "big")
        return talk.send(size[0] + asked).reply(size[1] + answered).ask("Metadata", 1, topics=[]).answer()
    return talk.ask("SaslAuthenticate", version, auth_bytes=asked).answer(auth_bytes=answered)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", TOKENS)
@given(word=st.text("abcdefghijklmnop", min_size=8, max_size=8))
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_view_shows_a_secret(cli: Cli, write: Write, name: str, format: str, version: int, word: str) -> None:
    secret = word.encode() * 4
    path = write(login(name, secret, version))
    hidden, shown = cli("decode", path, "-f", format), cli("decode", path, "-f", format, "--show-secrets")
    assert leaks(hidden.out + hidden.err, word.encode()) == []
    assert bool(leaks(shown.out, word.encode())) is (format != "summary"), "the test must be able to find it"
    assert hidden.status == shown.status


def test_a_token_that_is_none_of_its_mechanism_stays_hidden_and_is_said(cli: Cli, write: Write) -> None:
    outcome = cli("decode", write(login("broken", b"hunter2", 1)))
    assert "auth_bytes  <13 bytes redacted>" in outcome.out
    assert "not a valid PLAIN token" in outcome.out


def test_an_envelope_is_the_request_that_came_before_it(cli: Cli) -> None:
    lines = cli("decode", ENVELOPE, "-f", "json").lines
    forwarded = [line for line in lines if line["api"] == "Envelope"]
    assert [line["request"]["body"]["request_data"]["payload"] for line in forwarded] == [
        "CreateTopics request v4", "CreateTopics request v4", "AlterUserScramCredentials request v0",
    ]  # fmt: skip
    for line in forwarded:
        request, response = (line[side]["body"][f"{side}_data"] for side in ("request", "response"))
        assert request["value"]["body"] in [other["request"]["body"] for other in lines if other["api"] != "Envelope"]
        assert response["payload"] == request["payload"].replace("request", "response")
        said = [inside["value"]["header"]["correlation_id"] for inside in (request, response)]
        assert said[0] == said[1]
        assert line["request"]["body"]["request_principal"]["value"]["name"] == "ANONYMOUS"
    assert forwarded[1]["response"]["body"]["response_data"]["value"]["body"]["topics"][0]["error_code"] == 36


def test_an_envelope_hides_what_its_request_hides(cli: Cli) -> None:
    out = cli("decode", ENVELOPE, "--api", "Envelope").out
    assert "request_data  AlterUserScramCredentials request v0, 99 bytes" in out
    assert "salted_password  <32 bytes redacted>" in out
    assert "client_host_address  4 bytes  7f 00 00 01  127.0.0.1" in out


def test_the_hexdump_of_an_envelope_names_the_fields_inside(cli: Cli) -> None:
    out = cli("decode", ENVELOPE, "--api", "Envelope", "-f", "hex").out
    assert "request_data.header.api_key" in out
    assert "request_data.body.topics[0].name" in out
    assert "19 = CreateTopics" in out


def test_metrics_of_two_clients(cli: Cli) -> None:
    out = cli("decode", TELEMETRY, "--api", "PushTelemetry").out
    assert "metrics  MetricsData zstd, 929 bytes" in out
    creations = [line.partition("creation.total  ")[2] for line in out.splitlines() if "creation.total" in line]
    assert creations[0] == "sum, delta, monotonic  2.0  2026-11-21 03:38:37.197 UTC to 2026-11-21 03:38:37.599 UTC"
    assert creations[1].startswith("sum, delta, monotonic  0  ")
    assert 'scope  "shop#producer-1"  "2.16.0"' in out
    assert 'org.apache.kafka.producer.node.request.total  sum, delta, monotonic  4.0  node_id "node--1"' in out


def test_metrics_in_json_are_opentelemetrys_own(cli: Cli) -> None:
    (first, *_) = cli("decode", TELEMETRY, "--api", "PushTelemetry", "-f", "json").lines
    found = first["request"]["body"]["metrics"]
    assert len(found["value"]["resource_metrics"]) == 36
    assert found["value"]["resource_metrics"][0]["scope_metrics"][0]["metrics"][0]["name"].startswith(
        "org.apache.kafka."
    )


def test_without_the_library_metrics_are_bytes_by_their_name() -> None:
    without = "import sys; sys.modules['opentelemetry'] = None; from kdbg.ui.cli import main; main()"
    command = [sys.executable, "-c", without, "decode", str(TELEMETRY), "--api", "PushTelemetry"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "metrics  OpenTelemetry's MetricsData, 929 bytes" in done.stdout
    assert "protobuf  929 bytes  28 b5 2f fd" in done.stdout


EDITS: dict[str, tuple[Path, str, str, str]] = {
    "a user": (SCRAM, "SaslAuthenticate", '"user": "alice"', '"user": "bob"'),
    "a topic": (ENVELOPE, "Envelope", '"name": "orders"', '"name": "parcels"'),
    "a metric": (TELEMETRY, "PushTelemetry", '"kafka.producer.request.latency.avg"', '"a.metric"'),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_value_is_encoded_anew(cli: Cli, name: str) -> None:
    path, api, old, new = EDITS[name]
    line = cli("decode", path, "-f", "json", "--show-secrets", "--api", api).lines[0]
    text = json.dumps(line["request"]["body"]).replace("org.apache.", "")
    assert old in text
    header = ("--version", line["api_version"], "--header", '{"correlation_id": 1}', "--size")
    encoded = cli("encode", api, *header, "--body", text.replace(old, new)).out
    decoded = json.dumps(json.loads(cli("explain", encoded.strip(), "-f", "json").out))
    assert new in decoded
    assert old not in decoded
