"""The pictures of screens in the manual show what kdbg prints today."""

from __future__ import annotations

from kdbg.ui.guide import text

from ..cases import by_day, for_each
from .screens import ALL, FOLDER, SCREENS, letters, path, printed, said


@for_each(("name", "columns", "rows"), by_day(ALL, 2), ids=lambda value: value)
def test_a_picture_is_up_to_date(name: str, columns: int, rows: int) -> None:
    lines = printed(name, columns, rows)
    assert all(len(letters(line)) <= columns for line in lines)
    picture = (FOLDER / path(name, columns)).read_text(encoding="utf-8")
    assert said(picture) == letters("".join(lines)), "python -m tests.guide.screens"


def test_the_page_has_every_picture_and_its_command() -> None:
    page = text("screenshots")
    for name, columns, _ in ALL:
        assert f"(screens/{path(name, columns)})" in page
        assert f"`{SCREENS[name]}`" in page
    assert sorted(each.name for each in FOLDER.iterdir()) == sorted(path(name, columns) for name, columns, _ in ALL)
