"""`kdbg explain`, as a user runs it: bytes in every form, messages whole and broken, what is refused."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kdbg

from ..cases import for_each
from ..grammars.test_vectors import SOURCES, Vectors
from .terminal import on_terminal

WORDS = ["00000017", "0003", "0001", "00000002", "0004", "6b646267", "00000001", "0003", "666f6f"]
DATA = bytes.fromhex("".join(WORDS))
CAPTURES = Path(__file__).parents[2] / "captures"
WHOLE = """\
Metadata request v1 · correlation id 2 · client "kdbg" · 27 bytes decoded

0000  00 00 00 17              size            23            INT32
0004  00 03                    api_key         3 = Metadata  INT16
0006  00 01                    api_version     1             INT16
0008  00 00 00 02              correlation_id  2             INT32
000c  00 04 6b 64 62 67        client_id       "kdbg"        NULLABLE_STRING
0012  00 00 00 01              topics          1 element     NULLABLE_ARRAY
0016  00 03 66 6f 6f           topics[0].name  "foo"         STRING
"""
CUT = """\
Metadata request v1 · correlation id 2 · client "kdbg" · cut off: 26 of 27 bytes

0000  00 00 00 17              size            23               INT32
      ^ the size field declares 23 bytes, but 22 follow: 1 byte is missing
0004  00 03                    api_key         3 = Metadata     INT16
0006  00 01                    api_version     1                INT16
0008  00 00 00 02              correlation_id  2                INT32
000c  00 04 6b 64 62 67        client_id       "kdbg"           NULLABLE_STRING
0012  00 00 00 01              topics          1 element        NULLABLE_ARRAY
0016  00 03 66 6f              topics[0].name  4 bytes, unread  STRING
                  ^ topics[0].name: STRING needs 3 bytes, only 2 left
      the 6 fields above decoded correctly
"""
TREE = """\
Metadata request v1 · correlation id 2 · client "kdbg" · cut off: 26 of 27 bytes
├── header
│   ├── api_key  3  Metadata
│   ├── api_version  1
│   ├── correlation_id  2
│   └── client_id  "kdbg"
└── body
    └── topics  1 element
        └── [0]
✗ truncated: the size field declares 23 bytes, but 22 follow: 1 byte is missing

0012  00 00 00 01              topics          1 element        NULLABLE_ARRAY
0016  00 03 66 6f              topics[0].name  4 bytes, unread  STRING
                  ^ topics[0].name: STRING needs 3 bytes, only 2 left
      the 6 fields above decoded correctly
"""


def shell(*words: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "kdbg", "explain", *words]
    return subprocess.run(command, input=stdin, capture_output=True, env=os.environ | environment)


def framed(body: dict[str, Any], api: str, version: int, direction: Any, **header: Any) -> bytes:
    data = kdbg.encode(body, api=api, version=version, direction=direction, header=header)
    return len(data).to_bytes(4, "big") + data


def dump_with(tool: str, data: bytes) -> bytes:
    try:
        return subprocess.run(tool.split(), input=data, capture_output=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip(f"no {tool.split()[0]} on this machine")


def test_the_example_of_the_documentation() -> None:
    done = shell(*WORDS)
    assert (done.returncode, done.stderr, done.stdout.decode()) == (0, b"", WHOLE)
    assert max(map(len, WHOLE.splitlines())) <= 80


def test_a_broken_message_shows_the_fields_up_to_the_break_and_a_caret(explain: Any) -> None:
    assert explain(DATA[:-1].hex()) == (1, CUT)
    assert explain(DATA[:-1].hex(), "--format", "tree") == (1, TREE)
    assert max(map(len, CUT.splitlines()[1:])) <= 80


@pytest.mark.parametrize(
    "word",
    [
        DATA.hex(),
        DATA.hex().upper(),
        DATA.hex(":"),
        "0x" + DATA.hex(),
        base64.b64encode(DATA).decode(),
        base64.urlsafe_b64encode(DATA).decode().rstrip("="),
        repr(DATA),
        repr(DATA)[1:],
        "new byte[] {" + ", ".join(str(byte if byte < 128 else byte - 256) for byte in DATA) + "}",
        "{" + ", ".join(f"(byte) 0x{byte:02x}" for byte in DATA) + "}",
        "".join(f"\\x{byte:02x}" for byte in DATA),
    ],
)
def test_bytes_are_taken_in_every_form(explain: Any, word: str) -> None:
    assert explain(word) == (0, WHOLE)


@for_each("tool", ["xxd", "hexdump -C", "od -A x -t x1", "base64", "xxd -p", "cat"])
def test_what_tools_print_is_taken_from_a_pipe(tool: str) -> None:
    done = shell(stdin=dump_with(tool, DATA))
    assert (done.returncode, done.stdout.decode()) == (0, WHOLE)


def test_a_packet_as_tcpdump_and_wireshark_show_it_is_taken_for_its_payload() -> None:
    from scapy.layers.inet import IP, TCP

    packet = bytes(IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=50000, dport=9092, flags="PA") / DATA)
    lines = [f"\t0x{at:04x}:  {packet[at : at + 16].hex(' ', 2)}" for at in range(0, len(packet), 16)]
    done = shell("-", stdin="\n".join(lines).encode())
    assert (done.returncode, done.stdout.decode()) == (0, WHOLE)


@pytest.mark.parametrize("content", [DATA, DATA.hex().encode(), repr(DATA).encode()])
def test_a_file_may_hold_the_bytes_or_text(explain: Any, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "message").write_bytes(content)
    assert explain(f"@{tmp_path / 'message'}") == (0, WHOLE)


def test_captures_are_sent_to_decode(explain: Any) -> None:
    status, text = explain(f"@{CAPTURES / 'errors.pcap'}")
    assert status == 2
    assert "kdbg decode" in text


@pytest.mark.parametrize(
    "words",
    [
        ["zz"],
        ["@/nonexistent"],
        ["@/"],
        ["--version", "1", "00"],
        ["--api", "nope", "00"],
        ["--format", "yaml", "00"],
        ["''"],
    ],
)
def test_what_makes_no_sense_is_refused(explain: Any, words: list[str]) -> None:
    status, text = explain(*words)
    assert status == 2
    assert "Traceback" not in text


def test_nothing_at_all_is_refused() -> None:
    done = shell(stdin=b"")
    assert done.returncode == 2
    assert b"no bytes found in the input" in done.stderr


def test_several_messages_are_explained_in_turn(explain: Any) -> None:
    status, text = explain(DATA.hex() * 2 + "0000")
    assert status == 1
    assert text.count("Metadata request v1") == 2
    assert "\n001b  00 00 00 17              size            23" in text
    assert "\n2 bytes outside any message\n\n0036  00 00" in text


def test_a_response_is_guessed_and_the_other_fits_are_listed(explain: Any) -> None:
    status, text = explain("0000000a 00000005 00000000 0000")
    lines = text.splitlines()
    assert status == 0
    assert lines[0] == "Heartbeat response v1–v3 · a guess · correlation id 5 · 14 bytes decoded"
    layouts = re.search(r"; (\d+) layouts decode all bytes", lines[1])
    assert layouts
    assert int(layouts[1]) >= 21, "more with every API that is answered so"
    assert "Also possible: LeaveGroup response v1–v2, " in text
    assert lines[-1].startswith("To choose another: --api LeaveGroup --version 2 --response")


def test_what_the_user_says_is_taken_for_granted(explain: Any) -> None:
    status, text = explain("0000000a000000050000000000 00", "--api", "leave", "--version", "1", "--response")
    assert (status, text.splitlines()[0]) == (
        0, "LeaveGroup response v1 · correlation id 5 · 14 bytes decoded",
    )  # fmt: skip
    assert "Also possible" not in text
    status, text = explain("0000", "--no-header", "--api", "heartbeat")
    assert (status, text.splitlines()[0]) == (0, "Heartbeat response v0 · 2 bytes decoded")
    status, text = explain("0000000a00000005000000000000", "--api", "fetch", "--response")
    assert (status, text.splitlines()[0].split(" v")[0]) == (1, "Fetch response")


@pytest.mark.parametrize("source", SOURCES)
def test_a_response_that_a_broker_wrote_is_explained_as_told(explain: Any, source: Vectors) -> None:
    wanted = [r for r in source() if r["class"] == "ok" and r["direction"] == "response" and r["form"] == "frame"]
    for row in wanted:
        if "invalid_crc" in row["file"]:
            continue
        status, text = explain(row["frame_hex"], "--api", row["api"], "--version", str(row["version"]), "--response")
        assert (status, text.splitlines()[0].split(" · ")[0]) == (0, f"{row['api']} response v{row['version']}")


def test_json_holds_what_the_other_views_show(explain: Any) -> None:
    status, text = explain(DATA.hex(), "-f", "json")
    assert status == 0
    assert json.loads(text) == {
        "api": "Metadata", "api_key": 3, "version": 1, "versions": [1], "direction": "request", "offset": 0,
        "size": 23,
        "header": {"api_key": 3, "api_version": 1, "correlation_id": 2, "client_id": "kdbg"},
        "body": {"topics": [{"name": "foo"}]}, "confidence": "certain", "notes": [], "findings": [], "fits": [],
    }  # fmt: skip
    status, text = explain(DATA.hex() + DATA[:-1].hex() + "ff", "-f", "json")
    assert [json.loads(line)["offset"] for line in text.splitlines()] == [0, 27]
    status, text = explain("deadbeefdeadbeef00", "-f", "json")
    assert (status, json.loads(text)["bytes"]) == (1, {"base64": "3q2+796tvu8A"})


def produce(codec: int) -> dict[str, Any]:
    batch = {"magic": 2, "attributes": codec, "records": [{"key": None, "value": b"hello"}]}
    topic = {"name": "t", "partition_data": [{"index": 0, "records": [batch]}]}
    return {"acks": 1, "timeout_ms": 1, "topic_data": [topic]}


def test_a_record_batch_by_itself_is_explained(explain: Any) -> None:
    data = kdbg.encode(produce(0), api="produce", version=3, direction="request")
    batch = data[data.index(b"\x00\x01t") + 15 :]
    status, text = explain(batch.hex())
    assert (status, text.splitlines()[0]) == (0, f"Record set · {len(batch)} bytes decoded")
    assert '"hello"' in text
    status, text = explain(batch.hex(), "-f", "tree")
    assert (status, "records  1 batch, 1 record" in text, '"hello"' in text) == (0, True, True)
    assert json.loads(explain(batch.hex(), "-f", "json")[1])["body"]["records"][0]["records"][0]["value"] == "hello"


def test_a_compressed_batch_shows_what_is_inside(explain: Any) -> None:
    status, text = explain(framed(produce(1), "produce", 3, "request", correlation_id=1, client_id=None).hex())
    assert status == 0
    assert "decompressed: 12 bytes\n0000  " in text
    assert '"hello"' in text


@pytest.mark.parametrize("format", ["hex", "tree", "json"])
@pytest.mark.parametrize("cut", [0, 3])
@pytest.mark.parametrize("sized", [True, False])
def test_passwords_are_hidden(explain: Any, format: str, cut: int, sized: bool) -> None:
    data = framed({"auth_bytes": b"\0alice\0s3cret-s3cret"}, "sasl-authenticate", 2, "request",
                  correlation_id=1, client_id="c")  # fmt: skip
    data = data[0 if sized else 4 : len(data) - cut]
    status, text = explain(data.hex(), "-f", format)
    assert "SaslAuthenticate" in text
    for secret in (
        "s3cret",
        "alice" if cut else "s3cret",  # in a broken token nobody knows which bytes are the name
        b"s3cret".hex(),
        b"s3cret".hex(" "),
        base64.b64encode(b"\0alice\0s").decode()[:8],
    ):
        assert secret not in text
    assert status == bool(cut)
    if not cut:
        assert b"s3".hex(" ") in explain(data.hex(), "--show-secrets")[1]


def test_a_sasl_token_by_itself_is_hidden_too(explain: Any) -> None:
    status, text = explain((b"\0\0\0\x0d\0alice\0s3cret").hex())
    assert status == 0
    assert text.startswith("SASL token · likely · 17 bytes decoded\n")
    assert "s3cret" not in text
    assert b"s3cret".hex(" ") not in text


@pytest.mark.parametrize("format", ["hex", "tree"])
def test_what_stands_in_the_bytes_never_reaches_the_terminal_as_it_is(explain: Any, format: str) -> None:
    name = "\x1b]0;owned\x07\x9b31m\u202e\\"
    data = framed({"topics": [{"name": name}]}, "metadata", 1, "request", correlation_id=1, client_id=name)
    for color in ("never", "always"):
        status, text = explain(data.hex(), "-f", format, "--color", color)
        assert status == 0
        assert not {"\x07", "\x9b", "\u202e"} & set(text)
        assert "\x1b]" not in text
        assert "\\x1b]0;owned\\x07\\x9b31m\\u202e\\\\" in text


def test_colour_is_for_terminals_and_those_who_ask() -> None:
    assert b"\x1b" not in shell(*WORDS).stdout
    assert b"\x1b[" in shell(*WORDS, "--color", "always").stdout
    assert b"\x1b" not in shell(*WORDS, NO_COLOR="1").stdout


def test_an_unknown_version_keeps_its_header(explain: Any) -> None:
    status, text = explain("0000001a 0003 0063 00000002 0004 6b646267 00 0000000100036666 6f6f6f", "--request")
    assert status == 1
    assert text.startswith('Metadata request v99 · correlation id 2 · client "kdbg" · ')
    assert "unknown version 99 of Metadata; 11 body bytes not decoded" in " ".join(text.split())


def test_neither_scapy_nor_spark_nor_rich_is_imported() -> None:
    script = (
        "import sys; from kdbg.ui.cli import run; run(['explain', *sys.argv[1:]]); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, *WORDS], capture_output=True, text=True, check=True)
    assert done.stdout == WHOLE
    assert not {"scapy", "pyspark", "rich"} & set(done.stderr.split())


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    command = f"{sys.executable} -m kdbg explain {(DATA * 3000).hex()[:100_000]} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout.startswith("Metadata request v1")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("columns", "text"), [(80, True), (60, False)], ids=["where there is room", "where names would be cut for it"]
)
def test_bytes_stand_as_text_too_on_a_terminal(columns: int, text: bool) -> None:
    """At 80 columns types yield to it; names and meanings, and the indices in paths, do not."""
    frame = "00000017 0003 0001 00000002 0004 6b646267 00000001 0003 666f6f"
    printed = on_terminal("explain", frame, out=True, columns=columns, NO_COLOR="1", KDBG_PAGER="").screen
    [topic] = [line for line in printed if line.startswith("0016")]
    assert "topics[0].name" in topic
    assert '"foo"' in topic
    assert ("..foo " in topic) is text
    assert max(map(len, printed)) <= max(columns, 80)
