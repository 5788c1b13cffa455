"""`python -m tests.guide` renews what console blocks show: other words, the same part of the output."""

from __future__ import annotations

from ..cases import for_each
from .console import excerpt, rewritten

OLD = ["alpha says 1", "beta told 2", "gamma 3", "delta 4", "epsilon 5"]
NEW = ["alpha sends 1", "beta sends 2", "gamma 3", "delta 4", "extra", "epsilon 5"]


@for_each(
    ("shown", "expected"),
    [
        (OLD, NEW),
        (["…", "beta told 2", "gamma 3", "…"], ["…", "beta sends 2", "gamma 3", "…"]),
        (["alpha says 1", "…", "delta 4", "…"], ["alpha sends 1", "…", "delta 4", "…"]),
        (["alpha says 1", "…", "gamma 3", "…", "epsilon 5"], ["alpha sends 1", "…", "gamma 3", "…", "epsilon 5"]),
        (["…", "beta told 2", "delta 4", "epsilon 5"], ["…", *NEW[1:]]),
        (["…"], ["…"]),
        (["…", "gamma 3", "…"], ["…", "gamma 3", "…"]),
    ],
)
def test_the_same_part_is_shown_with_other_words(shown: list[str], expected: list[str]) -> None:
    assert excerpt(shown, NEW) == expected


def test_a_page_is_rewritten_and_the_rest_of_it_stays() -> None:
    page = "# A\n\n```console\n$ echo one\ntwo\n$ echo 'a\n> b'\nc\n```\n\n```text\n$ echo x\ny\n```\n"
    expected = page.replace("two\n", "one\n").replace("c\n```\n\n```text", "a\nb\n```\n\n```text")
    assert rewritten(page) == expected
    assert rewritten(expected) == expected
