"""Which response belongs to which request, from the bytes of a capture to what `decode` says of it."""

from __future__ import annotations

import struct
from pathlib import Path

from ..traffic import Talk, framed, pcap
from .calls import call

BEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}
AP_REQ, AP_REP = b"\x60\x82\x02\x10 from the client", b"\x60\x40 from the broker"
OFFER, CHOICE = b"\x05\x04\x05\xff\0\x0c" + bytes(22), b"\x05\x04\x04\xff\0\x0c" + bytes(38)
Said = tuple[str, int | None, bool, list[str]]


def said(talk: Talk, tmp_path: Path) -> list[Said]:
    """Of each exchange: its API, its correlation id, whether it has a response, and what is odd about the pair.

    What is wrong inside the tokens, which are made up, is left out.
    """
    (path := tmp_path / "made.pcap").write_bytes(pcap(talk.end()))
    lines = call("decode", path, "-f", "json").lines
    return [
        (
            line["api"],
            line["correlation_id"],
            line["response"] is not None,
            [kind for kind in kinds if kind != "malformed-payload"],
        )
        for line in lines
        for kinds in [[note.partition(":")[0] for note in line["notes"]]]
    ]


def beat(number: int, error: int = 0) -> bytes:
    """A Heartbeat response v0."""
    return framed(struct.pack(">ih", number, error))


def test_answers_in_the_order_2_1_3(tmp_path: Path) -> None:
    talk = Talk()
    for _ in range(3):
        talk.ask("Heartbeat", 0, **BEAT)
    assert said(talk.reply(beat(2)).reply(beat(1)).reply(beat(3)), tmp_path) == [
        ("Heartbeat", 2, True, []), ("Heartbeat", 1, True, ["out-of-order"]), ("Heartbeat", 3, True, []),
    ]  # fmt: skip


def test_an_answer_to_acks_0(tmp_path: Path) -> None:
    talk = Talk().ask("Produce", 3, acks=0, timeout_ms=1, topic_data=[]).answer(responses=[])
    assert said(talk.ask("Heartbeat", 0, **BEAT).answer(), tmp_path) == [
        ("Produce", 1, True, ["unsolicited-response"]), ("Heartbeat", 2, True, []),
    ]  # fmt: skip


def logged_in(talk: Talk) -> Talk:
    """The tokens of a GSSAPI login, the last of which is the client's, and a request right behind it."""
    talk.send(framed(AP_REQ)).reply(framed(AP_REP)).send(framed(b"")).reply(framed(OFFER)).send(framed(CHOICE))
    return talk.ask("Heartbeat", 0, **BEAT).answer().ask("Metadata", 1).answer()


TOKENS = [("SaslToken", None, True, []), ("SaslToken", None, True, []), ("SaslToken", None, False, [])]


def test_gssapi_behind_a_handshake(tmp_path: Path) -> None:
    talk = Talk().ask("SaslHandshake", 0, mechanism="GSSAPI").answer(mechanisms=["GSSAPI"])
    assert said(logged_in(talk), tmp_path) == [
        ("SaslHandshake", 1, True, []), *TOKENS, ("Heartbeat", 2, True, []), ("Metadata", 3, True, []),
    ]  # fmt: skip


def test_gssapi_as_clients_of_0_9_do_it(tmp_path: Path) -> None:
    assert said(logged_in(Talk()), tmp_path) == [*TOKENS, ("Heartbeat", 1, True, []), ("Metadata", 2, True, [])]


def test_the_last_token_of_gssapi_expects_no_response(tmp_path: Path) -> None:
    (path := tmp_path / "made.pcap").write_bytes(pcap(logged_in(Talk()).end()))
    assert [line for line in call("decode", path).out.splitlines() if "none expected" in line] == [
        "└── response  none expected"
    ]
