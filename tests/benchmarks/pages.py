"""The tables of result.json in the manual's page on speed, between markers, and its picture.

`python -m tests.benchmarks.pages` makes them anew of what is kept.
"""

from __future__ import annotations

import re
from pathlib import Path

from .picture import draw
from .results import Results

KEPT = Path(__file__).with_name("result.json")
TOP = Path(__file__).parents[2]
SPEED = TOP / "kdbg" / "ui" / "guide" / "speed.md"
PICTURE = SPEED.with_suffix(".svg")
MARKS = {
    "views": ("views", "formats", "first lines"), "clients": ("clients",), "robustness": ("robustness", "connections"),
    "decoders": ("decoders",), "starts": ("starts",), "jobs": ("jobs",), "filters": ("filters",),
    "commands": ("commands", "connections and starts"), "stages": ("stages",), "proxy": ("proxy",),
    "wireshark": ("wireshark",),
    "pipeline": ("pipeline", "pipeline by stage"),
}  # fmt: skip
"""By marker of the page on speed, the tables between its two halves."""


def write(results: Results) -> None:
    """Write the page and the picture again."""
    SPEED.write_text(speed(results, SPEED.read_text(encoding="utf-8")), encoding="utf-8")
    if "stages" in results.tables:
        PICTURE.write_text(draw(results.tables["stages"]), encoding="utf-8")


def speed(results: Results, page: str) -> str:
    """The page on speed with its tables made anew."""
    for mark, names in MARKS.items():
        page = between(page, mark, text(results, names))
    return page


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
