"""Bytes found in text: in every form, between log lines; and text in which there are none."""

from __future__ import annotations

import random
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from kdbg.analysis.pasted.search import find, takes_of
from kdbg.errors import InputError

from ..cases import fewer_by_day, for_each
from ..grammars.test_vectors import SOURCES
from .forms import FORMS, LINES, log

MESSAGE = bytes.fromhex("00000017 0003 0001 00000002 0004 6b646267 00000001 0003 666f6f")
PARTED = 'a "00000017" # size\nb "00030001"\nc "00000002"\nd "00046b646267"\ne "000000010003666f6f"'
SAMPLE = fewer_by_day(12, 2)
"""Vectors that are tried in each form."""


@for_each("source", SOURCES)
@for_each("name", FORMS)
def test_messages_between_log_lines_are_found_in_every_form(name: str, source) -> None:
    chance = random.Random(name)
    rows = [row for row in source() if row["class"] == "ok" and row.get("frame_hex") and len(row["frame_hex"]) < 4000]
    for row in chance.sample(rows, SAMPLE):
        data = bytes.fromhex(row["frame_hex"])
        text = log(chance, FORMS[name](data))
        assert [take.data for take in takes_of(text)] == [data], text


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=6))
def test_log_lines_never_become_bytes(lines: list[str]) -> None:
    assert find("\n".join(lines)) == []


@for_each(
    ("text", "data", "cut"),
    [
        ("x = [0, 0, 0, 23, 0, 3, 0, 1, ...]", MESSAGE[:8], True),
        ("x = [0, 0, 0, 23, 0, 3, 0, 1, …", MESSAGE[:8], True),
        ("Couldn't parse: <<0, 0, 0, 23, 0, 3, 0, 1, ...>> in f/1", MESSAGE[:8], True),
        ("<Buffer 00 00 00 17 00 03 00 01 ... 19 more bytes>", MESSAGE[:8], True),
        ("got b'\\x00\\x00\\x00\\x17\\x00\\x03\\x00\\x01\\x00", MESSAGE[:9], True),
        ("00 00 00 17  // size\n00 03 00 01\n...", MESSAGE[:8], True),
        ("<<23:32, 3:16, 1:16, 2:32, 4:16, \"kdbg\", 1:32, 3:16, \"foo\">>", MESSAGE, False),
        ("<<Len:32, 0, 3, 0, 1, 0, 0, 0, 2, 255, 255>>", bytes.fromhex("0000000a 0003 0001 00000002 ffff"), False),
        ("['\\x00', '\\x03', '\\x00', '\\x01', 'S', 'T']", b"\0\3\0\1ST", False),
        (PARTED, MESSAGE, False),
    ],
)  # fmt: skip
def test_what_is_cut_nested_or_parted_is_read(text: str, data: bytes, cut: bool) -> None:
    (take,) = find(text)
    assert (take.data, take.cut) == (data, cut)


def test_how_many_bytes_are_left_out_is_told() -> None:
    assert find("<Buffer 00 00 00 17 00 03 00 01 ... 19 more bytes>")[0].more == 19


def test_lost_characters_are_counted_and_keep_their_places() -> None:
    (take,) = find("read '\\u0000\\u0000\\u0000\\u0017\ufffd\ufffd\\u0000\\u0001'")
    assert (take.data, take.lost) == (b"\0\0\0\x17\xff\xff\0\1", 2)


def test_the_place_of_a_missing_digit_is_told() -> None:
    (take,) = find('{"data": ["000000170003000 100000002ffff0"]}')
    assert (take.data[:7], take.odd) == (bytes.fromhex("00000017000300"), 15)


@given(st.text(max_size=80) | st.text("0123456789abcdef x:,-[](){}<>'\"\\*.\nbB=#/|", max_size=120))
def test_any_text_gives_takes_or_inputerror(text: str) -> None:
    find(text)
    with suppress(InputError):
        assert takes_of(text)


@for_each("text", ["00 |", "00 ", "(", "[1,", '"\\\\', "/*", " # ", "b'\\x00"])
def test_long_lines_of_brackets_and_bars_end_soon(text: str) -> None:
    """Nothing is timed: what looks at every pair of places would not end at all."""
    find(f"log: {text * 20_000}")
