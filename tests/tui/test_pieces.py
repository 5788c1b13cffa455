"""What panes draw: columns and their widths, the tree of fields, lines of bytes, values of tables, the first line."""

from __future__ import annotations

from datetime import UTC, datetime
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unicodedata import lookup

from rich.text import Text
from textual.actions import parse
from textual.keys import KEY_NAME_REPLACEMENTS, Keys

import kdbg
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.ui.tui.app import COPIES, OF_NAMES, OF_WHO, Browser, help_text, hex_of, send_command
from kdbg.ui.tui.contents import Looked, cell_text
from kdbg.ui.tui.feed import Progress
from kdbg.ui.tui.fields import (
    MANY,
    Branch,
    Branches,
    ByteRange,
    Bytes,
    MessageFields,
    OpenedExchange,
    OpenedField,
    opened,
)
from kdbg.ui.tui.intercept import Intercepting
from kdbg.ui.tui.keys import HOLD_KEYS, KEYS, SHORT
from kdbg.ui.tui.pane import StyledText
from kdbg.ui.tui.panes import WIDE, DumpCell, DumpLine, ExchangeDump, Fields, per_line
from kdbg.ui.tui.panes import Bytes as BytesPane
from kdbg.ui.tui.status_bar import field_text, keys_text, title
from kdbg.ui.tui.table import Column, columns, fitted
from kdbg.ui.tui.views import VIEWS
from kdbg.views.render.style import Look
from kdbg.views.render.values import cells

CAPTURES = Path(__file__).resolve().parents[2] / "captures"


def test_columns_have_the_room_that_there_is() -> None:
    def shown(width: int) -> list[tuple[str, int]]:
        return [(column.name, column.width) for column in columns(width)]

    front, back = [("number", 6), ("time", 12)], [("request", 4), ("response", 4), ("latency", 5)]
    narrow = [*front, ("ends", 4), ("api", 20), *back]
    middle = [*front, ("ends", 4), ("client id", 14), ("api", 24), *back]
    wide = [*front, ("ends", 43), ("client id", 14), ("api", 24), *back]
    assert shown(80) == [*narrow, ("flags", 80 - 1 - 55 - 7)]
    assert shown(109) == [*narrow, ("flags", 109 - 1 - 55 - 7)]
    assert shown(110) == [*middle, ("flags", 110 - 1 - 73 - 8)]
    assert shown(149) == [*middle, ("flags", 149 - 1 - 73 - 8)]
    assert shown(150) == [*wide, ("flags", 150 - 1 - 112 - 8)]
    assert [shown(width)[-1] for width in (71, 72, 40)] == [("flags", 8), ("flags", 9), ("flags", 8)]
    assert [column.title for column in columns(150)] == [
        "#", "time UTC", "client → broker", "client id", "API", "req", "resp", "lat", "details",
    ]  # fmt: skip
    assert columns(80)[2].title == "conn"
    assert [column.name for column in columns(150) if column.right] == ["number", "request", "response", "latency"]
    assert Column("x", "x", 1).right is False


def test_pieces_fill_exactly_a_width() -> None:
    pieces = [StyledText("ab", "x"), StyledText("cde")]
    assert fitted(pieces, 8) == [StyledText("ab", "x"), StyledText(" "), StyledText("cde"), StyledText("  ")]
    assert fitted(pieces, 6) == [StyledText("ab", "x"), StyledText(" "), StyledText("cde"), StyledText("")]
    assert fitted(pieces, 5) == [StyledText("ab", "x"), StyledText(" "), StyledText("c…"), StyledText("")]
    assert fitted(pieces, 4) == [StyledText("ab", "x"), StyledText(" "), StyledText("…"), StyledText("")]
    assert fitted(pieces, 3) == [StyledText("ab", "x"), StyledText("…"), StyledText("")]
    assert fitted(pieces, 2) == [StyledText("ab", "x"), StyledText("")]
    assert fitted([], 3) == [StyledText("   ")]
    assert fitted(pieces, 0) == [StyledText("")]


def field(
    path: str, start: int = 0, end: int = 0, *, says: str = "1", hidden: bool = False, buffer: int = 0
) -> OpenedField:
    return OpenedField(path, says, "INT32", "means", ByteRange(buffer, start, end) if end else None, hidden)


def drawn(tree: Branches) -> list[str]:
    """Each line of a tree: its depth as blanks, whether it is folded, its path, its note."""
    return [f"{'  ' * one.depth}{'+' * one.folded}{one.path}{' ' * bool(one.note)}{one.note}" for one in tree.lines]


def small() -> OpenedExchange:
    fields = [
        field("size", 0, 4), field("topics", 4, 8), field("topics[0].name", 8, 12),
        field("topics[0].parts[0].id", 12, 14),
        field("topics[0].parts[1].id", 20, 22), field("topics[1].name", 14, 16, buffer=1), field("throttle", 22, 26),
        field("throttle", 26, 27),
    ]  # fmt: skip
    return OpenedExchange(
        [MessageFields("request", fields, notes=["! odd"]), MessageFields("response", missing="not in the capture")], []
    )


def test_fields_are_a_tree() -> None:
    tree = Branches(small())
    assert drawn(tree) == [
        "request", "   ! odd", "  size", "  topics", "    topics[0]", "      topics[0].name", "      topics[0].parts",
        "        topics[0].parts[0]", "          topics[0].parts[0].id", "        topics[0].parts[1]",
        "          topics[0].parts[1].id", "    topics[1]", "      topics[1].name", "  throttle", "  throttle",
        "response not in the capture",
    ]  # fmt: skip
    assert [one.part for one in tree.lines] == [0] * 15 + [1]
    topics, first, parts = tree.lines[3], tree.lines[4], tree.lines[6]
    assert topics.places == [ByteRange(0, 4, 22), ByteRange(1, 14, 16)]
    assert (first.places, parts.places, tree.lines[1].places) == ([ByteRange(0, 8, 22)], [ByteRange(0, 12, 22)], [])
    assert tree.branch_of(small().parts[0].fields[0]) is None
    leaf = first.below[0].leaf
    assert leaf is not None
    assert tree.branch_of(leaf) is first.below[0]


def test_branches_are_folded() -> None:
    tree = Branches(small())
    topics, first, parts = tree.lines[3], tree.lines[4], tree.lines[6]
    tree.fold(topics)
    assert drawn(tree) == [
        "request",
        "   ! odd",
        "  size",
        "  +topics",
        "  throttle",
        "  throttle",
        "response not in the capture",
    ]
    assert tree.line_of(parts) == 6, "what it stands in is unfolded"
    tree.fold(first)
    tree.fold(first, folded=True)
    assert drawn(tree)[4:6] == ["    +topics[0]", "    topics[1]"]
    tree.fold(first)
    tree.fold(first, folded=False)
    assert len(tree.lines) == 16
    tree.fold(tree.lines[2])
    assert not tree.lines[2].folded, "nothing is below it"
    tree.fold_all(folded=True)
    assert drawn(tree) == [
        "request",
        "   ! odd",
        "  size",
        "  +topics",
        "  throttle",
        "  throttle",
        "response not in the capture",
    ]
    assert (first.folded, parts.folded, tree.roots[0].folded, tree.lines[2].folded) == (True, True, False, False)
    tree.fold_all(folded=False)
    assert len(tree.lines) == 16


def test_branches_that_say_the_same_are_told_apart() -> None:
    tree = Branches(OpenedExchange([MessageFields("request", notes=["! odd", "! odd"])], []))
    assert [tree.line_of(one) for one in tree.lines] == [0, 1, 2]


def test_items_of_long_lists_are_folded_at_first() -> None:
    def folded(items: int, others: int = 0) -> int:
        fields = [field(f"list[{at}].id") for at in range(items)] + [field(f"x{at}") for at in range(others)]
        return sum(one.folded for one in Branches(OpenedExchange([MessageFields("request", fields)], [])).lines)

    assert [folded(MANY), folded(MANY + 1), folded(MANY - 1, 9), folded(MANY, 9)] == [0, MANY + 1, 0, 0]
    plain = [field(f"list[{at}]") for at in range(MANY + 1)]
    assert not any(one.folded for one in Branches(OpenedExchange([MessageFields("request", plain)], [])).lines)
    assert MANY == 24
    assert drawn(Branches(OpenedExchange([MessageFields("x", [field("")])], []))) == ["x", "  "]


def test_fields_are_drawn_with_what_they_say() -> None:
    pane = Fields()
    pane.branches = Branches(small())
    assert pane.count == 16
    assert [pane.pieces(line, 40) for line in (0, 1, 15)] == [
        [StyledText("▾ "), StyledText("request", "heading"), StyledText("", "dim")],
        [StyledText("    "), StyledText("! odd", "note")],
        [StyledText("  "), StyledText("response", "heading"), StyledText("  not in the capture", "dim")],
    ]  # fmt: skip
    assert pane.pieces(2, 20) == [
        StyledText("    ", "dim"),
        StyledText("size", "name"),
        StyledText(" "),
        StyledText("1"),
        StyledText(" " * 10),
    ]
    assert pane.pieces(4, 20)[:2] == [StyledText("    ▾ ", "dim"), StyledText("[0]", "name")]
    assert pane.pieces(4, 20)[3:] == [StyledText("1", "dim"), StyledText(" " * 9)]
    pane.branches.fold(pane.branches.lines[4])
    assert pane.pieces(4, 20)[0] == StyledText("    ▸ ", "dim")
    hidden = OpenedExchange([MessageFields("r", [field("secret", hidden=True)], notes=["✗ bad"])], [])
    pane.branches = Branches(hidden)
    assert pane.pieces(2, 9) == [
        StyledText("    ", "dim"),
        StyledText("secret", "name"),
        StyledText(" "),
        StyledText("1", "note"),
        StyledText(""),
    ]
    assert pane.pieces(1, 9) == [StyledText("    "), StyledText("✗ bad", "bad")]
    assert pane.branch is pane.branches.lines[0]
    pane.cursor = 3
    assert pane.branch is None


def dumped() -> OpenedExchange:
    first = Bytes("request: 20 bytes", bytes(range(60, 80)), 0)
    first.fields = [field("a", 0, 4), field("b", 4, 8, hidden=True), field("c", 10, 20)]
    second = Bytes("records", b"\x00A\xff", 0, [field("d", 1, 2, buffer=1)])
    return OpenedExchange([MessageFields("request")], [first, second])


def test_bytes_stand_on_lines() -> None:
    dump = ExchangeDump(dumped(), 8)
    assert (len(dump), len(ExchangeDump(dumped(), 16)), len(ExchangeDump(OpenedExchange([], []), 8))) == (6, 5, 0)
    assert [dump.line(number)[:3] for number in range(6)] == [
        (0, -1, "request: 20 bytes"), (0, 0, ""), (0, 8, ""), (0, 16, ""), (1, -1, "records"), (1, 0, ""),
    ]  # fmt: skip
    assert dump.line(0) == DumpLine(0, -1, "request: 20 bytes", [])
    assert dump.line(1).cells == [
        *(DumpCell(f"{byte:02x}", chr(byte), 0, at) for at, byte in enumerate(range(60, 64))),
        *(DumpCell("**", "*", 1, at) for at in range(4, 8)),
    ]
    assert [(cell.field, cell.place) for cell in dump.line(2).cells] == [
        (None, 8),
        (None, 9),
        *((2, at) for at in range(10, 16)),
    ]
    assert len(dump.line(3).cells) == 4
    assert dump.line(5).cells == [DumpCell("00", ".", None, 0), DumpCell("41", "A", 0, 1), DumpCell("ff", ".", None, 2)]
    assert [
        dump.line_of(ByteRange(buffer, at, at + 1)) for buffer, at in ((0, 0), (0, 7), (0, 8), (0, 19), (1, 0))
    ] == [
        1,
        1,
        2,
        3,
        5,
    ]
    assert [one and one.path for one in (dump.opened.buffers[0].at(at) for at in (0, 3, 4, 8, 9, 10, 19))] == [
        "a", "a", "b", None, None, "c", "c",
    ]  # fmt: skip
    assert dump.opened.buffers[1].at(0) is None
    assert [per_line(width) for width in (WIDE - 1, WIDE)] == [8, 16]
    assert WIDE == 71


def test_bytes_are_drawn_in_the_colours_of_their_fields() -> None:
    pane = BytesPane()
    pane.dump = ExchangeDump(dumped(), 8)
    pane.lit = [ByteRange(0, 1, 3), ByteRange(1, 0, 9)]
    assert pane.pieces(0, 9) == [StyledText("request:…", "heading")]
    styles = ["field0", "lit", "lit", "field0", *["field1"] * 4]
    drawn = pane.pieces(1, 80)
    assert "".join(piece.text for piece in drawn) == "0000  3c 3d 3e 3f ** ** ** **  <=>?****"
    assert [piece.style for piece in drawn if piece.text.strip() and len(piece.text.strip()) == 1] == styles
    assert StyledText("3d ", "lit") in drawn, "the blank between two that are lit is lit"
    assert StyledText("3e", "lit") in drawn
    assert "".join(piece.text for piece in pane.pieces(5, 80)) == "0000  00 41 ff" + " " * 17 + ".A."
    assert {piece.style for piece in pane.pieces(5, 80) if len(piece.text) == 1 and piece.text != " "} == {"lit"}
    assert "".join(piece.text for piece in pane.pieces(3, 80)).startswith("0010  4c 4d")
    assert [piece.style for piece in pane.pieces(2, 80) if piece.text in ("D", "F")] == ["bad", "field2"]
    assert (pane.count, pane.highlight(1)) == (6, "")


def test_values_of_tables_as_text() -> None:
    values: list[tuple[Any, str]] = [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02 03:04:05+00:00"),
        (b"\x01\xff", "01 ff"), (b"", "no bytes"),
        ({"a": 1, "b\n": "x"}, 'a: 1, b\\n: "x"'), ([1, "a"], '1, "a"'), ((), ""), (True, "true"), (False, "false"),
        ("a\tb", '"a\\tb"'), (5, "5"), (1.5, "1.5"), (None, "None"),
    ]  # fmt: skip
    assert [cell_text(value) for value, _ in values] == [text for _, text in values]


def shown(**other: Any) -> str:
    """The first line in many columns, without what stands in front of it."""
    return titled(400, **other).plain


def titled(width: int, **other: Any) -> Text:
    """The first line of a screen that shows 5 of 1,234 exchanges, but for what is given."""
    given: dict[str, Any] = {
        "files": ["a.pcap"], "whole": 1234, "shown": 5, "filter": "", "filtering": False, "marked": 0, "by": "",
        "descending": False, "following": False, "over": True, "read": 0, "size": None, "notes": False,
        "forgotten": 0, "lost": 0, "live": False, "holding": "", "held": 0,
    } | other  # fmt: skip
    it = SimpleNamespace(**given)
    index = Counted(it.whole)
    index.first = it.forgotten
    feed = SimpleNamespace(
        index=index, progress=Progress(it.read, it.size, it.lost), most=5 if it.live else None, over=it.over,
        notes=["a note"] * it.notes,
    )  # fmt: skip
    order = Counted(it.shown)
    order.by, order.descending = it.by, it.descending
    shell: Any = SimpleNamespace(
        feed=feed, order=order, files=it.files, filter=it.filter, filtering=it.filtering, following=it.following,
        marked=set(range(it.marked)), holding=it.holding, held_count=it.held,
    )  # fmt: skip
    return title(shell, width)


class Counted(SimpleNamespace):
    """Something that has a length."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def __len__(self) -> int:
        return self.length


def test_the_first_line_says_what_is_shown() -> None:
    head = " kdbg browse a.pcap · 1,234 exchanges"
    lines: list[tuple[dict[str, Any], str]] = [
        ({}, ""), ({"forgotten": 234}, " · last 1,000 kept"), ({"lost": 1}, " · 1 packet not shown: arriving too fast"),
        ({"lost": 2000}, " · 2,000 packets not shown: arriving too fast"), ({"filter": "a\n"}, " · 5 shown: a\\n"),
        ({"filter": "a", "filtering": True, "shown": 5000}, " · 5,000 shown so far: a"), ({"marked": 3}, " · 3 marked"),
        ({"by": "time"}, " · by time ↑"), ({"by": "time", "descending": True}, " · by time ↓"),
        ({"following": True}, " · following"), ({"holding": "x"}, " · 0 held: x"), ({"held": 2}, " · 2 held: "),
        ({"over": False}, " · reading"), ({"over": False, "size": 300, "read": 100}, " · reading 33 %"),
        ({"over": False, "size": 0, "notes": True}, " · reading"), ({"notes": True}, " · a: notes"),
        ({"files": list("abc")}, None), ({"files": list("abcd")}, None),
    ]  # fmt: skip
    for given, line in lines:
        if line is not None:
            assert shown(**given) == head + line
    assert shown(files=list("abc")).startswith(" kdbg browse a, b, c · ")
    assert shown(files=list("abcd")).startswith(" kdbg browse a, b, c … · ")
    assert shown(whole=1) == " kdbg browse a.pcap · 1 exchange"
    assert [shown(live=True), shown(live=True, over=False)] == [
        " kdbg a.pcap · 1,234 exchanges · ended", " kdbg a.pcap · 1,234 exchanges · live",
    ]  # fmt: skip
    assert titled(80, files=["x" * 90], whole=1).plain == f" kdbg browse {'x' * 52}… · 1 exchange"
    assert titled(20, files=["x" * 90], whole=1).plain == f" kdbg browse {'x' * 11}… · 1 exchange"


def test_below_stands_which_field_it_is() -> None:
    root = Branch("request", None, note="20 bytes")
    note = Branch("", root, note="! odd")
    leaf = Branch("a", root, leaf=field("a", 0, 4, says="5"))
    one = Branch("b", root, leaf=OpenedField("b", "x", "INT8: y", "m" * 90, ByteRange(0, 4, 5)))
    bare = Branch("c", root, leaf=field("c"))
    root.below += [note, leaf, one, bare]
    assert [field_text(branch, 80).plain for branch in (None, note, root, leaf, bare)] == [
        "", "! odd", "request  5 bytes\n20 bytes", "a  INT32, 4 bytes  5\nmeans", "c  INT32  1\nmeans",
    ]  # fmt: skip
    assert field_text(one, 80).plain == f"b  INT8, 1 byte  x\n{'m' * 79}…"
    assert field_text(Branch("e", root), 80).plain == "e  \n"
    assert field_text(leaf, 8).plain == "a  INT3…\nmeans"
    assert cells(field_text(leaf, 5).plain.splitlines()[0]) <= 5


def looks(text: Text) -> tuple[str, list[tuple[str, str]], bool | None, str | None]:
    """The style of a text, that of its parts, and what becomes of one that is too long."""
    return (
        str(text.style), [(text.plain[one.start : one.end], str(one.style)) for one in text.spans], text.no_wrap,
        text.overflow,
    )  # fmt: skip


def test_names_stand_out() -> None:
    root = Branch("request", None, note="20 bytes")
    leaf = Branch("a", root, leaf=field("a", 0, 4, says="5"))
    first = titled(80, files=["a"], whole=1)
    assert looks(first) == ("bold", [("a · 1 exchange", "not bold")], True, "ellipsis")
    assert looks(field_text(root, 80)) == ("", [("request", "bold")], True, "ellipsis")
    assert looks(field_text(leaf, 80)) == ("", [("a", "bold")], True, "ellipsis")
    assert looks(field_text(Branch("", root, note="! odd"), 80)) == ("", [], False, None)
    assert looks(keys_text()) == ("", [(key, "bold") for key in SHORT], True, "crop")
    sections_and_keys = looks(help_text(HOLD_KEYS))[1]
    assert sections_and_keys == [("Hold (proxy)\n", "bold"), *((f"  {key.shown:<8}", "bold") for key in HOLD_KEYS)]


def test_keys_are_listed() -> None:
    assert keys_text().plain == " " + "".join(f"{key} {SHORT[key]}  " for key in SHORT)
    assert {*SHORT} <= {key.shown for key in KEYS}
    assert [key for key in (*KEYS, *HOLD_KEYS) if len(key.keys) == 1 and key.shown != key.keys] == []
    text = help_text((*KEYS, *HOLD_KEYS)).plain.splitlines()
    assert [line for line in text if not line.startswith(" ")][:-1] == ["Move", "Find", "Show", "Take", "Hold (proxy)"]
    assert "  ↓ j     next line" in text
    assert len(text) == len(KEYS) + len(HOLD_KEYS) + 6


def test_bytes_of_a_field_are_copied() -> None:
    exchange = next(iter(kdbg.read(CAPTURES / "errors.pcap")))

    def copied(*places: ByteRange) -> str | None:
        return hex_of(Looked(0, exchange, dumped(), {}, "a.pcap"), [*places], Look())

    assert [copied(), copied(ByteRange(0, 0, 4)), copied(ByteRange(0, 8, 12)), copied(ByteRange(1, 0, 2))] == [
        None, "3c 3d 3e 3f", "44 45 46 47", "00 41",
    ]  # fmt: skip
    assert [copied(ByteRange(0, 3, 5)), copied(ByteRange(0, 7, 9)), copied(ByteRange(0, 4, 8))] == [None] * 3, (
        "a part is hidden"
    )
    assert copied(ByteRange(0, 0, 1), ByteRange(0, 4, 5)) == "3c"


def test_the_command_that_sends_a_request_again() -> None:
    exchange = next(iter(kdbg.read(CAPTURES / "errors.pcap")))
    assert exchange.request is not None
    host, port = exchange.peers.broker
    looked = opened(exchange, {}, Look())

    def sent(file: str, exchange: Exchange = exchange, found: OpenedExchange = looked) -> str | None:
        return send_command(Looked(0, exchange, found, {}, file), [], Look())

    assert sent("a b.pcap") == f"kdbg send --from 'a b.pcap#1' --broker {host}:{port}"
    raw = (len(exchange.request.data).to_bytes(4, "big") + exchange.request.data).hex()
    assert sent("") == f"kdbg send --raw {raw} --broker {host}:{port}"
    assert sent("", found=OpenedExchange([MessageFields("request", [field("x", hidden=True)])], [])) is None
    assert sent("", found=OpenedExchange([MessageFields("response", [field("x", hidden=True)])], [])) is not None
    exchange.request.missing = 1
    assert sent("") is None
    exchange.request = None
    assert sent("a.pcap") is None


HOLDING = """\
Hold (proxy)
  i       set what to hold: an expression or options; empty for nothing
  H       go to the held messages
  V       change the field under the cursor of a held message
  B       change the selected bytes
  F       forward the held message
  A       forward all held messages
  D       drop the selected held message
  R       resend the selected request on its connection
"""


def test_the_keys_of_holding_are_explained() -> None:
    assert help_text(HOLD_KEYS).plain.rpartition("With the mouse")[0] == HOLDING


def test_keys_are_those_of_a_keyboard_and_have_an_action() -> None:
    names = {*Keys, *KEY_NAME_REPLACEMENTS.values()}
    known: dict[str, Any] = {
        "find": ["error", "mark", *OF_WHO, *OF_NAMES],
        "below": [view.name for view in VIEWS],
        "copy": COPIES,
    }
    for key in (*KEYS, *HOLD_KEYS):
        for name in key.keys.split(","):
            named = name.partition("+")[2] or name
            assert len(name) == 1 or named in names or lookup(named.replace("_", " "))
        _, action, given = parse(key.action)
        does = Intercepting if key in HOLD_KEYS else Browser
        signature(getattr(does, f"action_{action}")).bind(None, *given)
        assert all(one in known[action] for one in given[:1] if action in known)
