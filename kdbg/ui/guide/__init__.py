"""The manual: one Markdown file for each topic, readable here and on a code host; `kdbg guide` shows it.

README.md defines the groups and the topics: a heading `## Group`, and below it a line `- [name](name.md): what it is
about` for each topic, in the order of reading.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

GROUP = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
TOPIC = re.compile(r"^- \[([a-z]+)\]\(([a-z]+)\.md\): (.+(?:\n  .+)*)$", re.MULTILINE)
HEADING = re.compile(r"^(#{1,6}) (.+?)\s*$")
FORMER: Final = {
    "places": "merge", "damage": "incomplete", "screens": "screenshots", "questions": "recipes", "live": "watch",
}  # fmt: skip
"""Topics by the names that they had before; `kdbg guide` takes both."""


def dashboard(name: str) -> str:
    """Return a Grafana dashboard as JSON: of `metrics` of Prometheus, or of the `tables` of a pipeline."""
    return (files(__package__) / "dashboards" / f"{name}.json").read_text(encoding="utf-8")


def groups() -> dict[str, dict[str, str]]:
    """Return each group's topics: their names, and the sentence that says what each is about."""
    return {
        group: {name: " ".join(line.split()) for name, _, line in TOPIC.findall(lines)}
        for group, lines in GROUP.findall(text("README"))
    }


def topics() -> dict[str, str]:
    """Return each topic's name and the sentence that says what it is about."""
    return {name: about for each in groups().values() for name, about in each.items()}


def text(topic: str) -> str:
    """Return the Markdown of a topic. The name must be one of `topics()` or `FORMER`, or README."""
    return (files(__package__) / f"{FORMER.get(topic, topic)}.md").read_text(encoding="utf-8")


def section(topic: str, heading: str) -> str | None:
    """Return the section of a topic under this heading, subsections included; None if there is none."""
    lines = text(topic).splitlines(keepends=True)
    found = [place for place in headings(topic) if place[2].casefold() == heading.casefold()]
    if not found:
        return None
    start, depth, _ = found[0]
    end = next((line for line, other, _ in headings(topic) if line > start and other <= depth), len(lines))
    return "".join(lines[start:end]).rstrip() + "\n"


def headings(topic: str) -> list[tuple[int, int, str]]:
    """Return (index of its line, depth, text) of each heading of a topic; lines inside code blocks are none."""
    found: list[tuple[int, int, str]] = []
    inside = False
    for number, line in enumerate(text(topic).splitlines()):
        if line.startswith("```"):
            inside = not inside
        heading = HEADING.match(line)
        if heading and not inside:
            found.append((number, len(heading[1]), heading[2].strip("`")))
    return found
