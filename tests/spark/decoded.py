"""What `kdbg decode` says of captures, and what the tables say of the same, in one form that can be compared."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
from deltalake import DeltaTable

import kdbg
from kdbg.capture.names import capture_name, named_files
from kdbg.exchanges.messages.exchange import CapturedMessage
from tests.cli.calls import call, spawn

Row = tuple[Any, ...]
HALF = "CASE WHEN {0}_bytes IS NULL THEN NULL ELSE (epoch_us({0}_time), {0}_bytes, {0}_packet) END"


def decoded(paths: Iterable[Path], capture: str = "", *options: object) -> list[Row]:
    """Every exchange that `kdbg decode --format json` finds in these captures, by the names that tables have."""
    paths = [*paths]
    names = [capture_name(file.name) for file in named_files((str(path), str(path)) for path in paths)]
    rows = [
        (capture or name, *row)
        for path, name in zip(paths, names, strict=True)
        for row in _rows(path, path.stat().st_mtime_ns, options)
    ]
    return sorted(rows, key=repr)


@lru_cache(maxsize=256)
def _rows(path: Path, _: int, options: tuple[object, ...]) -> list[Row]:
    """What is found in a capture as it was at a time; several tests ask about the same."""
    lines = (spawn if options else call)("decode", path, "--format", "json", *options).lines
    exact = kdbg.read(path)  # JSON's numbers do not hold nanoseconds of our days
    return [
        (*_said(line), _half(exchange.request), _half(exchange.response))
        for line, exchange in zip(lines, exact, strict=True)
    ]


def _said(line: dict[str, Any]) -> Row:
    ends, latency = line["connection"], line["latency_ms"]
    return (
        ends["client"], ends["broker"], line["api"], line["api_key"], line["api_version"], line["correlation_id"],
        _text(line["client_id"]), None if latency is None else round(latency * 1000), tuple(line["notes"]),
    )  # fmt: skip


def _text(value: Any) -> str | None:
    return base64.b64decode(value["base64"]).decode("utf-8", "backslashreplace") if isinstance(value, dict) else value


def _half(half: CapturedMessage | None) -> Row | None:
    """(microseconds, bytes, first packet) of a request or a response."""
    return None if half is None else ((half.first_time + 500) // 1000, half.size, half.first_packet)


def tabled(out: Path) -> list[Row]:
    """The same of the table of exchanges, as DuckDB reads it."""
    question = f"""
        SELECT capture, client, broker, api, api_key, api_version, correlation_id, client_id, latency_us, notes,
            {HALF.format("request")}, {HALF.format("response")}
        FROM {{exchanges}}"""
    return sorted(((*row[:9], tuple(row[9]), *row[10:]) for row in ask(out, question)), key=repr)


def ask(out: Path, question: str) -> list[Row]:
    """What DuckDB answers of what the logs of the Delta tables list; `{exchanges}` and so on stand for the tables."""
    names = [path.parent.name for path in out.glob("*/_delta_log")]
    with duckdb.connect() as connection:
        for name in names:
            connection.register(name, DeltaTable(out / name).to_pyarrow_dataset())
        return connection.execute(question.format(**{name: name for name in names})).fetchall()
