"""Every view, declared once: commands, `kdbg.render` and the tests take them from this table.

To add one, add an entry to `VIEWS`: what it makes of an exchange, and, where it has something to say there, of a piece
of a broker's file and of explained bytes. What an entry needs is imported when it is used, so that `--help` is instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ...errors import InputError

if TYPE_CHECKING:
    from ...exchanges.guess.pieces import GuessedSpan
    from ...exchanges.messages.exchange import Exchange
    from ...exchanges.messages.message import Message
    from ...exchanges.messages.peers import Attempts
    from ...payloads.segments import File
    from ...payloads.segments import SegmentPiece as FilePiece
    from ...protocol.wire.readings.topics import Topics
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


def _attempts(look: Look, found: Sequence[Attempts]) -> Text:
    from .findings import attempts_lines

    return attempts_lines(found, look)


@dataclass(frozen=True)
class View:
    """One view: `about` says in a few words what it shows.

    `exchange` makes what renders exchanges; `header` is what stands above the first of them, given when that was, in
    nanoseconds since 1970, None where there is none. `piece` does so for the
    pieces of a file of a broker's disk, given the file and its name, with `piece_header` above. `message` renders one
    message; None where only an exchange can be shown. `explained` renders a piece of pasted bytes and says whether all
    of it could be explained. `shallow`: it needs no records and no payloads.
    `data`: it is for programs, and nothing but its lines is printed. `attempts` tells of connections that were asked
    for in vain, below the last exchange of a capture; None where each line is an exchange.
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
    attempts: Callable[[Look, Sequence[Attempts]], Text] | None = None


def _attempts_json(look: Look, found: Sequence[Attempts]) -> Text:
    from .jsonlines import attempts_json

    return attempts_json(found)


def _tree(look: Look, topics: Topics) -> ExchangeView:
    if look.only_errors:
        from .tree.compact import FailuresView

        return FailuresView(look, topics)
    if look.compact or look.depth is not None:
        from .tree.compact import CompactView

        return CompactView(look, topics)
    from .tree.view import TreeView

    return TreeView(look, topics)


def _tree_pieces(look: Look, file: File, name: str) -> PieceView:
    from .segments import Trees

    return Trees(look, file)


def _tree_explained(data: bytes, piece: GuessedSpan, look: Look) -> tuple[Text, bool]:
    from .explanation import tree_text

    return tree_text(data, piece, look)


def _summary(look: Look, topics: Topics) -> ExchangeView:
    from .summary import Summary

    return Summary(look, topics)


def _summary_header(look: Look, time: int | None) -> str:
    from .summary import header

    return header(look, time)


def _summary_pieces(look: Look, file: File, name: str) -> PieceView:
    from .segments import LogSummary, Trees

    return LogSummary(look) if file.is_log else Trees(look, file)


def _summary_pieces_header(look: Look, file: File) -> str:
    from .segments import header

    return header(look) if file.is_log else ""


def _hex(look: Look, topics: Topics) -> ExchangeView:
    from .hex.view import HexView

    return HexView(look, topics)


def _hex_pieces(look: Look, file: File, name: str) -> PieceView:
    from .segments import Hexdumps

    return Hexdumps(look, file)


def _hex_explained(data: bytes, piece: GuessedSpan, look: Look) -> tuple[Text, bool]:
    from .explanation import hex_text

    return hex_text(data, piece, look)


def _json(look: Look, topics: Topics) -> ExchangeView:
    from .json_view import JsonView

    return JsonView(look, topics)


def _json_pieces(look: Look, file: File, name: str) -> PieceView:
    from .segments import JsonLines

    return JsonLines(look, file, name)


def _json_explained(data: bytes, piece: GuessedSpan, look: Look) -> tuple[Text, bool]:
    from .explanation import json_line

    return json_line(data, piece, look)


def _tree_message(message: Message, look: Look, topics: Topics) -> Text:
    from .tree.tree import message_tree

    return message_tree(message, look, topics)


def _hex_message(message: Message, look: Look, topics: Topics) -> Text:
    from .hex.hexdump import message_hexdump

    return message_hexdump(message, look, topics)


def _json_message(message: Message, look: Look, topics: Topics) -> Text:
    from .jsonlines import dump, json_body

    return dump(json_body(message, look), show_secrets=look.show_secrets)


VIEWS: dict[str, View] = {
    "tree": View(
        "every field with its name and meaning",
        _tree,
        piece=_tree_pieces,
        message=_tree_message,
        explained=_tree_explained,
        attempts=_attempts,
    ),
    "summary": View(
        "one line per exchange", _summary, _summary_header, _summary_pieces, _summary_pieces_header, shallow=True
    ),
    "hex": View(
        "every byte with its field",
        _hex,
        piece=_hex_pieces,
        message=_hex_message,
        explained=_hex_explained,
        attempts=_attempts,
    ),
    "json": View(
        "one JSON object per line, lossless",
        _json,
        piece=_json_pieces,
        message=_json_message,
        explained=_json_explained,
        data=True,
        attempts=_attempts_json,
    ),
}
"""The views by their names; whoever adds one at run time adds it here."""


def view(name: str) -> View:
    """Return the view of a name; raise `InputError`, which names the nearest, where there is none."""
    found = VIEWS.get(name)
    if found is None:
        import difflib

        near = difflib.get_close_matches(name, VIEWS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"use {', '.join(VIEWS)}"
        raise InputError(f"unknown view {name!r}; {hint}")
    return found
