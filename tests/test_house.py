"""The code grows no further, and its bounds are those that it keeps."""

from __future__ import annotations

import pytest

from . import house
from .house import MEASURES, PRIVATE, snake_case


@pytest.mark.parametrize("name", MEASURES)
def test_a_number_is_within_its_bound(name: str) -> None:
    count, bound, goal = MEASURES[name]
    assert count() <= bound <= goal


def test_a_private_word_is_found_within_a_name() -> None:
    names = ["ToldMessage", "_said", "taken_line", "untold", "Teller", "takeover"]
    assert [bool(PRIVATE.search(snake_case(name).strip("_"))) for name in names] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_number_above_its_bound_makes_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(house, "MEASURES", {"files": MEASURES["files"]._replace(bound=1)})
    assert house.main() == 1
    assert capsys.readouterr().out.endswith("above\n")
