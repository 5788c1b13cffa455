"""A piece of a line: a text in a style of a pane."""

from __future__ import annotations

from typing import NamedTuple


class StyledText(NamedTuple):
    """A text in a style of the panes; it is escaped."""

    text: str
    style: str = ""
