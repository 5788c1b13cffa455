"""Files of a broker's disk: a batch on one line, pieces that are torn, entries of one line and entries of several."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kdbg.views.render.style import Look
from kdbg.views.render.views import view

from ..cases import for_each
from ..segments.made import TIME, batch, message, opened

DISK = Path(__file__).parents[2] / "captures" / "real-segments-4.4.0"
NONE = f"{'–':<13} {'–':<19} – {'–':<6} {'–':>4}"


def shown(
    data: bytes, name: str = "orders-3/00000000000000000000.log", *, format: str, look: Look | None = None
) -> str:
    """What a view gives for each piece of a file, without its header."""
    file = opened(data, name)
    render = view(format).piece
    assert render is not None
    drawn = render(look or Look(), file, name)
    texts = [
        drawn(n, piece, None if piece.zeros else file.kind.message(piece)) for n, piece in enumerate(file.pieces())
    ]
    return "".join(text for text in texts if isinstance(text, str))


def about(data: bytes) -> list[str]:
    """What the lines of a summary have behind their columns."""
    return [line[64:] for line in shown(data, format="summary", look=Look(long_lines=True)).splitlines()]


def test_a_torn_batch_is_a_line_of_dashes_or_a_heading_with_what_is_wrong() -> None:
    whole, torn = batch(0), batch(2)[:-5]
    where = f"byte {len(whole)} · {len(torn)} bytes"
    first, last = shown(whole + torn, format="summary").splitlines()
    assert first.startswith("        0 0–1 ")
    assert last == f"{len(whole):>9} {NONE} {len(torn):>5} ✗ truncated"
    tree = shown(whole + torn, format="tree")
    heading, finding = tree[tree.index("#1 ") :].splitlines()[:2]
    assert heading == f"#1 orders-3 · {where}"
    assert finding.startswith("  ✗ truncated: ")
    assert tree.count("base_offset") == 1


@pytest.mark.parametrize(("newest", "time"), [(0, "1970-01-01 00:00:00"), (TIME, "2023-11-14 22:13:20"), (-1, "–")])
def test_the_newest_time_of_a_batch(newest: int, time: str) -> None:
    line = shown(batch(0, base_timestamp=0, max_timestamp=newest), format="summary")
    assert line[24:43].rstrip() == time


@for_each(
    ("data", "words"),
    [
        (batch(0), ""),
        (batch(0, attributes=0x08), "append time"),
        (batch(0, attributes=0x18, producer_id=7, producer_epoch=1, base_sequence=3), "txn append time p7/1/3"),
        (batch(0, attributes=0x40), "delete horizon"),
        (batch(0, partition_leader_epoch=0), "e0"),
        (message(0, 1, attributes=0x08), "append time"),
        (message(0, 0, attributes=0x08), "✗ reserved-bits"),
    ],
    ids=["nothing", "append time", "transaction", "delete horizon", "leader epoch", "magic 1", "magic 0"],
)
def test_what_is_special_about_a_batch(data: bytes, words: str) -> None:
    assert about(data) == [words]


def test_an_entry_of_plain_fields_is_a_line_and_a_tree_where_meanings_are_wanted() -> None:
    data = struct.pack(">ii", 7, 4096)
    name = f"orders-3/{1000:020}.index"
    assert shown(data, name, format="tree") == "        0  offset 1007  relative_offset 7  position 4096\n"
    told = shown(data, name, format="tree", look=Look(meanings=True)).splitlines()
    assert told[0] == "#0 orders-3 · byte 0 · 8 bytes"
    assert [line.split("  # ")[0] for line in told[1:]] == ["├── relative_offset  7", "└── position  4096"]


def test_an_entry_with_structures_in_it_is_a_tree() -> None:
    path = next(DISK.glob("money-0/*.snapshot"))
    lines = shown(path.read_bytes(), f"money-0/{path.name}", format="tree").splitlines()
    assert lines[0].startswith("#0 money-0 · byte 0 · ")
    assert "├── version  1" in lines
    assert any("producer_entries  " in line for line in lines)
