"""What kdbg has read, as text: any view of an exchange or of an entry of a file, a tree or JSON of one message."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape as escape_html
from typing import Protocol
from uuid import UUID

from ..errors import InputError
from ..messages.exchange import Exchange as CapturedExchange
from ..messages.message import Message
from ..wire.readings.topic_names import ALWAYS
from .jsonlines import dump, json_body
from .look import Look
from .tree import Tree
from .views import view
from .without_values import shown_body


class HasText(Protocol):
    """Has a text in each view, as an entry of a broker's file does."""

    def text(self, format: str = "tree", *, look: Look | None = None) -> str:
        """Return it in one of the views."""


def render(
    what: CapturedExchange | Message | HasText,
    format: str = "tree",
    *,
    width: int = 100,
    full: bool = True,
    color: bool = False,
    show_secrets: bool = False,
    topics: Mapping[UUID, str] = ALWAYS,
) -> str:
    """Return an exchange, an entry of a broker's file or a message as `kdbg decode` shows it.

    `width` is in columns; `full` shows long arrays and values whole; `topics` tells the names of topic ids. A message
    knows nothing of its bytes any more: it has no view but tree and json.

    Raises `InputError` for a view that there is not, or that does not show this.
    """
    look = Look("TRUECOLOR" if color else "", width, full, show_secrets, long_lines=full)
    shown = view(format)
    if isinstance(what, CapturedExchange):
        return _text(shown.exchange(look, topics)(what))
    if not isinstance(what, Message):
        return what.text(format, look=look)
    if format not in ("tree", "json"):
        raise InputError(f"a message has no view {format!r}; there are tree and json")
    if shown.data:
        return _text(dump(json_body(what, look), show_secrets=show_secrets))
    tree = Tree(look, topics)
    body = shown_body(what, look)
    tree.struct(what.grammar)(body, f"{what.api.name} {what.direction} v{what.version}", "")
    return tree.take()


def html(text: str) -> str:
    """Return text for a notebook: what was captured is escaped once more, for there it would be markup."""
    return f"<pre>{escape_html(text)}</pre>"


def _text(rendered: str | bytes) -> str:
    return rendered.decode() if isinstance(rendered, bytes) else rendered
