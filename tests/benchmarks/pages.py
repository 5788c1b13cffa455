"""The tables of result.json in the manual's page on speed and in the README, and the picture: between markers.

`python -m tests.benchmarks.pages` makes them anew of what is kept.
"""

from __future__ import annotations

import re
from pathlib import Path

from .picture import draw
from .results import Results

KEPT = Path(__file__).with_name("result.json")
TOP = Path(__file__).parents[2]
README, SPEED = TOP / "README.md", TOP / "kdbg" / "guide" / "speed.md"
PICTURE = SPEED.with_suffix(".svg")
MARKS = {
    "views": ("views", "formats", "first lines"), "clients": ("clients",), "robustness": ("robustness", "connections"),
    "decoders": ("decoders",), "starts": ("starts",), "jobs": ("jobs",), "filters": ("filters",), "stages": ("stages",),
    "proxy": ("proxy",), "pipeline": ("pipeline", "pipeline by stage"),
}  # fmt: skip
"""By marker of the page on speed, the tables between its two halves."""
SHOWN = ("small, summary / `-T fields`, 11 fields", "small, json", "small, tree", "small, hex")
"""How the rows begin that the README has."""


def write(results: Results) -> None:
    """Write both pages and the picture anew."""
    SPEED.write_text(speed(results, SPEED.read_text(encoding="utf-8")), encoding="utf-8")
    README.write_text(readme(results, README.read_text(encoding="utf-8")), encoding="utf-8")
    if "stages" in results.tables:
        PICTURE.write_text(draw(results.tables["stages"]), encoding="utf-8")


def speed(results: Results, page: str) -> str:
    """The page on speed with its tables made anew."""
    for mark, names in MARKS.items():
        page = between(page, mark, text(results, names))
    return page


def readme(results: Results, page: str) -> str:
    """The README with its table made anew."""
    if "views" not in results.tables:
        return page
    return between(page, "benchmarks", results.tables["views"].markdown(only=lambda row: row.startswith(SHOWN)))


def text(results: Results, names: tuple[str, ...]) -> str:
    """The tables of these names that there are, under the line that says when they were measured."""
    known = [name for name in names if name in results.tables]
    when = [f"Measured {results.settings[name]}." for name in known[:1]]
    return "\n\n".join([*when, *(results.tables[name].markdown() for name in known)])


def between(page: str, mark: str, new: str) -> str:
    """A page with the text between two markers replaced."""
    text = f"{new}\n" if new else ""
    return re.sub(rf"(?s)(<!-- {mark} -->\n).*(<!-- /{mark} -->)", lambda put: f"{put[1]}{text}{put[2]}", page)


if __name__ == "__main__":
    write(Results(KEPT))
