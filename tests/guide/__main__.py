"""`python -m tests.guide [PAGE…]`: write what is generated of the manual: parts, dashboards, output in console blocks.

A PAGE is a topic, or README for the project's own; without any, all are written.
"""

from __future__ import annotations

import sys

from kdbg.ui.guide import topics

from .blocks import TOP
from .console import rewritten
from .dashboards import dashboards
from .generated import PARTS, filled

FOLDER = TOP / "kdbg" / "ui" / "guide"


def main(wanted: list[str]) -> None:
    """Write the pages of these names, or all."""
    for topic, marker in PARTS:
        if not wanted or topic in wanted:
            (FOLDER / f"{topic}.md").write_text(filled(topic, marker), encoding="utf-8")
    for path, dashboard in dashboards().items() if not wanted else ():
        path.write_text(dashboard, encoding="utf-8")
    for name in wanted or [*topics(), "README"]:
        path = TOP / "README.md" if name == "README" else FOLDER / f"{name}.md"
        old = path.read_text(encoding="utf-8")
        if (new := rewritten(old)) != old:
            path.write_text(new, encoding="utf-8")
            print(f"{path.relative_to(TOP)}: output is renewed")


if __name__ == "__main__":
    main(sys.argv[1:])
