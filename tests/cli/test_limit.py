"""An exchange is the same whoever reads the capture and how much of it: decode, report, library and Spark, any limit.

The broker's first response claims half of the second one, which shows only when the rest of that comes, a packet later.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.ui.cli import run

from ..traffic import Talk, framed, pcap

MANY = 70
SIZE = 10
"""Bytes of a Heartbeat response v0: its size, its correlation id, and an error code."""


def asking(**ends: Any) -> Talk:
    """A client that has sent many requests."""
    talk = Talk(most=1 << 15, **ends)
    for _ in range(MANY):
        talk.ask("Heartbeat", 0, group_id="g", generation_id=1, member_id="m")
    return talk


def answers() -> bytes:
    return b"".join(framed(struct.pack(">ih", number, 0)) for number in range(1, MANY + 1))


END = SIZE + SIZE // 2
"""Where the first response ends, if its length is believed."""


def capture() -> bytes:
    """Requests that are all answered; the first length is wrong, and its frame complete one packet before it shows."""
    lie = struct.pack(">i", END - 4) + answers()[4:]
    return pcap(asking().reply(lie[:END]).reply(lie[END:]).end())


def crowded() -> bytes:
    """The same, and between these two packets many exchanges of another connection are complete."""
    lie = struct.pack(">i", END - 4) + answers()[4:]
    one, other = asking(), asking(client=("10.0.0.3", 51515), at=1)
    one.reply(lie[:END])
    other.at += 1
    other.reply(answers()).end()
    one.at += 2
    return pcap(one.reply(lie[END:]).end(), other)


@pytest.fixture
def decoded(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., list[str]]:
    """The lines of `decode` for the capture."""
    (path := tmp_path / "lie.pcap").write_bytes(capture())

    def lines(*options: str) -> list[str]:
        run(["decode", str(path), *options])
        return capfdbinary.readouterr().out.decode().splitlines()

    return lines


@pytest.mark.parametrize("limit", [1, 2, MANY - 1])
def test_a_limit_changes_nothing_of_what_is_shown(decoded: Callable[..., list[str]], limit: int) -> None:
    whole = decoded("-f", "json")
    assert decoded("-f", "json", "--limit", str(limit)) == whole[:limit]
    assert [json.loads(line)["response"]["size"] for line in whole] == [SIZE] * MANY
    assert [found["kind"] for found in json.loads(whole[0])["findings"]] == ["invalid-length", "encoding-mistake"]


def seen(one: kdbg.Exchange) -> tuple[bytes, list[str]]:
    assert one.response is not None
    return bytes(one.response.data), [str(found) for found in one.findings]


def test_what_the_library_hands_out_is_final() -> None:
    """Looked at when it comes, and looked at when all is read: the same bytes, the same findings."""
    pairs = [(one, seen(one)) for one in kdbg.read(io.BytesIO(capture()))]
    assert [then for _, then in pairs] == [seen(one) for one, _ in pairs]
    assert {len(data) for _, (data, _) in pairs} == {SIZE - 4}


@pytest.mark.parametrize("limit", [1, 2, MANY - 1])
def test_a_limit_changes_nothing_of_what_the_library_hands_out(limit: int) -> None:
    whole = list(kdbg.read(io.BytesIO(capture())))
    assert [seen(one) for one in kdbg.read(io.BytesIO(capture()), limit=limit)] == [seen(one) for one in whole[:limit]]


def by_decode(path: Path) -> list[int]:
    from .calls import call

    return [line["response"]["size"] for line in call("decode", path, "-f", "json").lines]


def by_report(path: Path) -> list[int]:
    from kdbg.capture import open_capture
    from kdbg.exchanges.filters.filter_set import Filters
    from kdbg.scale.query.report import Reported

    with closing(Reported(Filters())) as collected, open_capture(path) as opened:
        collected.capture(opened)
        return [size for (size,) in collected.ask("SELECT response_bytes FROM exchanges")]


def by_table(path: Path) -> list[int]:
    pytest.importorskip("pyarrow", reason="the extra spark is not installed")
    return list(kdbg.read_capture(path).to_arrow().column("response_bytes").to_pylist())


def by_spark(path: Path) -> list[int]:
    """What a task does that has a whole capture, without a cluster around it."""
    from kdbg.exchanges.filters.filter_set import Filters
    from kdbg.scale.spark.archive.plan import plan
    from kdbg.scale.spark.source import capture_rows
    from kdbg.views.tables.cells import plain
    from kdbg.views.tables.columns import TABLES
    from kdbg.views.tables.message_columns import WantedRows

    sizes: list[int] = []
    place = list(TABLES["exchanges"]).index("response_bytes")

    def add(table: str, time: int | None, row: tuple[Any, ...], size: int) -> None:
        if table == "exchanges":
            sizes.append(row[place])

    for _ in capture_rows(plan([str(path)]), plain(add), Filters(), WantedRows()):
        pass
    return sizes


@pytest.mark.parametrize("read", [by_decode, by_report, by_table, by_spark], ids=lambda read: read.__name__)
def test_however_many_exchanges_come_in_between_every_reader_has_them_final(
    read: Callable[[Path], list[int]], tmp_path: Path
) -> None:
    (path := tmp_path / "crowded.pcap").write_bytes(crowded())
    assert read(path) == [SIZE] * MANY * 2
