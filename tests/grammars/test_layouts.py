"""Every layout against Kafka's own JSON definitions, row by row, and the registry against its table of APIs.

The table of layouts was made from the message definitions of Kafka 3.9.2 to 4.2 by a program that shares nothing with
kdbg: (path, type) of every field of every version, and which header version goes with it.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.wire.language import DIRECTIONS, Direction, snake_case
from kdbg.protocol.wire.readings.layout import LayoutRow, layout

from ..cases import for_each
from ..facts import apis, layouts

Facts = dict[tuple[int, str, int], dict[str, Any]]
ROWS = 722
"""Messages in the table. APIs and versions that Kafka added after it was made are not in it."""

RENAMED = {
    (28, "request"): ("generation_id", "generation_id_or_member_epoch", range(3, 99)),
    (88, "response"): ("acceptable_recovery_lag", "acceptable_recovery_lag_legacy", range(1)),
}
"""Fields that Kafka 4.4 calls otherwise than the releases of the table, and in which versions."""


@pytest.fixture(scope="module")
def facts() -> Facts:
    """(key, direction, version) -> what Kafka's definitions say."""
    return {(row["api_key"], row["type"], row["version"]): row for row in layouts()}


@pytest.fixture(scope="module")
def table() -> dict[int, dict[str, Any]]:
    """Kafka's APIs by their key."""
    return {entry["api_key"]: entry for entry in apis()}


every_api = for_each("key", grammars.ENTRIES, ids=grammars.name_of)


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


def newly_named(key: int, direction: str, version: int, rows: list[LayoutRow]) -> list[LayoutRow]:
    """The rows with the names of Kafka 4.4."""
    old, new, renamed = RENAMED.get((key, direction), ("", "", range(0)))
    return [row._replace(path=new) if row.path == old and version in renamed else row for row in rows]


@every_api
@for_each("direction", DIRECTIONS)
def test_the_layout_of_every_version_is_kafkas(key: int, direction: Direction, facts: Facts) -> None:
    api = grammars.api(key)
    versions = sorted(v for k, d, v in facts if (k, d) == (key, direction))
    assert versions == list(api.versions)[: len(versions)]
    for version in versions:
        fact = facts[key, direction, version]
        rows = newly_named(key, direction, version, expected(fact["rows"]))
        assert list(layout(api.at(direction, version))) == rows, f"version {version}"
        assert api.header_version(direction, version) == fact["header"], f"header of version {version}"
        assert (version >= api.flexible) == fact["flexible"], f"flexible at version {version}"
        assert fact["name"] == f"{api.name}{direction.title()}"


def test_every_row_of_kafkas_was_looked_at(facts: Facts, table: dict[int, dict[str, Any]]) -> None:
    assert len(facts) == ROWS
    assert {key for key, _, _ in facts} == set(table) <= set(grammars.ENTRIES)
    assert {direction for _, direction, _ in facts} == set(DIRECTIONS)


@every_api
def test_the_registry_is_kafkas_table(key: int, table: dict[int, dict[str, Any]]) -> None:
    if key not in table:
        return
    fact, api = table[key], grammars.api(key)
    versions = [entry["version"] for entry in fact["versions"]]
    assert (api.key, api.name, grammars.name_of(key)) == (fact["api_key"], fact["name"], fact["name"])
    assert list(api.versions)[: len(versions)] == versions == list(range(fact["min"], fact["max"] + 1))
    flexible = next((version for version in versions if version >= api.flexible), None)
    assert flexible == fact["flexible_from"] == fact["response_flexible_from"]
    for entry in fact["versions"]:
        headers = tuple(api.header_version(direction, entry["version"]) for direction in DIRECTIONS)
        assert headers == (entry["request_header"], entry["response_header"]), entry["version"]


@every_api
def test_older_names_of_an_api_find_it(key: int, table: dict[int, dict[str, Any]]) -> None:
    for name in table[key]["other_names"] if key in table else ():
        assert grammars.api(name).key == key
