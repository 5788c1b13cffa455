"""Cases that are kept and told again are told as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kdbg.analysis.diagnosis import diagnose
from kdbg.analysis.diagnosis.text import kept, stored_case
from kdbg.views.render.diagnosis import CaseView, case_line
from kdbg.views.render.style import Look

from ..cases import for_each
from .books import STAGED, book, truths

LOOK = Look(width=80)


@for_each("name", [one["file"] for one in truths(STAGED)][::3])
def test_a_kept_case_is_told_as_it_was(name: str) -> None:
    cases = diagnose(book(STAGED / name))
    again = [stored_case(json.loads(json.dumps(kept(case)))) for case in cases]
    assert [*map(case_line, again)] == [*map(case_line, cases)]
    assert [*CaseView(LOOK, name).lines(again)] == [*CaseView(LOOK, name).lines(cases)]


def test_braces_stay_as_they_are() -> None:
    found = kept(next(case for case in diagnose(book(STAGED / truths(STAGED)[0]["file"]))))
    found |= {"sentence": "{client_id} {} {{x}}", "advice": "}{", "alternatives": ["{0}"], "certainty": "guess"}
    line: dict[str, Any] = json.loads(case_line(stored_case(found)))
    assert (line["sentence"], line["advice"], line["alternatives"]) == ("{client_id} {} {{x}}", "}{", ["{0}"])


@for_each("damage", [{"who": {"x": 1}}, {"who": 3}, {"count": "many"}, {"severity": "loud"},
                                    {"evidence": {}}, {"sentence": None}, {"alternatives": 7}])  # fmt: skip
def test_what_is_no_case_is_refused(damage: dict[str, Any]) -> None:
    found = kept(diagnose(book(STAGED / truths(STAGED)[0]["file"]))[0]) | damage
    with pytest.raises(ValueError, match="not a cause stored by kdbg"):
        stored_case(found)
