"""What lines are made of: times, structures as programs print them, JSON objects; how a stream is cut into lines."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.analysis.logs import lines as module
from kdbg.analysis.logs.dialect import number, object_in, printed, stamp, text
from kdbg.analysis.logs.lines import Lines
from kdbg.analysis.logs.log import FARTHEST, ApplicationLog, has_lines
from kdbg.capture.source import open_source

NOON = 1_795_348_800
"""2026-11-22 12:00:00 UTC, in seconds."""
SECOND = 10**9
MOST_DEEP = 32
FARTHEST_STAMP = 400
SENT = "x: Sent MetadataRequest (v12, 52 bytes @ 0, CorrId {})"


def test_times() -> None:
    times = {
        "2026-11-22 12:00:00": (0, False), "2026/11/22T12:00:00.5 ": (SECOND // 2, False),
        "[2026-11-22 12:00:00,123]": (123_000_000, False), "2026-11-22 12:00:00.123456789 x": (123_456_789, False),
        "2026-11-22T12:00:00Z": (0, True), "2026-11-22T12:00:00.25 UTC": (SECOND // 4, True),
        "2026-11-22 14:30:00+0230": (0, True), "2026-11-22 14:30:00 +02:30": (0, True),
        "2026-11-22 09:30:00-02:30": (0, True), "2026-11-22 12:00:00 -0000": (0, True),
        "2026-11-22 12:00:00Zebra": (0, False), "2026-11-22 12:00:00 +02305": (0, False),
        "2020-01-01 00:00:00 and 2026-11-22 12:00:00": (0, False), "%7|1795348800.250|SEND|": (SECOND // 4, True),
        "%7|1795348800.000| 2026-11-22 12:00:01": (SECOND, False),
        "%7|1795348801.000| 2026-13-22 12:00:00": (SECOND, True),
    }  # fmt: skip
    assert {line: stamp(line) for line in times} == {
        line: (NOON * SECOND + after, zoned) for line, (after, zoned) in times.items()
    }
    for line in (
        "", "12:00:00", "12026-11-22 12:00:00", "2026-11-22 25:00:00", "1970-01-01 23:59:59", "%7|17953488.250|",
        "%7|1795348800.25|", "2026-11-22 12:00:00" + "x" * (FARTHEST_STAMP - 18),
    ):  # fmt: skip
        assert stamp(line) == (-1, False), line
    assert stamp("1970-01-02 00:00:00") == (86_400 * SECOND, False)
    assert stamp("2026-11-22 12:00:00" + "x" * (FARTHEST_STAMP - 19)) == (NOON * SECOND, False)


@given(st.integers(86_400 * 2, 4_000_000_000), st.integers(-14 * 60, 14 * 60))
def test_zones(second: int, minutes: int) -> None:
    from datetime import UTC, datetime, timedelta, timezone

    moment = datetime.fromtimestamp(second, UTC).astimezone(timezone(timedelta(minutes=minutes)))
    assert stamp(moment.isoformat()) == (second * SECOND, True)


def nested(levels: int, opening: str = "(a=", closing: str = ")") -> str:
    return opening * levels + "1" + closing * levels


STRUCTURES: dict[str, dict[str, Any]] = {
    "X()": {}, "X(a = 1 , b:2)": {"a": 1, "b": 2}, "(a=1)": {"a": 1}, "  X  (a=1)": {"a": 1},
    "X(a=-5,,b=6,)": {"a": -5, "b": 6},
    "X(a=None, b=true, c=False, d=word, e=1.5)": {"a": None, "b": True, "c": False, "d": "word", "e": "1.5"},
    "X(a=True, b=false, c=null)": {"a": True, "b": False, "c": None},
    "X(a=[], b=[1, [2]], c=(d=3))": {"a": [], "b": [1, [2]], "c": {"d": 3}},
    "X(e=Y(f=4), g={h=5})": {"e": {"f": 4}, "g": {"h": 5}},
    "X(a=[Y(b=1), (b=2), {b=3}, 'x'])": {"a": [{"b": 1}, {"b": 2}, {"b": 3}, "x"]},
    "X(a='x', b=\"y\", c='it''s')": {"a": "x", "b": "y", "c": "it''s"},
    "X(a='a, b)')": {"a": "a, b)"}, "X(a='it's', b=1)": {"a": "it's", "b": 1}, "X(a='')": {"a": ""},
    r"X(a='\n', b=b'\x00', c='\d')": {"a": "\n", "b": b"\0", "c": r"\d"}, r"X(a='\x')": {"a": r"\x"},
    "X(a=bytearray(b'ab'), b=2)": {"a": b"ab", "b": 2}, "X(a=1, b=bytearray(b'ab' , c=2)": {"a": 1},
    "X(a=b=c, d=1)": {"a": "b=c", "d": 1}, "X(a=Y[pos=1 x], b=2)": {"a": ..., "b": 2}, "X(a=Y[pos=1": {},
    "X(a=1": {"a": 1}, "X(a=1, b": {"a": 1}, "X(a=1, b=": {"a": 1}, "X(a=1, b=[2": {"a": 1}, "X(a=1, b='x": {"a": 1},
    "X(a=1, b=]": {"a": 1}, "X(a=1, 5=2)": {"a": 1}, "X[a=1]": {}, "X": {}, "": {}, "(": {}, "X(a=1} b=2)": {"a": 1},
    "{a=1}": {"a": 1}, "{a=1)": {"a": 1}, "X(a=\"it's\")": {"a": "it's"}, "X(a=\"x)": {},
    "X(a=123456789012345678901)": {"a": "123456789012345678901"},
    "X(a=12345678901234567890)": {"a": 12345678901234567890}, "X(a=b'x'y', c=1)": {},
}  # fmt: skip


def test_structures_as_programs_print_them() -> None:
    assert {line: printed(line) for line in STRUCTURES} == STRUCTURES
    assert printed("before X(a=1)", 7) == {"a": 1}


def test_structures_are_read_so_deep() -> None:
    def depth(found: Any) -> int:
        return 1 + depth(next(iter(found.values()), None)) if isinstance(found, dict) else 0

    assert depth(printed(nested(MOST_DEEP + 1))) == MOST_DEEP + 1
    assert printed(nested(MOST_DEEP + 2)) == {}
    assert depth(printed(nested(MOST_DEEP, "X(a="))) == MOST_DEEP
    assert printed("X(a=" + "[" * MOST_DEEP + "]" * MOST_DEEP + ")") != {}
    assert printed("X(a=" + "[" * (MOST_DEEP + 1) + "]" * (MOST_DEEP + 1) + ")") == {}
    assert printed("X(b=[" + nested(MOST_DEEP - 1) + "])") != {}
    assert printed("X(b=[" + nested(MOST_DEEP) + "])") == {}


def test_json_in_lines() -> None:
    assert object_in('x {"a": 1} y', 2) == {"a": 1}
    assert object_in("[1]", 0) is object_in("{", 0) is object_in("[" * 100_000, 0) is None
    assert [text(value) for value in ("a", "", 5, None)] == ["a", "", None, None]
    values = (0, -1 << 31, (1 << 31) - 1, (-1 << 31) - 1, 1 << 31, True, 1.0, "1", None)
    assert [number(value) for value in values] == [0, -1 << 31, (1 << 31) - 1, *[None] * 6]


def ids(lines: Lines, data: str, *, end: bool = False) -> list[tuple[int, int | None]]:
    """Of each protocol line, its number, and the correlation id that it says."""
    return [(told.number, told.facts.correlation_id) for told in lines.take(data.encode(), end=end)]


def test_lines_are_counted_from_one() -> None:
    lines = Lines()
    assert ids(lines, f"no\n{SENT.format(5)}\n\n{SENT.format(6)}") == [(2, 5)]
    assert (lines.count, lines.understood) == (3, 1)
    assert ids(lines, "\n") == [(4, 6)]
    assert ids(lines, SENT.format(7), end=True) == [(5, 7)]
    assert (lines.count, lines.understood) == (5, 3)
    assert ids(lines, "", end=True) == []
    assert lines.count == 5


def test_of_a_long_line_the_beginning_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    line = SENT.format(5)
    monkeypatch.setattr(module, "MOST", len(line) + 20)
    lines = Lines()
    assert ids(lines, line + " " * 20) == [], "it may end here"
    assert ids(lines, " ") == [(1, 5)]
    assert ids(lines, " " * 999 + SENT.format(6)) == []
    assert ids(lines, SENT.format(7) + "\n" + SENT.format(8) + "\n") == [(2, 8)]
    assert (lines.count, lines.understood) == (2, 2)
    cut = Lines()
    assert ids(cut, " " * 21 + line) == [], "what is beyond is not read"
    assert (cut.count, cut.understood) == (1, 0)
    assert ids(cut, "\n" + SENT.format(9) + " " * 30) == [(2, 9)]
    assert ids(cut, "x\nx\n") == []
    assert cut.count == 3


def opened(content: str) -> ApplicationLog:
    return ApplicationLog(open_source(io.BytesIO(content.encode())))


def test_blocks_are_the_lines_that_came_together() -> None:
    log = opened(f"x\n{SENT.format(1)}\n" * 2 + SENT.format(2))
    found = [[told.number for told in block] for block in log.blocks()]
    assert ([block for block in found if block], log.understood) == ([[2, 4], [5]], 3)
    silent = list(opened("x\n").blocks())
    assert silent
    assert not any(silent)
    assert list(opened("").blocks()) == []
    *silent, last = opened(("y" * 65_535 + "\n") * 2 + SENT.format(1) + "\n").blocks()
    assert len(silent) >= 2
    assert not any(silent)
    assert [told.number for told in last] == [3]


def test_a_log_counts_its_lines_and_knows_its_first_time() -> None:
    early, late = "2026-11-22 12:00:00 ", "2026-11-22 12:00:01 "
    content = f"{late}no\n{SENT.format(1)}\n{early}{SENT.format(2)}\n{late}{SENT.format(3)}\n"
    with opened(content) as log:
        assert (log.lines, log.understood, log.first_time) == (0, 0, None)
        assert [[told.number for told in block] for block in log.blocks() if block] == [[2, 3, 4]]
        assert (log.lines, log.understood, log.first_time, log.problems, log.packets, log.lost) == (
            4,
            3,
            NOON * SECOND,
            [],
            0,
            None,
        )
        assert log.secrets(None) is None
        assert log.name == log.source.name
    assert [[told.number for told in block] for block in opened(content).blocks(singly=True)] == [[2], [3], [4]]
    untimed = opened(SENT.format(1) + "\n")
    assert sum(map(len, untimed.blocks())) == 1
    assert untimed.first_time is None


def test_a_log_begins_with_protocol_lines_somewhere() -> None:
    def found(content: bytes) -> bool:
        source = open_source(io.BytesIO(content))
        result = has_lines(source)
        assert source.feed.ahead(len(content)) == content, "nothing is used up"
        return result

    line = SENT.format(1).encode()
    assert [found(line + b"\n"), found(line), found(b"x\n" * 1000 + line)] == [True] * 3
    assert [found(b""), found(b"x\n"), found(line + b"\n\0"), found(b"x\n" * 100)] == [False] * 4
    assert not found(b"\0" + line)
    long = b"y" * 8191 + b"\n"
    assert [found(long * (size // 8192) + line) for size in (FARTHEST // 2, FARTHEST * 2)] == [True, False]
