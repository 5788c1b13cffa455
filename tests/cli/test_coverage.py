"""`kdbg coverage`: every version, the releases that have it, what has proved it; in 80 columns, or as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from kdbg.protocol import grammars
from kdbg.views.render import coverage
from kdbg.views.render.style import Look

from .calls import MAIN, Outcome

HEAD = "key name versions Kafka L J K P B C V"
"""Words: how wide a column is depends on what stands in it."""
LEGEND = """
L  field layout equals Kafka's message definitions, 0.8 to 4.2
J  Kafka's generated classes (4.4, 3.9) decode and encode the same bytes
K  kio decodes and encodes the same bytes
P  kafka-python decodes and encodes the same bytes
B  a Kafka broker responded, and the response was decoded to its last byte
C  bytes of real clients, and the responses of real brokers, are in the tests
V  recorded in the test suites of public clients, decoded and encoded again
"""
CAN = """
Commands that support every version: `kdbg decode`, `kdbg explain`,
`kdbg encode`, `kdbg grammar`, `kdbg send`.
"""
DELETE_GROUPS = """\
DeleteGroups (key 42)

version  Kafka  L J K P C V  brokers that responded
      0  1.1+   ● ● ● ● · ●  2.8.2 3.9.2 4.4.0
      1  2.0+   ● ● ● ● · ●  2.8.2 3.9.2 4.4.0
      2  2.4+   ● ● ● ● · ●  2.8.2 3.9.2 4.4.0
      3  4.4+   · ● · · · ·  4.4.0
"""

MADE = MAIN / "tests" / "definitions" / "made"
"""Definitions of an API that no Kafka has."""
Cli = Callable[..., Outcome]


def test_the_table_fits_80_columns(cli: Cli) -> None:
    done = cli("coverage")
    assert (done.status, done.err) == (0, "")
    assert " ".join(done.out.splitlines()[0].split()) == HEAD
    assert LEGEND in done.out
    assert done.out.endswith(CAN)
    assert max(map(len, done.out.splitlines())) <= 80


def test_every_api_has_a_line(cli: Cli) -> None:
    lines = cli("coverage").out.splitlines()[1 : 1 + len(grammars.ENTRIES)]
    assert [line.split()[1] for line in lines] == [api.name for api in grammars.apis()]
    assert lines[7].split() == ["7", "ControlledShutdown", "0-3", "0.8.0-3.9", "●", "●", "·", "·", "●", "·", "·"]


def test_one_api_has_a_line_for_each_version(cli: Cli) -> None:
    shown, expected = (text.splitlines() for text in (cli("coverage", "delete-groups").out, DELETE_GROUPS))
    assert [line.split() for line in shown[: len(expected)]] == [line.split() for line in expected]


def test_requests_that_no_broker_answers_are_told_from_responses(cli: Cli) -> None:
    """A capture holds Fetch v4 of a real client; no real broker answers it there."""
    (line,) = [line for line in cli("coverage", "fetch").out.splitlines() if line.split()[:1] == ["4"]]
    assert line == "      4  0.11.0+     ● ● ● ● → ●  2.8.2 3.9.2 4.4.0"


def test_every_line_of_every_api_fits(cli: Cli) -> None:
    for name in [api.name for api in grammars.apis()]:
        assert max(map(len, cli("coverage", name).out.splitlines())) <= 80, name


def test_json_is_an_object_a_version(cli: Cli) -> None:
    objects = cli("coverage", "--format", "json").lines
    assert [(found["api"], found["api_version"]) for found in objects] == [
        (api.name, version) for api in grammars.apis() for version in api.versions
    ]
    assert objects[0] == {
        "api": "Produce", "api_key": 0, "api_version": 0, "since": "0.8.0", "until": "3.9",
        "can": ["decode", "explain", "encode", "grammar", "send"],
        "request": ["layouts", "java", "kafka-python", "brokers", "clients", "vectors"],
        "response": ["layouts", "java", "kafka-python", "brokers", "clients", "vectors"],
        "brokers": ["0.8.2.2", "0.10.1.1", "2.8.2", "3.9.2"],
    }  # fmt: skip


def test_what_a_definition_gives_is_called_given_and_nothing_proves_it(cli: Cli) -> None:
    lines = [line.split() for line in cli("coverage", "--definitions", MADE).out.splitlines()]
    assert ["901", "Lamp", "0-3", "given", "·", "·", "·", "·", "·", "·", "·"] in lines
    assert "      3  given  · · · · · ·  ·" in cli("coverage", "lamp", "--definitions", MADE).out.splitlines()
    found = cli("coverage", "lamp", "--definitions", MADE, "--format", "json").lines
    assert {(one["since"], one["until"], *one["request"], *one["brokers"]) for one in found} == {(None, None)}


def test_payloads_have_a_table_of_their_own(cli: Cli) -> None:
    lines = cli("coverage", "payloads").out.splitlines()
    assert lines[0] == "name                                        versions  L J C"
    assert "OffsetCommitValue                           0-4       ● ● ◐" in lines
    assert "ConnectAssignment                           0-2       · · ●" in lines
    assert max(map(len, lines)) <= 80
    objects = cli("coverage", "payloads", "--format", "json").lines
    assert {"payload": "VotersRecord", "version": 0, "proofs": ["layouts", "java"]} in objects


def test_every_version_that_was_released_is_proved_by_something(cli: Cli) -> None:
    found = cli("coverage", "--format", "json").lines
    assert [one for one in found if not (one["request"] and one["response"]) and one["since"] is not None] == []


def test_a_version_of_no_release_is_called_unreleased() -> None:
    own = grammars.own(12)
    newest = own.versions[-1] + 1
    made = replace(own, versions=range(newest + 1), _layouts={})
    lines = coverage.one(made, Look()).splitlines()
    assert re.fullmatch(rf" +{newest}  unreleased  · · · · · ·  ·", lines[3 + newest])
    assert coverage.overview([made], Look()).splitlines()[1].split()[:4] == ["12", "Heartbeat", f"0-{newest}", "0.8.2+"]
    assert list(coverage.objects([made]))[-1] == {
        "api": "Heartbeat", "api_key": 12, "api_version": newest, "since": None, "until": None, "can": coverage.CAN,
        "request": [], "response": [], "brokers": [],
    }  # fmt: skip
    two = replace(own, versions=range(2))
    assert coverage.overview([two], Look()).splitlines()[1].split()[:3] == ["12", "Heartbeat", "0-1"]
    lamp = replace(made, key=200, name="Lamp", versions=range(1))
    assert coverage.overview([lamp], Look()).splitlines()[1].split()[:4] == ["200", "Lamp", "0", "unreleased"]


@pytest.mark.parametrize("arguments", [["coverage", "nothing"], ["coverage", "--missing", "brokers"]], ids=" ".join)
def test_what_is_not_known_is_refused(arguments: list[str], cli: Cli) -> None:
    done = cli(*arguments)
    assert done.status == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
