"""Two exchanges, field by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kdbg
from kdbg.analysis.compare.broker_assigned import ABSENT
from kdbg.analysis.compare.messages import compare
from kdbg.exchanges.messages.exchange import Exchange

from ..traffic import Talk, pcap

CAPTURES = Path(__file__).resolve().parents[2] / "captures"


def exchange(path: Path, talk: Talk) -> Exchange:
    path.write_bytes(pcap(talk))
    (found,) = kdbg.read(path)
    return found  # type: ignore[no-any-return]


def fetch(version: int = 12, **body: Any) -> Talk:
    return Talk().ask("Fetch", version, **body).answer()


def differing(a: Exchange, b: Exchange, *, ids: bool = False) -> dict[str, tuple[Any, Any]]:
    return {one.path: (one.a, one.b) for one in compare(a, b, ids=ids).differences}


def topic(name: str, *partitions: int) -> dict[str, Any]:
    return {"topic": name, "partitions": [{"partition": index, "fetch_offset": index * 10} for index in partitions]}


def test_an_exchange_is_like_itself() -> None:
    for found in kdbg.read(CAPTURES / "first-contact.pcap"):
        again = compare(found, found, ids=True)
        assert not again.differences
        assert again.same > 0


def test_a_field_of_another_value_is_named_with_both(tmp_path: Path) -> None:
    a = exchange(tmp_path / "a", fetch(max_wait_ms=500, min_bytes=1))
    b = exchange(tmp_path / "b", fetch(max_wait_ms=100, min_bytes=1))
    assert differing(a, b) == {"max_wait_ms": (500, 100)}


def test_ids_and_times_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    a = exchange(tmp_path / "a", fetch(session_id=7, session_epoch=1))
    b = exchange(tmp_path / "b", fetch(session_id=8, session_epoch=2))
    assert differing(a, b) == {}
    assert compare(a, b).ignored
    assert differing(a, b, ids=True) == {"session_id": (7, 8), "session_epoch": (1, 2)}


def test_a_field_that_a_version_lacks_is_absent(tmp_path: Path) -> None:
    found = differing(exchange(tmp_path / "a", fetch(11)), exchange(tmp_path / "b", fetch(12)))
    assert found["header.api_version"] == (11, 12)
    a, b = exchange(tmp_path / "c", fetch(3)), exchange(tmp_path / "d", fetch(4))
    assert differing(a, b)["isolation_level"][0] is ABSENT


def test_items_are_paired_by_topic_and_partition(tmp_path: Path) -> None:
    a = exchange(tmp_path / "a", fetch(topics=[topic("x", 0, 1), topic("y", 2)]))
    b = exchange(tmp_path / "b", fetch(topics=[topic("y", 2), topic("x", 1, 0, 3)]))
    found = differing(a, b)
    assert [*found] == ["topics[x].partitions[3]"]
    assert found["topics[x].partitions[3]"][0] is ABSENT


def test_items_that_share_nothing_are_paired_by_position(tmp_path: Path) -> None:
    a, b = (
        exchange(tmp_path / "a", fetch(topics=[topic("x", 0)])),
        exchange(tmp_path / "b", fetch(topics=[topic("y", 0)])),
    )
    assert differing(a, b) == {"topics[0].topic": ("x", "y")}


def test_a_missing_half_is_absent(tmp_path: Path) -> None:
    a, b = exchange(tmp_path / "a", fetch()), exchange(tmp_path / "b", Talk().ask("Fetch", 12))
    assert all(one.direction == "response" and one.b is ABSENT for one in compare(a, b).differences)
    assert compare(a, b).differences


def test_secrets_stay_hidden(tmp_path: Path) -> None:
    tokens = [b"\0user\0hunter", b"\0user\0tiger"]
    talks = [Talk().ask("SaslAuthenticate", 1, auth_bytes=token).answer() for token in tokens]
    sides = [exchange(tmp_path / str(i), talk) for i, talk in enumerate(talks)]
    assert "hunter" not in repr(compare(*sides).differences)
    assert "hunter" in repr(compare(*sides, secrets=True).differences)
