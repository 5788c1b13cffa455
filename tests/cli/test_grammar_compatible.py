"""`kdbg grammar --compatible FILE FILE…` as a user calls it; the rules are tested in tests/definitions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.library import read_definitions
from kdbg.protocol.definitions.compatible import history
from kdbg.views.render.grammar_versions import history_text
from kdbg.views.render.style import Look

from .calls import Outcome

Cli = Callable[..., Outcome]

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
GIVEN_UP = OLD.replace("""    { "name": "UserAgent", "type": "string", "nullable": true, "tag": "0x0001" },\n""", "")
"""The second release: it has no use for the tag any more."""
NEW = OLD.replace('"UserAgent"', '"ForwardedBy"').replace('"0"', '"-1"')


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.json").write_text(OLD)
    Path("new.json").write_text(NEW)
    Path("given-up.json").write_text(GIVEN_UP)
    Path("wider.json").write_text(OLD.replace('"0-9"', '"0-10"'))


@pytest.fixture
def compatible(cli: Cli) -> Cli:
    return lambda *arguments: cli("grammar", "--compatible", *arguments)


def test_a_broken_rule_is_status_1(compatible: Cli) -> None:
    done = compatible("old.json", "new.json")
    assert (done.status, done.err) == (1, "")
    assert done.out == (
        "FooResponse not compatible: 1 rule (tag) broken\n"
        "  new.json:5  ForwardedBy: optional field 0x0001 was that of UserAgent (a tag is\n"
        "              never used again for something else)\n"
        "\n"
        "Changes that are compatible:\n"
        "  new.json:9  Count: default none became -1: an omitted field has another\n"
        "              meaning\n"
    )


def test_compatible_changes_are_status_0(compatible: Cli) -> None:
    done = compatible("old.json", "wider.json")
    assert (done.status, done.err) == (0, "")
    assert done.out == "FooResponse compatible\nChanged:\n  wider.json:1  validVersions 0-9 became 0-10\n"
    assert compatible("old.json", "old.json").out == "FooResponse compatible\n"


def test_json_says_the_same(compatible: Cli) -> None:
    done = compatible("old.json", "new.json", "--format", "json")
    assert (done.status, done.err) == (1, "")
    assert done.lines == [{
        "message": "FooResponse", "old": "old.json", "new": "new.json", "compatible": False,
        "broken": [{
            "rule": "tag", "says": "a tag is never used again for something else", "field": "ForwardedBy",
            "text": "optional field 0x0001 was that of UserAgent", "file": "new.json", "line": 5,
        }],
        "changes": [{
            "field": "Count",
            "text": "default none became -1: an omitted field has another meaning", "file": "new.json",
            "line": 9,
        }],
    }]  # fmt: skip
    assert compatible("old.json", "wider.json", "--format", "json").lines[0]["compatible"] is True


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (OLD.replace("0xffff", "0x10000"), "Trace:"),
        (OLD.replace("0xffff", "0x0001"), "Trace: tag 1 is already used by UserAgent on line 5"),
        (OLD.replace('"bytes"', '"[]Trace", "fields": []'), "Trace: an optional field can be of any type but"),
    ],
    ids=["a tag out of range", "a tag twice", "an array of structures"],
)
def test_a_definition_that_is_none_is_status_2(text: str, problem: str, compatible: Cli) -> None:
    Path("broken.json").write_text(text)
    done = compatible("old.json", "broken.json")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"kdbg: broken.json:6: {problem}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("old.json", "."),
        ("old.json", "missing.json"),
        (),
        ("old.json",),
        ("old.json", "new.json", "metadata"),
        ("old.json", "new.json", "."),
        ("old.json", "new.json", "--definition", "old.json"),
        ("old.json", "new.json", "--version", "1"),
    ],
)
def test_it_wants_two_files_or_more_and_nothing_else(arguments: tuple[str, ...], compatible: Cli) -> None:
    done = compatible(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("kdbg: ")
    assert done.err.count("\n") == 1


def test_a_tag_given_up_and_later_used_for_something_else_is_refused_though_neighbours_are_compatible(
    compatible: Cli,
) -> None:
    assert compatible("old.json", "given-up.json").status == 0
    assert compatible("given-up.json", "new.json").status == 0
    done = compatible("old.json", "given-up.json", "new.json")
    assert (done.status, done.err) == (1, "")
    assert done.out == (
        "FooResponse old.json → given-up.json: compatible\n"
        "Changed:\n"
        "  old.json:5  UserAgent: optional field 0x0001 removed\n"
        "\n"
        "FooResponse given-up.json → new.json: compatible\n"
        "Changed:\n"
        "  new.json:9  Count: default none became -1: an omitted field has another\n"
        "              meaning\n"
        "  new.json:5  ForwardedBy: optional field 0x0001 added\n"
        "\n"
        "FooResponse old.json → new.json: not compatible: 1 rule (tag) broken\n"
        "  new.json:5  ForwardedBy: optional field 0x0001 was that of UserAgent (a tag is\n"
        "              never used again for something else)\n"
    )
    steps = compatible("old.json", "given-up.json", "new.json", "--format", "json").lines
    assert [(step["old"], step["new"], step["compatible"]) for step in steps] == [
        ("old.json", "given-up.json", True), ("given-up.json", "new.json", True), ("old.json", "new.json", False),
    ]  # fmt: skip


def test_any_number_of_releases(compatible: Cli) -> None:
    done = compatible("old.json", "old.json", "wider.json", "wider.json")
    assert (done.status, done.out.count("compatible\n"), done.out.count("not compatible")) == (0, 3, 0)


def test_several_names_are_for_compatible_alone(cli: Cli) -> None:
    done = cli("grammar", "metadata", "fetch")
    assert (done.status, done.out) == (2, "")
    assert "give one API; only --compatible accepts several files" in done.err


def test_a_verdict_in_colour_has_the_same_words(files: None) -> None:
    found = history(read_definitions("old.json", "given-up.json", "new.json"))
    plain, coloured = history_text(found, Look()), history_text(found, Look("STANDARD"))
    assert "\x1b" not in plain
    assert coloured.count(Look("STANDARD").paint("bad", "not compatible: 1 rule (tag) broken")) == 1
    assert coloured.count(Look("STANDARD").paint("good", "compatible")) == 2
    assert [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()] == plain.splitlines()
