"""Lines of bytes: many at a time they are what they are one by one, at every place and of every length."""

from __future__ import annotations

import random

import pytest

from kdbg.views.render.hex.grid import FEW, MOST, SEGMENT, Grid
from kdbg.views.render.style import Look

GRIDS = [Grid(Look(width=width), text=True) for width in (80, 120)]
in_both = pytest.mark.parametrize("grid", GRIDS, ids=["8 a line", "16 a line"])


def one_by_one(grid: Grid, place: int, data: bytes) -> bytes:
    size, lines = grid.per_line, []
    for at in range(0, len(data), size):
        piece = data[at : at + size]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        lines.append(f"{place + at:04x}  {piece.hex(' '):<{3 * size - 1}}  {text}".rstrip() + "\n")
    return "".join(lines).encode()


@in_both
@pytest.mark.parametrize("place", [0, 4, 9, 0x7FF9, SEGMENT - 16, SEGMENT - 15, SEGMENT - 1, SEGMENT, 0x123456])
def test_of_every_length(grid: Grid, place: int) -> None:
    some = random.Random(place)
    lengths = [*range(grid.per_line * (FEW + 3)), grid.per_line * MOST - 1, grid.per_line * MOST + 1, SEGMENT + 99]
    for length in lengths:
        data = bytes(some.choice(b"ab \0\xff\n\\") for _ in range(length))
        assert grid.rest(place, data) == one_by_one(grid, place, data)


@in_both
def test_no_line_ends_in_spaces(grid: Grid) -> None:
    for data in (b" " * 999, b"x" + b" " * 999, b"1234567 " * 200, b"        12345678" * 99):
        lines = grid.rest(0, data).splitlines()
        assert [line for line in lines if line.endswith(b" ")] == []
        assert b"\n".join([*lines, b""]) == one_by_one(grid, 0, data)


@in_both
def test_hidden_bytes_are_stars(grid: Grid) -> None:
    for length in (3, 999):
        lines = grid.rest(0, b"s3cret" * length, hidden=True).splitlines()
        assert all(set(line[6:]) <= set(b"* ") for line in lines)
        assert lines[0].count(b"*") == 3 * grid.per_line


def test_without_text_or_in_colour_the_bytes_are_the_same() -> None:
    data = bytes(range(100))
    lines, shown = (Grid(Look(), text=text).rest(4, data).splitlines() for text in (False, True))
    assert lines == [line[:29].rstrip() for line in shown]
    assert Grid(Look("STANDARD"), text=True).rest(4, data, "field0").count(b"\x1b[") == 13 * 6
