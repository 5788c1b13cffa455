"""Every key, declared once: the screen binds them, its help lists them, and tests press them all."""

from __future__ import annotations

from typing import NamedTuple

from .views import VIEWS


class Key(NamedTuple):
    """Keys as Textual names them, with commas between; how they are shown; what they do; help; its section."""

    keys: str
    shown: str
    action: str
    help: str
    section: str


MOVE, FIND, SHOW, TAKE, HOLD = "Move", "Find", "Show", "Take", "Hold (proxy)"
KEYS = (
    Key("down,j", "↓ j", "cursor('move', 1)", "next line", MOVE),
    Key("up,k", "↑ k", "cursor('move', -1)", "previous line", MOVE),
    Key("pagedown,space", "PgDn", "cursor('page', 1)", "next page", MOVE),
    Key("pageup,b", "PgUp b", "cursor('page', -1)", "previous page", MOVE),
    Key("home,g", "Home g", "cursor('edge', -1)", "first line", MOVE),
    Key("end,G", "End G", "cursor('edge', 1)", "last line", MOVE),
    Key("left,h", "← h", "cursor('side', -1)", "fold a field; in bytes, the previous byte", MOVE),
    Key("right,l", "→ l", "cursor('side', 1)", "unfold a field; in bytes, the next byte", MOVE),
    Key("enter", "Enter", "cursor('enter')", "from an exchange to its fields; fold or unfold a field", MOVE),
    Key("tab", "Tab", "pane(1)", "next pane, such as exchanges, fields, bytes", MOVE),
    Key("shift+tab", "Sh-Tab", "pane(-1)", "previous pane", MOVE),
    Key("r", "r", "other", "switch between request and response", MOVE),
    Key("f", "f", "follow", "follow: stay at the last exchange", MOVE),
    Key("slash", "/", "filter", "filter: an expression, or options such as --topic orders --errors", FIND),
    Key("escape", "Esc", "leave", "close the line or page; back to the exchanges", FIND),
    Key("e", "e", "find('error', 1)", "next failed exchange", FIND),
    Key("E", "E", "find('error', -1)", "previous one", FIND),
    Key("c", "c", "find('connection', 1)", "next exchange of this connection", FIND),
    Key("C", "C", "find('connection', -1)", "previous one", FIND),
    Key("right_square_bracket", "]", "find('client', 1)", "next exchange of this client", FIND),
    Key("left_square_bracket", "[", "find('client', -1)", "previous one", FIND),
    Key("t", "t", "find('topic', 1)", "next exchange of this topic", FIND),
    Key("T", "T", "find('topic', -1)", "previous one", FIND),
    Key("o", "o", "find('group', 1)", "next exchange of this group", FIND),
    Key("O", "O", "find('group', -1)", "previous one", FIND),
    Key("p", "p", "find('producer', 1)", "next exchange of this producer", FIND),
    Key("P", "P", "find('producer', -1)", "previous one", FIND),
    Key("n", "n", "find('mark', 1)", "next marked exchange", FIND),
    Key("N", "N", "find('mark', -1)", "previous one", FIND),
    Key("s", "s", "sort", "sort by the next column", SHOW),
    Key("S", "S", "reverse", "reverse the sort order", SHOW),
    *(Key(view.key, view.key, f"below('{view.name}')", view.help, SHOW) for view in VIEWS),
    Key("v", "v", "view", "next view", SHOW),
    Key("z", "z", "fold_all", "fold or unfold all fields", SHOW),
    Key("plus,equals_sign", "+", "share(1)", "enlarge the list of exchanges", SHOW),
    Key("minus", "-", "share(-1)", "shrink the list of exchanges", SHOW),
    Key("d", "d", "dark", "switch between dark and light", SHOW),
    Key("a", "a", "notes", "messages about the source", SHOW),
    Key("m", "m", "mark", "mark or unmark an exchange", TAKE),
    Key("M", "M", "unmark", "unmark all", TAKE),
    Key("w", "w", "write", "write marked exchanges as a capture", TAKE),
    Key("x", "x", "copy('hex')", "copy the bytes of a field as hex", TAKE),
    Key("y", "y", "copy('json')", "copy the exchange as JSON", TAKE),
    Key("u", "u", "copy('send')", "copy the `kdbg send` command that sends the request again", TAKE),
    Key("question_mark", "?", "help", "this page", SHOW),
    Key("q", "q", "quit", "quit", SHOW),
)
HOLD_KEYS = (
    Key("i", "i", "intercept", "set what to hold: an expression or options; empty for nothing", HOLD),
    Key("H", "H", "held", "go to the held messages", HOLD),
    Key("V", "V", "change_field", "change the field under the cursor of a held message", HOLD),
    Key("B", "B", "change_bytes", "change the selected bytes", HOLD),
    Key("F", "F", "resume", "forward the held message", HOLD),
    Key("A", "A", "resume_all", "forward all held messages", HOLD),
    Key("D", "D", "drop", "drop the selected held message", HOLD),
    Key("R", "R", "repeat", "resend the selected request on its connection", HOLD),
)
"""The keys that the screen of the proxy has beside the others."""
SHORT = {"?": "help", "/": "filter", "e": "next error", "s": "sort", "m": "mark", "w": "write", "v": "view",
         "Tab": "pane", "q": "quit"}  # fmt: skip
"""The keys in the last line of the screen, and what follows them."""
