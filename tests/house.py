"""The size and shape of kdbg's code in numbers, each with its bound: `python -m tests.house` prints them.

A bound is never raised. Where it is above its goal, whoever makes the number smaller lowers the bound with it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .test_packages import FILES, ROOT, circles, imports, name_of

PRIVATE = re.compile(
    r"(^|_)(told|said|apart|aside|sitting|handing|handed|weighed|taken|telling|begun|growing|owned|showing|tabled"
    r"|judged|rejudging|readying|screened)(_|$)"
)
"""Words that kdbg's names had for many things each; the field has a term for each of those."""
ADDED = {
    "causes that have no rule, milestones, trials, and 26 rules": 2_100,
    "TLS keys out of the memory of processes, by an agent, and by uprobes": 2_400,
    "large captures in less time": 700,
    "tables in Delta Lake: commits, compaction, history, migration": 500,
    "parts of a capture that several processes read, with filters": 1_450,
    "S3 settings, --fail-on, dashboards": 400,
    "identity of captures, connections and exchanges in tables": 450,
    "archives of many files": 300,
    "an index of captures, which grows with them": 1_700,
    "a dissector for Wireshark, and the schema for programs": 600,
    "keys and values deserialized in tables": 100,
    "open connections carried over, and rings that are followed": 400,
}
"""Lines of kdbg for what was asked for since the goal of 86,000 was set, by what asked for it."""
SUMMARY = """
import sys
from kdbg.ui.cli import run
run(["decode", "-f", "summary", "captures/first-contact.pcap"])
print(sum(name.split(".")[0] == "kdbg" for name in sys.modules), file=sys.stderr)
"""


class Measure(NamedTuple):
    """A number that is counted, the most that it may be, and the most that it shall be."""

    count: Callable[[], int]
    bound: int
    goal: int


@cache
def named(path: Path) -> tuple[tuple[str, bool], ...]:
    """The names of a file's classes and functions, and whether each is a class."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return tuple(
        (node.name, isinstance(node, ast.ClassDef))
        for node in nodes
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    )


def folders() -> int:
    return len({path.relative_to(ROOT).parts[0] for path in FILES if path.parent != ROOT})


def lines() -> int:
    return sum(path.read_text(encoding="utf-8").count("\n") for path in FILES)


def with_one_importer() -> int:
    """Files that a single other file imports; schemas and rules are listed by a registry."""
    importers = Counter(target for path in FILES for target in {*imports(path), *modules_of(path)})
    return sum(
        importers[f"kdbg.{name_of(path)}"] == 1
        for path in FILES
        if path.name != "__init__.py" and not re.search("grammars|rules", name_of(path))
    )


def modules_of(path: Path) -> Iterator[str]:
    """The modules that the names come from which a file imports."""
    yield from (name.rpartition(".")[0] for name in imports(path))


def class_names_in_many_folders() -> int:
    where = defaultdict[str, set[str]](set)
    for path in FILES:
        for name, is_class in named(path):
            if is_class:
                where[name].add(path.relative_to(ROOT).parts[0])
    return sum(len(found) > 2 for found in where.values())


def private_names() -> int:
    """Modules, classes and functions that have a private word in their names."""
    found = [path.stem for path in FILES] + [name for path in FILES for name, _ in named(path)]
    return sum(bool(PRIVATE.search(snake_case(name).strip("_"))) for name in found)


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def modules_of_a_summary() -> int:
    """Modules of kdbg that `kdbg decode -f summary` imports."""
    done = subprocess.run(
        [sys.executable, "-c", SUMMARY], cwd=ROOT.parent, capture_output=True, text=True, check=True
    )  # fmt: skip
    return int(done.stderr.split()[-1])


MEASURES = {
    "folders": Measure(folders, 10, 10),
    "files": Measure(lambda: len(FILES), 600, 700),
    "lines": Measure(lines, 96_870, 86_000 + sum(ADDED.values())),
    "files with one importer": Measure(with_one_importer, 70, 120),
    "class names in more than two folders": Measure(class_names_in_many_folders, 0, 0),
    "names with a private word": Measure(private_names, 0, 0),
    "modules imported for a summary": Measure(modules_of_a_summary, 105, 110),
    "circles of files": Measure(lambda: len(circles()), 3, 3),
}


def main() -> int:
    """Print each number; the exit status is 1 if one is above its bound."""
    above = 0
    for name, (count, bound, goal) in MEASURES.items():
        value = count()
        above += value > bound
        print(f"{name:38} {value:>7,}   bound {bound:>7,}   goal {goal:>7,}{'   above' * (value > bound)}")
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main())
