"""`kdbg grammar API --version N --source`: what runs is what is printed."""

from __future__ import annotations

import struct
import uuid

import pytest

from kdbg.budget import MEMORY
from kdbg.protocol import grammars
from kdbg.views.render.sources import SOURCES, source_of

from .calls import call


def test_the_source_of_a_reading_can_be_run() -> None:
    printed = call("grammar", "heartbeat", "--version", 0, "--source", "--request").out
    names = {"struct": struct, "UUID": uuid.UUID, "unpack_hhih": struct.Struct(">hhih").unpack_from,
             "unpack_h": struct.Struct(">h").unpack_from, "unpack_ih": struct.Struct(">ih").unpack_from}  # fmt: skip
    names["memory"] = MEMORY
    exec(compile(printed, "printed", "exec"), names)
    body = {"group_id": "g", "generation_id": 7, "member_id": "m"}
    data = grammars.api("heartbeat").at("request", 0).build(body)
    (_, value), end = names["read"](b"\0\x0c\0\0\0\0\0\x05\xff\xff" + data, 0)  # type: ignore[operator]
    assert (value, end) == (body, 10 + len(data))


@pytest.mark.parametrize("name", SOURCES)
def test_every_reading_of_every_layout_has_a_source_or_says_why_not(name: str) -> None:
    for api in grammars.apis():
        for direction in ("request", "response"):
            text = source_of(api, api.versions[-1], direction, name)
            assert text.startswith(f"# {api.name} {direction} v{api.versions[-1]}, {name}")
            assert "def " in text or "by its values" in text


def test_both_directions_unless_one_is_asked_for() -> None:
    both = call("grammar", "produce", "--version", 8, "--source", "json").out
    one = call("grammar", "produce", "--version", 8, "--source", "json", "--response").out
    assert "# Produce request v8, json" in both
    assert both.endswith(one)
    assert "text" in one


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fetch", "--source"), "--source requires --version"),
        (("fetch", "--version", 4, "--source", "tre"), "use one of values, facts, json"),
        (("fetch", "--version", 99, "--source"), "99"),
        (("no-such-api", "--version", 4, "--source"), "no-such-api"),
    ],
)
def test_what_cannot_be_printed_is_one_line(arguments: tuple[object, ...], says: str) -> None:
    outcome = call("grammar", *arguments)
    assert outcome.status == 2
    assert says in outcome.err
    assert len(outcome.err.splitlines()) == 1
