"""Two captures by meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kdbg
from kdbg.analysis.compare.captures import ComparisonRow, Profile, rows

from ..traffic import Talk, pcap


def profile(path: Path, *talks: Talk) -> Profile:
    path.write_bytes(pcap(*talks))
    found = Profile()
    for exchange in kdbg.read(path):
        found.add(exchange)
    return found


def client(version: int = 12, wait: int = 500, software: str = "lib", **more: Any) -> Talk:
    talk = Talk().ask("ApiVersions", 3, client_software_name=software, client_software_version="1.0").answer()
    return talk.ask("Fetch", version, max_wait_ms=wait, **more).answer()


def named(found: list[ComparisonRow]) -> dict[tuple[str, str | None, str], ComparisonRow]:
    return {(row.section, row.api, row.name): row for row in found}


def test_a_capture_is_like_itself(tmp_path: Path) -> None:
    one, other = profile(tmp_path / "a", client()), profile(tmp_path / "b", client())
    found = list(rows(one, other))
    assert found
    assert all(row.same for row in found)


def test_software_versions_settings_and_errors_are_told_apart(tmp_path: Path) -> None:
    failed = {"responses": [], "error_code": 6}
    one = profile(tmp_path / "a", client(11, 500, "mine"))
    other = profile(tmp_path / "b", client(12, 100, "theirs").ask("Fetch", 12, max_wait_ms=300).answer(**failed))
    found = named(list(rows(one, other)))
    assert found["clients", None, "kdbg"][3:5] == ({"mine 1.0": 1}, {"theirs 1.0": 1})
    assert found["versions", "Fetch", "Fetch"][3:5] == ({11: 1}, {12: 2})
    assert found["settings", "Fetch", "max_wait_ms"][3:5] == ({500: 1}, {100: 1, 300: 1})
    assert found["errors", "Fetch", "Fetch"][3:5] == (None, {"NOT_LEADER_OR_FOLLOWER": 1})
    assert found["settings", "Fetch", "isolation_level"].same


def test_whom_a_request_is_about_is_no_setting(tmp_path: Path) -> None:
    asked = {"topics": [{"topic": "orders", "partitions": [{"partition": 3, "fetch_offset": 77}]}]}
    one = profile(tmp_path / "a", client(**asked))
    paths = {path for _, path in one.settings}
    assert "max_wait_ms" in paths
    assert "topics[].partitions[].partition_max_bytes" in paths
    assert not {path for path in paths if path.endswith(("topic", "partition", "fetch_offset", "session_id"))}


def test_what_takes_many_values_is_a_setting_only_beside_one_that_does_not(tmp_path: Path) -> None:
    many = client()
    for wait in range(20):
        many.ask("Fetch", 12, max_wait_ms=wait).answer()
    one, few = profile(tmp_path / "a", many), profile(tmp_path / "b", client())
    assert ("settings", "Fetch", "max_wait_ms") in named(list(rows(one, few)))
    assert ("settings", "Fetch", "max_wait_ms") not in named(list(rows(one, one)))


def test_a_request_without_an_answer_is_counted(tmp_path: Path) -> None:
    assert profile(tmp_path / "a", Talk().ask("Fetch", 12)).unanswered == 1
    assert profile(tmp_path / "b", client()).unanswered == 0
