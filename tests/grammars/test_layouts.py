"""Every layout against Kafka's own JSON definitions, row by row, and the registry against its table of APIs.

`layouts.jsonl` was made from the message definitions of Kafka 3.9.2 to 4.2 by a program that shares nothing with
kdbg: (path, type) of every field of every version, and which header version goes with it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kdbg import grammars
from kdbg.wire.language.api import DIRECTIONS, Api, Direction, snake_case
from kdbg.wire.readings.layout import LayoutRow, layout

KEYS = range(93)
NEWER = {18: 1, 28: 1, 42: 1, 88: 1, 89: 1}
"""Versions that Kafka 4.4 added, after the table was made: key -> how many. Keys 93 and 94 are new as well."""
ROWS = 722


def tabled(api: Api) -> range:
    """The versions of an API that the table knows."""
    return api.versions[: len(api.versions) - NEWER.get(api.key, 0)]


@pytest.fixture(scope="module")
def facts(shared: Path) -> dict[tuple[int, str, int], dict[str, Any]]:
    """(key, direction, version) -> what Kafka's definitions say."""
    lines = map(json.loads, (shared / "facts" / "layouts.jsonl").read_text().splitlines())
    return {(line["api_key"], line["type"], line["version"]): line for line in lines}


@pytest.fixture(scope="module")
def table(shared: Path) -> list[dict[str, Any]]:
    """Kafka's APIs by their key."""
    listed: list[dict[str, Any]] = json.loads((shared / "facts" / "api-table.json").read_text())
    return sorted(listed, key=lambda entry: int(entry["api_key"]))


def expected(rows: list[list[Any]]) -> list[LayoutRow]:
    """Kafka's rows as kdbg writes them: names in snake_case, everything else untouched."""
    return [
        LayoutRow(
            re.sub(r"[A-Za-z]\w*", lambda name: snake_case(name[0]), path),
            type,
            tuple((tag, snake_case(name)) for tag, name in tags[0]) if tags else None,
        )
        for path, type, *tags in rows
    ]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("key", KEYS, ids=grammars.NAMES.__getitem__)
def test_the_layout_of_every_version_is_kafkas(
    key: int, direction: Direction, facts: dict[tuple[int, str, int], dict[str, Any]]
) -> None:
    api = grammars.api(key)
    assert sorted(v for k, d, v in facts if (k, d) == (key, direction)) == list(tabled(api))
    for version in tabled(api):
        fact = facts[key, direction, version]
        assert list(layout(api.at(direction, version))) == expected(fact["rows"]), f"version {version}"
        assert api.header_version(direction, version) == fact["header"], f"header of version {version}"
        assert (version >= api.flexible) == fact["flexible"], f"flexible at version {version}"
        assert fact["name"] == f"{api.name}{direction.title()}"


def test_every_row_of_kafkas_was_looked_at(facts: dict[tuple[int, str, int], dict[str, Any]]) -> None:
    old = [api for api in grammars.apis() if api.key in KEYS]
    known = {(api.key, direction, v) for api in old for direction in DIRECTIONS for v in tabled(api)}
    assert set(facts) == known
    assert len(facts) == ROWS


@pytest.mark.parametrize("key", KEYS, ids=grammars.NAMES.__getitem__)
def test_the_registry_is_kafkas_table(key: int, table: list[dict[str, Any]]) -> None:
    fact, api = table[key], grammars.api(key)
    versions = [entry["version"] for entry in fact["versions"]]
    assert (api.key, api.name, grammars.NAMES[key]) == (fact["api_key"], fact["name"], fact["name"])
    assert list(tabled(api)) == versions == list(range(fact["min"], fact["max"] + 1))
    assert first_flexible(api) == fact["flexible_from"] == fact["response_flexible_from"]
    for entry in fact["versions"]:
        headers = tuple(api.header_version(direction, entry["version"]) for direction in DIRECTIONS)
        assert headers == (entry["request_header"], entry["response_header"]), entry["version"]


def first_flexible(api: Api) -> int | None:
    """The first flexible version there is, None where all are classic."""
    return next((version for version in api.versions if version >= api.flexible), None)


def test_the_table_has_no_other_keys(table: list[dict[str, Any]]) -> None:
    assert [entry["api_key"] for entry in table] == list(KEYS)
    assert list(grammars.NAMES[len(KEYS) :]) == ["StreamsGroupTopologyDescriptionUpdate", "UnregisterController"]


@pytest.mark.parametrize("key", KEYS, ids=grammars.NAMES.__getitem__)
def test_older_names_of_an_api_find_it(key: int, table: list[dict[str, Any]]) -> None:
    for name in table[key]["other_names"]:
        assert grammars.api(name).key == key
