"""Every view, declared once: commands, `kdbg.render` and the tests take them from this table.

To add one, add an entry to `VIEWS`: what it makes of an exchange, and, where it has something to say there, of a piece
of a broker's file and of explained bytes. What an entry needs is imported when it is used, so that `--help` is instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import InputError

if TYPE_CHECKING:
    from ...exchanges.guess.pieces import GuessedSpan
    from ...exchanges.messages.exchange import Exchange
    from ...exchanges.messages.message import Message
    from ...exchanges.messages.peers import Attempts
    from ...payloads.segments import File
    from ...payloads.segments import SegmentPiece as FilePiece
    from ...protocol.wire.readings.outline import Topics
    from .style import Look

Text: TypeAlias = str | bytes
ExchangeView: TypeAlias = "Callable[[Exchange], Text]"
"""Renders an exchange, lines included.

One with a method `pieces` returns the text of a long exchange in pieces too; `begin` is given the time of the first.
"""
LONG = 1 << 16
"""Bytes of an exchange from which on its text is not held whole where it can be had in pieces."""
PieceView: TypeAlias = "Callable[[int, FilePiece, Message | None], Text]"
"""Renders a piece of a broker's file, given its number and what it says; zeros say nothing."""


def texts(render: ExchangeView, exchange: Exchange) -> Iterable[Text]:
    """Return the text of an exchange: that of a long one in pieces, where the view has them."""
    pieces: Callable[[Exchange], Iterable[Text]] | None = getattr(render, "pieces", None)
    return pieces(exchange) if pieces is not None and exchange.size > LONG else (render(exchange),)


def defer(module: str, name: str) -> Callable[..., Any]:
    """Return what calls a function or class of a module beside this one, which is imported then."""

    def call(*given: Any) -> Any:
        return getattr(import_module(f".{module}", __package__), name)(*given)

    return call


@dataclass(frozen=True)
class View:
    """One view: `about` says in a few words what it shows.

    `exchange` makes what renders exchanges; `header` is what stands above the first of them, given when that was, in
    nanoseconds since 1970, None where there is none. `piece` does so for the
    pieces of a file of a broker's disk, given the file and its name, with `piece_header` above. `message` renders one
    message; None where only an exchange can be shown. `explained` renders a piece of pasted bytes and says whether all
    of it could be explained. `shallow`: it needs no records and no payloads.
    `data`: it is for programs, and nothing but its lines is printed. `attempts` renders connection attempts
    that failed, below the last exchange of a capture; None where each line is an exchange.
    """

    about: str
    exchange: Callable[[Look, Topics], ExchangeView]
    header: Callable[[Look, int | None], str] = lambda look, time: ""
    piece: Callable[[Look, File, str], PieceView] | None = None
    piece_header: Callable[[Look, File], str] = lambda look, file: ""
    message: Callable[[Message, Look, Topics], Text] | None = None
    explained: Callable[[bytes, GuessedSpan, Look], tuple[Text, bool]] | None = None
    shallow: bool = False
    data: bool = False
    attempts: Callable[[Sequence[Attempts], Look], Text] | None = None


def _tree(look: Look, topics: Topics) -> ExchangeView:
    if look.only_errors or look.compact or look.depth is not None:
        from .tree.compact import CompactView, FailuresView

        return FailuresView(look, topics) if look.only_errors else CompactView(look, topics)
    from .tree.source import TreeView

    return TreeView(look, topics)


VIEWS: dict[str, View] = {
    "tree": View(
        "every field with its name and meaning",
        _tree,
        piece=defer("segments", "Trees"),
        message=defer("tree.tree", "message_tree"),
        explained=defer("explanation", "tree_text"),
        attempts=defer("findings", "attempts_lines"),
    ),
    "summary": View(
        "one line per exchange",
        defer("summary", "Summary"),
        defer("summary", "header"),
        defer("segments", "summary"),
        defer("segments", "header"),
        shallow=True,
    ),
    "hex": View(
        "every byte with its field",
        defer("hex.view", "HexView"),
        piece=defer("segments", "Hexdumps"),
        message=defer("hex.hexdump", "message_hexdump"),
        explained=defer("explanation", "hex_text"),
        attempts=defer("findings", "attempts_lines"),
    ),
    "json": View(
        "one JSON object per line, lossless",
        defer("json_source", "JsonView"),
        piece=defer("segments", "JsonLines"),
        message=defer("jsonlines", "message_json"),
        explained=defer("explanation", "json_line"),
        data=True,
        attempts=defer("jsonlines", "attempts_json"),
    ),
}
"""The views by their names; one that is added at run time is added here."""


def view(name: str) -> View:
    """Return the view of a name; raise `InputError`, which names the nearest, where there is none."""
    found = VIEWS.get(name)
    if found is None:
        import difflib

        near = difflib.get_close_matches(name, VIEWS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"use {', '.join(VIEWS)}"
        raise InputError(f"unknown view {name!r}; {hint}")
    return found
