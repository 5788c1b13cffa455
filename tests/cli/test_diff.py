"""`kdbg diff` as its users run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..cases import for_each
from ..traffic import Talk, pcap
from .calls import CAPTURES, call

FIRST, PYTHON = CAPTURES / "first-contact.pcap", CAPTURES / "kafka-python.pcap"


def test_two_exchanges_field_by_field() -> None:
    done = call("diff", f"{FIRST}#26", f"{FIRST}#27")
    assert (done.status, done.err) == (0, "")
    assert "topics[orders].partitions[0].fetch_offset  0  1\n" in done.out
    assert "6 fields differ · 35 the same · 13 ids, times and checksums ignored (see --ids)" in done.out
    assert "correlation_id" not in done.out
    assert "header.correlation_id" in call("diff", f"{FIRST}#26", f"{FIRST}#27", "--ids").out


def test_an_exchange_is_like_itself() -> None:
    assert "no field differs" in call("diff", f"{FIRST}#26", f"{FIRST}#26").out


def test_two_exchanges_as_json() -> None:
    first = call("diff", f"{FIRST}#26", f"{FIRST}#27", "-f", "json").lines[0]
    assert first == {"direction": "request", "path": "topics[orders].partitions[0].fetch_offset", "a": 0, "b": 1}


def test_two_captures_by_meaning() -> None:
    done = call("diff", PYTHON, FIRST)
    assert done.status == 0
    assert "Fetch isolation_level" in done.out
    assert "0 READ_UNCOMMITTED" in done.out
    assert "UNSUPPORTED_VERSION" in done.out
    assert "Metadata topics" not in done.out


def test_what_is_the_same_is_shown_if_asked_for() -> None:
    less, more = call("diff", FIRST, FIRST), call("diff", FIRST, FIRST, "--all")
    assert "no significant differences" in less.out
    assert "Fetch max_wait_ms" not in less.out
    assert "Fetch max_wait_ms" in more.out


def test_filters_hold_for_both() -> None:
    rows = call("diff", PYTHON, FIRST, "--api", "fetch", "-f", "json").lines
    assert {row["api"] for row in rows} == {"Fetch"}
    wait = next(row for row in rows if row["name"] == "max_wait_ms")
    assert wait["a"] == [{"value": 100, "count": 1}]
    assert wait["same"] is True


def test_a_side_may_have_an_expression_of_its_own() -> None:
    pytest.importorskip("cel_expr_python", reason="--where needs kdbg[where]")
    rows = call(
        "diff", FIRST, FIRST, "--where-a", 'api == "Fetch"', "--where-b", 'api == "Produce"', "-f", "json"
    ).lines
    versions = {row["name"]: (row["a"], row["b"]) for row in rows if row["section"] == "versions"}
    assert versions["Fetch"][1] is None
    assert versions["Produce"][0] is None
    assert len(versions) == 2


def test_how_late_answers_came_stands_beside_each_other() -> None:
    rows = call("diff", FIRST, PYTHON, "--api", "metadata", "-f", "json").lines
    (late,) = [row for row in rows if row["section"] == "answers"]
    assert 1 < late["a"]["p50_ms"] < 3
    assert late["b"]["p50_ms"] < 1


def test_a_side_may_be_a_folder(tmp_path: Path) -> None:
    for name in ("one.pcap", "two.pcap"):
        (tmp_path / name).write_bytes(FIRST.read_bytes())
    assert f"B  {tmp_path}  62 exchanges" in call("diff", FIRST, tmp_path).out


@for_each(
    ("arguments", "problem"),
    [
        ((f"{FIRST}#1", FIRST), ": no exchange number; add #N"),
        ((FIRST, FIRST, "--ids"), "--ids requires two exchanges"),
        ((f"{FIRST}#1", f"{FIRST}#999"), "no such exchange; the filters match 31"),
        (("nowhere.pcap#1", f"{FIRST}#1"), "nowhere.pcap"),
        ((FIRST, "nowhere.pcap"), "no such file"),
        ((FIRST, FIRST, "--api", "fetsh"), "fetsh"),
    ],
)
def test_what_cannot_be_compared_is_one_line(arguments: tuple[object, ...], problem: str) -> None:
    done = call("diff", *arguments)
    assert done.status == 2
    assert done.out == ""
    assert problem in done.err
    assert "Traceback" not in done.err


def test_captured_text_is_escaped(tmp_path: Path) -> None:
    for name, word in (("a", "\x1b[2J"), ("b", "\x07\r")):
        talk = Talk(client_id=word).ask("ApiVersions", 3, client_software_name=word, client_software_version="1")
        (tmp_path / name).write_bytes(pcap(talk.answer()))
    for marks in ("#1", ""):
        for form in ("table", "json"):
            out = call("diff", f"{tmp_path}/a{marks}", f"{tmp_path}/b{marks}", "--format", form).out
            assert "\\u001b" in out or "\\x1b" in out
            assert not {"\x1b", "\x07", "\r"} & set(out)


def test_secrets_are_hidden(tmp_path: Path) -> None:
    for word in ("hunter22", "tiger222"):
        talk = Talk().ask("SaslAuthenticate", 1, auth_bytes=b"\0user\0" + word.encode()).answer()
        (tmp_path / word).write_bytes(pcap(talk))
    sides = f"{tmp_path}/hunter22#1", f"{tmp_path}/tiger222#1"
    for form in ("table", "json"):
        assert "hunter22" not in call("diff", *sides, "-f", form).out.replace(str(tmp_path), "").split("\n\n", 1)[-1]
    assert "hunter22" in json.dumps(call("diff", *sides, "--show-secrets").out.split("\n\n", 1)[1])
