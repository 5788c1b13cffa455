"""`kdbg grammar`, as a user runs it: the BNF of a version, all versions of an API, two of them compared."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import takewhile

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.grammars.payloads import payloads
from kdbg.ui.cli import run
from kdbg.views.render.grammar import frame_sheets, header_sheets, message_sheets, record_sheets, sheet_text
from kdbg.views.render.grammar_versions import payload_sheet
from kdbg.views.render.style import Look

Kdbg = Callable[[str], str]
NEWEST = grammars.api("Metadata").versions[-1]
METADATA_1 = """\
Metadata Request (Version: 1) => [topics]
  topics => name
    name => STRING

# Follows request header v1: kdbg grammar header --version 1 --request

Metadata Response (Version: 1) => [brokers] controller_id [topics]
  brokers => node_id host port rack
    node_id => INT32
    host => STRING
    port => INT32
    rack => NULLABLE_STRING
  controller_id => INT32
  topics => error_code name is_internal [partitions]
    error_code => INT16
    name => STRING
    is_internal => BOOLEAN
    partitions => error_code partition_index leader_id [replica_nodes] [isr_nodes]
      error_code => INT16
      partition_index => INT32
      leader_id => INT32
      replica_nodes => INT32
      isr_nodes => INT32

# Follows response header v0: kdbg grammar header --version 0 --response
"""
CONTROLLED_SHUTDOWN = """\
ControlledShutdown (key 7): a broker requests that the controller move its
leaderships away before it stops.

Only in clusters with ZooKeeper; gone in Kafka 4.0. The header of v0 lacks the
client_id that every other request has. v2 adds the broker epoch (KIP-380), v3
is flexible.

versions         0 to 3, flexible from 3
request header   v0; v1 from version 1; v2 from version 3
response header  v0; v1 from version 3

v0            first version
v1            = v0
v2  request   + broker_epoch
    response  = v1
v3  request   flexible (KIP-482)
    response  flexible (KIP-482)
"""
MESSAGE_SET_1 = """\
MessageSet (Magic: 1) => [offset message_size message]
  offset => INT64
  message_size => INT32
  message => crc magic attributes timestamp key value
    crc => INT32
    magic => INT8
    attributes => INT8
    timestamp => INT64
    key => NULLABLE_BYTES
    value => NULLABLE_BYTES
"""


@pytest.fixture
def kdbg(capfdbinary: pytest.CaptureFixture[bytes]) -> Kdbg:
    """Runs a command line that must end well, and gives what it printed."""

    def call(line: str) -> str:
        assert run(line.split()) == 0
        out, err = capfdbinary.readouterr()
        assert err == b""
        return out.decode()

    return call


def without_legend(text: str) -> str:
    """What is printed but for the meanings of the fields: the comments in front of a bare `#`."""
    return re.sub(r"(?m)(^# .*\n)+^#\n", "", text)


def unwrapped(text: str) -> str:
    """The text with each comment on one line."""
    return re.sub(r"\n# {3,}", " ", text)


def refused(line: str, capfdbinary: pytest.CaptureFixture[bytes]) -> str:
    assert run(line.split()) == 2
    out, err = capfdbinary.readouterr()
    assert out == b""
    return err.decode()


def test_a_version_in_the_form_of_the_guide() -> None:
    command = [sys.executable, "-m", "kdbg", "grammar", "metadata", "--version", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (without_legend(done.stdout), done.stderr) == (METADATA_1, "")


@pytest.mark.parametrize("name", ["Metadata", "METADATA", "topic-metadata", "3"])
def test_an_api_has_many_names(name: str, kdbg: Kdbg) -> None:
    assert without_legend(kdbg(f"grammar {name} --version 1")) == METADATA_1


def test_one_direction(kdbg: Kdbg) -> None:
    request, response = METADATA_1.split("\n\nMetadata Response")
    assert without_legend(kdbg("grammar metadata --version 1 --request")) == request + "\n"
    assert without_legend(kdbg("grammar metadata --version 1 --response")) == "Metadata Response" + response


def test_all_versions_of_an_api(kdbg: Kdbg) -> None:
    assert kdbg("grammar controlled-shutdown") == CONTROLLED_SHUTDOWN


def test_a_version_says_what_it_changed_and_which_have_the_same_layout(kdbg: Kdbg) -> None:
    lines = kdbg("grammar metadata").splitlines()
    assert "aliases          TopicMetadata" in lines
    assert "v1   request   ~ topics may be null" in lines
    assert "v6             = v5" in lines
    assert "v10  request   + topics[].topic_id, ~ topics[].name may be null" in lines
    at = lines.index("v13  request   = v12")
    assert lines[at + 1] == "     response  + error_code"


def test_two_versions_compared(kdbg: Kdbg) -> None:
    assert kdbg("grammar metadata --diff 1 2") == (
        "Metadata Request (Version: 1 → 2)\n"
        "  no difference\n\n"
        "Metadata Response (Version: 1 → 2)\n"
        "  + cluster_id  NULLABLE_STRING\n"
    )
    assert kdbg("grammar metadata --diff 2 1 --response") == (
        "Metadata Response (Version: 2 → 1)\n  - cluster_id  NULLABLE_STRING\n"
    )


def test_a_version_that_became_flexible(kdbg: Kdbg) -> None:
    assert kdbg("grammar metadata --diff 8 9 --request") == (
        "Metadata Request (Version: 8 → 9)\n"
        "  ~ header         v1 → v2\n"
        "  + flexible       strings, bytes and arrays compact, tagged fields after each\n"
        "                   structure (KIP-482)\n"
        "  ~ topics         NULLABLE_ARRAY → COMPACT_NULLABLE_ARRAY\n"
        "  ~ topics[].name  STRING → COMPACT_STRING\n"
    )


def test_a_new_array_and_a_tagged_field_are_one_line_each(kdbg: Kdbg) -> None:
    five = kdbg("grammar metadata --diff 4 5 --response").splitlines()
    assert five[1:] == ["  + topics[].partitions[].offline_replicas  ARRAY of INT32"]
    assert kdbg("grammar fetch --diff 14 15 --request").splitlines()[1:] == [
        "  + replica_state<tag: 1>                STRUCT",
        "  + replica_state<tag: 1>.replica_id     INT32",
        "  + replica_state<tag: 1>.replica_epoch  INT64",
        "  - replica_id                           INT32",
    ]


def test_headers(kdbg: Kdbg) -> None:
    text = kdbg("grammar header")
    assert [line for line in text.splitlines() if " Header " in line] == [
        "Request Header (Version: 0) => api_key api_version correlation_id",
        "Request Header (Version: 1) => api_key api_version correlation_id client_id",
        "Request Header (Version: 2) => api_key api_version correlation_id client_id _tagged_fields",
        "Response Header (Version: 0) => correlation_id",
        "Response Header (Version: 1) => correlation_id _tagged_fields",
    ]
    assert kdbg("grammar header --version 0 --response") == (
        "Response Header (Version: 0) => correlation_id\n  correlation_id => INT32\n\n"
        "# correlation_id  correlation id of the request\n"
    )
    assert kdbg("grammar headers --diff 0 1 --request") == (
        "Request Header (Version: 0 → 1)\n  + client_id  NULLABLE_STRING\n"
    )


def test_record_sets(kdbg: Kdbg) -> None:
    text = kdbg("grammar records")
    assert MESSAGE_SET_1 in text
    assert (
        "  records => length attributes timestamp_delta offset_delta key value [headers]\n    length => VARINT\n"
        in text
    )
    assert kdbg("grammar record-batch --version 2").startswith("RecordBatch (Magic: 2) => base_offset batch_length ")


def test_what_bnf_has_no_words_for(kdbg: Kdbg) -> None:
    text = kdbg("grammar describe-configs --version 4 --response")
    assert re.search(r"# configs\[\].value +.*secret if is_sensitive is true: shown", unwrapped(text)), (
        "not a synonym's"
    )
    assert "DELEGATION" not in text
    text = kdbg("grammar sasl-authenticate --version 0 --request")
    assert re.search(r"# auth_bytes  .*secret: shown only with --show-secrets\n", unwrapped(text))
    text = kdbg("grammar apiversions --version 3 --response")
    assert re.search(r"# finalized_features_epoch  .*tagged field 1; default -1\n", unwrapped(text))
    assert "# Also seen: the v0 layout, with which brokers reject versions they do not\n" in text
    text = kdbg("grammar find-coordinator --version 1 --request")
    assert (
        "# key_type  what the keys name: groups, transactional ids or partitions of share\n"
        "#           groups; 0 GROUP, 1 TRANSACTION, 2 SHARE\n" in text
    )


SHEETS = [
    *(sheet for api in grammars.apis() for version in api.versions for sheet in message_sheets(api, version)),
    *header_sheets(),
    *record_sheets(),
    *frame_sheets(),
    *(payload_sheet(found, version) for found in payloads() for version in found.versions),
]


def test_every_sheet_is_bnf_with_comments_that_fit_80_columns() -> None:
    versions = sum(len(api.versions) for api in grammars.apis())
    guides = [sheet for sheet in SHEETS if sheet.guide]
    assert [(sheet.title, sheet.guide) for sheet in guides] == [
        ("OffsetCommit Request (Version: 0) of the guide", "0.8")
    ]
    assert len(SHEETS) == 2 * versions + 1 + 5 + 3 + 3 + sum(len(found.versions) for found in payloads())
    for sheet in SHEETS:
        for line in sheet_text(sheet, Look()).splitlines():
            if line.startswith("#"):
                assert len(line) <= 80
                assert "=>" not in line
            else:
                assert line == "" or re.fullmatch(r"(  )*[\w<>:() ]+ =>( \[?[\w ]+\]?)*", line), line


def test_every_name_in_a_production_is_defined_below_it() -> None:
    for sheet in SHEETS:
        lines = [line for line in sheet_text(sheet, Look()).splitlines() if "=>" in line]
        for i, line in enumerate(lines):
            below = inner(lines[i:])
            defined = [other.split()[0] for other in below if indent(other) == indent(line) + 2]
            words = [word.strip("[]") for word in line.partition(" =>")[2].split() if word != "_tagged_fields"]
            if below:
                assert [name for name in defined if "<tag:" not in name] == words, line
            else:
                assert len(words) <= 1
                assert all(word.isupper() for word in words), line


def inner(lines: list[str]) -> list[str]:
    """The lines that are indented deeper than the first, up to one that is not."""
    return list(takewhile(lambda line: indent(line) > indent(lines[0]), lines[1:]))


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def test_json_has_the_same_as_objects(kdbg: Kdbg) -> None:
    request, response = map(json.loads, kdbg("grammar metadata --version 1 --format json").splitlines())
    assert request["bnf"] == METADATA_1.split("\n\n")[0]
    assert request["fields"][0] == {
        "path": "topics", "type": "NULLABLE_ARRAY", "item": "STRUCT", "tag": None, "nullable": True,
        "about": request["fields"][0]["about"], "note": "may be null",
    }  # fmt: skip
    assert [field["about"] for field in response["fields"] if field["path"].endswith("error_code")] == [
        "what went wrong, 0 if nothing did"
    ] * 2
    assert (response["direction"], response["header_version"]) == ("response", 0)
    overview = json.loads(kdbg("grammar metadata --format json"))
    assert (overview["min_version"], overview["max_version"], overview["flexible_from"]) == (0, NEWEST, 9)
    assert overview["changes"][0]["changes"] == ["~ topics may be null"]
    diff = json.loads(kdbg("grammar metadata --diff 1 2 --response --format json"))
    assert diff["changes"] == [{"sign": "+", "path": "cluster_id", "type": "NULLABLE_STRING", "former": None}]
    for line in kdbg("grammar findcoordinator -v 1 --format json").splitlines():
        json.loads(line)


def test_without_an_api_all_of_them(kdbg: Kdbg) -> None:
    text = kdbg("grammar")
    assert "  3  Metadata  " in text
    assert text.endswith(
        "\n`kdbg grammar NAME` describes one of them; also `frame`, `header`, `records`, `payloads`,\n"
        "`types` and `notation`.\n"
    )


def test_colour_only_when_asked_for(kdbg: Kdbg) -> None:
    coloured = kdbg("grammar metadata --version 1 --color always")
    assert "\x1b[" in coloured
    assert without_legend(re.sub(r"\x1b\[[0-9;]*m", "", coloured)) == METADATA_1
    coloured = kdbg("grammar metadata --diff 8 9 --color always")
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == kdbg("grammar metadata --diff 8 9")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("grammar metadatta", "unknown API 'metadatta'; did you mean Metadata"),
        ("grammar 4000", "unknown API '4000'"),
        ("grammar metadata --version 99", f"Metadata has no version 99; supported: 0 to {NEWEST}"),
        ("grammar metadata --diff 1 99", "Metadata has no version 99"),
        ("grammar metadata --diff 1", "requires 2 arguments"),
        ("grammar metadata --version 1 --diff 1 2", "use either --version or --diff, not both"),
        ("grammar --version 1", "an API is missing"),
        ("grammar header --version 9", "no header of version 9; known versions: 0, 1, 2"),
        ("grammar header --version 2 --response", "no header of version 2"),
        ("grammar metadata --version x", "'x' is not a valid integer"),
        ("grammar int32 --version 1", "int32 has neither versions nor directions"),
        ("grammar types --request", "types has neither versions nor directions"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(
    line: str, said: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert said in refused(line, capfdbinary)
