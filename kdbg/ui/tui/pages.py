"""Pages over the screen: the keys, and what was said about the source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from .keys import Key, sections

WIDEST = 8
"""Columns of the names of keys."""


class Page(ModalScreen[None]):
    """A text to read; any of its keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss", "close"), ("q", "dismiss", "close"), ("question_mark", "dismiss", "close"),
        ("a", "dismiss", "close"), ("enter", "dismiss", "close"),
    ]  # fmt: skip
    DEFAULT_CSS = """
    Page { align: center middle; }
    Page VerticalScroll {
        width: 78; max-width: 100%; max-height: 100%; height: auto; background: $panel; padding: 0 1;
    }
    """

    def __init__(self, text: Text) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        with VerticalScroll():
            yield Static(self._text)

    def on_click(self) -> None:
        """Close it."""
        self.dismiss()


def help_text(all_keys: Sequence[Key]) -> Text:
    """Return keys with what they do."""
    text = Text()
    for section, keys in sections(all_keys).items():
        text.append(f"{section}\n", "bold")
        for key in keys:
            text.append(f"  {key.shown:<{WIDEST}}", "bold").append(f"{key.help}\n")
    return text.append("With the mouse: click a row, a field, a byte, the title of a column; scroll with its wheel.")


def notes_text(notes: list[str]) -> Text:
    """Return what was said about the source."""
    return Text("\n".join(notes) or "no messages about the source")
