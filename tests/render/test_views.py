"""The four views: whole outputs compared with files, and damaged messages in all of them.

tests/golden holds what `kdbg` prints, byte for byte. `KDBG_GOLDEN=1 pytest tests/render/test_views.py` writes the
files anew; what changed is for git to show and for somebody to read.
"""

from __future__ import annotations

import json
import os
import random
import re
from functools import cache
from pathlib import Path

import pytest

import kdbg
from kdbg.errors import InputError
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.ui.cli import run
from kdbg.views.render.style import Look
from kdbg.views.render.views import VIEWS, view

from ..cases import by_day, fewer_by_day, for_each

MAIN = Path(__file__).resolve().parents[2]
CAPTURES = sorted(path for path in (MAIN / "captures").iterdir() if path.suffix in (".pcap", ".pcapng"))
GOLDEN = {
    "first-contact": [
        "first-contact.pcap --api ApiVersions --limit 1",
        "first-contact.pcap --api Metadata --limit 1",
        "first-contact.pcap --api Produce --limit 1",
        "first-contact.pcap --api Fetch --errors",
        "first-contact.pcap --api JoinGroup",
    ],
    "errors": [
        "errors.pcap --api Produce --errors --limit 2",
        "errors.pcap --api FindCoordinator --errors",
        "errors.pcap --api Fetch --limit 2",
        "errors.pcap --format summary",
    ],
    "old-versions": [
        "old-versions.pcap --topic magic0-none --api Produce",
        "old-versions.pcap --topic magic0-lz4 --api Produce",
        "old-versions.pcap --topic magic1-gzip --api Fetch --limit 1",
        "old-versions.pcap --port 9092 --api SyncGroup",
    ],
    "transactions": [
        "transactions.pcap --api InitProducerId",
        "transactions.pcap --api EndTxn --limit 1",
        "transactions.pcap --api Fetch --errors --limit 2",
    ],
    "segmented-lossy": ["segmented-lossy.pcap --connection 2 --errors", "segmented-lossy.pcap --format summary"],
    "controlled-shutdown": ["controlled-shutdown.pcap", "controlled-shutdown.pcap --format json"],
    "sasl-plain-raw": ["sasl-plain-raw.pcap --connection 2", "sasl-plain-raw.pcap --limit 2 --show-secrets"],
    "internal-topics": [
        "real-4.4.0-internal-topics.pcap --api Fetch --topic __consumer_offsets --limit 4",
        "real-4.4.0-internal-topics.pcap --api Fetch --topic payments --limit 1",
        "real-3.9.2-rebalance.pcap --api SyncGroup --limit 1 --format hex",
    ],
    "in-colour": [
        "controlled-shutdown.pcap --color always",
        "errors.pcap --format summary --limit 9 --color always",
        "first-contact.pcap --api Produce --limit 1 --color always",
    ],
}
COMPACT = {
    "first-contact.pcap": {2, 5, 6, 13, 14, 20},
    "errors.pcap": {1, 3, 7, 23, 41, 53},
    "real-4.4.0-transactions.pcap": {1, 12, 38},
    "real-3.9.2-rebalance.pcap": {20, 31},
    "old-versions.pcap": {30},
    "segmented-lossy.pcap": {17, 21},
}
"""Captures, and the exchanges of each whose compact trees are compared with a file."""
COLOUR = re.compile(r"\x1b\[[\d;]*m")


@cache
def exchanges() -> list[Exchange]:
    return [exchange for path in CAPTURES for exchange in kdbg.read(path)]


@pytest.mark.parametrize("name", GOLDEN)
def test_what_is_printed_is_what_it_was(
    name: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(MAIN)
    monkeypatch.delenv("COLUMNS", raising=False)
    text = ""
    for command in GOLDEN[name]:
        run(["decode", *f"captures/{command}".split()])
        out, err = capfdbinary.readouterr()
        text += f"$ kdbg decode captures/{command}\n{out.decode()}{err.decode()}\n"
    path = MAIN / "tests" / "golden" / f"{name}.txt"
    if os.environ.get("KDBG_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def test_compact_trees_of_80_columns_are_what_they_were() -> None:
    text = ""
    for name, numbers in COMPACT.items():
        with kdbg.read(MAIN / "captures" / name) as reading:
            views = [
                (more, view("tree").exchange(Look("", 80, full=False, compact=True, **more), reading.topic_names))
                for more in ({}, {"only_errors": True}, {"depth": 2})
            ]
            for exchange in reading:
                if exchange.number in numbers:
                    for more, render in views:
                        shown = render(exchange)
                        assert isinstance(shown, bytes)
                        text += f"{name} {more or ''}\n{shown.decode()}"
    path = MAIN / "tests" / "golden" / "compact.txt"
    if os.environ.get("KDBG_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def damaged(half: CapturedMessage, dice: random.Random) -> CapturedMessage:
    """The message with some of its bytes changed, left out, put in or cut off."""
    data = bytearray(half.data)
    for _ in range(dice.choice((1, 1, 2, 5))):
        at = dice.randrange(len(data) + 1)
        what = dice.random()
        if what < 0.4:
            data[at : at + 1] = bytes([dice.choice((0, 1, 0xFF, 0x7F, 0x80, 0x1B, dice.randrange(256)))])
        elif what < 0.6:
            del data[at:]
        elif what < 0.8:
            data[at:at] = dice.choice((b"\0", b"\xff" * 4, b"\x1b[31m", b"\xc2\x9b", "\u202e".encode(), b"\x80\x80"))
        else:
            del data[at : at + dice.randrange(1, 9)]
    data += bytes(max(4 - len(data), 0))
    missing = dice.choice((0, 0, 0, 7))
    other = CapturedMessage(
        bytes(data), (half.first_time, half.last_time), (half.first_packet, half.last_packet), half.direction, missing
    )
    other.api, other.version = half.api, half.version
    return other


@for_each("seed", by_day(range(20), 10))
def test_a_damaged_message_is_shown_in_every_view_and_lets_nothing_act(seed: int) -> None:
    dice = random.Random(seed)
    looks = {"": Look(), "colour": Look("STANDARD", 80, False)}
    views = [(format, look.full, view(format).exchange(look, {})) for look in looks.values() for format in VIEWS]
    for exchange in dice.sample(exchanges(), fewer_by_day(40, 2)):
        broken = Exchange(exchange.peers, exchange.api, exchange.version, exchange.correlation_id, exchange.client_id)
        broken.request = damaged(exchange.request, dice) if exchange.request is not None else None
        broken.response = damaged(exchange.response, dice) if exchange.response is not None else None
        for format, whole, render in views:
            output = render(broken)
            text = COLOUR.sub("", output if isinstance(output, str) else output.decode())
            assert not [letter for letter in text if not letter.isprintable() and letter != "\n"]
            if format == "json":
                assert json.loads(text)["connection"]["id"] == exchange.peers.number
            if format == "summary":
                assert text.count("\n") == 1 if whole else max(map(len, text.splitlines())) <= 80


def test_views_leave_an_exchange_as_it_was() -> None:
    for exchange in exchanges()[:40]:
        first = {format: view(format).exchange(Look(), {})(exchange) for format in VIEWS}
        for format in reversed(VIEWS):
            assert view(format).exchange(Look(), {})(exchange) == first[format]


def test_a_message_whose_end_is_missing_says_so_once() -> None:
    talk = next(exchange for exchange in exchanges() if exchange.request is not None and exchange.request.missing)
    text = view("tree").exchange(Look(), {})(talk)
    assert isinstance(text, bytes)
    assert text.count(b"truncated:") == 1


def test_what_each_view_says_of_itself() -> None:
    assert {name: (found.about, found.shallow, found.data) for name, found in VIEWS.items()} == {
        "tree": ("every field with its name and meaning", False, False),
        "summary": ("one line per exchange", True, False),
        "hex": ("every byte with its field", False, False),
        "json": ("one JSON object per line, lossless", False, True),
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("trea", "unknown view 'trea'; did you mean tree?"),
        ("picture", "unknown view 'picture'; use tree, summary, hex, json"),
    ],
)
def test_a_view_that_there_is_not_is_refused_with_the_nearest(name: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        view(name)
    assert str(caught.value) == said
