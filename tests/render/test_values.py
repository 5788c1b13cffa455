"""Values as a person reads them."""

from __future__ import annotations

import sys
import unicodedata
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kdbg.protocol.wire.nodes import INT8, INT16, INT32, INT64
from kdbg.protocol.wire.readings.secrets import Hidden
from kdbg.views.render import values
from kdbg.views.render.values import LONGEST_KEPT, MOST_KEPT, Memo, cells, cut, escape, quote

from ..cases import for_each


class TestEscape:
    @for_each(
        ("text", "shown"),
        [
            ("plain, with spaces & ümläute 東京 🎉", "plain, with spaces & ümläute 東京 🎉"),
            ("\x1b[31m", r"\x1b[31m"),
            ("\x9b31m\x7f", r"\x9b31m\x7f"),
            ("a\nb\rc\td\x0b", r"a\nb\rc\td\x0b"),
            ("\u202e\u2066\u200b\ufeff", r"\u202e\u2066\u200b\ufeff"),
            ("\u2028\u2029\x85\xa0\u3000", r"\u2028\u2029\x85\xa0\u3000"),
            ("\U000e0041", r"\U000e0041"),
            ("\udcff\udc80", r"\xff\x80"),
            ("\ud800\udfff", r"\ud800\udfff"),
            (r"\x1b", r"\\x1b"),
            ("", ""),
        ],
    )
    def test_what_is_not_plainly_printable_is_an_escape(self, text: str, shown: str) -> None:
        assert escape(text) == shown

    def test_every_character_there_is_comes_out_printable(self) -> None:
        for code in range(sys.maxunicode + 1):
            letter = chr(code)
            if not escape(letter).isprintable():
                pytest.fail(f"{code:#x} is let through")
            assert unicodedata.category(letter)[0] not in "CZ" or letter == " " or escape(letter) != letter

    @given(st.text(), st.text())
    def test_different_texts_stay_different(self, one: str, other: str) -> None:
        assert (escape(one) == escape(other)) is (one == other)


class TestQuote:
    @for_each(
        ("text", "most", "shown"),
        [
            (None, 5, "null"),
            ("", 5, '""'),
            ("orders", 6, '"orders"'),
            ("orders", 5, '"order"… 1 more characters'),
            ("x" * 12_345, 45, '"' + "x" * 45 + '"… 12,300 more characters'),
            ("a\nb", 9, r'"a\nb"'),
            ('say "hi"', 9, '"say "hi""'),
        ],
    )
    def test_strings(self, text: str | None, most: int, shown: str) -> None:
        assert quote(text, most) == shown


class TestOctets:
    @for_each(
        ("data", "shown"),
        [
            (None, "null"),
            (b"", "0 bytes"),
            (b"\x00", "1 byte  00"),
            (b"\x00\xff", "2 bytes  00 ff"),
            (Hidden(9), "<9 bytes redacted>"),
            (Hidden(1), "<1 byte redacted>"),
        ],
    )
    def test_bytes(self, data: bytes | None, shown: str) -> None:
        assert values.octets(data) == shown

    def test_many_bytes_are_shortened(self) -> None:
        assert values.octets(bytes(1000), 6) == "1000 bytes  00 00 00… 997 more"
        assert values.content(b"\xff" * 9, 3) == "9 bytes  ff ff… 7 more"

    def test_the_content_of_records_is_text_where_it_is_text(self) -> None:
        assert values.content(b"caf\xc3\xa9") == '"café"'
        assert values.content(b"caf\xe9") == "4 bytes  63 61 66 e9"
        assert values.content(None) == "null"


class TestMeanings:
    @for_each(
        ("write", "value", "shown"),
        [
            (values.timestamp, 1_700_000_000_000, "1700000000000  2023-11-14 22:13:20.000 UTC"),
            (values.timestamp, 0, "0  1970-01-01 00:00:00.000 UTC"),
            (values.timestamp, -1, "-1"),
            (values.timestamp, (1 << 63) - 1, "9223372036854775807"),
            (values.timestamp, 253_402_300_799_999, "253402300799999  9999-12-31 23:59:59.999 UTC"),
            (values.timestamp, 253_402_300_800_000, "253402300800000"),
            (values.duration, 30_000, "30000 ms  30 s"),
            (values.duration, 604_800_000, "604800000 ms  7 d"),
            (values.duration, 90_000, "90000 ms  1.5 min"),
            (values.duration, 5_400_000, "5400000 ms  1.5 h"),
            (values.duration, 999, "999 ms"),
            (values.duration, -1, "-1 ms"),
            (values.duration, (1 << 31) - 1, "2147483647 ms"),
            (values.error, 0, "0  NONE"),
            (values.error, 6, "6  NOT_LEADER_OR_FOLLOWER (retriable)"),
            (values.api_key, 3, "3  Metadata"),
            (values.api_key, 31_999, "31999  unknown"),
            (values.api_key, -1, "-1  unknown"),
            (lambda value: values.attributes(value, 2), 0, "0  uncompressed, create time"),
            (lambda value: values.attributes(value, 2), 0x3C, "60  zstd, append time, transactional, control"),
            (lambda value: values.attributes(value, 2), 0x47, "71  codec 7, create time, delete horizon"),
            (lambda value: values.attributes(value, 1), 1, "1  gzip"),
            (lambda value: values.attributes(value, 1), 10, "10  snappy, append time"),
            (lambda value: values.attributes(value, 0), 10, "10  snappy"),
            (lambda value: values.bits(value, {3: "READ", 4: "WRITE"}), 0x18, "24  READ, WRITE"),
            (lambda value: values.bits(value, {3: "READ"}), 0x28, "40  READ, bit 5"),
            (lambda value: values.bits(value, {}), 0, "0  none"),
            (lambda value: values.bits(value, {}), -(1 << 31), "-2147483648  not requested"),
        ],
    )
    def test_a_number_stands_beside_what_it_means(self, write: Callable[[int], str], value: int, shown: str) -> None:
        assert write(value) == shown

    def test_a_field_whose_number_says_it_all_needs_no_writer(self) -> None:
        assert [values.number(node) for node in (INT8, INT16, INT32, INT64)] == [None] * 4

    def test_a_topic_id_with_the_name_that_the_traffic_told(self) -> None:
        known = uuid.UUID(int=1)
        assert values.topic_id(known, "or\x1bders") == f'{known}  "or\\x1bders"'
        assert values.topic_id(known, None) == str(known)


class TestColumns:
    @given(st.text())
    def test_a_terminal_never_needs_more_columns_than_counted(self, text: str) -> None:
        assert cells(escape(text)) >= cell_len(escape(text))

    @for_each(("text", "count"), [("", 0), ("orders", 6), ("東京", 4), ("ｆｕｌｌ", 8), ("naïve", 5), ("🎉", 2)])
    def test_wide_letters_take_two(self, text: str, count: int) -> None:
        assert cells(text) == cell_len(text) == count

    @for_each(
        ("text", "room", "shown"),
        [
            ("orders", 6, "orders"), ("orders", 5, "orde…"), ("orders", 1, "…"), ("orders", 0, ""), ("orders", -3, ""),
            ("東京東京", 8, "東京東京"), ("東京東京", 7, "東京東…"), ("東京東京", 6, "東京…"), ("東京", 2, "…"),
            ("", 0, ""),
        ],
    )  # fmt: skip
    def test_a_cut_text_fits(self, text: str, room: int, shown: str) -> None:
        assert cut(text, room) == shown
        assert cells(shown) <= max(room, 0)

    @given(st.text(), st.integers(-2, 20))
    def test_any_text_fits_when_cut(self, text: str, room: int) -> None:
        assert cell_len(cut(escape(text), room)) <= max(room, 0)


class TestMemo:
    def test_a_text_is_made_once(self) -> None:
        made: list[int] = []
        memo = Memo(lambda key: made.append(key) or str(key))  # type: ignore[func-returns-value]
        assert [memo[1], memo[1], memo[2]] == ["1", "1", "2"]
        assert made == [1, 2]

    def test_it_holds_few_texts_and_no_long_ones(self) -> None:
        memo = Memo(str)
        for number in range(3 * MOST_KEPT):
            memo[number]
        assert len(memo) <= MOST_KEPT
        before = len(memo)
        assert memo["x" * (LONGEST_KEPT + 1)] == "x" * (LONGEST_KEPT + 1)
        assert len(memo) == before


def test_a_null_in_place_of_an_address_is_shown() -> None:
    assert values.address(None) == "null"
