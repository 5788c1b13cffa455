"""`kdbg grammar --compatible OLD NEW` as a user calls it; the rules stand in tests/definitions/test_compatible.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from .calls import Outcome, call

OLD = """{
  "apiKey": 9000, "type": "response", "name": "FooResponse",
  "validVersions": "0-9", "flexibleVersions": "none", "versionsWithOptional": "9+",
  "optionalFields": [
    { "name": "UserAgent", "type": "string", "nullable": true, "tag": "0x0001" },
    { "name": "Trace", "type": "bytes", "tag": "0xffff", "default": "" }
  ],
  "fields": [
    { "name": "Count", "type": "int32", "versions": "0+", "default": "0" }
  ]
}"""
NEW = OLD.replace('"UserAgent"', '"ForwardedBy"').replace('"0"', '"-1"')


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.json").write_text(OLD)
    Path("new.json").write_text(NEW)
    Path("wider.json").write_text(OLD.replace('"0-9"', '"0-10"'))


def compatible(*arguments: str) -> Outcome:
    return call("grammar", "--compatible", *arguments)


def test_a_broken_rule_is_status_1() -> None:
    done = compatible("old.json", "new.json")
    assert (done.status, done.err) == (1, "")
    assert done.out == (
        "FooResponse not compatible: 1 rule (tag) broken\n"
        "  new.json:5  ForwardedBy: optional field 0x0001 was that of UserAgent (a tag is\n"
        "              never used again for something else)\n"
        "\n"
        "Changes that are compatible:\n"
        "  new.json:9  Count: default none became -1: left out, it says another thing\n"
    )


def test_compatible_changes_are_status_0() -> None:
    done = compatible("old.json", "wider.json")
    assert (done.status, done.err) == (0, "")
    assert done.out == "FooResponse compatible\nChanged:\n  wider.json:1  validVersions 0-9 became 0-10\n"
    assert compatible("old.json", "old.json").out == "FooResponse compatible\n"


def test_json_says_the_same() -> None:
    done = compatible("old.json", "new.json", "--format", "json")
    assert (done.status, done.err) == (1, "")
    assert done.lines == [{
        "message": "FooResponse", "old": "old.json", "new": "new.json", "compatible": False,
        "broken": [{
            "rule": "tag", "says": "a tag is never used again for something else", "field": "ForwardedBy",
            "text": "optional field 0x0001 was that of UserAgent", "file": "new.json", "line": 5,
        }],
        "changes": [{
            "field": "Count", "text": "default none became -1: left out, it says another thing", "file": "new.json",
            "line": 9,
        }],
    }]  # fmt: skip
    assert compatible("old.json", "wider.json", "--format", "json").lines[0]["compatible"] is True


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (OLD.replace("0xffff", "0x10000"), "Trace:"),
        (OLD.replace("0xffff", "0x0001"), "Trace: tag 1 is that of UserAgent on line 5"),
        (OLD.replace('"bytes"', '"[]Trace", "fields": []'), "Trace: an optional field can be of any type but"),
    ],
    ids=["a tag out of range", "a tag twice", "an array of structures"],
)
def test_a_definition_that_is_none_is_status_2(text: str, problem: str) -> None:
    Path("broken.json").write_text(text)
    done = compatible("old.json", "broken.json")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"kdbg: broken.json:6: {problem}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("old.json", "."),
        ("old.json", "missing.json"),
        ("old.json",),
        ("old.json", "new.json", "metadata"),
        ("old.json", "new.json", "--version", "1"),
    ],
)
def test_it_wants_two_files_and_nothing_else(arguments: tuple[str, ...]) -> None:
    done = compatible(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("kdbg: ")
    assert done.err.count("\n") == 1
