"""Pages and lists of error codes: how they are wrapped, and what resembles a name."""

from __future__ import annotations

import pytest

from kdbg.protocol.grammars.errors import ERRORS
from kdbg.views.render.errortext import near, one, several
from kdbg.views.render.style import Look

TEXT = ERRORS[74].text


def test_a_page_uses_the_whole_width() -> None:
    assert f"  {TEXT}" in one(ERRORS[74], Look(width=len(TEXT) + 2)).splitlines()
    assert f"  {TEXT}" not in one(ERRORS[74], Look(width=len(TEXT) + 1)).splitlines()


def test_so_does_a_list() -> None:
    assert several([ERRORS[74]], Look(width=len(TEXT) + 6)).splitlines()[1] == f"      {TEXT}"
    assert len(several([ERRORS[74]], Look(width=len(TEXT) + 5)).splitlines()) == 3


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("cluster", []),
        ("cluster-authorisation", ["CLUSTER_AUTHORIZATION_FAILED"]),
        ("ClusterAuthorizationFailedExeption", ["CLUSTER_AUTHORIZATION_FAILED"]),
        ("non", ["NONE"]),
    ],
)
def test_one_word_of_several_is_too_little_to_resemble_a_name(query: str, found: list[str]) -> None:
    assert near(query) == found


def test_at_most_three_names_are_told() -> None:
    assert len(near("invalid_re")) == 3
