"""`kdbg errors`: one code whole, several as a list, all of them, none of them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kdbg.protocol.grammars.errors import CHANGES, ERRORS
from kdbg.ui.cli import run
from kdbg.views.render.errortext import error_object, several
from kdbg.views.render.style import Look

NOT_LEADER = """\
6 NOT_LEADER_OR_FOLLOWER
  This broker is not the leader of the partition, or has no replica of it.
  Refresh the metadata and retry.
  retriable   yes
  formerly    NOT_LEADER_FOR_PARTITION, NotLeaderForPartition
  since       0.8.2.2 or earlier
  before 2.6  called NOT_LEADER_FOR_PARTITION
"""
UNKNOWN = """\
-1 UNKNOWN_SERVER_ERROR
  The broker failed with an error that has no code of its own. Check the
  broker's log.
  retriable   no
  formerly    UNKNOWN, Unknown
  since       0.8.2.2 or earlier
  before 1.0  called UNKNOWN
"""
NINE = """\
9 REPLICA_NOT_AVAILABLE
  The replica is not available here. Refresh the metadata and retry; in a
  Metadata response, ignore it.
  retriable     yes
  formerly      Unused
  since         0.9.0.1
  before 0.9.0  Unused (0.8 guide)
  before 2.6    not retriable
"""
EPOCHS = """\
  74  FENCED_LEADER_EPOCH  retriable
      The client has an older leader epoch than the broker. Refresh the
      metadata, check the position.
  75  UNKNOWN_LEADER_EPOCH  retriable
      The client has a newer leader epoch than the broker. Retry.
"""


def errors(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "kdbg", "errors", *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("query", ["6", "NOT_LEADER", "not-leader-or-follower", "NotLeaderForPartitionException"])
def test_one_error_by_any_of_its_names(query: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["errors", query]) == 0
    assert capfdbinary.readouterr() == (NOT_LEADER.encode(), b"")


@pytest.mark.parametrize("arguments", [["-1"], ["--", "-1"], ["UNKNOWN_SERVER_ERROR"]])
def test_a_negative_code_is_no_option(arguments: list[str]) -> None:
    done = errors(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, UNKNOWN, "")


def test_several_matches_are_a_list(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["errors", "leader_epoch"]) == 0
    assert capfdbinary.readouterr().out.decode() == EPOCHS


def test_several_questions_at_once(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["errors", "6", "-1"]) == 0
    assert capfdbinary.readouterr().out.decode() == f"{NOT_LEADER}\n{UNKNOWN}"


def test_the_whole_table_in_a_pipe_is_no_wider_than_80_columns() -> None:
    done = errors()
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert max(map(len, lines)) <= 80
    assert [int(line[:4]) for line in lines if line[:4].strip()] == list(ERRORS)
    assert "   6  NOT_LEADER_OR_FOLLOWER  retriable" in lines


def test_narrow_terminals_wrap() -> None:
    assert max(map(len, several(ERRORS.values(), Look(width=50)).splitlines())) <= 56


def test_json(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["errors", "-1", "--format", "json"]) == 0
    assert json.loads(capfdbinary.readouterr().out) == {
        "code": -1, "name": "UNKNOWN_SERVER_ERROR", "retriable": False, "text": ERRORS[-1].text,
        "former_names": ["UNKNOWN", "Unknown"], "since": "0.8.2.2",
        "changes": [{"before": "1.0", "name": "UNKNOWN", "retriable": None, "meaning": None}],
    }  # fmt: skip
    assert run(["errors", "--format", "json"]) == 0
    assert [json.loads(line)["code"] for line in capfdbinary.readouterr().out.splitlines()] == list(ERRORS)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("9999", "kdbg: unknown error code 9999; codes are -1 to 136\n"),
        ("-2", "kdbg: unknown error code -2; codes are -1 to 136\n"),
        ("NOTLEADR", "kdbg: unknown error 'NOTLEADR'; did you mean NOT_LEADER_OR_FOLLOWER?\n"),
        ("qqqqqq", "kdbg: unknown error 'qqqqqq'; list all with kdbg errors\n"),
        ("", "kdbg: unknown error ''; list all with kdbg errors\n"),
    ],
)
def test_no_match_names_near_ones(query: str, said: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["errors", query]) == 2
    assert capfdbinary.readouterr() == (b"", said.encode())


@pytest.mark.parametrize("option", ["--colour", "-x", "-1x"])
def test_an_unknown_option_is_still_refused(option: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["errors", option]) == 2
    assert f"no such option '{option}'" in capfdbinary.readouterr().err.decode()


@pytest.mark.parametrize("query", ["9", "unused", "REPLICA_NOT_AVAILABLE"])
def test_what_a_code_was_in_older_releases(query: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["errors", query]) == 0
    assert capfdbinary.readouterr() == (NINE.encode(), b"")


def test_the_history_of_every_code_fits_80_columns_and_is_in_json(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    codes = [str(code) for code in CHANGES]
    assert run(["errors", *codes]) == 0
    out = capfdbinary.readouterr().out.decode()
    assert max(map(len, out.splitlines())) <= 80
    assert run(["errors", "-1", "9", "6", "--format", "json"]) == 0
    minus, nine, six = map(json.loads, capfdbinary.readouterr().out.splitlines())
    assert minus["changes"] == [{"before": "1.0", "name": "UNKNOWN", "retriable": None, "meaning": None}]
    assert [change["retriable"] for change in nine["changes"]] == [None, False]
    assert six["changes"][0]["name"] == "NOT_LEADER_FOR_PARTITION"
    assert error_object(ERRORS[3])["changes"] == []
