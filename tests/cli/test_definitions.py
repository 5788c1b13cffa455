"""Message definitions on the command line: an API that no Kafka has, decoded, explained, encoded, sent and printed."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.protocol import grammars

from ..traffic import Talk
from .calls import FORMATS, Outcome, call, spawn
from .peers import peer

Cli = Callable[..., Outcome]
MADE = Path(__file__).parents[1] / "definitions" / "made"
REQUEST, RESPONSE, VALUE = (MADE / f"Lamp{what}.json" for what in ("Request", "Response", "Value"))
LAMP_ID = "6a7a452c-7a0a-4fcd-9d35-1d0a2cbb7d61"
ASKED: dict[str, Any] = {
    "topic_name": "hall", "group_id": "night", "lamps": [{"lamp_id": LAMP_ID, "colour": 255}],
    "rooms": [{"doors": [7]}], "port": 80, "switch_password": "hunter2", "wiring": None,
}  # fmt: skip


@pytest.fixture
def capture(write: Callable[..., Path]) -> Path:
    """Two exchanges of Lamp, the second an error, between two of an API that kdbg has itself."""
    with kdbg.using_definitions(MADE):
        talk = Talk().ask("Lamp", 3, **ASKED).answer(lit=[LAMP_ID], since_timestamp=1_795_264_200_000)
        talk.ask("ApiVersions", 0).answer().ask("Lamp", 0, topic_name="cellar").answer(error_code=3)
        return write(talk)


class TestDecode:
    """A capture of an API that kdbg has never heard of."""

    def test_without_its_definition_it_is_unknown(self, cli: Cli, capture: Path) -> None:
        outcome = cli("decode", capture, "-f", "json")
        assert outcome.status == 1
        assert [line["api"] for line in outcome.lines] == ["Unknown(901)", "ApiVersions", "Unknown(901)"]

    def test_with_it_every_byte_is_read(self, cli: Cli, capture: Path) -> None:
        outcome = cli("decode", capture, "--definitions", MADE, "-f", "json")
        assert (outcome.status, outcome.err.count("\n")) == (0, 1)
        lamp, _, cellar = outcome.lines
        assert (lamp["api"], lamp["api_key"], lamp["api_version"], lamp["notes"]) == ("Lamp", 901, 3, [])
        body = lamp["request"]["body"]
        assert body["lamps"] == [{"lamp_id": LAMP_ID, "brightness": 0.5, "colour": 255}]
        assert body["rooms"] == [{"floor": -1, "doors": [7], "dark": True}]
        assert (body["port"], body["spare"], body["timeout_ms"]) == (80, None, 30000)
        assert lamp["response"]["body"]["lit"] == [LAMP_ID]
        assert cellar["response"]["body"] == {"error_code": 3, "lit": []}

    @pytest.mark.parametrize(
        ("format", "texts"),
        [
            ("tree", ["Lamp v3", '"hall"', "timeout_ms  30000 ms  30 s", "2026-11-21 12:30:00.000 UTC",
                      "error_code  3  UNKNOWN_TOPIC_OR_PARTITION"]),
            ("summary", ["Lamp v3", "hall group night", "✗ UNKNOWN_TOPIC"]),
            ("hex", ["lamps[0].brightness", "lamps[0].colour", "901 = Lamp", "rooms[0].doors[0]"]),
            ("json", ['"brightness":0.5', '"error_code":3']),
        ],
    )  # fmt: skip
    def test_the_views_show_what_its_values_mean(self, cli: Cli, capture: Path, format: str, texts: list[str]) -> None:
        outcome = cli("decode", capture, "--definitions", MADE, "-f", format)
        assert outcome.status == 0
        assert [text for text in texts if text not in outcome.out] == []

    @pytest.mark.parametrize("format", FORMATS)
    def test_secrets_are_hidden(self, cli: Cli, capture: Path, format: str) -> None:
        assert "hunter2" not in cli("decode", capture, "--definitions", MADE, "-f", format).out
        shown = cli("decode", capture, "--definitions", MADE, "-f", format, "--show-secrets").out
        assert ("hunter2" in shown) is (format in ("tree", "hex", "json"))

    @pytest.mark.parametrize(
        ("filters", "count"),
        [
            (["--api", "lamp"], 2), (["--api", "901"], 2), (["--topic", "hall"], 1), (["--group", "night"], 1),
            (["--errors"], 1), (["--api", "api-versions"], 1),
        ],
    )  # fmt: skip
    def test_filters_see_it(self, cli: Cli, capture: Path, filters: list[str], count: int) -> None:
        assert len(cli("decode", capture, "--definitions", MADE, "-f", "json", *filters).lines) == count

    def test_what_was_decoded_is_encoded_again(self, capture: Path) -> None:
        decoded = call("decode", capture, "--definitions", MADE, "-f", "json", "--show-secrets")
        again = spawn("encode", "-", "--definitions", MADE, stdin=decoded.out.encode())
        assert (again.status, again.err) == (0, "")
        with kdbg.using_definitions(MADE):
            header = {"correlation_id": 1, "client_id": "kdbg"}
            asked = kdbg.encode(ASKED, api="lamp", version=3, direction="request", header=header)
        assert again.lines[0]["request"] == asked.hex()

    def test_the_environment_may_name_several(self, capture: Path) -> None:
        outcome = spawn("decode", capture, "-f", "json", KDBG_DEFINITIONS=f"{REQUEST}:{RESPONSE}")
        assert (outcome.status, outcome.lines[0]["api"]) == (0, "Lamp")
        assert spawn("decode", capture, "-f", "json", KDBG_DEFINITIONS="").status == 1

    def test_one_direction_alone_leaves_the_other_as_bytes(self, cli: Cli, capture: Path) -> None:
        outcome = cli("decode", capture, "--definitions", REQUEST, "-f", "json", "--limit", "1")
        (lamp,) = outcome.lines
        assert (outcome.status, lamp["request"]["body"]["topic_name"]) == (1, "hall")
        assert lamp["response"]["body"].keys() == {"body"}
        assert lamp["notes"] == ["unknown-version: no response layout for Lamp v3; 32 body bytes not decoded"]

    def test_nothing_of_it_is_left_when_the_command_ends(self, cli: Cli, capture: Path) -> None:
        assert cli("decode", capture, "--definitions", MADE).status == 0
        assert grammars.find(901) is None
        assert cli("grammar", "lamp").status == 2


class TestExplain:
    """Bytes alone."""

    def encoded(self, cli: Cli, *more: str) -> str:
        outcome = cli("encode", "lamp", "-v", "0", "--size", "--definitions", MADE, *more)
        assert outcome.status == 0
        return outcome.out.strip()

    def test_a_request_is_known_by_its_header(self, cli: Cli) -> None:
        data = self.encoded(cli, "--body", '{"topic_name": "hall"}', "--header", '{"correlation_id": 7}')
        assert data == "0000001803850000" + "00000007" + "0000" + "000468616c6c" + "00000000" + "00007530"
        outcome = cli("explain", data, "--definitions", MADE)
        assert outcome.out.startswith('Lamp request v0 · correlation id 7 · client "" · 28 bytes decoded\n')
        assert outcome.status == 0

    def test_a_response_is_known_by_fitting(self, cli: Cli) -> None:
        body = json.dumps({"error_code": 3, "lit": [LAMP_ID, LAMP_ID]})
        data = self.encoded(cli, "--response", "--body", body, "--header", '{"correlation_id": 7}')
        assert cli("explain", data, "--definitions", MADE).out.startswith(
            "Lamp response v0 · likely · correlation id 7 · "
        )

    @pytest.mark.parametrize("format", ["hex", "tree"])
    def test_what_the_definition_says_of_the_fields_is_shown(self, cli: Cli, format: str) -> None:
        data = self.encoded(cli, "--header", '{"correlation_id": 7}')
        lines = cli("explain", data, "--definitions", MADE, "-f", format).out.splitlines()
        assert lines[-4:] == [
            "topic_name       The topic that hears of it.",
            "lamps            The lamps to switch.",
            'lamps[].lamp_id  Which lamp: "//" is no comment.',
            "timeout_ms       How long to try.",
        ]


GRAMMAR = """\
Lamp Response (Version: 3) => throttle_time_ms error_code [lit] since_timestamp _tagged_fields
  throttle_time_ms => INT32
  error_code => INT16
  lit => UUID
  since_timestamp => INT64

# throttle_time_ms  milliseconds
# error_code        What went wrong; an error code: kdbg errors
# lit               The lamps that are on now.
# since_timestamp   milliseconds since 1970; default -1
#
# Follows response header v1: kdbg grammar header --version 1 --response
# Flexible: the count of an [array] is an UNSIGNED_VARINT of N + 1; 0 means
# null.
"""
OVERVIEW = f"""\
Lamp (key 901): defined by {RESPONSE.name}.

versions         0 to 3, flexible from 2
request header   v1; v2 from version 2
response header  v0; v1 from version 2

v0            first version
v1  response  + throttle_time_ms
v2  response  flexible (KIP-482)
v3  response  + since_timestamp
"""
STORED = """\
LampValue (Version: 0) => name watts
  name => STRING
  watts => INT32
"""


class TestGrammar:
    """What a definition file defines, printed."""

    def test_one_version(self, cli: Cli) -> None:
        assert cli("grammar", "--definition", RESPONSE, "--version", 3) == (0, GRAMMAR, "")

    def test_all_versions(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(MADE)
        assert cli("grammar", "--definition", RESPONSE.name) == (0, OVERVIEW, "")

    def test_both_directions_of_an_api(self, cli: Cli) -> None:
        both = ["grammar", "--definition", REQUEST, "--definition", RESPONSE, "--version", 3]
        titles = [line.partition(" =>")[0] for line in cli(*both).out.splitlines() if line[:4] == "Lamp"]
        assert titles == ["Lamp Request (Version: 3)", "Lamp Response (Version: 3)"]
        assert cli(*both, "--response").out == GRAMMAR

    def test_two_versions_compared(self, cli: Cli) -> None:
        out = cli("grammar", "--definition", RESPONSE, "--diff", 2, 3).out
        assert out == "Lamp Response (Version: 2 → 3)\n  + since_timestamp  INT64\n"

    def test_a_message_that_is_no_api(self, cli: Cli) -> None:
        assert cli("grammar", "--definition", VALUE, "--version", 0) == (0, STORED, "")
        every = cli("grammar", "--definition", VALUE).out
        assert every.startswith(STORED + "\nLampValue (Version: 1) => name _tagged_fields\n")

    def test_json(self, cli: Cli) -> None:
        (sheet,) = cli("grammar", "--definition", RESPONSE, "--version", 0, "-f", "json").lines
        assert sheet["fields"][0]["about"] == "What went wrong."
        assert sheet["fields"][0]["note"] == "an error code: kdbg errors"

    def test_by_name_where_definitions_are_given(self, cli: Cli) -> None:
        out = cli("grammar", "lamp", "--definitions", MADE, "--version", 3, "--response").out
        assert out == GRAMMAR

    def test_the_list_of_apis_has_it(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(MADE.parent)
        last = cli("apis", "--definitions", "made", "-f", "json").lines[-1]
        assert (last["api_key"], last["api"], last["max_version"]) == (901, "Lamp", 3)
        assert last["defined_by"] == ["made/LampRequest.json", "made/LampResponse.json"]
        assert "901  Lamp" in cli("apis", "--definitions", "made").out

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (["lamp", "--definition", RESPONSE],
             "--definition cannot be combined with an API; use --definitions to add to the known APIs"),
            (["--definition", RESPONSE, "--version", 9], "Lamp has no version 9; supported: 0 to 3"),
            (["--definition", VALUE, "--version", 9], "LampValue has no version 9; supported: 0 to 1"),
            (["--definition", "nowhere.json"], "nowhere.json: cannot be read: No such file or directory"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_printed(self, cli: Cli, arguments: list[Any], problem: str) -> None:
        outcome = cli("grammar", *arguments)
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err.startswith(f"kdbg: {problem}")


class TestKnownApis:
    """Definitions of API keys that kdbg has grammars for."""

    FIELDS = (
        {"name": "GroupId", "type": "string", "versions": "0+"},
        {"name": "GenerationId", "type": "int32", "versions": "0+"},
        {"name": "MemberId", "type": "string", "versions": "0+"},
        {"name": "GroupInstanceId", "type": "string", "versions": "3+", "nullableVersions": "3+", "default": "null"},
    )  # fmt: skip

    def heartbeat(self, folder: Path, valid: str, *more: dict[str, Any]) -> Path:
        path = folder / "HeartbeatRequest.json"
        head = {"apiKey": 12, "type": "request", "name": "HeartbeatRequest", "validVersions": valid}
        path.write_text(json.dumps(head | {"flexibleVersions": "4+", "fields": [*self.FIELDS, *more]}))
        return path

    def test_a_newer_version_is_decoded(self, cli: Cli, write: Callable[..., Path], tmp_path: Path) -> None:
        path = self.heartbeat(tmp_path, "0-5", {"name": "Mood", "type": "int8", "versions": "5+"})
        with kdbg.using_definitions(path):
            capture = write(Talk().ask("Heartbeat", 5, group_id="g", mood=4).ask("Heartbeat", 4, group_id="h"))
        (newer, known) = cli("decode", capture, "--definitions", path, "-f", "json").lines
        assert newer["request"]["body"]["mood"] == 4
        assert known["request"]["body"]["group_id"] == "h"
        assert "Partly defined by" in cli("grammar", "heartbeat", "--definitions", path).out

    def test_a_version_laid_out_otherwise_is_followed_and_said_once(
        self, cli: Cli, write: Callable[..., Path], tmp_path: Path
    ) -> None:
        path = self.heartbeat(tmp_path, "0-4", {"name": "Mood", "type": "int8", "versions": "3"})
        with kdbg.using_definitions(path):
            capture = write(Talk().ask("Heartbeat", 3, mood=4).ask("Heartbeat", 3, mood=5))
        outcome = cli("decode", capture, "--definitions", path, "-f", "json")
        assert [line["request"]["body"]["mood"] for line in outcome.lines] == [4, 5]
        note = f"kdbg: {path}: version 3 of Heartbeat requests: differs from kdbg's own definition; the file is used"
        assert outcome.err.splitlines().count(note) == 1

    def test_the_same_is_not_worth_a_word(self, cli: Cli, tmp_path: Path) -> None:
        path = self.heartbeat(tmp_path, "0-4")
        plain = cli("grammar", "heartbeat", "--version", 4)
        assert cli("grammar", "heartbeat", "--version", 4, "--definitions", path) == plain


class TestWrongDefinitions:
    """One line with file, line and field, and nothing else."""

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b"", ":1: expected a value, found the end of the file"),
            (b'{\n "a": \x1b[2J', ":2: '\\x1b' is not valid in JSON"),
            (b"\xff\xfe", ":1: is not UTF-8 at byte 0"),
            (REQUEST.read_bytes().replace(b'"float64"', b'"float46"'),
             ':17: Lamp.Brightness: unknown type "float46"; did you mean "float64"?'),
            (b"[" * 1_000_000, ":1: objects and arrays nested more than 64 deep"),
            (b" " * (5 << 20), ":1: larger than 4 MiB"),
        ],
        ids=["empty", "control", "encoding", "type", "deep", "huge"],
    )  # fmt: skip
    @pytest.mark.parametrize("command", [["grammar", "--definition"], ["apis", "--definitions"]], ids=" ".join)
    def test_the_error_says_where(
        self, cli: Cli, tmp_path: Path, command: list[str], content: bytes, problem: str
    ) -> None:
        path = tmp_path / "Bad.json"
        path.write_bytes(content)
        assert cli(*command, path) == (2, "", f"kdbg: {path}{problem}\n")

    def test_paths_that_cannot_be_read(self, cli: Cli, tmp_path: Path) -> None:
        assert cli("apis", "--definitions", tmp_path).err == f"kdbg: {tmp_path}: the folder contains no *.json files\n"
        missing = tmp_path / "missing"
        assert (
            cli("apis", "--definitions", missing).err == f"kdbg: {missing}: cannot be read: No such file or directory\n"
        )

    def test_odd_names_of_files_reach_no_terminal(self, cli: Cli, tmp_path: Path) -> None:
        path = tmp_path / "Lamp\x1b[31m\udcff.json"
        path.write_bytes(RESPONSE.read_bytes())
        for arguments in (["apis"], ["grammar", "lamp"], ["grammar", "lamp", "-v", "0"]):
            outcome = cli(*arguments, "--definitions", path)
            assert (outcome.status, "\x1b" in outcome.out, "\udcff" in outcome.out) == (0, False, False)

    def test_help_needs_no_definitions(self) -> None:
        assert spawn("decode", "--help", KDBG_DEFINITIONS="/nowhere").status == 0


class TestSend:
    """A broker that knows the API."""

    def test_a_request_is_sent_and_its_answer_decoded(self, cli: Cli) -> None:
        with kdbg.using_definitions(MADE):
            offered = [{"api_key": key, "min_version": 0, "max_version": newest} for key, newest in ((18, 0), (901, 3))]
            answers = {
                18: kdbg.encode({"api_keys": offered}, api=18, version=0, direction="response"),
                901: b"\0" + kdbg.encode({"lit": [LAMP_ID]}, api=901, version=3, direction="response"),
            }  # of Lamp behind the tagged fields of its header

        def broker(connection: socket.socket) -> None:
            """Answers ApiVersions in version 0 whatever it was asked in, as brokers do that know no newer one."""
            stream = connection.makefile("rwb")
            while len(size := stream.read(4)) == 4:
                key, version, correlation_id = struct.unpack(">hhi", stream.read(int.from_bytes(size))[:8])
                refusal = b"\0\x23" if key == 18 and version else answers[key][:2]
                answer = correlation_id.to_bytes(4) + refusal + answers[key][2:]
                stream.write(len(answer).to_bytes(4) + answer)
                stream.flush()

        with peer(broker) as address:
            outcome = cli("send", "lamp", "--broker", address, "--definitions", MADE, "--body", json.dumps(ASKED),
                          "-f", "json")  # fmt: skip
        assert (outcome.status, outcome.lines[0]["api"]) == (0, "Lamp")
        assert outcome.lines[0]["request"]["body"]["topic_name"] == "hall"
        assert outcome.lines[0]["response"]["body"]["lit"] == [LAMP_ID]

    def test_a_template_shows_its_fields(self, cli: Cli) -> None:
        outcome = cli("send", "lamp", "--show-template", "--definitions", MADE, "--version", 1)
        assert json.loads(outcome.out)["timeout_ms"] == 30000


@pytest.mark.parametrize("program", ["kdbg.decode(data, api=3, version=1, direction='request')", "cli.run(['apis'])"])
def test_nothing_of_it_is_imported_where_no_definition_is_given(program: str) -> None:
    data = kdbg.encode({}, api=3, version=1, direction="request", header={})
    check = f"import sys, kdbg; from kdbg.ui import cli; data = {data!r}; {program}; "
    check += "print('kdbg.protocol.definitions' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, check=True)
    assert done.stdout.decode().splitlines()[-1] == "False"


def test_the_library_serves_them_as_long_as_the_context_lasts() -> None:
    with kdbg.using_definitions(REQUEST, RESPONSE) as notes:
        assert notes == ()
        data = kdbg.encode({"topic_name": "hall"}, api="lamp", version=0, direction="request")
        message = kdbg.decode(data, api=901, version=0, direction="request", header=False)
        assert message.body["topic_name"] == "hall"
    with pytest.raises(kdbg.GrammarError):
        kdbg.decode(data, api="lamp", version=0, direction="request", header=False)
