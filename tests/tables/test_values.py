"""Single values as the tables have them."""

from __future__ import annotations

from kdbg.views.tables.cells import moment, timestamp

from ..cases import for_each


@for_each(
    ("milliseconds", "microseconds"),
    [(0, 0), (1_700_000_000_000, 1_700_000_000_000_000), (-1, None), (None, None), (2**62, None), (-(2**62), None)],
)
def test_a_records_timestamp(milliseconds: int | None, microseconds: int | None) -> None:
    """-1 stands for none, and a message of magic 0 has no timestamp at all."""
    assert timestamp(milliseconds) == microseconds


def test_years_that_no_reader_shows_have_no_timestamp() -> None:
    first, last = -62_135_596_800_000, 253_402_300_799_999
    assert [timestamp(first), timestamp(last)] == [first * 1000, last * 1000]
    assert [timestamp(first - 1), timestamp(last + 1)] == [None, None]


def test_a_packets_time_that_64_bits_cannot_hold_is_none() -> None:
    most = 2**63 - 2
    assert [moment(time) for time in (most, most + 1, -most, -most - 1)] == [
        9_223_372_036_854_776, None, -9_223_372_036_854_776, None,
    ]  # fmt: skip
    assert [moment(time) for time in (0, 499, 500, 1499)] == [0, 0, 1, 1]
