"""The rules on compatible change: each broken on its own, with field, file and line, and every change that is none."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kdbg.protocol.definitions import MessageDefinition, Versions, compare, read
from kdbg.protocol.definitions.compatible import RULES, swapped

from .. import facts
from ..cases import for_each

OLD = """{
  "apiKey": 9000, "type": "response", "name": "FooResponse",
  "validVersions": "0-9", "flexibleVersions": "none", "versionsWithOptional": "9+",
  "optionalFields": [
    { "name": "UserAgent", "type": "string", "nullable": true, "tag": "0x0001" },
    { "name": "Trace", "type": "bytes", "tag": "0xffff" }
  ],
  "fields": [
    { "name": "Count", "type": "int32", "versions": "0+" },
    { "name": "Rack", "type": "string", "versions": "1+", "nullableVersions": "2+" },
    { "name": "Foos", "type": "[]Foo", "versions": "0+", "fields": [
      { "name": "Baz", "type": "int16", "versions": "0+" },
      { "name": "Qux", "type": "int16", "versions": "3-6", "default": "-1" },
      { "name": "Late", "type": "int64", "versions": "7+" }
    ], "optionalFields": [
      { "name": "Bar", "type": "string", "nullable": false, "tag": "0x0001", "default": "hello world" }
    ] }
  ]
}"""
"""The draft's own example, and some more fields; the lines count from 1."""
TAGGED = """{
  "apiKey": 9001, "type": "request", "name": "BarRequest", "validVersions": "0-3", "flexibleVersions": "2+",
  "fields": [
    { "name": "Id", "type": "string", "versions": "0+" },
    { "name": "Place", "type": "string", "versions": "2+", "taggedVersions": "2+", "tag": 0 },
    { "name": "Size", "type": "int8", "versions": "1+" }
  ]
}"""

Edit = tuple[str, str]
Told = tuple[str, str, str, str]
"""Rule, field, text, and file:line."""


def told(old: str, *edits: Edit) -> list[Told]:
    """Every difference between a definition and itself with some words replaced."""
    new = old
    for former, now in edits:
        assert new.count(former) == 1, former
        new = new.replace(former, now)
    found = compare(read(old, "old.json"), read(new, "new.json"))
    return [(it.rule, it.path, it.text, f"{it.file}:{it.line}") for it in found.differences]


BAZ = '{ "name": "Baz", "type": "int16", "versions": "0+" }'
COUNT = '{ "name": "Count", "type": "int32", "versions": "0+" }'
BROKEN: dict[str, tuple[tuple[Edit, ...], list[Told]]] = {
    "another name": (
        (("FooResponse", "FuResponse"),),
        [("identity", "", "name FooResponse became FuResponse", "new.json:1")],
    ),
    "another key": ((("9000", "9009"),), [("identity", "", "apiKey 9000 became 9009", "new.json:1")]),
    "another type": (
        (('"response"', '"request"'),),
        [("identity", "", "type response became request", "new.json:1")],
    ),
    "the lower end of validVersions raised": (
        (('"0-9"', '"2-9"'),),
        [("versions", "", "validVersions 0-9 became 2-9: versions 0-1 dropped", "new.json:1")],
    ),
    "the upper end of validVersions lowered": (
        (('"validVersions": "0-9"', '"validVersions": "0-8"'),),
        [("versions", "", "validVersions 0-9 became 0-8: version 9 dropped", "new.json:1")],
    ),
    "a field removed": (
        ((f"{COUNT},", ""),),
        [("fields", "Count", "removed from versions 0-9", "old.json:9")],
    ),
    "a field no longer in existing versions": (
        (('"Late", "type": "int64", "versions": "7+"', '"Late", "type": "int64", "versions": "8+"'),),
        [("fields", "Foos.Late", "removed from version 7, where it was untagged", "new.json:14")],
    ),
    "a field added to existing versions": (
        ((BAZ, f'{BAZ}, {{ "name": "New", "type": "int8", "versions": "9+" }}'),),
        [("fields", "Foos.New", "added to version 9", "new.json:12")],
    ),
    "a field in more of the existing versions": (
        (('"3-6"', '"3-9"'),),
        [("fields", "Foos.Qux", "added to versions 7-9, where it was missing or tagged", "new.json:13")],
    ),
    "the order changed": (
        ((COUNT, '{ "name": "Rack", "type": "string", "versions": "1+", "nullableVersions": "2+" }'),
         ('{ "name": "Rack", "type": "string", "versions": "1+", "nullableVersions": "2+" },\n    { "name": "Foos"',
          f'{COUNT},\n    {{ "name": "Foos"')),
        [("order", "", "the order Count, Rack became Rack, Count in versions 1-9", "new.json:9")],
    ),
    "another type of field": (
        ((BAZ, BAZ.replace("int16", "int32")),),
        [("type", "Foos.Baz", "int16 became int32 in versions 0-9", "new.json:12")],
    ),
    "an array of it": (
        ((BAZ, BAZ.replace("int16", "[]int16")),),
        [("type", "Foos.Baz", "int16 became []int16 in versions 0-9", "new.json:12")],
    ),
    "null in an existing version": (
        (('"nullableVersions": "2+"', '"nullableVersions": "1+"'),),
        [("null", "Rack", "may now be null in version 1", "new.json:10")],
    ),
    "null no longer": (
        (('"nullableVersions": "2+"', '"nullableVersions": "4+"'),),
        [("null", "Rack", "may no longer be null in versions 2-3", "new.json:10")],
    ),
    "existing versions become flexible": (
        (('"none"', '"8+"'), ('"9+"', '"7-7"')),
        [("flexible", "", "flexibleVersions none became 8+, which changes versions 8-9", "new.json:1"),
         ("optional", "", "versionsWithOptional 9+ became 7, which changes versions 7, 9", "new.json:1")],
    ),
    "existing versions get optional fields": (
        (('"9+"', '"8+"'),),
        [("optional", "", "versionsWithOptional 9+ became 8+, which changes version 8", "new.json:1")],
    ),
    "a tag used for something else": (
        (('"UserAgent"', '"ForwardedBy"'),),
        [("tag", "ForwardedBy", "optional field 0x0001 was that of UserAgent", "new.json:5")],
    ),
    "another type of an optional field": (
        (('"name": "Trace", "type": "bytes"', '"name": "Trace", "type": "uuid"'),),
        [("type", "Trace", "bytes became uuid in version 9", "new.json:6")],
    ),
    "null in an optional field": (
        (('"nullable": false', '"nullable": true'),),
        [("null", "Foos.Bar", "may now be null in version 9", "new.json:16")],
    ),
    "null no longer in an optional field": (
        (('"nullable": true', '"nullable": false'),),
        [("null", "UserAgent", "may no longer be null in version 9", "new.json:5")],
    ),
}  # fmt: skip
COMPATIBLE: dict[str, tuple[tuple[Edit, ...], list[Told]]] = {
    "nothing": ((), []),
    "words about it": ((('"versions": "7+"', '"versions": "7+", "about": "It came late.", "ignorable": true'),), []),
    "a version added": (
        (('"0-9"', '"0-10"'),),
        [("", "", "validVersions 0-9 became 0-10", "new.json:1")],
    ),
    "a field of the new version": (
        (('"0-9"', '"0-10"'), (COUNT, f'{{ "name": "First", "type": "int8", "versions": "10+" }}, {COUNT}')),
        [("", "", "validVersions 0-9 became 0-10", "new.json:1"), ("", "First", "new in versions 10+", "new.json:9")],
    ),
    "a field that the new version lacks": (
        (('"0-9"', '"0-10"'), (BAZ, BAZ.replace("0+", "0-9"))),
        [("", "", "validVersions 0-9 became 0-10", "new.json:1"),
         ("", "Foos.Baz", "versions 0+ became 0-9", "new.json:12")],
    ),
    "an optional field added": (
        (('{ "name": "Trace"', '{ "name": "ForwardedBy", "type": "string", "tag": 2 }, { "name": "Trace"'),),
        [("", "ForwardedBy", "optional field 0x0002 added", "new.json:6")],
    ),
    "an optional field removed": (
        ((',\n    { "name": "Trace", "type": "bytes", "tag": "0xffff" }', ""),),
        [("", "Trace", "optional field 0xffff removed", "old.json:6")],
    ),
    "the order of optional fields": (
        (('"UserAgent", "type": "string", "nullable": true, "tag": "0x0001"', '"Trace", "type": "bytes", "tag": 65535'),
         ('"Trace", "type": "bytes", "tag": "0xffff"', '"UserAgent", "type": "string", "nullable": true, "tag": 1')),
        [],
    ),
    "the order of fields that no version has both of": (
        (('"Qux", "type": "int16", "versions": "3-6", "default": "-1"', '"Late", "type": "int64", "versions": "7+"'),
         ('"Late", "type": "int64", "versions": "7+" }\n    ],',
          '"Qux", "type": "int16", "versions": "3-6", "default": "-1" }\n    ],')),
        [],
    ),
    "another default": (
        (('"hello world"', '"good bye"'),),
        [
            ("", "Foos.Bar", 'default "hello world" became "good bye": an omitted field has another meaning',
             "new.json:16"),
        ],
    ),
    "another name of the structure": ((('"[]Foo"', '"[]Fu"'),), []),
    "another name of a field": (
        ((BAZ, BAZ.replace("Baz", "Buz")),),
        [("", "Foos.Buz", "renamed from Baz: the bytes are the same, and must keep their meaning", "new.json:12")],
    ),
}  # fmt: skip


@for_each("name", BROKEN)
def test_what_breaks_a_rule(name: str) -> None:
    edits, expected = BROKEN[name]
    assert told(OLD, *edits) == expected
    assert {rule for rule, *_ in expected} <= RULES.keys()


def test_every_rule_is_broken_once() -> None:
    assert {rule for _, expected in BROKEN.values() for rule, *_ in expected} == RULES.keys()


@for_each("name", COMPATIBLE)
def test_what_breaks_none(name: str) -> None:
    edits, expected = COMPATIBLE[name]
    assert told(OLD, *edits) == expected


@for_each(
    ("edits", "expected"),
    [
        (
            (('{ "name": "Size"', '{ "name": "Extra", "type": "int8", "versions": "2+", "taggedVersions": "2+", '
              '"tag": 1 }, { "name": "Size"'),),
            [("", "Extra", "tag 1 added", "new.json:6")],
        ),
        (
            ((',\n    { "name": "Place", "type": "string", "versions": "2+", "taggedVersions": "2+", "tag": 0 }', ""),),
            [("", "Place", "tag 0 removed", "old.json:5")],
        ),
        ((('"Place"', '"Where"'),), [("tag", "Where", "tag 0 was that of Place", "new.json:5")]),
        (
            (('"Place", "type": "string"', '"Place", "type": "bytes"'),),
            [("type", "Place", "string became bytes in versions 2-3", "new.json:5")],
        ),
        (
            (('"Size", "type": "int8", "versions": "1+"',
              '"Size", "type": "int8", "versions": "1+", "taggedVersions": "3+", "tag": 1'),),
            [("fields", "Size", "removed from version 3, where it was untagged", "new.json:6"),
             ("", "Size", "tag 1 added", "new.json:6")],
        ),
        (
            (('"Id", "type": "string", "versions": "0+"',
              '"Id", "type": "string", "versions": "0+", "flexibleVersions": "none"'),),
            [("flexible", "Id", "its own flexibleVersions now differ for versions 2-3", "new.json:4")],
        ),
        (
            (('"2+",\n  "fields"', '"3+",\n  "fields"'),
             ('"versions": "2+", "taggedVersions": "2+"', '"versions": "3+", "taggedVersions": "3+"')),
            [("flexible", "", "flexibleVersions 2+ became 3+, which changes version 2", "new.json:1"),
             ("", "Place", "versions 2+ became 3+", "new.json:5")],
        ),
    ],
    ids=["added", "removed", "used again", "another type", "tagged later", "its own form", "flexible later"],
)  # fmt: skip
def test_tagged_fields_follow_the_same_rules(edits: tuple[Edit, ...], expected: list[Told]) -> None:
    assert told(TAGGED, *edits) == expected


def test_an_unstable_version_may_change_at_will() -> None:
    unstable = OLD.replace('"apiKey"', '"latestVersionUnstable": true, "apiKey"')
    late = ('"Late", "type": "int64", "versions": "7+"', '"Late", "type": "int64", "versions": "7-8"')
    assert told(OLD, late)[0][0] == "fields"
    assert told(unstable, late) == [("", "Foos.Late", "versions 7+ became 7-8", "new.json:14")]
    assert [rule for rule, *_ in told(unstable, ('"0-9"', '"0-8"'))] == [""]


def test_thousands_of_fields_are_no_matter() -> None:
    """Neighbours are compared, not every field with every other."""
    fields = [f'{{ "name": "F{i}", "type": "int8", "versions": "{i % 25}" }}' for i in range(9000)]
    text = ('{ "apiKey": 1, "type": "request", "name": "ManyRequest", "validVersions": "0-24", '
            '"flexibleVersions": "none", "fields": [%s] }')  # fmt: skip
    old, new = (read(text % ",".join(order), "many.json") for order in (fields, fields[::-1]))
    assert [it.rule for it in compare(old, new).broken] == ["order"]


RANGES = st.tuples(st.integers(0, 5), st.integers(0, 3)).map(lambda it: Versions(it[0], it[0] + it[1]))


@given(st.lists(RANGES, max_size=7), st.randoms(use_true_random=False))
def test_fields_that_changed_places_are_found_if_a_version_has_both(found: list[Versions], random: Random) -> None:
    ranges = {f"F{i}": [versions] for i, versions in enumerate(found)}
    names = random.sample(list(ranges), len(ranges))
    wrong = {
        (one, other)
        for place, one in enumerate(names)
        for other in names[place + 1 :]
        if one > other and ranges[one][0] & ranges[other][0]
    }
    pairs = set(swapped(ranges, names))
    assert pairs <= wrong
    assert bool(pairs) == bool(wrong)


def definitions(release: str) -> dict[tuple[str, str], MessageDefinition]:
    found = (read(text, name) for name, text in facts.definitions(release))
    return {(it.kind, it.name): it for it in found}


def test_kafkas_own_definitions_kept_the_rules_but_once() -> None:
    """From 3.9 to 4.2: what KIP-896 dropped apart, one field came late to an existing version."""
    old, new = definitions("messages-3.x"), definitions("messages")
    broken = [it for key in old.keys() & new.keys() for it in compare(old[key], new[key]).broken]
    assert [(it.path, it.text) for it in broken if it.rule != "versions"] == [
        ("Results.Partitions.LeaderEpoch", "added to version 0")
    ]
    for definition in new.values():
        assert compare(definition, definition).differences == []
