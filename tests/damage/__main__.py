"""`python -m tests.damage [--seeds N] [--all] [--kind KIND] [--notes]`: judge many variants and print the table."""

from __future__ import annotations

import argparse

from .run import TOP, alone, captures, rows, table, written

parser = argparse.ArgumentParser()
parser.add_argument("--seeds", type=int, default=1)
parser.add_argument("--all", action="store_true")
parser.add_argument("--kind", action="append")
parser.add_argument("--notes", type=int, default=0)
parser.add_argument("--write", action="store_true", help="write the table into the manual")
parser.add_argument("--only", action="append")
asked = parser.parse_args()
paths = [path for path in captures(shared=asked.all) if not asked.only or path.name in asked.only]
found = rows(paths, range(asked.seeds), asked.kind)
print(table(found))
if "brokers only" in found:
    print(alone(found))
if asked.write:
    page = TOP / "kdbg" / "ui" / "guide" / "incomplete.md"
    page.write_text(written(page.read_text(encoding="utf-8"), {"damage": table(found), "alone": alone(found)}))
for kind, verdict in found.items():
    for note in verdict.notes[: asked.notes]:
        print(kind, note)
