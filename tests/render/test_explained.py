"""Bytes and numbers that somebody gave: what is said of them beside their fields."""

from __future__ import annotations

import pytest

import kdbg
from kdbg.exchanges.engine.foreign import TELNET
from kdbg.exchanges.guess.infer import Hints
from kdbg.exchanges.guess.pieces import pieces
from kdbg.views.render.explanation import hex_text, tree_text
from kdbg.views.render.numbers import number_facts
from kdbg.views.render.style import Look

from ..cases import for_each

NO_SIZE = (
    "The sender probably uses another protocol, or the bytes are inside a TLS stream or compressed data. Give the "
    "connection's first bytes to `kdbg explain`."
)
OTHER_LAYOUT = (
    "The reader expects another layout than the writer uses, or an earlier length was wrong. Compare the version in "
    "the request header with the layout that the sender writes."
)
MOST = "more than brokers accept (socket.request.max.bytes, default 104,857,600)"


def sasl_plain() -> bytes:
    header = {"correlation_id": 1, "client_id": "c"}
    body = {"auth_bytes": b"\0alice\0s3cret"}
    data = kdbg.encode(body, api="sasl-authenticate", version=0, direction="request", header=header)
    return len(data).to_bytes(4, "big") + data


@pytest.mark.parametrize(("show", "password"), [(False, "<6 bytes redacted>"), (True, '"s3cret"')])
def test_a_tree_hides_secrets_unless_they_are_wanted(show: bool, password: str) -> None:
    (piece,) = pieces(sasl_plain())
    text, clean = tree_text(sasl_plain(), piece, Look(show_secrets=show))
    assert clean
    assert text.splitlines()[-1].split("password  ")[1] == password
    assert ("s3cret" in text) is show


@pytest.mark.parametrize(("header", "option"), [(True, ""), (False, " --no-header")])
def test_the_options_that_choose_another_layout_are_whole(header: bool, option: str) -> None:
    data = bytes.fromhex("00000007 0000" if header else "0000")
    (piece,) = pieces(data, Hints(header=header))
    text, _ = hex_text(data, piece, Look())
    assert text.splitlines()[-1] == f"To choose another: --api LeaveGroup --version 0 --response{option}"


@for_each(
    ("number", "head", "advice", "known"),
    [
        (-720899, "-720899 = 0xfff4fffd, the bytes ff f4 ff fd: a Telnet command", TELNET, True),
        (-1, "-1 = 0xffffffff, the bytes ff ff ff ff: not a size, because it is negative", NO_SIZE, False),
        (0, "0 = 0x00000000: as a size, a message of 0 bytes", "", True),
        (1023, "1023 = 0x000003ff: as a size, a message of 1,023 bytes", "", True),
        (1024, "1024 = 0x00000400: as a size, a message of 1,024 bytes (1 KiB)", "", True),
        (104857600, "104857600 = 0x06400000: as a size, a message of 104,857,600 bytes (100 MiB)", "", True),
        (
            104857601,
            "104857601 = 0x06400001, the bytes 06 40 00 01: as a size 104,857,601 bytes (100 MiB)",
            f"If it is a size, this is {MOST}. {NO_SIZE}",
            False,
        ),
        (
            2000000000,
            "2000000000 = 0x77359400, the bytes 77 35 94 00: as a size 2,000,000,000 bytes (1.86 GiB)",
            f"That is {MOST}. {NO_SIZE}",
            False,
        ),
        (
            1634561646,
            '1634561646 = 0x616d6e6e, the bytes 61 6d 6e 6e "amnn": text, "amnn", read as a number',
            f"The reader is inside a string. {OTHER_LAYOUT}",
            True,
        ),
    ],
)
def test_a_number_as_a_size(number: int, head: str, advice: str, known: bool) -> None:
    assert number_facts(number) == (head, advice, known)
