"""Lines of the panes of causes and of held messages; the value of a field that somebody is about to change."""

from __future__ import annotations

from typing import Any

from textual.geometry import Size

import kdbg
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.peers import Peers
from kdbg.live.holds import Held
from kdbg.protocol.findings import Severity
from kdbg.ui.tui.causes import CauseLine, CausePane
from kdbg.ui.tui.feed import Causes
from kdbg.ui.tui.intercept import HeldList, HeldMessage, _value
from kdbg.ui.tui.pane import StyledText
from kdbg.views.render.values import Clock

from .test_pieces import CAPTURES


class Texts:
    """What the pane of causes uses of the texts of rows."""

    clock = Clock(local=False)

    def row(self, number: int, file: int) -> list[StyledText]:
        return [StyledText(f"row {number} of {file}")]


def cause(name: str = "too-slow", severity: str = "problem", **other: Any) -> dict[str, Any]:
    return {
        "cause": name, "who": {"client_id": "shop"}, "severity": severity, "certainty": "certain",
        "milestone": "records", "because": "",
        "sentence": f"sentence of {name}", "since": 1.0, "until": 1.0, "count": 1, "advice": f"advice on {name}",
        "evidence": {"exchanges": [3, 5], "packets": [7, 8], "fields": ["a", "b"]}, "alternatives": ["x", "y"],
        "document": "KIP-1",
    } | other  # fmt: skip


LOUD, NOTE = Severity.ERROR.value, Severity.NOTE.value


def pane(*causes: Causes, so_far: str = "", unjudged: str = "", width: int = 61) -> CausePane:
    """The pane with so many columns; it is on no screen."""

    class Sized(CausePane):
        @property
        def size(self) -> Size:
            return Size(width, 20)

    found = Sized(Texts(), ["one.pcap", "two.pcap"])  # type: ignore[arg-type]
    found.load({each.file: each for each in causes}, so_far, unjudged)
    return found


def drawn(found: CausePane) -> list[str]:
    return ["".join(piece.text for piece in line.pieces) for line in found.lines]


def test_a_cause_says_all_that_diagnosis_says() -> None:
    found = pane(Causes(0, (cause(severity=LOUD),), True))
    head, *rest = drawn(found)
    assert head.startswith("▾ ")
    assert "too-slow  certain  " in head
    assert rest == [
        "    sentence of too-slow.", "    who: client id shop", "    fix: advice on too-slow", "    → #3",
        "    → #5", "    packets: 7, 8", "    fields: a, b", "    alternatively: x; y",
        "    milestone: records", "    see: KIP-1",
    ]  # fmt: skip
    assert [line.exchange for line in found.lines] == [None] * 4 + [3, 5] + [None] * 5
    assert [line.pieces[-1].style for line in found.lines] == [
        "dim", "", "", "good", "name", "name", "dim", "dim", "dim", "dim", "dim",
    ]  # fmt: skip
    assert found.pieces(4, 60) == [
        StyledText("    → ", "dim"), StyledText("#3", "name"), StyledText("  "), StyledText("row 3 of 0"),
    ]  # fmt: skip
    assert found.pieces(1, 60) == found.lines[1].pieces
    assert found.foot().plain == "fix: advice on too-slow"


def test_the_first_line_of_a_cause_is_cut_to_the_width() -> None:
    for width in (30, 40):
        head = drawn(pane(Causes(0, (cause(severity=LOUD),), True), width=width))[0]
        assert (len(head), head[-1]) == (width - 1, "…")


def test_lines_that_say_nothing_are_left_out() -> None:
    bare = cause(
        severity=LOUD, because="no-route", who={}, alternatives=[], document="", sentence="x" * 20 + " " + "y" * 40,
        evidence={"exchanges": [], "packets": [], "fields": []},
    )  # fmt: skip
    found = drawn(pane(Causes(0, (bare,), True)))
    assert found[1:] == [
        f"    (after-effect of no-route) {'x' * 20}", f"    {'y' * 40}.", "    fix: advice on too-slow",
        "    milestone: records",
    ]  # fmt: skip
    assert drawn(pane(Causes(0, (bare,), True), width=2))[1] == "    (after-effect of no-", "a least width"


def test_folded_causes_are_a_line() -> None:
    found = pane(Causes(0, (cause(severity=NOTE, because="no-route"),), True))
    assert drawn(found)[0] == "no root cause found"
    assert drawn(found)[1].startswith("▸ ")
    assert drawn(found)[1].endswith("too-slow  (after-effect of no-route) sentence of too-sl…")
    assert len(drawn(found)[1]) == 60
    assert len(found.lines) == 2
    many = tuple(cause(f"cause-{number}", LOUD) for number in range(22))
    folded = pane(Causes(0, many, True))
    assert [one.folded for one in folded.causes] == [False] * 20 + [True] * 2


def test_above_the_causes_stands_how_far_it_is() -> None:
    one, two = (Causes(0, tuple(cause(f"c{at}", LOUD) for at in range(count)), False) for count in (1, 2))
    assert drawn(pane(one, so_far="live"))[0] == "live; 1 cause so far"
    assert drawn(pane(two, so_far="live"))[0] == "live; 2 causes so far"
    assert drawn(pane(Causes(0, (), False), so_far="live")) == ["live; no root cause found so far"]
    assert drawn(pane(Causes(0, (), True))) == ["no root cause found"]
    assert pane(one).lines[0].cause is not None
    assert drawn(pane(one, unjudged="tables cannot")) == ["tables cannot"]
    assert drawn(pane(Causes(0, (), True, 1234)))[-1].startswith("1,234 less severe causes")
    files = pane(Causes(1, (cause("b", LOUD),), True, 2), Causes(0, (cause("a", LOUD), cause("c", LOUD)), True, 3))
    lines = drawn(files)
    assert [line for line in lines if line.endswith(".pcap")] == ["one.pcap", "two.pcap"]
    assert [one.case["cause"] for one in files.causes] == ["a", "c", "b"]
    assert lines[-1].startswith("5 less severe causes")
    assert [line.cause for line in (files.lines[0], files.lines[-1])] == [None, None]


def test_the_cursor_stays_on_its_cause() -> None:
    first, second = cause("first", LOUD), cause("second", LOUD)
    found = pane(Causes(0, (second,), False))
    found.cursor = 4
    found.load({0: Causes(0, (first, second), True)}, "", "")
    assert found.line is not None
    assert found.line.cause is not None
    assert (found.line.cause.case["cause"], found.line.exchange, found.cursor) == ("second", 3, 15)
    found.causes[1].folded = True
    found.refit()
    assert (found.cursor, len(found.lines)) == (11, 12), "fewer lines are left of it: the last"
    found.load({0: Causes(0, (second, first), True)}, "", "")
    assert [one.folded for one in found.causes] == [True, False], "what is folded stays so"
    assert found.cursor == 0
    found.load({0: Causes(0, (first,), True)}, "", "")
    assert found.cursor == 0
    empty = pane()
    assert (empty.count, drawn(empty), empty.foot().plain) == (1, ["no root cause found"], "")


def test_captured_text_of_causes_is_escaped() -> None:
    hostile = cause(severity=LOUD, sentence="a\x1b[31m", who={"topic": "b\n"}, advice="c\r")
    found = drawn(pane(Causes(0, (hostile,), True)))
    assert found[1:4] == ["    a\\x1b[31m.", "    who: topic b\\n", "    fix: c\\r"]
    assert CauseLine(None, []).exchange is None


def held(number: int, direction: Any, **other: Any) -> HeldMessage:
    exchange = next(each for each in kdbg.read(CAPTURES / "errors.pcap") if each.number == 6)
    assert exchange.request is not None
    assert exchange.response is not None
    response = exchange.response.data if direction == "response" else None
    one = Held(number, exchange.peers, direction, exchange.request.data, response)
    return HeldMessage(one, one.data, exchange, **other)


def nothing() -> HeldMessage:
    """A held message that is not of Kafka."""
    peers = Peers(1, ("c", 1), ("b", 2))
    return HeldMessage(Held(9, peers, "request", b"", None), b"", Exchange(peers, None, 0, 0, None))


def test_held_messages_are_listed() -> None:
    found = HeldList()
    found.messages += [held(7, "request"), held(8, "response", changed=True)]
    client = "{}:{}".format(*found.messages[0].exchange.peers.client)
    sizes = [f"  {len(one.data) + 4} bytes" for one in found.messages]
    assert found.pieces(0, 80) == [
        StyledText(f" request  Produce v10  {client}  shop", "name"), StyledText(sizes[0], "dim"),
        StyledText("", "note"),
    ]  # fmt: skip
    assert found.pieces(1, 80)[1:] == [StyledText(sizes[1], "dim"), StyledText("  changed", "note")]
    assert found.pieces(1, 80)[0].text.startswith(" response Produce v10  ")
    assert [len(found.pieces(0, width)[0].text) for width in (50, 44, 10)] == [26, 20, 20]
    assert (found.count, found.get_content_height()) == (2, 2)
    assert found.message is found.messages[0]
    found.cursor = 2
    assert found.message is None
    unknown = nothing()
    found.messages.append(unknown)
    assert found.pieces(2, 80)[0].text == " request  ?  c:1  "
    assert unknown.half is None
    unknown.exchange.response = CapturedMessage(b"x", (0, 0), (0, 0), "response")
    assert unknown.half is None
    assert held(1, "response").half is not None


def test_the_value_at_a_path_of_a_held_message() -> None:
    one = held(1, "request")
    values = {
        "acks": "-1", "topic_data[0].name": "orders", "topic_data[0].partition_data[0].index": "0", "nothing": "",
        "topic_data[9]": "", "acks.more": "", "transactional_id": "null",
    }  # fmt: skip
    assert {path: _value(one, path) for path in values} == values
    message = one.half.message() if one.half is not None else None
    assert message is not None
    for text, written in (("5", '"5"'), ("null", '"null"'), ("a b", "a b"), ("{", "{")):
        message.body["topic_data"][0]["name"] = text
        assert _value(one, "topic_data[0].name") == written
    message.body["acks"] = b"raw"
    assert _value(one, "acks") == "b'raw'"
    assert _value(nothing(), "a") == ""
