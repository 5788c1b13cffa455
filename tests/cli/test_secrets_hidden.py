"""No view shows a password, a token or a key unless asked to: not whole, not in hex, not when the message is broken."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.message import explain, read
from kdbg.exchanges.messages.peers import Peers
from kdbg.protocol import grammars
from kdbg.protocol.wire.language import Direction
from kdbg.views.render.style import Look
from kdbg.views.render.tree.tree import Tree
from kdbg.views.render.views import view

from ..cases import by_day, for_each
from ..traffic import Talk, forms, header_bytes
from .calls import CAPTURES, FORMATS, MAIN, Outcome

Cli = Callable[..., Outcome]
Write = Callable[..., Path]
SECRET = b"hunter2:" * 8
"""Repeats itself, so that any eight bytes of it in a row are found by `leaks`, whichever part of it is shown."""
WORD = SECRET.decode()
CUTS = 12
"""Places where a long message is cut by day: several of them in each secret, for what is broken is costly to search."""
PEERS = Peers(1, ("10.0.0.1", 51514), ("10.0.0.2", 9092))
TEXT = {
    "name": "ssl.keystore.password", "value": WORD, "config_name": "ssl.keystore.password", "config_value": WORD,
    "is_sensitive": True, "config_operation": 0,
}  # fmt: skip


def some(*names: str) -> dict[str, Any]:
    return {name: TEXT[name] for name in names}


CONFIG = some("name", "value", "is_sensitive") | {"synonyms": [some("name", "value")]}
RESOURCE = {"resource_type": 2, "resource_name": "t"}
FORWARDED = kdbg.encode(
    {"hmac": SECRET}, api="RenewDelegationToken", version=2, direction="request", header={"correlation_id": 7}
)
MESSAGES: dict[str, tuple[str, int, Direction, dict[str, Any]]] = {
    "PLAIN": ("SaslAuthenticate", 2, "request", {"auth_bytes": b"\0alice\0" + SECRET}),
    "PLAIN in version 0": ("SaslAuthenticate", 0, "request", {"auth_bytes": b"\0alice\0" + SECRET}),
    "SCRAM proof": ("SaslAuthenticate", 1, "request", {"auth_bytes": b"c=biws,r=fyko,p=" + SECRET}),
    "SCRAM answer": ("SaslAuthenticate", 1, "response", {"auth_bytes": b"v=" + SECRET}),
    "OAUTH": ("SaslAuthenticate", 2, "request", {"auth_bytes": b"n,,\1auth=Bearer " + SECRET + b"\1\1"}),
    "new token": ("CreateDelegationToken", 3, "response", {"token_id": "t", "hmac": SECRET}),
    "tokens": ("DescribeDelegationToken", 3, "response", {"tokens": [{"token_id": "t", "hmac": SECRET}] * 2}),
    "renewal": ("RenewDelegationToken", 2, "request", {"hmac": SECRET}),
    "expiry": ("ExpireDelegationToken", 1, "request", {"hmac": SECRET}),
    "SCRAM credentials": ("AlterUserScramCredentials", 0, "request", {
        "upsertions": [{"name": "alice", "mechanism": 1, "salt": SECRET, "salted_password": SECRET}],
    }),
    "configs": ("DescribeConfigs", 4, "response", {"results": [RESOURCE | {"configs": [CONFIG]}]}),
    "configs of version 0": ("DescribeConfigs", 0, "response", {
        "results": [RESOURCE | {"configs": [some("name", "value", "is_sensitive")]}],
    }),
    "created": ("CreateTopics", 7, "response", {
        "topics": [{"name": "t", "configs": [some("name", "value", "is_sensitive")]}],
    }),
    "creation": ("CreateTopics", 7, "request", {"topics": [{"name": "t", "configs": [some("name", "value")]}]}),
    "alteration": ("AlterConfigs", 2, "request", {"resources": [RESOURCE | {"configs": [some("name", "value")]}]}),
    "step by step": ("IncrementalAlterConfigs", 1, "request", {
        "resources": [RESOURCE | {"configs": [some("name", "config_operation", "value")]}],
    }),
    "envelope": ("Envelope", 0, "request", {"request_data": FORWARDED, "client_host_address": b"h"}),
    "envelope's answer": ("Envelope", 0, "response", {"response_data": SECRET}),
}  # fmt: skip


def leaks(output: str | bytes, secret: bytes = b"hunter2:") -> list[bytes]:
    """The forms in which the output shows the secret."""
    data = re.sub(rb"\x1b\[[\d;]*m", b"", output if isinstance(output, bytes) else output.encode())
    dumped = re.findall(rb"^[0-9a-f]{4,}  ((?:[0-9a-f]{2} ?)+)", data, re.MULTILINE)
    data += b" ".join(line.strip() for line in dumped)
    return [form for form in forms(secret) if form in data]


def body(name: str) -> tuple[str, int, Direction, bytes]:
    api, version, direction, fields = MESSAGES[name]
    return api, version, direction, kdbg.encode(fields, api=api, version=version, direction=direction)


def conversation(name: str, version: int | None = None) -> Talk:
    """The message as it goes over the wire, with its other half; perhaps as one of a version that does not exist."""
    api, real, direction, data = body(name)
    asked = api if version is None else grammars.api(api).key
    if direction == "request":
        talk = Talk().ask("Metadata", 1, topics=[]).answer().ask_bytes(asked, version or real, data)
        return talk.answer() if version is None else talk.answer_bytes(b"\0\0")
    talk = Talk().ask("Metadata", 1, topics=[]).answer()
    return (talk.ask(api, real) if version is None else talk.ask_bytes(asked, version, b"")).answer_bytes(data)


@pytest.mark.parametrize("name", MESSAGES)
@for_each("format", FORMATS)
def test_a_secret_is_hidden_unless_asked_for(cli: Cli, write: Write, name: str, format: str) -> None:
    path = write(conversation(name))
    hidden, shown = cli("decode", path, "-f", format), cli("decode", path, "-f", format, "--show-secrets")
    assert hidden.out.count("SaslAuth" if "Sasl" in MESSAGES[name][0] else MESSAGES[name][0]) >= (format != "summary")
    assert leaks(hidden.out + hidden.err) == []
    assert bool(leaks(shown.out)) is (format != "summary"), "the test must be able to find it"
    assert hidden.status == shown.status == 0
    if format == "json":
        assert '{"redacted":' in hidden.out
        assert json.loads(hidden.out.splitlines()[-1])["notes"] == []


@pytest.mark.parametrize("name", MESSAGES)
@for_each("format", FORMATS)
def test_a_version_that_does_not_exist_hides_all_of_its_body(cli: Cli, write: Write, name: str, format: str) -> None:
    outcome = cli("decode", write(conversation(name, 99)), "-f", format)
    assert leaks(outcome.out + outcome.err) == []
    assert outcome.status == 1
    assert "unknown-version" in outcome.err
    if format == "hex":
        assert "** **" in outcome.out


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_that_breaks_off_anywhere_shows_none_of_it(name: str) -> None:
    def cut(data: bytes) -> list[bytes]:
        return [data[:length] for length in by_day(range(len(data)), max(8, len(data) // CUTS | 1))]

    for output in renderings(name, cut):
        assert leaks(output) == []


@pytest.mark.parametrize("name", ["PLAIN", "PLAIN in version 0", "SCRAM proof", "OAUTH", "SCRAM answer"])
def test_a_byte_that_is_wrong_shows_none_of_it(name: str) -> None:
    """In messages that are all secret; in others a wrong byte may make a secret of the name of something open."""

    def damaged(data: bytes) -> list[bytes]:
        places = by_day(range(len(data)), 5)
        return [data[:at] + bytes([wrong]) + data[at + 1 :] for at in places for wrong in (0, 1, 0x7F, 0xFF)]

    for output in renderings(name, damaged):
        assert leaks(output) == []


def renderings(name: str, change: Callable[[bytes], list[bytes]]) -> Iterator[str | bytes]:
    """Every view of every changed form of a message's body."""
    api, version, direction, data = body(name)
    head = header_bytes(api, version, direction, {"correlation_id": 1})
    views = [view(format).exchange(look, {}) for format in FORMATS for look in (Look(), Look("STANDARD", 80, False))]
    for changed in change(data):
        exchange = Exchange(PEERS, grammars.api(api), version, 1, "kdbg")
        half = CapturedMessage(head + changed, (0, 0), (1, 1), direction)
        half.api, half.version = exchange.api, version
        setattr(exchange, direction, half)
        for render in views:
            yield render(exchange)


@pytest.mark.parametrize("snaplen", [60, 80, 90, 100, 120])
@pytest.mark.parametrize("format", FORMATS)
def test_packets_that_the_capture_cut(cli: Cli, write: Write, format: str, snaplen: int) -> None:
    path = write(*(conversation(name) for name in ("PLAIN", "SCRAM credentials", "configs")), snaplen=snaplen)
    outcome = cli("decode", path, "-f", format)
    assert leaks(outcome.out + outcome.err) == []


@pytest.mark.parametrize("format", FORMATS)
def test_a_capture_that_ends_inside_the_token(cli: Cli, tmp_path: Path, write: Write, format: str) -> None:
    whole = write(
        Talk().ask("SaslHandshake", 1).answer().ask("SaslAuthenticate", 1, auth_bytes=b"\0a\0" + SECRET)
    ).read_bytes()
    path = tmp_path / "cut.pcap"
    for cut in range(1, 70, 5):
        path.write_bytes(whole[:-cut])
        outcome = cli("decode", path, "-f", format)
        assert leaks(outcome.out + outcome.err) == []


@pytest.mark.parametrize("format", FORMATS)
def test_tokens_without_headers(cli: Cli, write: Write, format: str) -> None:
    """SaslHandshake v0, then raw tokens (captures/sasl-plain-raw.pcap)."""
    outcome = cli("decode", CAPTURES / "sasl-plain-raw.pcap", "-f", format)
    asked = cli("decode", CAPTURES / "sasl-plain-raw.pcap", "-f", format, "--show-secrets")
    for secret in (b"correct-horse", b"wrong-horse"):
        assert leaks(outcome.out + outcome.err, secret) == []
        assert bool(leaks(asked.out, secret)) is (format != "summary")


SHARED_SASL = MAIN.parent / "shared" / "captures" / "rdkafka-sasl.pcap"


@pytest.mark.skipif(not SHARED_SASL.exists(), reason=f"{SHARED_SASL} is absent: it stands beside the project")
def test_a_real_clients_password(cli: Cli) -> None:
    lines = cli("decode", SHARED_SASL, "-f", "json", "--api", "SaslAuthenticate", "--show-secrets").lines
    passwords = {base64.b64decode(line["request"]["body"]["auth_bytes"]["base64"]).split(b"\0")[2] for line in lines}
    assert b"example-pass" in passwords
    assert len(passwords) == 2
    for format in FORMATS:
        outcome = cli("decode", SHARED_SASL, "-f", format)
        for password in passwords:
            assert leaks(outcome.out + outcome.err, password) == [], format


def test_a_name_of_a_configuration_that_is_no_secret_is_shown(cli: Cli, write: Write) -> None:
    config = {"name": "retention.ms", "value": "604800000", "config_operation": 0}
    talk = Talk().ask("IncrementalAlterConfigs", 1, resources=[RESOURCE | {"configs": [config]}]).answer()
    assert "604800000" in cli("decode", write(talk)).out


NUMBERS = {
    int.from_bytes(SECRET[at : at + size], order, signed=True)
    for at in range(8) for size in (4, 8) for order in ("big", "little")
}  # fmt: skip
"""Pieces of the secret read as numbers."""


def numbers(value: Any) -> Iterator[int]:
    """All whole numbers in a value."""
    if isinstance(value, Mapping):
        yield from numbers([*value.values()])
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, int):
        yield value


@for_each("name", MESSAGES)
def test_no_number_of_a_broken_message_is_a_piece_of_a_secret(name: str) -> None:
    api, version, direction, data = body(name)
    known = grammars.api(api)
    for at in range(len(data)):
        for wrong in (0, 1, 2, 8, 0x20, 0x7F, 0xFF):
            changed = data[:at] + bytes([wrong]) + data[at + 1 :]
            message = read(known, version, direction, changed, header=False)
            Tree(Look(full=True), {}).struct(message.grammar)(message.open_body, "", "")  # which it can show
            spans = explain(known, version, direction, changed, header=False)[1].spans
            told = [
                *numbers(message.open_body),
                *(span.value for span in spans if not span.secret and span.role != "size"),
            ]
            assert NUMBERS.isdisjoint(number for number in told if isinstance(number, int)), (at, wrong)
