"""The picture of the manual's page on speed: the time of an exchange by stage, over the size of the capture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .results import Table
from .stages import STAGES

COLOURS = dict(zip(STAGES, ("#4e79a7", "#76b7b2", "#f28e2b", "#b07aa1"), strict=True))
WIDTH, BAR, TALL = 760, 64, 190
LEFT, TOP, GROUND = 52, 54, 40
"""Room at the left of a panel, above it and below it, in pixels; a bar of the tallest is `TALL` high."""
STYLE = 'font-family="sans-serif" font-size="12" fill="#57606a"'


def draw(stages: Table) -> str:
    """An SVG with a panel for each capture and view, in it a bar for each size; every panel has a scale of its own."""
    panels: dict[str, list[str]] = {}
    for row in stages.rows:
        panels.setdefault(row.rpartition(",")[0], []).append(row)
    across = WIDTH // (LEFT + 3 * BAR + 60)
    rows = -(-len(panels) // across)
    height = 30 + rows * (TOP + TALL + GROUND)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
             "<title>CPU time of an exchange by stage, over the size of the capture</title>",
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', *_legend()]  # fmt: skip
    for number, (name, names) in enumerate(panels.items()):
        x, y = number % across * (WIDTH // across), 30 + number // across * (TOP + TALL + GROUND)
        parts += [f'<g transform="translate({x} {y})">', *_panel(name, names, stages), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> Iterator[str]:
    for number, (stage, colour) in enumerate(COLOURS.items()):
        yield f'<rect x="{LEFT + number * 110}" y="12" width="12" height="12" fill="{colour}"/>'
        yield _text(LEFT + 18 + number * 110, 23, stage)


def _panel(name: str, rows: Sequence[str], stages: Table) -> Iterator[str]:
    scale = TALL / max(_number(stages, row, "in all") for row in rows)
    yield _text(LEFT, 26, name, weight="bold")
    for number, row in enumerate(rows):
        x, y = LEFT + number * (BAR + 8), float(TOP + TALL)
        for stage in STAGES:
            high = _number(stages, row, stage) * scale
            y -= high
            yield f'<rect x="{x}" y="{y:.1f}" width="{BAR}" height="{high:.1f}" fill="{COLOURS[stage]}"/>'
        yield _text(x + BAR / 2, y - 5, _time(_number(stages, row, "in all")), anchor="middle")
        yield _text(x + BAR / 2, TOP + TALL + 16, f"{_number(stages, row, 'size'):.1f} GB", anchor="middle")


def _number(stages: Table, row: str, column: str) -> float:
    cell = stages.column(column)[row]
    assert isinstance(cell, float | int)
    return float(cell)


def _time(microseconds: float) -> str:
    return f"{microseconds:.0f} µs" if microseconds < 1000 else f"{microseconds / 1000:.1f} ms"


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    place = f'x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-weight="{weight}"'
    return f"<text {place} {STYLE}>{text}</text>"
