"""What kdbg has read, as text: any view of an exchange, of an entry of a file, or of one message."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape as escape_html
from typing import Protocol
from uuid import UUID

from ...errors import InputError
from ...exchanges.messages.exchange import Exchange as CapturedExchange
from ...exchanges.messages.message import Message
from ...protocol.wire.readings.outline import ALWAYS
from .style import Look
from .views import VIEWS, view


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

    `width` is in columns; `full` shows long arrays and values whole; `topics` has the names of topic ids. The
    summary is a view of exchanges only; a message of a log line has no hexdump, because its bytes are not known.

    Raises `InputError` for an unknown view, or one that does not show this.
    """
    look = Look("TRUECOLOR" if color else "", width, full, show_secrets, long_lines=full)
    shown = view(format)
    if not isinstance(what, (CapturedExchange, Message)):
        return what.text(format, look=look)
    if isinstance(what, CapturedExchange):
        text = shown.exchange(look, topics)(what)
    elif shown.message is not None:
        text = shown.message(what, look, topics)
    else:
        views = ", ".join(name for name, each in VIEWS.items() if each.message is not None)
        raise InputError(f"the view {format!r} shows exchanges, not single messages; use {views}")
    return text.decode() if isinstance(text, bytes) else text


def html(text: str) -> str:
    """Return text for a notebook: what was captured is escaped once more, for there it would be markup."""
    return f"<pre>{escape_html(text)}</pre>"
