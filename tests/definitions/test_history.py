"""The rules on compatible change over several releases: what only a look past the neighbour shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kdbg.protocol.definitions import history, read

Told = tuple[str, str, str, str]
"""The files compared, the rule and the field."""


def release(number: int, *tagged: dict[str, Any], valid: str = "0-1") -> str:
    """A definition of Foo: an untagged id, and these tagged fields."""
    fields = [{"name": "Id", "type": "int32", "versions": "0+"}]
    fields += [{"versions": "0+", "taggedVersions": "0+"} | field for field in tagged]
    top = {"apiKey": 9000, "type": "request", "name": "FooRequest", "validVersions": valid, "flexibleVersions": "0+"}
    return json.dumps(top | {"fields": fields})


def broken(*texts: str) -> list[Told]:
    found = history([read(text, f"{i}.json") for i, text in enumerate(texts, 1)])
    return [
        (it.old.file, it.new.file, rule, path) for it in found for rule, path in [(b.rule, b.path) for b in it.broken]
    ]


RACK, ZONE = {"name": "Rack", "type": "string", "tag": 0}, {"name": "Zone", "type": "string", "tag": 0}


def test_a_tag_given_up_and_used_again_for_something_else() -> None:
    assert broken(release(1, RACK), release(2)) == broken(release(2), release(3, ZONE)) == []
    assert broken(release(1, RACK), release(2), release(3, ZONE)) == [("1.json", "3.json", "tag", "Zone")]


def test_a_tag_given_up_and_used_again_for_the_same() -> None:
    assert broken(release(1, RACK), release(2), release(3, RACK)) == []


def test_the_same_name_with_another_type_is_something_else() -> None:
    number = RACK | {"type": "int32"}
    assert broken(release(1, RACK), release(2), release(3, number)) == [("1.json", "3.json", "type", "Rack")]


def test_it_is_found_however_long_the_tag_was_unused() -> None:
    gone = [release(number) for number in range(2, 6)]
    assert broken(release(1, RACK), *gone, release(6, ZONE), release(7, ZONE)) == [("1.json", "6.json", "tag", "Zone")]


def test_what_neighbours_break_is_told_once() -> None:
    assert broken(release(1, RACK), release(2, ZONE), release(3, ZONE)) == [("1.json", "2.json", "tag", "Zone")]


def test_a_version_dropped_and_brought_back_is_told_once() -> None:
    dropped = release(2, valid="1")
    assert broken(release(1), dropped, release(3)) == [("1.json", "2.json", "versions", "")]


@pytest.mark.parametrize("number", [2, 5])
def test_neighbours_are_compared_in_their_order(number: int) -> None:
    steps = history([read(release(1, valid=f"0-{last}"), f"{last}.json") for last in range(number)])
    assert [(it.old.file, it.new.file) for it in steps] == [(f"{i}.json", f"{i + 1}.json") for i in range(number - 1)]
    assert all(it.changes and not it.broken for it in steps)
