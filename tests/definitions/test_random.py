"""Random definitions: their layouts are what a second, plain reading of the same JSON says; broken ones are refused.

`expected` below is that second reading: it goes through the JSON version by version, where kdbg's makes a declaration
for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kdbg.errors import DefinitionError
from kdbg.protocol.definitions import declare, declared, read
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.compiled import reader
from kdbg.protocol.wire.readings.layout import LayoutRow, layout

NEWEST, FLEXIBLE = 4, 2
NUMBERS = ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "uuid")
TEXTS = ("string", "bytes", "records")
Rows = tuple[int, int]


@st.composite
def ranges(draw: st.DrawFn) -> str:
    first = draw(st.integers(0, NEWEST))
    last = draw(st.none() | st.integers(first, NEWEST))
    return f"{first}+" if last is None else f"{first}-{last}" if last > first else f"{first}"


@st.composite
def fields(draw: st.DrawFn, depth: int = 2) -> list[dict[str, Any]]:
    """The fields of a structure, one of them in each way that a field can be."""
    found: list[dict[str, Any]] = []
    tags = 0
    for i in range(draw(st.integers(0, 4))):
        item = draw(st.sampled_from((*NUMBERS, *TEXTS, *(["Inner"] if depth else []))))
        array = draw(st.booleans()) and item != "records"
        field: dict[str, Any] = {"name": f"Field{i}", "type": "[]" * array + item, "versions": draw(ranges())}
        if item == "Inner":
            inner = draw(fields(depth - 1))
            field |= {"versions": "0+", "fields": inner}
        if array or item not in NUMBERS:
            field |= draw(st.just({}) | st.builds(lambda versions: {"nullableVersions": versions}, ranges()))
        if not array and item in ("string", "bytes"):
            field |= draw(st.sampled_from([{}, {}, {"flexibleVersions": "none"}, {"flexibleVersions": "3+"}]))
        if "nullableVersions" not in field and field["versions"].endswith("+") and draw(st.integers(0, 3)) == 0:
            tagged = max(FLEXIBLE, int(field["versions"][:-1]))
            field |= {"tag": tags, "taggedVersions": f"{tagged}+"}
            tags += 1
        found.append(field)
    return found


def message(found: list[dict[str, Any]]) -> dict[str, Any]:
    head = {"type": "data", "name": "Foo", "validVersions": f"0-{NEWEST}", "flexibleVersions": f"{FLEXIBLE}+"}
    return head | {"fields": found}


def has(field: dict[str, Any], key: str, version: int) -> bool:
    """Whether a version is in the range under a key."""
    text = field.get(key, "none")
    if text == "none":
        return False
    first, _, last = text.partition("-")
    return int(first.rstrip("+")) <= version <= (NEWEST if "+" in text else int(last or first))


def expected(found: list[dict[str, Any]], version: int, path: str = "") -> Iterator[LayoutRow]:
    """The layout of one version, from the JSON itself."""
    here = [field for field in found if has(field, "versions", version)]
    dot = "." if path else ""
    for field in here:
        if not has(field, "taggedVersions", version):
            yield from row(field, version, f"{path}{dot}{field['name'].lower()}")
    if version >= FLEXIBLE:
        tagged = [field for field in here if has(field, "taggedVersions", version)]
        yield LayoutRow(
            f"{path}{dot}~", "tagged_fields", tuple((field["tag"], field["name"].lower()) for field in tagged)
        )
        for field in tagged:
            yield from row(field, version, f"{path}{dot}~{field['tag']}:{field['name'].lower()}")


def row(field: dict[str, Any], version: int, path: str) -> Iterator[LayoutRow]:
    item = field["type"].removeprefix("[]")
    array, null = item != field["type"], has(field, "nullableVersions", version)
    compact = version >= FLEXIBLE and has({"it": field.get("flexibleVersions", "0+")}, "it", version)
    word = {"Inner": "struct", "bool": "boolean"}.get(item, item)
    form = f"{'compact_' * compact if item in TEXTS else ''}"
    if array:
        yield LayoutRow(path, f"{'compact_' * (version >= FLEXIBLE)}{'nullable_' * null}array")
        if item == "Inner":
            yield from expected(field["fields"], version, f"{path}[]")
        else:
            yield LayoutRow(f"{path}[]", f"{form}{word}")
    else:
        yield LayoutRow(path, f"{form}{'nullable_' * null}{word}")
        if item == "Inner":
            yield from expected(field["fields"], version, path)


@given(fields(), st.sampled_from([None, 1]))
def test_the_layout_is_what_the_json_says_of_each_version(found: list[dict[str, Any]], indent: int | None) -> None:
    foo = declared(json.dumps(message(found), indent=indent), "Foo.json")
    for version in range(NEWEST + 1):
        assert list(layout(foo.at(version))) == list(expected(found, version))


@given(fields())
def test_what_is_left_out_is_built_and_read_by_every_reading(found: list[dict[str, Any]]) -> None:
    foo = declared(json.dumps(message(found)), "Foo.json")
    for version in range(NEWEST + 1):
        grammar = foo.at(version)
        data = build(grammar, {})
        value = grammar.parse(data)
        assert reader(grammar)(data, 0) == (value, len(data))
        assert build(grammar, value) == data


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 70_000), st.text(max_size=8), st.builds(list), st.builds(dict),
    st.builds(lambda: [[]]),
    st.sampled_from(["0+", "0-1", "none", "int32", "[]Foo", "[]", "Inner", "null", "0x", "9" * 30, "Foo"]),
)  # fmt: skip
KEYS = st.sampled_from([
    "apiKey", "type", "name", "validVersions", "flexibleVersions", "commonStructs", "fields", "versionsWithOptional",
    "optionalFields", "versions", "nullableVersions", "default", "tag", "taggedVersions", "nullable", "about", "mapKey",
    "entityType", "listeners", "deprecatedVersions", "latestVersionUnstable", "ignorable", "zeroCopy", "odd",
])  # fmt: skip


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of a definition, outside ones first."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


@settings(max_examples=200)
@given(fields(), st.data())
def test_a_broken_definition_is_refused_or_still_one(found: list[dict[str, Any]], data: st.DataObject) -> None:
    """Whatever stands under whichever key: an error in the family, or a grammar."""
    broken = message(found)
    for _ in range(data.draw(st.integers(1, 3))):
        target = data.draw(st.sampled_from(list(objects(broken))))
        key = data.draw(KEYS)
        if data.draw(st.booleans()):
            target[key] = data.draw(JUNK)
        else:
            target.pop(key, None)
    with suppress(DefinitionError):
        foo = declare(read(json.dumps(broken), "Foo.json"))
        for version in {*foo.versions[:1], *foo.versions[-1:]}:
            assert reader(foo.at(version))(build(foo.at(version), {}), 0)
