"""A limit takes exchanges away from the end and changes nothing of the others: in the command's output, in the library.

The broker's first response claims half of the second one, which shows only when the rest of that comes, a packet later.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import kdbg
from kdbg.cli import run

from ..traffic import Talk, framed, pcap

MANY = 70
SIZE = 10
"""Bytes of a Heartbeat response v0: its size, its correlation id, and an error code."""


def capture() -> bytes:
    """Requests that are all answered; the first length is wrong, and its frame complete one packet before it shows."""
    talk = Talk()
    for _ in range(MANY):
        talk.ask("Heartbeat", 0, group_id="g", generation_id=1, member_id="m")
    answers = b"".join(framed(struct.pack(">ih", number, 0)) for number in range(1, MANY + 1))
    end = SIZE + SIZE // 2
    lie = struct.pack(">i", end - 4) + answers[4:]
    return pcap(talk.reply(lie[:end]).reply(lie[end:]).end())


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
    assert [found["kind"] for found in json.loads(whole[0])["findings"]] == ["bad-length"]


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
