"""Make the tables again: `python -m tests.facts [FOLDER]`, from the files in FOLDER (../shared) and the captures."""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..conftest import SHARED
from . import FOLDER, RELEASES, phrase, recorded, runs

COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
"""A string, which is kept, or a comment, which is not."""
GUIDES = {"0.8": "kafka-0.8-guide.txt", "0.10.1": "kafka-0.10.1-protocol.txt"}
DRAFT = "kip-482-draft-optional-fields.txt"


def main(source: Path) -> None:
    files = made(source) if source.is_dir() else {}
    if not files:
        print(f"{source} is absent, so left as they were: all but the vectors")
    for name, data in (files | made_of_captures()).items():
        (FOLDER / name).write_bytes(data)
        print(f"{name}  {len(data):,} bytes")


def made_of_captures() -> dict[str, bytes]:
    """Return the file that needs nothing from elsewhere."""
    return {"vectors.jsonl.gz": table(recorded.vectors())}


def made(source: Path) -> dict[str, bytes]:
    """Return the other files as they are to be, by name."""
    facts = source / "facts"
    tables: dict[str, Iterable[Any]] = {
        "layouts": lines(facts / "layouts.jsonl"),
        "payload-layouts": lines(facts / "internal-layouts.jsonl"),
        "conflicts": read(facts / "layout-conflicts.json"),
        "apis": read(facts / "api-table.json"),
        "errors": read(facts / "errors.json"),
        "error-names": [*names_of_0_8(source), *names_of_0_10_1(source)],
        "bnf": [row for release in GUIDES for row in productions(release, facts / f"bnf-{release}.txt")],
        "definitions": [*definitions(facts), draft(source)],
    }
    packed = {f"{name}.jsonl.gz": table(rows) for name, rows in tables.items()}
    of_runs = {run for text in texts(source) for run in runs(text)}
    of_phrases = {phrase(text) for text in abouts(source)}
    return packed | {"texts.bin": b"".join(sorted(of_runs)), "phrases.bin": b"".join(sorted(of_phrases))}


def table(rows: Iterable[Any]) -> bytes:
    """Return a table's file; the same rows make the same bytes."""
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    return gzip.compress(text.encode("utf-8"), 9, mtime=0)


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def productions(release: str, path: Path) -> Iterator[tuple[str, int, str, str]]:
    """Yield (release, indent, name, words) of every production of a guide's BNF."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, words = line.partition("=>")
            yield release, len(line) - len(line.lstrip()), name.strip(), " ".join(words.split())


def names_of_0_8(source: Path) -> Iterator[tuple[str, str, int]]:
    """Yield what stands in the table of error codes of the 0.8 guide."""
    text = (source / "seeds" / GUIDES["0.8"]).read_text(encoding="utf-8")
    cells = [line.strip(" |") for line in text.splitlines()]
    cells = cells[cells.index("Error Codes") : cells.index("Some Common Philosophical Questions")]
    for name, code in pairwise(cells):
        if re.fullmatch(r"-?\d+", code):
            yield "0.8", name, int(code)


def names_of_0_10_1(source: Path) -> Iterator[tuple[str, str, int]]:
    text = (source / "seeds" / GUIDES["0.10.1"]).read_text(encoding="utf-8")
    for name, code in re.findall(r"^([A-Z_]+)\t(-?\d+)\t(?:True|False)\t", text, re.MULTILINE):
        yield "0.10.1", name, int(code)


def definitions(facts: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield (release, file name, definition) of every file."""
    for release in RELEASES:
        for path in sorted((facts / release).rglob("*.json")):
            if path.name != "index.json":
                yield release, path.name, wordless(json.loads(COMMENT.sub(r"\1", path.read_text(encoding="utf-8"))))


def draft(source: Path) -> tuple[str, str, Any]:
    """Return the example of KIP-482's draft, closed where the draft leaves it open."""
    text = (source / "seeds" / DRAFT).read_text(encoding="utf-8")
    example = re.search(r'^\{\n  "apiKey": 9000.*?^\}', text, re.DOTALL | re.MULTILINE)
    assert example is not None
    strict = re.sub(r",(\s*\])", r"\1", example[0].replace("  ...\n", "    ] }\n"))
    return "kip-482-draft", "FooResponse.json", wordless(json.loads(strict))


def wordless(value: Any) -> Any:
    """Return a definition without what it says about its fields."""
    if isinstance(value, dict):
        return {key: wordless(inner) for key, inner in value.items() if key != "about"}
    return [wordless(inner) for inner in value] if isinstance(value, list) else value


def texts(source: Path) -> Iterator[str]:
    """Yield the guides, and what the definitions say about their fields."""
    for guide in GUIDES.values():
        yield (source / "seeds" / guide).read_text(encoding="utf-8")
    yield from abouts(source)


def abouts(source: Path) -> Iterator[str]:
    """Yield what the definitions say about their fields."""
    for release in RELEASES:
        for path in sorted((source / "facts" / release).rglob("*.json")):
            for text in re.findall(r'"about"\s*:\s*("(?:[^"\\]|\\.)*")', path.read_text(encoding="utf-8")):
                yield json.loads(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED)
