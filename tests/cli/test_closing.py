"""Closing lines: every command that has one counts the findings of a capture as `kdbg decode` does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.protocol.findings.amounts import count

from ..cases import by_day
from .calls import CAPTURES, SHARED, Outcome
from .traits import TRAITS

Cli = Callable[..., Outcome]
CALLS: dict[str, tuple[object, ...]] = {
    "decode": ("decode", "IN"),
    "decode -f summary": ("decode", "IN", "-f", "summary"),
    "decode -f json": ("decode", "IN", "-f", "json"),
    "decode -f hex": ("decode", "IN", "-f", "hex"),
    "decode --jobs": ("decode", "IN", "--jobs", "2"),
    "stats": ("stats", "IN", "--by", "api"),
    "stats -f prometheus": ("stats", "IN", "-f", "prometheus"),
    "records": ("records", "IN"),
    "export": ("export", "IN", "OUT"),
    "export --only-exchanges": ("export", "IN", "OUT", "--only-exchanges"),
    "export --otlp": ("export", "IN", "--otlp", "OUT"),
    "redact": ("redact", "IN", "OUT"),
    "diagnose": ("diagnose", "IN"),
    "story": ("story", "IN"),
    "lint": ("lint", "IN"),
    "readiness": ("readiness", "IN"),
}
"""The commands that read captures and end with what they found; `watch` and `proxy` are runs of decode."""
FILES = [CAPTURES / f"{name}.pcap" for name in ("errors", "segmented-lossy", "old-versions", "midstream")] + SHARED[:2]
FILTERS: tuple[tuple[str, ...], ...] = (
    ("--api", "fetch"), ("--topic", "orders"), ("--errors",), ("--where", "latency_ms > 1"), ("--client-id", "shop"),
    ("--limit", "7"), ("--exchange", "1-9"), ("--api", "produce", "--limit", "1"),
)  # fmt: skip
UNFILTERED = {"redact", "diagnose", "story", "lint", "readiness"}


def counts(outcome: Outcome) -> str:
    """The part of the closing line on findings."""
    found = re.findall(r"[\d,]+ missing responses? · [\d,]+ findings?(?: \([^)]*\))?", outcome.err)
    assert len(found) == 1, outcome.err
    return str(found[0])


def called(cli: Cli, name: str, path: Path, target: Path, *filters: str) -> str:
    words = {"IN": path, "OUT": target}
    return counts(cli(*(words.get(str(word), word) for word in CALLS[name]), *filters))


def test_every_command_is_here() -> None:
    assert {str(arguments[0]) for arguments in CALLS.values()} == {name for name in TRAITS if TRAITS[name].counts}


@pytest.mark.parametrize("path", by_day(FILES, 3), ids=lambda path: path.stem)
def test_all_count_the_same(path: Path, tmp_path: Path, cli: Cli) -> None:
    wanted = called(cli, "decode", path, tmp_path / "out.pcapng")
    found = {name: called(cli, name, path, tmp_path / "out.pcapng") for name in CALLS}
    assert found == dict.fromkeys(CALLS, wanted)


@pytest.mark.parametrize("filters", FILTERS, ids=" ".join)
def test_all_count_the_same_with_filters(filters: tuple[str, ...], tmp_path: Path, cli: Cli) -> None:
    """What filters leave out is counted too; a limit ends reading, for `records` behind so many records."""
    path, names = CAPTURES / "errors.pcap", CALLS.keys() - UNFILTERED
    if "--limit" in filters:
        names -= {"records"}
    found = {name: called(cli, name, path, tmp_path / "out.pcapng", *filters) for name in names}
    assert found == dict.fromkeys(names, found["decode"])


@pytest.mark.parametrize("path", FILES[:3], ids=lambda path: path.stem)
def test_tables_hold_as_many(path: Path, tmp_path: Path, cli: Cli) -> None:
    pytest.importorskip("duckdb")
    sql = "SELECT kind, count(*) AS many FROM problems GROUP BY kind ORDER BY many DESC, kind"
    rows = {row["kind"]: row["many"] for row in cli("query", path, sql, "--format", "json").lines}
    unanswered = rows.pop("no-response", 0)
    listed = ", ".join(f"{kind} {many}" for kind, many in rows.items())
    wanted = called(cli, "decode", path, tmp_path / "out.pcapng")
    assert wanted == f"{count(unanswered, 'missing response')} · {sum(rows.values())} findings ({listed})"
