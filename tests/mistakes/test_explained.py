"""What `kdbg explain` shows of a message with a mistake: the message that its header names, and no quirk of others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kdbg.exchanges.guess.pieces import pieces
from kdbg.exchanges.messages.message import read
from kdbg.protocol.findings.quirks import quirk_of
from kdbg.protocol.grammars import api
from kdbg.ui.cli import run

from ..conftest import SHARED
from .making import ANY, cases
from .score import samples

SIZED = {"little-endian size", "little-endian header"}


def test_the_message_that_a_plain_header_names_comes_first() -> None:
    requests = [one for one in samples(91) if one.direction == "request" and one.api.key]
    wrong, tried = [], 0
    for name in [name for name in ANY if name not in SIZED and "header" not in name and "client id" not in name][::2]:
        for made in cases(name, requests, 91, 3):
            (first, *_) = next(pieces(made.data)).guesses
            tried += 1
            if (first.api.name, first.version, first.direction) != (*_known(made.sample), "request"):
                wrong.append((name, str(made.sample), first.api.name))
    assert tried > 20
    assert wrong == []


def _known(sample: object) -> tuple[str, int]:
    return sample.api.name, sample.version  # type: ignore[attr-defined]


@pytest.mark.parametrize("flags", [b"\1\0", b"\0\1", b"\1\1"])
def test_bytes_of_a_quirk_s_length_are_not_the_quirk(flags: bytes) -> None:
    frame = bytes.fromhex("0003000c0000000200056d796c696200") + b"\0" + flags + b"\0" + b"\0\0\0"
    found = read(api("Metadata"), 12, "request", frame).findings
    assert [quirk_of(one) for one in found] == [None]


def test_json_has_the_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    data = "0000001e 0003 0008 00000002 0005 6d796c6962 00000002 0006 6f7264657273 01 00 00"
    run(["explain", data, "-f", "json"])
    mistake = json.loads(capsys.readouterr().out)["mistake"]
    assert (mistake["kind"], mistake["offset"], mistake["certainty"]) == ("wrong-count", 0x13, "certain")


CASES = SHARED / "cases" / "clientbugs"


@pytest.mark.skipif(not CASES.is_dir(), reason=f"{CASES} is absent: recorded mistakes of clients")
def test_recorded_mistakes_are_named() -> None:
    for path in sorted(CASES.glob("hex-*.txt")):
        data = bytes.fromhex(Path(path).read_text())
        assert any(piece.mistakes for piece in pieces(data)), path.name
