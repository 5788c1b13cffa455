"""The draft of KIP-482 as a user meets it: its own FooResponse, given as a file, in every view and back again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .calls import Outcome, call

FOO = """{
  "apiKey": 9000,
  "type": "response",
  "name": "FooResponse",
  "validVersions": "0-9",
  "versionsWithOptional": "9+",
  "optionalFields": [
      { "name": "UserAgent", "type": "string", "nullable": true, "tag": "0x0001", "about": "Who sent this request." },
  ],
  "fields": [
    { "name": "Foos", "type": "[]Foo", "versions": "0+",
      "about": "Each foo.", "optionalFields": [
        { "name": "Bar", "type": "string", "nullable": false, "tag": "0x0001",
          "default": "hello world", "about": "The bar of this foo, if any." },
      ], "fields": [
        { "name": "Baz", "type": "int16", "versions": "0+", "about": "The baz of this foo." },
      ]
    }
  ]
}"""
DATA = (
    "0c0001 0004 6b646267"  # 6 bytes (12, zigzag), tag 1: user_agent "kdbg"
    "02 8000 ff 00"  # 1 byte, tag 0x8000, which nobody knows; end
    "00000002 06 0001 0001 78 00 0001"  # foos: 3 bytes, tag 1: bar "x"; end; baz
    "00 0002"  # end; baz
)
FOOS = [{"bar": "x", "baz": 1}, {"baz": 2}]
BODY = {"user_agent": "kdbg", "foos": FOOS, "tagged_fields": {"32768": {"base64": "/w=="}}}


@pytest.fixture
def foo(tmp_path: Path) -> str:
    path = tmp_path / "FooResponse.json"
    path.write_text(FOO)
    return str(path)


def explain(foo: str, data: str, *options: str) -> Outcome:
    told = ("--api", "Foo", "--version", "9", "--response", "--no-header", "--definitions", foo)
    return call("explain", data, *told, *options)


def test_every_byte_is_named(foo: str) -> None:
    done = explain(foo, DATA)
    assert (done.status, done.err) == (0, "")
    shown = [" ".join(line.split()) for line in done.out.splitlines() if line.startswith("00")]
    assert shown == [
        "0000 0c 00 01 tagged_fields tag 1, 6 bytes TAG",
        '0003 00 04 6b 64 62 67 user_agent "kdbg" NULLABLE_STRING',
        "0009 02 80 00 tagged_fields tag 32768, 1 byte TAG",
        "000c ff tagged_fields.32768 1 byte BYTES",
        "000d 00 tagged_fields no more optional fields OPTIONAL_FIELDS",
        "000e 00 00 00 02 foos 2 elements ARRAY",
        "0012 06 00 01 foos[0].tagged_fields tag 1, 3 bytes TAG",
        '0015 00 01 78 foos[0].bar "x" STRING',
        "0018 00 foos[0].tagged_fields no more optional fields OPTIONAL_FIELDS",
        "0019 00 01 foos[0].baz 1 INT16",
        "001b 00 foos[1].tagged_fields no more optional fields OPTIONAL_FIELDS",
        "001c 00 02 foos[1].baz 2 INT16",
    ]


def test_the_tree_shows_them_in_front(foo: str) -> None:
    done = explain(foo, DATA, "--format", "tree")
    assert done.status == 0
    assert done.out.split("\n\n")[0].splitlines()[1:] == [
        "└── body",
        '    ├── user_agent  "kdbg"',
        "    ├── foos  2 elements",
        "    │   ├── [0]",
        '    │   │   ├── bar  "x"',
        "    │   │   └── baz  1",
        "    │   └── [1]",
        "    │       └── baz  2",
        "    └── tagged_fields",
        "        └── tag 32768  1 byte  ff",
        "! unknown-tag: unknown tag 32768, 1 byte",
    ]


def test_json_goes_both_ways(foo: str) -> None:
    body = explain(foo, DATA, "--format", "json").lines[0]["body"]
    assert body == BODY
    done = call("encode", "foo", "--version", "9", "--response", "--definitions", foo, "--body", json.dumps(body))
    assert (done.status, done.err) == (0, "")
    assert bytes.fromhex(done.out) == bytes.fromhex(DATA)


def test_versions_before_have_none(foo: str) -> None:
    done = call(
        "encode", "foo", "--version", "8", "--response", "--definitions", foo, "--body", '{"foos": [{"baz": 1}]}'
    )
    assert bytes.fromhex(done.out) == bytes.fromhex("00000001 0001")
    done = call("encode", "foo", "--version", "8", "--response", "--definitions", foo, "--body", json.dumps(BODY))
    assert (done.status, done.err) == (2, "kdbg: user_agent: this version has no such field\n")


@pytest.mark.parametrize("format", ["hex", "tree", "json"])
@pytest.mark.parametrize("data", [DATA[:30], "04 0001 0000 04 0001 0000 00 00000000", "03", DATA + "00"])
def test_what_is_odd_is_shown_and_is_status_1(foo: str, data: str, format: str) -> None:
    done = explain(foo, data, "--format", format)
    assert (done.status, done.err) == (1, "")
    assert done.out


def test_the_grammar_says_what_stands_in_front(foo: str) -> None:
    done = call("grammar", "--definition", foo, "--version", "9")
    assert done.status == 0
    assert done.out.startswith(
        "Foo Response (Version: 9) => _optional_fields [foos]\n"
        "  user_agent<tag: 1> => NULLABLE_STRING\n"
        "  foos => _optional_fields baz\n"
        "    bar<tag: 1> => STRING\n"
        "    baz => INT16\n"
    )
    assert "# Optional fields (draft of KIP-482): VARINT length of the value, INT16 tag," in done.out
    assert "optional field 1; default hello world" in " ".join(done.out.replace("#", "").split())


def test_what_the_version_changed_is_the_optional_fields(foo: str) -> None:
    done = call("grammar", "--definition", foo, "--diff", "8", "9")
    assert done.status == 0
    assert done.out.splitlines() == [
        "Foo Response (Version: 8 → 9)",
        "  + optional            optional fields before each structure (draft of KIP-482)",
        "  + user_agent<tag: 1>  NULLABLE_STRING",
        "  + foos[].bar<tag: 1>  STRING",
    ]
