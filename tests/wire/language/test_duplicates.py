"""Names and tags that two fields of one version claim: refused where the structure is declared, with both named."""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.protocol.wire import (
    Array,
    BeforeRelease,
    Between,
    Int8,
    Int16,
    Nullable,
    Only,
    Since,
    SinceRelease,
    String,
    Struct,
    Tag,
    Until,
)
from kdbg.protocol.wire.language.types import At, Optional

from ...cases import for_each


@for_each(
    ("fields", "problem"),
    [
        (("a" / Int8, "b" / Int8, "a" / Int16), "fields 1 and 3 are both called 'a' from version 0 on"),
        (("a" / Until(3, Int8), "a" / Since(3, Int16)), "fields 1 and 2 are both called 'a' in version 3"),
        (("a" / Between(2, 9, Int8), "a" / Between(4, 12, Int8)), "both called 'a' in versions 4 to 9"),
        (("a" / Until(20_000, Int8), "a" / Since(7, Int8)), "both called 'a' in versions 7 to 20000"),
        (("a" / Int8, "a" / Tag(0, Int8)), "fields 1 and 2 are both called 'a'"),
        (("a" / BeforeRelease((3, 7), Int8), "a" / Since(1, Int8)), "both called 'a' from version 1 on"),
        (("a" / Tag(0, Int8), "b" / Tag(0, Int16)), "'a' and 'b' both have tag 0 from version 0 on"),
        (
            ("a" / Until(2, Tag(4, Int8)), "b" / Tag(5, Int8), "c" / Since(2, Tag(4, Int8))),
            "'a' and 'c' both have tag 4",
        ),
        (("a" / Optional(1, Int8), "b" / Optional(1, Int8)), "'a' and 'b' both have tag 1"),
    ],
)
def test_two_that_meet_are_refused(fields: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        Struct(*fields)


def test_so_they_are_in_an_array() -> None:
    with pytest.raises(TypeError, match="fields 1 and 2 are both called 'a'"):
        Struct("items" / Array("a" / Int8, "a" / Int8))


@pytest.mark.parametrize(
    "fields",
    [
        ("a" / Until(2, Int8), "a" / Between(3, 4, String), "a" / Since(5, Nullable(String))),
        ("a" / BeforeRelease((3, 7), Int8), "a" / SinceRelease((3, 7), Int16)),
        ("a" / Only(1, Tag(0, Int8)), "b" / Only(2, Tag(0, Int8))),
        ("a" / Tag(0, Int8), "b" / Optional(0, Int8)),
        ("a" / Tag(0, Int8), "a" / Optional(3, Int16)),
    ],
)
def test_two_that_never_meet_may_share(fields: tuple[Any, ...]) -> None:
    struct = Struct(*fields)
    for version in range(6):
        for at in (
            At(version, True),
            At(version, False),
            At(version, False, (3, 6)),
            At(version, False, optional=True),
        ):
            found = struct.structure(at)
            assert len({field.name for field in found.fields}) == len(found.fields)
