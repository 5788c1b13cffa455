"""`kdbg records` over every capture there is: it has exactly the records that `kdbg decode --format json` has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from kdbg.exchanges.engine.driver import Drive
from kdbg.exchanges.engine.engine import Engine
from kdbg.payloads.records.record import CapturedRecord
from kdbg.payloads.records.sources import Records
from kdbg.payloads.values.chosen import PLAIN
from kdbg.views.reading import open_any
from kdbg.views.render.jsonlines import json_line
from kdbg.views.render.record_views import json_record

from ..cases import by_day

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = sorted(
    path for folder in (ROOT / "captures", ROOT.parent / "shared" / "captures") for path in folder.glob("*.pcap*")
)
SETS = ("records", "unaligned_records")


def exchanges(path: Path) -> Iterator[tuple[Any, Engine]]:
    engine = Engine()
    with open_any(str(path)) as capture:  # type: ignore[union-attr]
        for exchange in Drive(engine, capture.blocks(), lambda: None):  # type: ignore[union-attr]
            yield exchange, engine


def entries(value: Any) -> Iterator[dict[str, Any]]:
    """The batches and messages anywhere in a body, in the order of the wire."""
    if isinstance(value, list):
        for item in value:
            yield from entries(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in SETS and isinstance(item, list):
                yield from (entry for entry in item if "magic" in entry)
            else:
                yield from entries(item)


def records(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The records of a batch; a message, or those that it wraps."""
    if entry["magic"] == 2:
        yield from (record for record in entry.get("records", ()) if "offset" in record)
    elif "records" in entry:
        for inner in entry["records"]:
            yield from records(inner) if "magic" in inner else ()
    else:
        yield entry


def plain(said: Any) -> Any:
    return said.get("value", said.get("base64", said)) if isinstance(said, dict) and "payload" in said else said


@pytest.mark.parametrize("path", by_day(CAPTURES, 3), ids=lambda path: path.name)
def test_the_records_are_those_of_the_json(path: Path) -> None:
    expected, found, made = [], [], None
    for exchange, engine in exchanges(path):
        made = made or Records(engine.names_then)
        shown = [orjson.loads(json_record(record, PLAIN)) for record in made.of(exchange)
                 if isinstance(record, CapturedRecord)]  # fmt: skip
        line = orjson.loads(json_line(exchange, engine.names_then))
        for half in ("request", "response"):
            for entry in entries((line[half] or {}).get("body")):
                for record in records(entry):
                    expected.append((half, plain(record.get("key")), plain(record.get("value")),
                                     len(record.get("headers") or ())))  # fmt: skip
        for record in shown:
            half = "request" if record["way"] == "produced" else "response"
            found.append((half, record["key"], record["value"], len(record["headers"])))
    assert found == expected
