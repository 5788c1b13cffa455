"""What each end believes of the bytes it is shown."""

from __future__ import annotations

import struct

import pytest

from kdbg.exchanges.engine.directions import RequestSide, ResponseSide
from kdbg.exchanges.engine.identify import GROUPS
from kdbg.exchanges.engine.pairing import Pairing
from kdbg.exchanges.engine.search import MAX_FRAME, WEAK_FRAME
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.peers import Peers

from .playbook import Lost, Playbook, answer, framed, opaque, request, response


@pytest.fixture
def sides() -> tuple[RequestSide, ResponseSide]:
    out: list[Exchange] = []
    pairing = Pairing(Peers(1, ("a", 1), ("b", 2)), out.append, whole=False)
    return RequestSide(pairing, lambda: None), ResponseSide(pairing)


def judge(side: RequestSide | ResponseSide, data: bytes) -> bool | None:
    return side.judge(data, 4, struct.unpack_from(">i", data)[0])[0]


def take(side: RequestSide | ResponseSide, frame: bytes) -> None:
    _, token = side.judge(frame, 4, len(frame) - 4)
    side.frame(frame[4:], (0, 0), (1, 1), 0, token)


Sides = tuple[RequestSide, ResponseSide]


def test_a_client_that_names_itself_otherwise_must_prove_it(sides: Sides) -> None:
    """By a body that fits: it needs no other request behind it."""
    client, _ = sides
    assert judge(client, request(5)) is True
    take(client, request(5))
    assert judge(client, request(6)[:20]) is True
    other = request(6, client="other")
    assert judge(client, other[:-1]) is None
    assert judge(client, other) is True
    assert judge(client, request(6, client="")) is True
    assert judge(client, other[:-1] + b"\xff" + request(7)) is False
    odd = framed(other[4:] + b"\0")
    assert judge(client, odd) is None
    assert judge(client, odd + request(7, client="other")) is True
    assert judge(client, opaque(6, 31999, 0, b"", "other")) is False
    assert judge(client, struct.pack(">i", WEAK_FRAME) + other[4:]) is False


def test_null_is_an_empty_client_id_to_kafka(sides: Sides) -> None:
    client, _ = sides
    take(client, request(5, client=None))
    assert judge(client, request(6, client="")[:20]) is True
    take(client, request(6, client=""))
    assert judge(client, request(7, client=None)[:20]) is True


def test_a_request_that_is_due_may_be_large_where_its_client_is_known(sides: Sides) -> None:
    client, _ = sides
    large = struct.pack(">i", WEAK_FRAME) + request(5)[4:]
    assert judge(client, large) is False
    take(client, request(4))
    assert judge(client, large) is True


def test_responses_that_are_waited_for(sides: Sides) -> None:
    client, broker = sides
    take(client, request(5))
    take(client, request(6))
    assert judge(broker, response(5)[:8]) is True
    assert judge(broker, response(5)[:7]) is None
    assert judge(broker, response(6)[:8]) is True, "cut, but expected"
    assert judge(broker, response(6)) is True
    assert judge(broker, answer(6, b"rubbish")) is None
    assert judge(broker, answer(6, b"rubbish") + response(9)) is False


def test_responses_that_nobody_waits_for(sides: Sides) -> None:
    client, broker = sides
    take(client, request(1000))
    unasked = response(1003)
    assert judge(broker, unasked) is None
    assert judge(broker, unasked + response(1003 + 100)) is True
    assert judge(broker, unasked + response(1003 + 101)) is False
    assert judge(broker, unasked + response(1002)) is False
    assert judge(broker, unasked + struct.pack(">ii", 3, 1004)) is False
    assert judge(broker, unasked + struct.pack(">ii", MAX_FRAME + 1, 1004)) is False
    assert judge(broker, response(1000 + 10_000)) is None
    assert judge(broker, response(1000 + 10_001)) is False
    assert judge(broker, struct.pack(">ii", WEAK_FRAME, 1001)) is False
    assert judge(broker, struct.pack(">i", 3) + b"123") is False


def test_correlation_ids_wrap(sides: Sides) -> None:
    client, broker = sides
    take(client, request(2**31 - 1))
    assert judge(broker, response(-(2**31)) + response(-(2**31) + 1)) is True


def test_the_search_for_responses_goes_by_all_that_wait(sides: Sides) -> None:
    """Hundreds may wait when the answer to the last of them is the next to be seen."""
    client, broker = sides
    assert broker.search(b"\xff" * 40, 0) is None
    first = 0x10203040
    for n in range(3000):
        take(client, request(first + n))
    for n in (0, 17, 255, 256, 2999):
        assert broker.search(b"\xff" * 9 + response(first + n), 0) == 9
    assert broker.search(b"\xff" * 9 + response(first + 3000), 0) is None
    for size, place in ((3, None), (4, 0), (MAX_FRAME, 0), (MAX_FRAME + 1, None)):
        assert broker.search(struct.pack(">ii", size, first) + b"\xff" * 9, 0) == place


def test_the_search_among_numbers_without_order_stays_small(sides: Sides) -> None:
    client, broker = sides
    ids = [n * 0x10203 for n in range(2 * GROUPS)]
    for n in ids:
        take(client, request(n))
    found = [broker.search(response(n), 0) == 0 for n in ids]
    assert found == [True] * (GROUPS // 2) + [False] * GROUPS + [True] * (GROUPS // 2)


def test_after_a_loss_of_most_answers_the_rest_is_found(playbook: Playbook) -> None:
    lost = b"".join(map(response, range(280)))
    for n in range(300):
        playbook >> request(n)
    playbook << Lost(len(lost))
    for n in range(280, 300):
        playbook << response(n)
    assert playbook.close() == [f"{n}>" for n in range(280)] + [f"{n}><" for n in range(280, 300)]


def test_odd_responses_are_found_after_a_loss(playbook: Playbook) -> None:
    """librdkafka's mock broker writes a byte too many behind some responses: the next one tells that they are sound."""
    odd = [answer(n, response(n)[8:] + b"\0") for n in range(4)]
    for n in range(4):
        playbook >> request(n)
    playbook << odd[0] << Lost(len(odd[1])) << odd[2] << odd[3]
    assert playbook.close() == ["0><", "1>", "2><", "3><"]


def test_a_length_that_claims_the_next_messages_gives_them_back(playbook: Playbook) -> None:
    for n in range(4):
        playbook >> request(n)
    long = struct.pack(">i", 2 * len(response(0))) + response(0)[4:]
    playbook << long << response(1) << response(2) << response(3)
    assert playbook.close() == ["0><", "1><", "2><", "3><"]
    assert playbook.lengths("invalid-length") == [len(response(0)) + 4]
    assert [half.data for half in playbook.halves("response")] == [response(n)[4:] for n in range(4)]


def test_gssapi_tokens_only_come_first(playbook: Playbook) -> None:
    token = framed(b"\x60\x82\x02\x10 rubbish")
    playbook >> request(1) << response(1) >> token >> request(2) << response(2)
    assert playbook.close() == ["1><", "2><"]
    assert playbook.lengths("undecoded-bytes") == [len(token)]


def test_what_was_lost_and_skipped_is_said_with_the_next_exchange(playbook: Playbook) -> None:
    playbook >> request(5) << response(5) >> Lost(10) >> b"rubbish" + request(6) << response(6)
    assert playbook.close() == ["5><", "6><"]
    assert [finding.kind for finding in playbook.exchanges[1].findings] == ["tcp-gap", "undecoded-bytes"]
    assert "the capture lacks 10 bytes from the client, before packet" in playbook.exchanges[1].findings[0].text
    assert "7 bytes from the client skipped: no Kafka frame" in playbook.exchanges[1].findings[1].text


def test_what_is_odd_at_the_end_is_said_of_the_connection(playbook: Playbook) -> None:
    playbook >> request(5) << response(5) >> b"rubbish"
    playbook.fin()
    assert [(peers.number, finding.kind) for peers, finding in playbook.session.findings] == [(1, "undecoded-bytes")]


def test_a_message_with_a_hole_says_how_much_is_missing(playbook: Playbook) -> None:
    asked, told = request(5, topics=[{"name": "t" * 40}] * 20), response(5)
    playbook >> asked[:300] >> Lost(100) >> asked[400:] << told[:20] << Lost(4) << told[24:]
    playbook >> request(6) << response(6)
    assert playbook.close() == ["5><", "6><"]
    first = playbook.exchanges[0]
    kinds = [(finding.kind, finding.start, finding.length) for finding in first.findings]
    assert sorted(kinds, key=str) == [
        ("tcp-gap", None, 100), ("tcp-gap", None, 4),
        ("truncated", 16, len(told) - 20), ("truncated", 296, len(asked) - 300),
    ]  # fmt: skip
    assert first.request is not None
    assert first.request.size == len(asked)
