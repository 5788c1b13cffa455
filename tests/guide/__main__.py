"""`python -m tests.guide`: write the generated parts of the manual anew."""

from __future__ import annotations

from .blocks import TOP
from .generated import PARTS, filled

if __name__ == "__main__":
    for topic, marker in PARTS:
        (TOP / "kdbg" / "guide" / f"{topic}.md").write_text(filled(topic, marker), encoding="utf-8")
