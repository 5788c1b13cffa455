"""The tables of facts are what the script makes of the files that they were taken from, and hold no sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..cases import for_each
from . import FOLDER, RELEASES, copied, definitions, layouts, quoted, recorded, rows, runs
from .__main__ import abouts, made, made_of_captures
from .recorded import vector

TABLES = sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz"))
LARGEST = 1 << 20
"""Bytes of all tables."""


def test_the_tables_are_as_they_are_made(shared: Path) -> None:
    files = made(shared) | made_of_captures()
    assert {path.name for path in FOLDER.iterdir() if path.suffix in (".gz", ".bin")} == set(files)
    for name, data in files.items():
        assert (FOLDER / name).read_bytes() == data, "python -m tests.facts"


def test_the_vectors_are_as_they_are_made() -> None:
    ((name, data),) = made_of_captures().items()
    assert (FOLDER / name).read_bytes() == data, "python -m tests.facts"


def test_almost_all_that_was_captured_is_read_by_the_table() -> None:
    table = {(row["api_key"], row["type"], row["version"]): row for row in layouts()}
    found = [(kind, data, place) for place, kind, data in recorded.messages() if kind in table]
    unread = {kind for kind, data, place in found if vector(table[kind], data, place) is None}
    assert len(found) > 1000
    assert unread == set()


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < LARGEST


def words(value: Any) -> list[str]:
    """Every text in a value, names included."""
    if isinstance(value, dict):
        return [*value, *words(list(value.values()))]
    if isinstance(value, list):
        return [word for inner in value for word in words(inner)]
    return [value] if isinstance(value, str) else []


@for_each("name", sorted(set(TABLES) - {"bnf", "vectors"}))
def test_no_table_holds_a_sentence(name: str) -> None:
    assert [text for text in words(rows(name)) if len(text.split()) > 3] == []


def test_what_is_copied_is_known(shared: Path) -> None:
    text = (shared / "seeds" / "kafka-0.8-guide.txt").read_text(encoding="utf-8").split()
    quoted = " ".join(text[1000:1006])
    sentence = f"As the guide says, {quoted.upper()} and so on."
    assert copied([sentence, "Nothing of the kind was ever said by anybody."]) == [sentence]
    assert copied([" ".join(text[1000:1005])]) == []


def test_what_is_quoted_whole_is_known(shared: Path) -> None:
    text = next(abouts(shared))
    shouted = text.upper().replace(" ", "  THE ").rstrip(".") + "!"
    assert quoted([text, shouted, f"{text} Or not."]) == [text, shouted]


def test_words_are_told_apart_by_neither_case_nor_spaces() -> None:
    assert list(runs("One two three four five six seven")) == list(runs("one two\nTHREE four  five six seven"))
    assert len(set(runs("one two three four five six seven"))) == 2
    assert copied(["no such words stand in any guide of Kafka"]) == []


def test_definitions_say_nothing_in_words() -> None:
    for release in RELEASES:
        assert not [name for name, text in definitions(release) if '"about"' in text]
