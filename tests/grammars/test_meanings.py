"""What fields mean: every field of every declaration says it, in a short phrase that is kdbg's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import NamedTuple

import construct

import kdbg
from kdbg.protocol import grammars
from kdbg.protocol.grammars.payloads import forwarded, payloads, telemetry
from kdbg.protocol.wire import Array, Int32, Nullable, Since, Struct, Tag
from kdbg.protocol.wire.language import DIRECTIONS
from kdbg.protocol.wire.language.payload import Payload
from kdbg.protocol.wire.language.types import rules_of
from kdbg.protocol.wire.nodes import WireStruct
from kdbg.protocol.wire.readings.layout import walk
from kdbg.views.render.grammar import nullable

from ..cases import for_each
from ..facts import copied, quoted

FOLDER = Path(kdbg.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
    for path in (FOLDER / "protocol" / "grammars").rglob("*.py")
    if path.stem != "__init__"
)
LONGEST = 120
SHORT = 4
"""Words of a phrase that everybody would use: "name of the topic"."""


class Meaning(NamedTuple):
    path: str
    text: str


def meanings(declared: object, path: str) -> Iterator[Meaning]:
    """The fields in a declaration, or in a collection of them, and what each means."""
    if isinstance(declared, Payload):
        yield from meanings((*declared.frame, *declared.layout.declared), declared.name)
    elif isinstance(declared, construct.Renamed):
        rules, of = rules_of(declared)
        here = f"{path}.{declared.name}"
        yield Meaning(here, rules.about)
        yield from meanings(of, here)
    elif isinstance(declared, Struct):
        yield from meanings(declared.declared, path)
    elif isinstance(declared, construct.Construct):
        yield from meanings(getattr(declared, "of", None), path)
    elif isinstance(declared, dict):
        yield from meanings(tuple(declared.values()), path)
    elif isinstance(declared, tuple):
        for one in declared:
            yield from meanings(one, path)


def of_module(name: str) -> list[Meaning]:
    found = (
        each
        for variable, value in vars(import_module(name)).items()
        if isinstance(value, (construct.Construct, Payload, dict, tuple)) and not variable.startswith("__")
        for each in meanings(value, variable)
    )
    return sorted(set(found))


ALL = sorted({each for name in MODULES for each in of_module(name)})


def test_the_walk_finds_fields_wherever_they_are_declared() -> None:
    inner = Struct("a" / Int32, "b" / Tag(0, Nullable(Array("c" / Since(1, Int32) * "said"))))
    payload = Payload("P", Struct("d" / inner * "said too"))
    assert list(meanings({7: (payload,)}, "x")) == [
        ("P.version", payload.frame[0].docs),
        ("P.d", "said too"),
        ("P.d.a", ""),
        ("P.d.b", ""),
        ("P.d.b.c", "said"),
    ]
    assert len(ALL) > 1500


@for_each("name", MODULES)
def test_every_field_says_what_it_means(name: str) -> None:
    assert [each.path for each in of_module(name) if not each.text] == []


def test_so_do_those_that_are_made_while_reading() -> None:
    made = [telemetry.UNREAD, telemetry.metrics_data(0), forwarded.message(3, 12, "response")]
    assert all(field.about for reading in made for field in reading.grammar.members)


def test_meanings_are_phrases() -> None:
    """They stand behind a field's name: no sentences, no lines, no longer than a line."""
    for path, text in ALL:
        first = text.split()[0].rstrip(":;,")
        assert first == first.lower() or re.search(r"[A-Z].*[A-Z]", first), (path, text)
        assert not text.endswith((".", ";", " ")), (path, text)
        assert "  " not in text, (path, text)
        assert text.isprintable(), (path, text)
        assert len(text) <= LONGEST, (path, text)


def layouts() -> Iterator[tuple[str, WireStruct]]:
    """Every version of every API and payload."""
    for api in grammars.apis():
        for direction, version in product(DIRECTIONS, api.versions):
            yield f"{api.name} {direction} v{version}", api.at(direction, version)
    for payload in payloads():
        for version in payload.versions:
            yield f"{payload.name} v{version}", payload.at(version)


def test_what_null_stands_for_is_said_wherever_it_may_stand() -> None:
    nullables = [
        (f"{name} {path}", field.about)
        for name, struct in layouts()
        for path, field, _ in walk(struct)
        if nullable(field.node)
    ]
    assert len(nullables) > 500
    assert [(path, about) for path, about in nullables if not re.search(r"\bnull\b", about)] == []


def test_meanings_say_more_than_the_name() -> None:
    for path, text in ALL:
        assert words(text) != words(path.rpartition(".")[2].replace("_", " ")), (path, text)


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in ("a", "an", "the")]


def test_meanings_are_our_own() -> None:
    """None has six words in a row in common with Kafka's guides or definitions, none is one of theirs."""
    assert copied(sorted({each.text for each in ALL})) == []


def test_none_is_a_short_text_of_kafkas() -> None:
    assert quoted(each.text for each in ALL if len(words(each.text)) > SHORT) == []
