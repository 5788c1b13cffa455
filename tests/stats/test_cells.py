"""Which rows an exchange counts in: the topics, partitions, errors and groups that its messages name."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kdbg.analysis.stats.dimensions import Cells
from kdbg.protocol import grammars
from kdbg.protocol.wire.readings.outline import Outline

from ..cases import for_each

FETCH, JOIN, OFFSETS, DESCRIBE = (
    grammars.api(name) for name in ("Fetch", "JoinGroup", "OffsetFetch", "DescribeGroups")
)
ID, OTHER = UUID(int=7), UUID(int=8)
NAMES = {ID: "letters"}
ASKED: Outline = ((("orders", 0, 0, None), ("orders", 1, 0, None)), (), ())
ANSWERED: Outline = ((("orders", 0, 0, 3), ("orders", 1, 6, 2)), (), (6,))


def found(asked: str, *outlines: Outline, api: Any = FETCH) -> list[tuple[Any, ...]]:
    """Rows of (key…, errors, normal steps, records)."""
    cells = Cells(asked.split(",") if asked else ()).of(outlines, api, NAMES)
    return [(*cell.key, dict(cell.errors), dict(cell.steps), cell.records) for cell in cells]


@for_each(
    ("asked", "rows"),
    [
        ("", [({6: 1}, {}, 5)]),
        ("topic", [("orders", {6: 1}, {}, 5)]),
        ("partition,topic", [("orders", 0, {}, {}, 3), ("orders", 1, {6: 1}, {}, 2)]),
        ("error", [("NOT_LEADER_OR_FOLLOWER", {6: 1}, {}, 5)]),
        (
            "topic,partition,error",
            [("orders", 0, None, {}, {}, 3), ("orders", 1, "NOT_LEADER_OR_FOLLOWER", {6: 1}, {}, 2)],
        ),
        ("group", [(None, {6: 1}, {}, 5)]),
    ],
)  # fmt: skip
def test_an_error_belongs_to_its_partition(asked: str, rows: list[tuple[Any, ...]]) -> None:
    assert found(asked, ASKED, ANSWERED) == rows


def test_several_errors_of_a_place_are_rows_of_their_own_and_records_count_once() -> None:
    answered: Outline = ((("a", 0, 3, 2), ("a", 1, 6, 0), ("a", 2, 6, 0)), (), (3, 6, 6))
    rows = found("topic,error", answered)
    assert rows == [("a", "UNKNOWN_TOPIC_OR_PARTITION", {3: 1}, {}, 2), ("a", "NOT_LEADER_OR_FOLLOWER", {6: 2}, {}, 0)]


def test_an_error_of_no_topic_has_a_row_without_one() -> None:
    asked: Outline = ((("a", 0, 0, None),), (), ())
    answered: Outline = ((), (), (71,))
    rows = found("topic,error", asked, answered)
    assert rows == [
        ("a", None, {}, {}, 0),
        (None, "FETCH_SESSION_TOPIC_ID_ERROR" if False else rows[1][1], {71: 1}, {}, 0),
    ]
    assert found("error", asked, answered) == [(rows[1][1], {71: 1}, {}, 0)]


def test_topics_by_id_have_their_names_where_these_are_known() -> None:
    asked: Outline = (((ID, 0, 0, None), (OTHER, 0, 0, None)), (), ())
    answered: Outline = ((("letters", 0, 0, 1), (OTHER, 0, 100, None)), (), (100,))
    rows = found("topic", asked, answered)
    assert [(row[0], row[-1]) for row in rows] == [("letters", 1), (str(OTHER), 0)]


def test_a_topic_of_which_partitions_are_named_is_no_place_of_its_own() -> None:
    asked: Outline = ((("orders", None, 0, None), ("ghosts", None, 0, None)), (), ())
    answered: Outline = ((("orders", 0, 0, None), ("ghosts", None, 3, None)), (), (3,))
    rows = found("topic,partition", asked, answered, api=grammars.api("Metadata"))
    assert {row[:2] for row in rows} == {("orders", 0), ("ghosts", None)}


def test_normal_steps_are_counted_apart() -> None:
    answered: Outline = ((), ("billing",), (79,))
    assert found("group", answered, api=JOIN) == [("billing", {}, {79: 1}, 0)]
    assert found("error", answered, api=JOIN) == [("MEMBER_ID_REQUIRED", {}, {79: 1}, 0)]


def test_of_several_groups_each_has_a_row_and_errors_are_nobodys() -> None:
    asked: Outline = ((), ("a", "b"), ())
    answered: Outline = ((), ("a", "b"), (69,))
    rows = found("group", asked, answered, api=DESCRIBE)
    assert rows == [("a", {}, {}, 0), ("b", {}, {}, 0), (None, {69: 1}, {}, 0)]


@pytest.mark.parametrize("asked", ["", "topic", "error", "group", "topic,partition,error,group"])
def test_what_says_nothing_has_one_row(asked: str) -> None:
    names = [name for name in ("topic", "partition", "error", "group") if name in asked.split(",")]
    assert found(asked, ((), (), ())) == found(asked) == [(*[None] * len(names), {}, {}, 0)]
