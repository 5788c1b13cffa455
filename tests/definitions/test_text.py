"""JSON with comments: what is read, with the line of every key, and what is refused, with its line."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.errors import DefinitionError
from kdbg.protocol.definitions.text import DEEPEST, LARGEST, Entries, parse

from ..cases import for_each

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), JSON, max_size=5), st.sampled_from([None, 2]))
def test_all_json_is_read(value: object, indent: int | None) -> None:
    for plain in (True, False):
        assert parse(json.dumps(value, indent=indent, ensure_ascii=plain), "a.json") == value


def test_comments_and_last_commas_are_read_over() -> None:
    text = """// before
    { // "a": 1,
      "a": "http://x", /* and // this
      too */ "b": [1, 2, /* 3, */],
    } // behind"""
    assert parse(text, "a.json") == {"a": "http://x", "b": [1, 2]}


def test_a_byte_order_mark_and_windows_lines_are_read() -> None:
    entries = parse('\ufeff{\r\n"a": 1,\r\n"b": -2.5e1}', "a.json")
    assert entries == {"a": 1, "b": -25.0}
    assert entries.lines == {"a": 2, "b": 3}


def test_every_object_and_key_has_its_line() -> None:
    entries = parse('{"a": 1,\n\n "b": [\n{"c": /*\n*/ 2},\n{\n"d": 3}]}', "a.json")
    first, second = entries["b"]
    assert (entries.line, entries.lines) == (1, {"a": 1, "b": 3})
    assert isinstance(first, Entries)
    assert (first.line, first.lines) == (4, {"c": 4})
    assert (second.line, second.lines) == (6, {"d": 7})


def test_a_key_may_say_the_same_twice() -> None:
    """One of Kafka's own files does: DescribeTopicPartitionsResponse of 3.9."""
    assert parse('{"a": 1, "a": 1}', "a.json") == {"a": 1}


@for_each(
    ("text", "line", "problem"),
    [
        ("", 1, "expected a value, found the end of the file"),
        ("// nothing\n", 2, "expected a value, found the end of the file"),
        ("[1]", 1, "expected an object { … }"),
        ('{"a": 1}\n}', 2, "unexpected } after the definition, which is one object"),
        ('{\n"a": 1', 2, "expected ',' after the value of 'a', found the end of the file"),
        ('{"a": 1\n"b": 2}', 2, "expected ',' after the value of 'a', found \"b\""),
        ('{"a"\n1}', 2, "expected ':' after 'a', found 1"),
        ('{"a": [1\n2]}', 2, "expected ',' after an item, found 2"),
        ("{\n,}", 2, "expected a key in quotes, found ,"),
        ("{a: 1}", 1, "expected a key in quotes, found a"),
        ('{"a": True}', 1, "expected a value, found True"),
        ('{"a": 1,\n"a": 2}', 2, "'a' is already set on line 1"),
        ('{"a": 007}', 1, "expected ',' after the value of 'a', found 0"),
        ('{"a": "x\n"}', 1, "the string that begins here is not closed on this line"),
        ('{"a": "\\x"}', 1, '"\\x" is not a valid string: invalid escape'),
        ('{"a": "\\ud800"}', 1, '"\\ud800" is not a valid string: invalid escape'),
        ('{"a": 1} /* no end', 1, "unclosed comment"),
        ("{'a': 1}", 1, '"\'" is not valid in JSON'),
        ('{"a":\n\xa0 1}', 2, "'\\xa0' is not valid in JSON"),
        ('{"a": ' + "x" * 1000 + "}", 1, f"expected a value, found {'x' * 60}…"),
        ('{"a": ' + "[" * 100_000, 1, f"objects and arrays nested more than {DEEPEST} deep"),
        ("{" + " " * LARGEST + "}", 1, f"larger than {LARGEST >> 20} MiB"),
    ],
)
def test_anything_else_is_refused_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        parse(text, "a.json")
    assert (refused.value.file, refused.value.line, refused.value.problem) == ("a.json", line, problem)


@given(st.text(st.sampled_from('{}[]:,"\\/*ab10-.eE \ntrufalsn\u00e9\x00'), max_size=60))
def test_junk_is_read_or_refused_and_nothing_else(text: str) -> None:
    with suppress(DefinitionError):
        parse(text, "a.json")


@given(st.text())
def test_whatever_text_is_read_or_refused(text: str) -> None:
    for around in (text, f'{{"a": {text}}}', f'{{"a": "{text}"}}'):
        with suppress(DefinitionError):
            parse(around, "a.json")
