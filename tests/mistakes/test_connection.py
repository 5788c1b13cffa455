"""Mistakes that only the order of a connection's messages shows, and sizes that are missing."""

from __future__ import annotations

import random

import pytest

from kdbg.exchanges.guess.pieces import pieces
from kdbg.exchanges.mistakes.connection import RequestOrder, find_missing_size
from kdbg.exchanges.mistakes.search import Mistake
from kdbg.protocol import grammars
from kdbg.protocol.findings.quirks import Sure
from kdbg.ui.cli import run

from .messages import Sample, generated, header

HANDSHAKE, AUTHENTICATE = grammars.api("SaslHandshake"), grammars.api("SaslAuthenticate")
TWENTY = range(20)


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def request(api: str, version: int, body: bytes, seed: int = 1) -> bytes:
    known = grammars.api(api)
    return header(random.Random(seed), known, version, "request") + body


def handshake(order: RequestOrder, version: int) -> Mistake | None:
    return order.see_request(request("SaslHandshake", version, b"\0\5PLAIN"), HANDSHAKE, version, answered=False)


def requests(seed: int) -> list[Sample]:
    return generated(seed, 20, lambda api, version, direction: direction == "request" and api.key != 36)


def test_sasl_authenticate_after_v0_is_a_mistake_and_after_v1_none() -> None:
    for seed in TWENTY:
        token = b"\0user\0" + random.Random(seed).randbytes(6).hex().encode()
        frame = request("SaslAuthenticate", 0, len(token).to_bytes(4, "big") + token, seed)
        after = {}
        for version in (0, 1):
            order = RequestOrder()
            assert handshake(order, version) is None
            after[version] = order.see_request(frame, AUTHENTICATE, 0)
        found = after[0]
        assert found is not None
        assert (found.kind, found.start, found.sure) == ("sasl-authenticate-after-v0", 0, Sure.CERTAIN)
        assert found.corrected == len(token).to_bytes(4, "big") + token
        assert after[1] is None


def test_a_raw_token_after_v1_is_a_mistake_and_after_v0_none() -> None:
    for token in (b"\0ada\0secret", b"n,,n=ada,r=fyko+d2lbbFgONRv9qkxdawL", b"\x60\x82\x02\x01"):
        for version in (0, 1):
            order = RequestOrder()
            handshake(order, version)
            found = order.see_token(token, AUTHENTICATE)
            assert (found is not None and found.kind == "raw-sasl-token") == (version == 1)
    order = RequestOrder()
    handshake(order, 1)
    assert order.see_token(b"GET / HTTP/1.1\r\n", AUTHENTICATE) is None


def test_a_correlation_id_of_a_request_in_flight_is_a_mistake() -> None:
    for sample in requests(3):
        order = RequestOrder()
        assert order.see_request(sample.frame, sample.api, sample.version) is None
        found = order.see_request(sample.frame, sample.api, sample.version)
        assert found is not None
        assert (found.kind, found.start, found.path) == ("reused-correlation-id", 4, "correlation_id")
        assert found.actual == str(int.from_bytes(sample.frame[4:8], "big"))


def test_one_whose_response_came_may_be_used_again() -> None:
    for sample in requests(4):
        order = RequestOrder()
        order.see_request(sample.frame, sample.api, sample.version)
        order.see_response(int.from_bytes(sample.frame[4:8], "big"))
        assert order.see_request(sample.frame, sample.api, sample.version, answered=False) is None
        assert order.see_request(sample.frame, sample.api, sample.version) is None


def test_a_missing_size_is_named_and_that_of_a_whole_message_is_not() -> None:
    for sample, after in zip(requests(5), requests(6), strict=True):
        for rest in (b"", after.frame):
            found = find_missing_size(sample.frame + rest)
            assert found is not None, str(sample)
            assert (found.kind, found.corrected) == ("size-missing", sample.sized)
        assert find_missing_size(sample.sized) is None


def test_the_requests_kept_are_bounded() -> None:
    order = RequestOrder()
    api = grammars.api("Metadata")
    for number in range(20_000):
        frame = b"\0\3\0\1" + number.to_bytes(4, "big") + b"\0\1x\0\0\0\0"
        assert order.see_request(frame, api, 1) is None
    assert len(order._in_flight) < 20_000


def named(*parts: bytes) -> list[list[str]]:
    """The kinds of mistakes that `kdbg explain` names in each message of pasted bytes."""
    return [[one.kind for one in piece.mistakes] for piece in pieces(b"".join(parts)) if not piece.empty]


def pasted(number: int, topic: bytes = b"orders") -> bytes:
    return b"\0\3\0\1" + number.to_bytes(4, "big") + b"\0\5mylib\0\0\0\1" + len(topic).to_bytes(2, "big") + topic


FRAMINGS = {
    "size-missing": lambda frame: frame,
    "size-counts-itself": lambda frame: (len(frame) + 4).to_bytes(4, "big") + frame,
    "little-endian-size": lambda frame: len(frame).to_bytes(4, "little") + frame,
}


@pytest.mark.parametrize("kind", FRAMINGS)
def test_explain_names_the_framing_of_several_messages(kind: str) -> None:
    wrong, topics = FRAMINGS[kind], (b"orders", b"a", b"payments-2")
    each = [pasted(number, topic) for number, topic in enumerate(topics, 7)]
    assert named(*map(wrong, each)) == [[kind]] * 3
    right = len(each[2]).to_bytes(4, "big") + each[2]
    assert named(wrong(each[0]), wrong(each[1]), right) == [[kind], [kind], []]
    assert named(right, wrong(each[0]), wrong(each[1])) == [[], [kind], [kind]]


def test_explain_names_what_the_order_of_messages_shows() -> None:
    token, request_of = b"\0ada\0secret", lambda version: request("SaslHandshake", version, b"\0\5PLAIN")
    wrapped = request("SaslAuthenticate", 0, len(token).to_bytes(4, "big") + token, 2)
    assert named(framed(request_of(1)), framed(token)) == [[], ["raw-sasl-token"]]
    assert named(framed(request_of(0)), framed(token)) == [[], []]
    assert named(framed(request_of(0)), framed(wrapped)) == [[], ["sasl-authenticate-after-v0"]]
    assert named(framed(request_of(1)), framed(wrapped)) == [[], []]
    first, second = framed(pasted(7)), framed(pasted(7, b"a"))
    assert named(first, second) == [[], ["reused-correlation-id"]]
    assert named(first, framed(pasted(8, b"a"))) == [[], []]
    response = framed((7).to_bytes(4, "big") + bytes(12))
    assert named(first, response, second) == [[], [], []]
    assert named(first, first) == [[], []], "pasted twice"


def test_explain_shows_no_password_of_a_token_out_of_place(capsys: pytest.CaptureFixture[str]) -> None:
    data = framed(request("SaslHandshake", 1, b"\0\5PLAIN")) + framed(b"\0ada\0secret")
    for form in ("tree", "hex", "json"):
        run(["explain", data.hex(), "-f", form])
        text = capsys.readouterr().out
        assert "SaslAuthenticate" in text
        assert "secret" not in text
        assert b"secret".hex(" ") not in text
