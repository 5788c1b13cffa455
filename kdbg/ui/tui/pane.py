"""A piece of a line: a text in a style of a pane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip


class StyledText(NamedTuple):
    """A text in a style of the panes; it is escaped."""

    text: str
    style: str = ""


STYLES = {
    "dim": "color: $text-muted;",
    "bad": "color: $text-error; text-style: bold;",
    "note": "color: $text-warning;",
    "good": "color: $text-success;",
    "name": "color: $text-primary;",
    "heading": "text-style: bold;",
    "field0": "color: $text-primary;",
    "field1": "color: $text-warning;",
    "field2": "color: $text-success;",
    "field3": "color: $text-accent;",
    "cursor": "background: $primary 35%;",
    "unfocused": "background: $surface-lighten-2;",
    "lit": "background: $warning 45%; text-style: bold;",
    "byte": "reverse: true;",
}
"""The styles that panes draw with, by Textual's theme; so they hold on light and dark."""
FIELD_COLOURS = 4


class Pane(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows `count` lines, and keeps the line of the `cursor` in sight. `Moved` says that the user moved it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"pane--{name}" for name in STYLES}
    cursor: int = 0
    DEFAULT_CSS = "Pane { scrollbar-size-horizontal: 0; scrollbar-size-vertical: 1; overflow-x: hidden; }" + "".join(
        f"Pane > .pane--{name} {{ {rules} }}" for name, rules in STYLES.items() if name != "byte"
    ) + "Pane > .pane--byte { text-style: reverse; }"  # fmt: skip

    @dataclass
    class Moved(Message):
        """The cursor of a pane is on another line."""

        pane: Pane

    @property
    def count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def pieces(self, line: int, width: int) -> list[StyledText]:
        """Return what stands on a line."""
        raise NotImplementedError

    def highlight(self, line: int) -> str:
        """Return the style that lies under a line."""
        if line != self.cursor or not self.count:
            return ""
        return "cursor" if self.has_focus else "unfocused"

    def style_of(self, name: str) -> Style:
        """Return a style."""
        return self.get_component_rich_style(f"pane--{name}", partial=True) if name else Style.null()

    def refit(self) -> None:
        """Take note that there are more lines, or fewer, and draw them."""
        self.virtual_size = Size(self.size.width, self.count)
        self.cursor = max(min(self.cursor, self.count - 1), 0)
        self.refresh()

    def grew(self) -> None:
        """Take note that there are more lines after the others, and draw those that are to be seen."""
        before = self.virtual_size.height
        if before and before >= self.scroll_offset.y + self.size.height and self.count >= before:
            self.virtual_size = Size(self.size.width, self.count)
        else:
            self.refit()

    def render_line(self, y: int) -> Strip:
        """Draw a line of the screen."""
        width, line = self.size.width, y + self.scroll_offset.y
        base = self.rich_style
        if line >= self.count:
            return Strip.blank(width, base)
        under = self.highlight(line)
        if under:
            base += self.style_of(under)
        segments = [Segment(piece.text, base + self.style_of(piece.style)) for piece in self.pieces(line, width)]
        return Strip(segments).adjust_cell_length(width, base)

    def on_resize(self, event: Resize) -> None:
        """Fit the lines to the new width."""
        self.refit()
        self.show_cursor()

    def go(self, line: int, *, notify: bool = True) -> None:
        """Put the cursor on a line; `notify`: say so."""
        line = max(min(line, self.count - 1), 0)
        changed, self.cursor = line != self.cursor, line
        self.show_cursor()
        self.refresh()
        if changed and notify:
            self.post_message(self.Moved(self))

    def show_cursor(self) -> None:
        """Scroll to the cursor; a pane that is not laid out yet does so once it is."""
        if self.count and self.size.height:
            self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True, immediate=True)

    def move(self, lines: int) -> None:
        """Move the cursor by so many lines."""
        self.go(self.cursor + lines)

    def page(self, pages: int) -> None:
        """Move it by pages."""
        self.move(pages * max(self.size.height - 1, 1))

    def edge(self, direction: int) -> None:
        """Move it to the first or last line."""
        self.go(0 if direction < 0 else self.count - 1)

    def side(self, direction: int) -> None:
        """Go left or right, where that means something."""

    def enter(self) -> None:
        """Do what Enter does here."""

    def on_click(self, event: Click) -> None:
        """Put the cursor where the user clicked."""
        line = event.y + self.scroll_offset.y
        if line < self.count:
            self.clicked(line, event.x)

    def clicked(self, line: int, column: int) -> None:
        """Take a click on a line."""
        self.go(line)
