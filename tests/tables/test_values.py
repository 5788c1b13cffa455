"""Single values as the tables have them."""

from __future__ import annotations

import pytest

from kdbg.tables.values import timestamp


@pytest.mark.parametrize(
    ("milliseconds", "microseconds"),
    [(0, 0), (1_700_000_000_000, 1_700_000_000_000_000), (-1, None), (None, None), (2**62, None), (-(2**62), None)],
)
def test_a_records_timestamp(milliseconds: int | None, microseconds: int | None) -> None:
    """-1 stands for none, and a message of magic 0 has no timestamp at all."""
    assert timestamp(milliseconds) == microseconds
