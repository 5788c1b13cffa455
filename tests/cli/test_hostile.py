"""Whatever stands in the traffic, no view lets it act: on the terminal, on the lines around it, on the JSON."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..cases import for_each
from ..traffic import Talk, pcap
from .calls import FORMATS, Outcome

Cli = Callable[..., Outcome]
Write = Callable[..., Path]
NASTY = {
    "escape": ("\x1b[31mred\x1b]0;title\x07", r"\x1b[31mred\x1b]0;title\x07"),
    "C1": ("\x9b31mred", r"\x9b31mred"),
    "markup": ("[bold red]no[/] [link=x]", "[bold red]no[/] [link=x]"),
    "direction": ("\u202eevil\u2066", r"\u202eevil\u2066"),
    "no width": ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
    "lines": ("one\r\ntwo\u2028three\x85four\x0bfive", r"one\r\ntwo\u2028three\x85four\x0bfive"),
    "control": ("\x00\x01\x08\x7f\t", r"\x00\x01\x08\x7f\t"),
    "no text": ("\udcff\udc9b\udce2", r"\xff\x9b\xe2"),
    "tags": ("\U000e0041\U000e007f", r"\U000e0041\U000e007f"),
    "backslash": (r"\x1b[31m", r"\\x1b[31m"),
    "long": ("long" * 5000 + "\x1b", "long" * 5000 + r"\x1b"),
}
COLOUR = re.compile(r"\x1b\[[\d;]*m")
LOOK = [[], ["--color", "always"], ["--full"]]


def speech(text: str) -> Talk:
    """The text wherever a client or a broker may put one."""
    data = text.encode("utf-8", "surrogateescape")
    talk = Talk(client_id=text if len(text) < 200 and "\udcff" not in text else "kdbg")
    talk.ask("Metadata", 1, topics=[{"name": text}])
    talk.answer(brokers=[{"node_id": 1, "host": text, "port": 9}], topics=[{"name": text, "error_code": 3}])
    batch = {"magic": 2, "records": [{"key": data, "value": data, "headers": [{"key": text, "value": data}]}]}
    old = [{"magic": 1, "key": data, "value": data}]
    for version, entries in ((9, [batch]), (2, old)):
        partition = {"index": 0, "records": entries}
        talk.ask("Produce", version, acks=1, topic_data=[{"name": text, "partition_data": [partition]}])
        errors = {"record_errors": [{"batch_index_error_message": text}], "error_message": text} if version > 7 else {}
        answer = {"index": 0, "error_code": 87} | errors
        talk.answer(responses=[{"name": text, "partition_responses": [answer]}])
    talk.ask("JoinGroup", 5, group_id=text, member_id=text, protocols=[{"name": text, "metadata": data}])
    talk.answer(error_code=0, protocol_name=text, leader=text, members=[{"member_id": text, "metadata": data}])
    talk.ask("ConsumerGroupHeartbeat", 0, group_id=text).answer(error_code=110, error_message=text)
    return talk.ask("Metadata", 9, topics=[], tagged_fields={99: data}).answer().end()


@pytest.mark.parametrize("look", LOOK, ids=" ".join)
@pytest.mark.parametrize("format", FORMATS)
@for_each(("text", "shown"), NASTY.values(), ids=NASTY)
def test_every_view_shows_it_as_it_is_and_lets_nothing_act(
    cli: Cli, write: Write, text: str, shown: str, format: str, look: list[str]
) -> None:
    outcome = cli("decode", write(speech(text)), "-f", format, *look)
    coloured = look == LOOK[1] and format != "json"
    assert bool(COLOUR.search(outcome.out)) is coloured
    for output in (COLOUR.sub("", outcome.out) if coloured else outcome.out, outcome.err):
        assert not [letter for letter in output if not letter.isprintable() and letter != "\n"]
    assert outcome.err.count("\n") == 1
    if format == "tree":
        assert COLOUR.sub("", outcome.out).count(shown) >= 15
        assert not [
            line for line in COLOUR.sub("", outcome.out).splitlines() if line.startswith(("two", "three", "four"))
        ]
    if format == "summary":
        assert outcome.out.count("\n") == 7
    if format == "hex":
        assert text.encode("utf-8", "surrogateescape")[:8].hex(" ") in COLOUR.sub("", outcome.out)


@pytest.mark.parametrize(("text", "shown"), NASTY.values(), ids=NASTY)
def test_json_gives_it_back_unharmed(cli: Cli, write: Write, text: str, shown: str) -> None:
    out = cli("decode", write(speech(text)), "-f", "json").out
    assert len(out.splitlines()) == out.count("\n") == 6, "one line per exchange, whatever is taken for the end of one"
    metadata, produce = (json.loads(line) for line in out.splitlines()[:2])
    assert back(metadata["client_id"]) in (text, "kdbg")
    assert back(metadata["request"]["body"]["topics"][0]["name"]) == text
    record = produce["request"]["body"]["topic_data"][0]["partition_data"][0]["records"][0]["records"][0]
    assert back(record["key"]) == back(record["value"]) == back(record["headers"][0]["key"]) == text


def back(value: Any) -> str:
    """The text of a JSON string, or of bytes that are none."""
    return value if isinstance(value, str) else base64.b64decode(value["base64"]).decode("utf-8", "surrogateescape")


class TestFileNames:
    NAME = "\x1b[31m\u202e\nx\udcff.pcap"
    SHOWN = r"\x1b[31m\u202e\nx\xff.pcap"

    def test_a_file_that_is_missing_or_cut(self, cli: Cli, tmp_path: Path) -> None:
        path = tmp_path / self.NAME
        outcome = cli("decode", path)
        assert outcome == (2, "", f"kdbg: {tmp_path}/{self.SHOWN}: no such file\n")
        path.write_bytes(pcap(Talk().ask("Metadata", 1).answer())[:-3])
        assert cli("decode", path).err.startswith(f"kdbg: {tmp_path}/{self.SHOWN}: the file ends inside packet 4\n")

    def test_the_heading_of_a_file(self, cli: Cli, tmp_path: Path) -> None:
        path = tmp_path / self.NAME
        path.write_bytes(pcap(Talk().ask("Metadata", 1).answer()))
        assert cli("decode", path, path, "-f", "summary").out.count(f"==> {tmp_path}/{self.SHOWN} <==\n") == 2

    def test_what_is_typed_wrong(self, cli: Cli) -> None:
        for arguments in (["decode", "x", "--\x1b[31m"], ["\x1b[31m"], ["decode", "x", "--api", "\x1b\u202e"]):
            outcome = cli(*arguments)
            assert outcome.status == 2
            assert not [letter for letter in outcome.err.removesuffix("\n") if not letter.isprintable()]


def test_a_connection_of_something_else_that_says_odd_things(cli: Cli, write: Write) -> None:
    web = (
        Talk()
        .send(b"GET /\x1b[31m\xc2\x9b HTTP/1.1\r\nHost: \x07\r\n\r\n" * 9)
        .reply(b"HTTP/1.1 200 \x1b[0m\r\n\r\n")
        .end()
    )
    outcome = cli("decode", write(web))
    assert not [letter for letter in outcome.out + outcome.err if not letter.isprintable() and letter != "\n"]
