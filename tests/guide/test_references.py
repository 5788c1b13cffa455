"""The manual's references say what the code does: tables and filters are made of it, JSON's keys are looked at."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from kdbg.ui.guide import section, text

from ..cases import for_each
from ..cli.calls import CAPTURES, SHIPPED, Outcome
from .blocks import TOP
from .generated import PARTS, filled

SEGMENTS = [path for path in sorted((CAPTURES / "real-segments-4.4.0").rglob("*")) if path.is_file()]
PLACES = [CAPTURES / "places" / name for name in ("client.pcap", "broker.pcap")]
Keys = dict[str, set[str]]
Cli = Callable[..., Outcome]


@for_each(("topic", "marker"), PARTS)
def test_what_is_generated_is_up_to_date(topic: str, marker: str) -> None:
    assert text(topic) == filled(topic, marker), "python -m tests.guide"


def test_every_column_says_what_it_is() -> None:
    silent = re.findall(r"^\| `(\w+)` \| \w+ \|  \|$", text("tables"), re.MULTILINE)
    assert silent == []


def test_the_schema_shown_is_the_schema() -> None:
    shown = re.search(r"<!-- heartbeat -->\n```text\n(.*?)```\n<!-- /heartbeat -->", text("adding"), re.DOTALL)
    assert shown is not None
    assert shown[1] == (TOP / "kdbg" / "protocol" / "grammars" / "heartbeat.py").read_text(encoding="utf-8")


@for_each("package", sorted(path.parent.name for path in (TOP / "kdbg").glob("*/__init__.py")))
def test_every_package_is_in_the_table(package: str) -> None:
    assert re.search(rf"^\|.*`kdbg/{package}`", text("internals"), re.MULTILINE)


@cache
def documented(heading: str) -> set[str]:
    """Return the keys in the table of a section of the page on JSON."""
    found = section("json", heading)
    assert found is not None, heading
    return set(re.findall(r"^\| `(\w+)` \|", found, re.MULTILINE))


def keys_of(value: Any, found: Keys) -> None:
    """Collect the keys of record sets and bytes, wherever in a value they are."""
    if isinstance(value, list):
        for item in value:
            keys_of(item, found)
    elif isinstance(value, dict):
        if value.keys() & {"base64", "redacted", "hidden"}:
            found["Bytes"] |= value.keys()
        if "magic" in value:
            found["A batch" if value["magic"] == 2 else "A message of the old formats"] |= value.keys()
            for record in value.get("records") or ():
                if "magic" not in record:
                    found["A record"] |= record.keys()
        for item in value.values():
            keys_of(item, found)


def printed(line: Any, found: Keys) -> None:
    """Collect the keys of a line of JSON by the sections that describe them."""
    keys_of(line, found)
    for finding in line["findings"]:
        found["A finding"] |= finding.keys()
    if "connection" not in line:
        found["An entry of a file"] |= line.keys()
        return
    found["An exchange"] |= line.keys()
    found["A connection"] |= line["connection"].keys()
    for error in line["errors"]:
        found["An error"] |= error.keys()
    if "places" in line:
        found["Capture points"] |= line["capture_points"].keys()
        for place in line["capture_points"]["times"]:
            found["A capture point"] |= place.keys()
    for half in filter(None, (line["request"], line["response"])):
        found["A message"] |= half.keys()


def test_every_key_of_json_is_described_and_every_described_key_is_there(cli: Cli, tmp_path: Path) -> None:
    found: Keys = defaultdict(set)
    zeros = tmp_path / "00000000000000000000.timeindex"
    zeros.write_bytes(bytes(36))
    for paths in (*zip((*SHIPPED, *SEGMENTS, zeros)), PLACES):
        for line in cli("decode", *paths, "--format", "json").out.splitlines():
            printed(json.loads(line), found)
    assert found == {heading: documented(heading) for heading in found}
    assert len(found) == 12
