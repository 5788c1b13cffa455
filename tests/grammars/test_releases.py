"""Which release of Kafka has which version: the table beside the checkout says the same."""

from __future__ import annotations

import json
from pathlib import Path

from kdbg import grammars
from kdbg.grammars.releases import NEW, OLD, parse, since, until

NEWEST = "4.4"
"""The release whose versions the table does not have."""
UNDATED = {("DescribeLogDirs", 5), ("BrokerHeartbeat", 2)}
"""Versions that the table knows from kio, which has them from 4.3."""


def short(release: str) -> str:
    """A release as kdbg writes it: 0.8.2 and 3.9, not 3.9.2."""
    parts = release.split(".")
    return ".".join(parts[:3] if parts[0] == "0" else parts[:2])


def test_every_version_has_a_release_and_no_other_has() -> None:
    listed = [(name, v) for text in NEW.values() for name, versions in parse(text).items() for v in versions["request"]]
    assert len(listed) == len(set(listed))
    assert set(listed) == {(api.name, version) for api in grammars.apis() for version in api.versions}


def test_what_a_release_dropped_was_there_before() -> None:
    order = list(NEW)
    for release, text in OLD.items():
        for name, versions in parse(text).items():
            assert versions["request"] == versions["response"]
            assert all(order.index(since(name, version)) <= order.index(release) for version in versions["request"])


def test_the_releases_are_those_of_the_table(shared: Path) -> None:
    table = json.loads((shared / "facts" / "api-table.json").read_text())
    rows = [(entry["name"], row) for entry in table for row in entry["versions"]]
    assert len(rows) == 361
    for name, row in rows:
        version = row["version"]
        dated = "4.3" if (name, version) in UNDATED else short(row["first_release"])
        assert since(name, version) == dated, (name, version)
        assert until(name, version) == (short(row["last_release"]) if row["last_release"] else None), (name, version)
    newer = {(api.name, version) for api in grammars.apis() for version in api.versions} - {
        (n, r["version"]) for n, r in rows
    }
    assert {since(*version) for version in newer} == {NEWEST}
