"""`kdbg encode`: JSON to bytes, one message at a time, or whatever `kdbg decode --format json` printed."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.exchanges.messages.exchange import CapturedMessage
from kdbg.protocol import grammars
from kdbg.ui.cli import run
from kdbg.ui.cli.reencode import Reencoder
from kdbg.views.render.jsonlines import json_line
from kdbg.views.render.style import Look

from ..cases import by_day

MAIN = Path(__file__).resolve().parents[2]
FOLDERS = (MAIN / "captures", MAIN.parent / "shared" / "captures", MAIN.parent / "shared" / "captures" / "public")
CAPTURES = [path for folder in FOLDERS for path in sorted(folder.glob("*.pcap*"))]
HARMLESS = {"known-variant", "unknown-tag", "invalid-utf8"}
"""Findings of messages that were read whole all the same."""

NEWEST = grammars.api("Metadata").versions[-1]
Encode = Callable[..., bytes]


@pytest.fixture
def encode(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Encode:
    """Runs `kdbg encode` with these arguments; it must end well, and the answer is what it printed."""

    def call(*arguments: str, stdin: bytes = b"") -> bytes:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        assert run(["encode", *arguments]) == 0
        out, err = capfdbinary.readouterr()
        assert err == b""
        return out

    return call


METADATA = ("metadata", "--version", "1", "--body", '{"topics": [{"name": "orders"}]}')


def test_a_body(encode: Encode) -> None:
    assert encode(*METADATA) == b"0000000100066f7264657273\n"
    assert encode(*METADATA, "--request") == b"0000000100066f7264657273\n"


def test_a_header_and_the_size_in_front(encode: Encode) -> None:
    header = ("--header", '{"correlation_id": 7, "client_id": "x"}')
    assert encode(*METADATA, *header) == b"00030001000000070001780000000100066f7264657273\n"
    assert encode(*METADATA, *header, "--size") == b"0000001700030001000000070001780000000100066f7264657273\n"


def test_raw_and_base64(encode: Encode) -> None:
    data = bytes.fromhex("0000000100066f7264657273")
    assert encode(*METADATA, "--format", "raw") == data
    assert encode(*METADATA, "--format", "base64") == base64.b64encode(data) + b"\n"


def test_the_body_from_a_file_and_from_a_pipe(encode: Encode, tmp_path: Path) -> None:
    file = tmp_path / "body.json"
    file.write_text('{\n "topics": null\n}\n')
    assert encode("metadata", "--version", "1", "--body", f"@{file}") == b"ffffffff\n"
    assert encode("metadata", "--version", "1", "--body", "-", stdin=file.read_bytes()) == b"ffffffff\n"


def test_what_is_left_out_takes_its_default(encode: Encode) -> None:
    assert encode("find-coordinator", "--version", "1") == b"000000\n"
    assert encode("heartbeat", "--version", "1", "--response") == b"000000000000\n"


def test_values_go_by_name_too(encode: Encode) -> None:
    named = '{"resource_type_filter": "topic", "operation": "alter-configs", "permission_type": "Allow"}'
    numbers = '{"resource_type_filter": 2, "operation": 11, "permission_type": 3}'
    describe = ("describe-acls", "--version", "3", "--body")
    assert encode(*describe, named) == encode(*describe, numbers)
    bits = ("metadata", "--version", "8", "--response", "--body")
    assert encode(*bits, '{"cluster_authorized_operations": ["create", "describe-configs"]}') == encode(
        *bits, '{"cluster_authorized_operations": 1056}'
    )


def test_names_of_kafkas_guides_are_understood(encode: Encode) -> None:
    ours = ["produce", "--version", "2", "--body", '{"acks": 1, "timeout_ms": 5, "topic_data": [{"name": "t"}]}']
    theirs = ["produce", "--version", "2", "--body", '{"acks": 1, "timeout": 5, "topic_data": [{"topic": "t"}]}']
    assert encode(*theirs) == encode(*ours)
    body = '{"topics": ["orders"]}'
    assert encode("metadata", "-v", "0", "--body", body) == b"000000010006" + b"orders".hex().encode() + b"\n"


def test_a_record_batch_gets_its_lengths_and_checksum(encode: Encode) -> None:
    batch = {"records": [{"key": "k", "value": "v", "timestamp": 5, "headers": [{"key": "h", "value": None}]}]}
    topics = [{"name": "t", "partition_data": [{"index": 0, "records": [batch]}]}]
    body = {"acks": -1, "timeout_ms": 1, "topic_data": topics}
    data = bytes.fromhex(encode("produce", "--version", "9", "--body", json.dumps(body)).decode())
    message = kdbg.decode(data, api="produce", version=9, direction="request", header=False)
    (found,) = message.body["topic_data"][0]["partition_data"][0]["records"]
    assert (message.findings, found["base_timestamp"]) == ((), 5)
    (record,) = found["records"]
    assert (record["offset"], record["timestamp"], record["key"], record["value"]) == (0, 5, b"k", b"v")
    assert record["headers"] == [{"key": "h", "value": None}]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["metadata"], f"--version is missing; Metadata has versions 0 to {NEWEST}"),
        (["metadata", "--version", "99"], f"kdbg: Metadata has no version 99; supported: 0 to {NEWEST}\n"),
        (["metadatta", "--version", "1"], "kdbg: unknown API 'metadatta'; did you mean Metadata"),
        (["metadata", "--version", "1", "--body", "{"], "kdbg: --body: not JSON: unexpected end of data"),
        (["metadata", "--version", "1", "--body", "[]"], "is not a structure"),
        (["metadata", "--version", "1", "--body", '{"x": 1}'], "kdbg: x: this version has no such field\n"),
        (["metadata", "--version", "1", "--body", '{"topics": [{"name": null}]}'], "kdbg: topics[0].name: null, but"),
        (["metadata", "--version", "1", "--body", '{"topics": [{"name": {"base64": "?"}}]}'], "topics[0].name: base64"),
        (["find-coordinator", "--version", "1", "--body", '{"key_type": "grup"}'],
         "kdbg: key_type: 'grup' is not one of GROUP, TRANSACTION, SHARE\n"),
        (["metadata", "--version", "1", "--body", "@/no/such"], "kdbg: @/no/such: No such file or directory\n"),
        (["metadata", "--version", "1", "--header", "[]"], "requires a JSON object"),
        (["metadata", "--version", "1", "--header", '{"x": 1}'], "kdbg: header.x: this version has no such field"),
        (["metadata", "--version", "1", "--format", "json"], "'json' is not one of"),
        (["-", "--version", "1"], " require an API"),
        (["@/no/such"], "kdbg: @/no/such: No such file or directory\n"),
        (["sasl-authenticate", "--version", "0", "--body", '{"auth_bytes": {"hidden": 9}}'],
         "kdbg: auth_bytes: redacted in this JSON; decode again with --show-secrets\n"),
    ],
)  # fmt: skip
def test_what_cannot_be_encoded_is_refused_in_words(
    arguments: list[str], said: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(["encode", *arguments]) == 2
    out, err = capfdbinary.readouterr()
    assert out == b""
    assert said in err.decode()


WRONG: tuple[Any, ...] = (None, 5, 2.5, 1 << 70, True, "x", [], [5], {}, {"base64": 5}, {"hidden": 1}, [[{}]])


def test_no_body_makes_a_traceback(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    batch: dict[str, Any] = {"records": [{"key": "k", "headers": [{"key": "h", "value": "v"}]}]}
    fields = ("magic", "attributes", "base_offset", "crc", "compressed_records", "records", "raw_records", "partial")
    places = [batch | {name: wrong} for name in fields for wrong in WRONG]
    inner = ("offset", "timestamp", "timestamp_delta", "attributes", "key", "value", "headers", "control")
    places += [{"records": [{name: wrong}]} for name in inner for wrong in WRONG]
    places += [{"magic": 1, name: wrong} for name in ("records", "crc", "attributes", "value") for wrong in WRONG]
    for entry in places:
        body = {"topic_data": [{"partition_data": [{"records": [entry]}]}]}
        assert run(["encode", "produce", "--version", "3", "--body", json.dumps(body)]) in (0, 2), entry
    for wrong in WRONG:
        for body in (
            {"tagged_fields": wrong},
            {"topics": wrong},
            {"topics": [wrong]},
            {"topics": [{"topic_id": wrong}]},
        ):
            assert run(["encode", "metadata", "--version", "12", "--body", json.dumps(body)]) in (0, 2), body
    assert b"Traceback" not in capfdbinary.readouterr().err


def whole(half: CapturedMessage | None) -> bool:
    """Whether a half was captured and read without loss."""
    message = None if half is None or half.missing else half.message()
    return message is not None and {finding.kind for finding in message.findings} <= HARMLESS


@pytest.mark.parametrize("capture", by_day(CAPTURES, 2), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_message_of_a_capture_comes_back_byte_for_byte(capture: Path) -> None:
    complaints: list[str] = []
    compared = 0
    for exchange in kdbg.read(capture):
        (halves,) = Reencoder(complaints.append).lines([json_line(exchange, look=Look(show_secrets=True))])
        for direction, half in (("request", exchange.request), ("response", exchange.response)):
            if half is not None and whole(half):
                assert halves[direction] == half.data, (exchange.number, direction)
                compared += 1
    assert compared
    assert all("must not be null" in complaint for complaint in complaints), "what the sender may not send, we do not"


def pipe(*commands: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Runs one command after the other, each fed with what the one before printed."""
    for command in commands:
        done = subprocess.run([sys.executable, "-m", "kdbg", *command.split()], input=stdin, capture_output=True)
        stdin = done.stdout
    return done


def test_decode_into_encode() -> None:
    capture = MAIN / "captures" / "first-contact.pcap"
    done = pipe(f"decode {capture} --format json", "encode -")
    assert (done.returncode, done.stderr) == (0, b"")
    exchanges = [json.loads(line) for line in done.stdout.splitlines()]
    expected = list(kdbg.read(capture))
    assert len(exchanges) == len(expected) > 20
    for found, exchange in zip(exchanges, expected, strict=True):
        assert list(found) == ["request", "response"]
        for half, text in ((exchange.request, found["request"]), (exchange.response, found["response"])):
            assert text == (None if half is None else half.data.hex())
    sized = pipe(f"decode {capture} --format json --limit 1", "encode --size --format base64").stdout
    first = expected[0].request
    assert first is not None
    assert base64.b64decode(json.loads(sized)["request"]) == len(first.data).to_bytes(4, "big") + first.data


def test_hidden_secrets_are_missed_and_the_rest_is_encoded() -> None:
    capture = MAIN / "captures" / "sasl-plain-raw.pcap"
    done = pipe(f"decode {capture} --format json", "encode -")
    exchanges = [json.loads(line) for line in done.stdout.splitlines()]
    hidden = done.stderr.decode().splitlines()
    assert done.returncode == 1
    assert hidden
    assert all(line.endswith("redacted in this JSON; decode again with --show-secrets") for line in hidden)
    assert sum(exchange["request"] is not None for exchange in exchanges) > len(exchanges) // 2
    shown = pipe(f"decode {capture} --format json --show-secrets", "encode -")
    assert (shown.returncode, shown.stderr) == (0, b"")


EXCHANGE = {
    "api": "Heartbeat", "api_key": 12, "api_version": 0, "correlation_id": 7, "client_id": "x", "notes": [],
    "request": {"size": 25, "body": {"group_id": "g", "generation_id": 1, "member_id": "m"}},
    "response": {"size": 10, "body": {"error_code": 27}},
}  # fmt: skip


def lines(*exchanges: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(exchange).encode() + b"\n" for exchange in exchanges)


def test_both_halves_have_their_headers(encode: Encode) -> None:
    expected = {"request": "000c0000000000070001780001670000000100016d", "response": "00000007001b"}
    assert json.loads(encode("-", stdin=lines(EXCHANGE))) == expected
    assert json.loads(encode(stdin=b"\n" + lines(EXCHANGE))) == expected
    assert json.loads(encode(stdin=lines(EXCHANGE | {"request": None})))["request"] is None
    orphan = {"api": None, "api_key": None, "correlation_id": 5, "request": None, "response": {"size": 9, "body": None}}
    assert json.loads(encode(stdin=lines(orphan))) == {"request": None, "response": None}


def test_another_known_form_is_told_by_a_finding_of_that_half(encode: Encode) -> None:
    text = "this is the v0 layout, with which brokers reject versions they do not support (KIP-511)"
    place = {"side": "response", "path": "", "offset": None}
    exchange = {
        "api_key": 18, "api_version": 4, "correlation_id": 1, "request": None, "notes": [f"known-variant: {text}"],
        "findings": [{"kind": "known-variant", "severity": "note", **place, "text": text}],
        "response": {"body": {"error_code": 35, "api_keys": [{"api_key": 18, "min_version": 0, "max_version": 2}]}},
    }  # fmt: skip
    assert json.loads(encode(stdin=lines(exchange)))["response"] == "00000001002300000001001200000002"
    exchange["findings"][0]["side"] = "request"
    assert json.loads(encode(stdin=lines(exchange)))["response"] == "00000001002302001200000002000000000000"


def test_an_api_that_is_not_known_is_its_header_and_its_bytes(encode: Encode) -> None:
    body = {"body": {"base64": "AQID"}}
    exchange = {"api_key": 999, "api_version": 3, "correlation_id": 1, "client_id": None, "request": {"body": body}}
    assert json.loads(encode(stdin=lines(exchange)))["request"] == "03e7000300000001ffff010203"


def test_another_size_than_captured_is_said(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    file = tmp_path / "exchanges.jsonl"
    file.write_bytes(lines(EXCHANGE, EXCHANGE | {"response": {"size": 15, "body": {"error_code": 27}}}))
    assert run(["encode", f"@{file}"]) == 0
    said = "kdbg: size differs from the capture (changed, or incompletely decoded): line 2: response\n"
    assert capfdbinary.readouterr().err.decode() == said


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        (b"{", 2, "line 2: not JSON"),
        (b'{"a": 1}', 2, "line 2: not an exchange; use the output of kdbg decode --format json"),
        (b"[]", 2, "line 2: not an exchange"),
        (b'{"request": {"body": {}}}', 1, "line 2: request: api_key and api_version are missing"),
        (b'{"request": 5}', 1, "line 2: request: the body differs from the form"),
        (
            b'{"request": {"body": {}}, "api_key": 3, "api_version": 1}',
            1,
            "header.correlation_id: None is not a valid INT32",
        ),
        (
            b'{"request": {"body": {}}, "api_key": -3, "api_version": -1, "correlation_id": null}',
            1,
            "line 2: request: ",
        ),
        (b'{"request": {"body": {}}, "api_key": 8, "api_version": 0, "notes": 5}', 1, "line 2: request: "),
    ],
)
def test_a_line_that_makes_no_sense_is_named(
    line: bytes, status: int, said: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    file = tmp_path / "exchanges.jsonl"
    file.write_bytes(lines(EXCHANGE) + line + b"\n")
    assert run(["encode", f"@{file}"]) == status
    out, err = capfdbinary.readouterr()
    assert out.startswith(b'{"request":"000c')
    assert said in err.decode()
    assert "Traceback" not in err.decode()


def test_only_the_first_complaints_are_told_whole() -> None:
    said: list[str] = []
    reencoder = Reencoder(said.append)
    bad = {"api_key": 3, "api_version": 1, "request": {"body": {}}}
    assert [halves["request"] for halves in reencoder.lines([lines(bad)] * 8)] == [None] * 8
    reencoder.close()
    assert (len(said), said[-1]) == (6, "3 more messages could not be encoded")
