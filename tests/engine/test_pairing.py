"""Dialogues: which request and which response make an exchange, and what becomes of those that stay alone."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdbg
from kdbg.exchanges.engine import in_flight as room
from kdbg.exchanges.engine.in_flight import LATE
from kdbg.exchanges.engine.pairing import Pairing
from kdbg.exchanges.engine.requests import RequestHeader
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.peers import Peers
from kdbg.protocol.findings.facts import Answers, FactKind, PlainFact  # fmt: skip
from kdbg.protocol.grammars import by_key

from .damage import Line
from .playbook import Lost, Playbook, answer, framed, opaque, request, response, told

BATCH: dict[str, Any] = {"magic": 2, "records": [{"value": b"x"}]}


def produce(correlation_id: int, acks: int, version: int = 9, **body: Any) -> bytes:
    topic = {"topic_id": "12345678-1234-1234-1234-123456789abc"} if version >= 13 else {"name": "orders"}
    parts = [{"index": 0, "records": b""}]
    return request(correlation_id, 0, version, acks=acks, topic_data=[topic | {"partition_data": parts}], **body)


# In order


def test_a_request_and_its_response(playbook: Playbook) -> None:
    playbook >> request(5)
    assert playbook.seen == []
    playbook << response(5)
    assert playbook.seen == ["5><"]
    assert playbook.close() == ["5><"]
    assert playbook.findings == []


def test_many_in_turn(playbook: Playbook) -> None:
    for n in range(20):
        playbook >> request(n) << response(n)
    assert playbook.close() == [f"{n}><" for n in range(20)]


def test_pipelined(playbook: Playbook) -> None:
    playbook >> request(5) + request(6) >> request(7) << response(5) >> request(8) << response(6) + response(7)
    assert playbook.seen == ["5><", "6><", "7><"]
    assert playbook.close() == ["5><", "6><", "7><", "8>"]
    assert [finding.kind for finding in playbook.findings] == ["no-response"]


def test_an_exchange_says_who_what_and_when(playbook: Playbook) -> None:
    playbook >> request(5) << response(5)
    (exchange,) = playbook.exchanges
    assert exchange.api is not None
    assert (exchange.api.name, exchange.version, exchange.client_id, exchange.number) == ("Metadata", 1, "kdbg", 1)
    assert exchange.peers[:3] == (1, ("10.0.0.1", 51514), ("10.0.0.2", 9092))
    assert [message.body["topics"] for message in exchange.messages()] == [
        [{"name": "orders"}, {"name": "payments"}],
        [],
    ]


def test_latency_is_from_the_last_byte_asked_to_the_first_byte_told() -> None:
    playbook = Playbook(10)
    playbook >> request(5)
    asked = playbook.number
    playbook << response(5)
    (exchange,) = playbook.exchanges
    assert exchange.request is not None
    assert exchange.response is not None
    assert (exchange.request.first_packet, exchange.request.last_packet) == (4, asked)
    assert (exchange.response.first_packet, exchange.response.last_packet) == (asked + 1, playbook.number)
    assert exchange.latency == 1000
    assert exchange.time == 4000


# Correlation ids


@pytest.mark.parametrize("first", [-(2**31), -3, 0, 2**31 - 2], ids=["lowest", "negative", "zero", "wrapping"])
def test_any_correlation_ids(playbook: Playbook, first: int) -> None:
    ids = [(first + n + 2**31) % 2**32 - 2**31 for n in range(5)]
    for n in ids:
        playbook >> request(n)
    for n in ids:
        playbook << response(n)
    assert playbook.close() == [f"{n}><" for n in ids]
    assert playbook.findings == []


def test_the_same_correlation_id_again_and_again(playbook: Playbook) -> None:
    playbook >> request(5) >> request(5) << response(5) << response(5) >> request(5) << response(5)
    assert playbook.close() == ["5><"] * 3


def test_a_response_that_is_passed_over(playbook: Playbook) -> None:
    playbook >> request(5) >> request(6) >> request(7) << response(6) << response(7)
    assert playbook.close() == ["6><", "7><", "5>"]
    assert [finding.kind for finding in playbook.findings] == ["no-response"]


def test_a_response_that_nobody_asked_for(playbook: Playbook) -> None:
    """Its request is not in the capture: it is believed once the next response stands behind it."""
    playbook >> request(5) << response(5) << response(6) >> request(7) << response(7)
    assert playbook.close() == ["5><", "<6", "7><"]
    (finding,) = playbook.findings
    assert (finding.kind, finding.path, finding.start) == ("unsolicited-response", "body", 4)
    assert "the layout probably matches a response to Metadata v1" in finding.text
    (message,) = playbook.exchanges[1].messages()
    assert (message.api.name, message.version, message.body["brokers"][0]["port"]) == ("Metadata", 1, 9092)


def test_a_response_of_nobody_that_no_layout_reads(playbook: Playbook) -> None:
    playbook >> request(5) << response(5) << answer(6, b"\xff" * 40) >> request(7) << response(7)
    assert playbook.close() == ["5><", "<6", "7><"]
    (finding,) = playbook.findings
    assert "the request is not in the capture; 40 body bytes not decoded" in finding.text
    assert playbook.exchanges[1].messages() == []


def test_a_response_of_nobody_that_may_hold_a_secret_is_not_read_as_something_else(playbook: Playbook) -> None:
    """DescribeConfigs and DescribeDelegationToken of nothing look like much else."""
    empty = response(6, "DescribeDelegationToken", 1)
    playbook >> request(5) << response(5) << empty >> request(7) << response(7)
    assert playbook.close() == ["5><", "<6", "7><"]
    (finding,) = playbook.findings
    assert isinstance(finding.facts, Answers)
    assert "DescribeDelegationToken" in [name for _, name, _ in finding.facts.candidates]
    first = playbook.exchanges[1].api
    assert (first is None) == (not finding.facts.read)


def test_the_last_response_that_nobody_asked_for(playbook: Playbook) -> None:
    playbook >> request(5) << response(5) << response(6)
    assert playbook.close() == ["5><", "<6"]


def test_bytes_that_are_no_response_are_not_made_one(playbook: Playbook) -> None:
    rubbish = framed(struct.pack(">i", 0x40506070) + b"rubbish")
    playbook >> request(5) << response(5) << rubbish >> request(6) << response(6)
    assert playbook.close() == ["5><", "6><"]
    assert playbook.lengths("undecoded-bytes") == [len(rubbish)]


# Shuffled captures


def test_a_response_captured_before_its_request(playbook: Playbook) -> None:
    playbook >> request(5) << response(5) << response(6) >> request(6)
    assert playbook.seen == ["5><", "6><"], "as soon as the request is there"
    playbook >> request(7) << response(7)
    assert playbook.close() == ["5><", "6><", "7><"]
    assert playbook.findings == []


def test_the_first_response_captured_before_its_request(playbook: Playbook) -> None:
    playbook << response(5)
    playbook >> request(5)
    assert playbook.close() == ["5><"]


def test_several_responses_captured_before_their_requests(playbook: Playbook) -> None:
    playbook >> request(5) << response(5) << response(6) + response(7) + response(8)
    playbook >> request(6) + request(7) + request(8) >> request(9) << response(9)
    assert playbook.close() == ["5><", "6><", "7><", "8><", "9><"]
    assert playbook.findings == []


def test_early_responses_pass_over_what_waits(playbook: Playbook) -> None:
    """7 and 8 were answered before they were asked: 5 and 6 should have been by then."""
    playbook >> request(5) >> request(6) << response(7) + response(8)
    playbook >> request(7) + request(8)
    assert playbook.close() == ["7><", "8><", "5>", "6>"]


def test_responses_that_came_too_early_are_not_kept_for_ever() -> None:
    playbook = Playbook()
    playbook >> request(5) << response(5)
    for n in range(6, 6 + 3 * room.MAX_UNMATCHED):
        playbook << response(n)
    assert len(playbook.seen) >= 2 * room.MAX_UNMATCHED
    assert playbook.close() == ["5><", *(f"<{n}" for n in range(6, 6 + 3 * room.MAX_UNMATCHED))]


# Requests that nobody answers


@pytest.mark.parametrize("version", by_key(0).versions)
def test_a_produce_request_without_acks_is_not_waited_for(playbook: Playbook, version: int) -> None:
    playbook >> produce(5, 0, version)
    assert playbook.seen == ["5>!"]
    playbook >> request(6) << response(6)
    assert playbook.close() == ["5>!", "6><"]
    assert playbook.findings == []


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", by_key(0).versions)
def test_a_produce_request_with_acks_is(playbook: Playbook, version: int, acks: int) -> None:
    playbook >> produce(5, acks, version) << response(5, 0, version)
    assert playbook.close() == ["5><"]


def test_no_acks_among_others(playbook: Playbook) -> None:
    playbook >> request(5) >> produce(6, 0) >> produce(7, 0) >> request(8) << response(5) << response(8)
    assert playbook.close() == ["6>!", "7>!", "5><", "8><"]


def test_a_produce_request_that_breaks_off_before_its_acks_waits() -> None:
    talk, out = conversation()
    header = RequestHeader(by_key(0), 9, 5, "kdbg", True)
    exchange = talk.request(header, CapturedMessage(produce(5, 0)[4:16], (0, 0), (1, 1), "request", 50))
    assert exchange.answered
    assert not out


def test_unanswered_requests_come_out_when_the_connection_ends(playbook: Playbook) -> None:
    playbook >> request(5) >> request(6)
    assert playbook.seen == []
    playbook.fin()
    assert playbook.seen == ["5>", "6>"]
    assert {(finding.kind, finding.side) for finding in playbook.findings} == {("no-response", "request")}


def test_a_refusal_of_another_request_is_no_end_of_the_tokens(playbook: Playbook) -> None:
    """The client asks for the versions and shakes hands at once; that the first is refused says nothing of tokens."""
    playbook >> request(1, "ApiVersions", 0) >> request(2, "SaslHandshake", 0, mechanism="PLAIN")
    playbook << response(1, "ApiVersions", 0, error_code=35, api_keys=[])
    playbook << response(2, "SaslHandshake", 0, error_code=0, mechanisms=["PLAIN"])
    playbook >> framed(b"\0alice\0s3cret") << framed(b"")
    playbook >> request(3) << response(3)
    assert playbook.close() == ["1><", "2><", "token><", "3><"]


def test_where_a_message_broke_off_is_told(playbook: Playbook) -> None:
    playbook >> request(5) << response(5)[:-3]
    playbook.close()
    (finding,) = [finding for finding in playbook.findings if finding.kind == "truncated"]
    assert (finding.side, finding.path, finding.start, finding.length) == ("response", "", len(response(5)) - 4 - 3, 3)


def conversation() -> tuple[Pairing, list[Exchange]]:
    out: list[Exchange] = []
    return Pairing(Peers(1, ("a", 1), ("b", 2)), out.append, whole=True), out


def ask(talk: Pairing, correlation_id: int, size: int) -> None:
    header = RequestHeader(by_key(3), 1, correlation_id, "kdbg", True)
    talk.request(header, CapturedMessage(bytes(size), (0, 0), (1, 1), "request"))


def test_only_so_many_requests_wait() -> None:
    talk, out = conversation()
    for n in range(room.MAX_IN_FLIGHT + 3 * room.LOOK):
        ask(talk, n, 10)
    assert room.MAX_IN_FLIGHT <= len(talk.in_flight) < room.MAX_IN_FLIGHT + room.LOOK
    assert [exchange.correlation_id for exchange in out] == list(range(len(out)))
    assert all(exchange.findings[0].kind == "no-response" for exchange in out)


def test_only_so_many_bytes_of_requests_wait() -> None:
    talk, out = conversation()
    for n in range(2 * room.LOOK):
        ask(talk, n, room.MAX_BYTES // room.LOOK)
    assert len(talk.in_flight) <= room.LOOK
    assert len(out) >= room.LOOK


# Raw SASL tokens (the guide's "SASL Authentication Sequence"; KIP-43, KIP-152)

HANDSHAKE = {"mechanism": "PLAIN"}
PLAIN = framed(b"\0alice\0example-pass")
EMPTY = framed(b"")


def test_plain_tokens_after_handshake_0(playbook: Playbook) -> None:
    playbook >> request(1, "SaslHandshake", 0, **HANDSHAKE) << response(1, "SaslHandshake", 0, mechanisms=["PLAIN"])
    playbook >> PLAIN << EMPTY >> request(2) << response(2)
    assert playbook.close() == ["1><", "token><", "2><"]
    assert playbook.findings == []
    assert playbook.exchanges[1].messages()[0].body == {"token": PLAIN[4:]}


def test_scram_tokens_in_two_rounds(playbook: Playbook) -> None:
    playbook >> request(1, "ApiVersions", 0) << response(1, "ApiVersions", 0)
    playbook >> request(2, "SaslHandshake", 0, mechanism="SCRAM-SHA-256") << response(2, "SaslHandshake", 0)
    playbook >> framed(b"n,,n=alice,r=fyko") << framed(b"r=fykoQ2,s=QSXC,i=4096")
    playbook >> framed(b"c=biws,r=fykoQ2,p=dHzb") << framed(b"v=6rri")
    playbook >> request(3, "ApiVersions", 3) << response(3, "ApiVersions", 3) >> request(4) << response(4)
    assert playbook.close() == ["1><", "2><", "token><", "token><", "3><", "4><"]
    assert playbook.findings == []


def test_a_handshake_answered_after_the_token_was_seen(playbook: Playbook) -> None:
    """A shuffled capture: what the client sends next does not depend on having seen the answer."""
    playbook >> request(1, "SaslHandshake", 0, **HANDSHAKE) >> PLAIN << response(1, "SaslHandshake", 0) << EMPTY
    playbook >> request(2) << response(2)
    assert playbook.close() == ["1><", "token><", "2><"]


def test_a_handshake_that_fails(playbook: Playbook) -> None:
    playbook >> request(1, "SaslHandshake", 0, **HANDSHAKE) << response(1, "SaslHandshake", 0, error_code=33)
    playbook >> opaque(2, 3, 99, b"") << answer(2, b"")
    assert playbook.close() == ["1><", "2><"]


def test_sasl_authenticate_after_handshake_1(playbook: Playbook) -> None:
    playbook >> request(1, "SaslHandshake", 1, **HANDSHAKE) << response(1, "SaslHandshake", 1)
    playbook >> request(2, "SaslAuthenticate", 1, auth_bytes=PLAIN[4:]) << response(2, "SaslAuthenticate", 1)
    playbook >> request(3) << response(3)
    assert playbook.close() == ["1><", "2><", "3><"]


def test_gssapi_tokens_without_a_handshake(playbook: Playbook) -> None:
    """As clients of 0.9 do it."""
    playbook >> framed(b"\x60\x82\x02\x10 from the client") << framed(b"\x60\x40 from the broker")
    playbook >> EMPTY << framed(b"\x05\x04\x05\xff\0\x0c") >> framed(b"\x05\x04\x04\xff\0\x0c") << EMPTY
    playbook >> request(1) << response(1)
    assert playbook.close() == ["token><"] * 3 + ["1><"]
    assert playbook.findings == []


def test_a_token_that_is_refused(playbook: Playbook) -> None:
    """Brokers before KIP-152 just hang up."""
    playbook >> request(1, "SaslHandshake", 0, **HANDSHAKE) << response(1, "SaslHandshake", 0) >> PLAIN
    playbook.fin()
    assert playbook.seen == ["1><", "token>"]


def test_a_token_whose_answer_is_lost(playbook: Playbook) -> None:
    playbook >> request(1, "SaslHandshake", 0, **HANDSHAKE) << response(1, "SaslHandshake", 0) >> PLAIN << Lost(4)
    playbook >> request(2) << response(2) >> request(3) << response(3)
    assert playbook.close() == ["1><", "token>", "2><", "3><"]


def test_tokens_end_some_time() -> None:
    """What comes after more tokens than any mechanism has is not made tokens for ever."""
    playbook = Playbook() >> request(1, "SaslHandshake", 0, **HANDSHAKE) << response(1, "SaslHandshake", 0)
    for _ in range(30):
        playbook >> framed(b"rubbish") << framed(b"rubbish")
    assert playbook.close().count("token><") == 16


@pytest.mark.parametrize(("api", "version"), [("ApiVersions", 0), ("SaslHandshake", 1)])
def test_only_handshake_0_is_followed_by_tokens(playbook: Playbook, api: str, version: int) -> None:
    """An unknown request behind another one is a request."""
    playbook >> request(1, api, version) << response(1, api, version) >> opaque(2, 3, 99, b"") << answer(2, b"")
    assert playbook.close() == ["1><", "2><"]


# What kdbg has no grammar for


@pytest.mark.parametrize(("key", "version"), [(31999, 0), (31999, 77), (3, 99), (18, 99)])
@pytest.mark.parametrize("client", ["kdbg", None])
def test_an_unknown_api_or_version_amid_good_traffic(
    playbook: Playbook, key: int, version: int, client: str | None
) -> None:
    playbook >> request(5, client=client) >> opaque(6, key, version, b"who knows", client) >> request(7, client=client)
    playbook << response(5) << answer(6, b"nobody knows") << response(7)
    playbook >> request(8, client=client) << response(8)
    assert playbook.close() == ["5><", "6><", "7><", "8><"]
    assert playbook.findings == []
    unknown = playbook.exchanges[1]
    assert unknown.api is not None
    assert (unknown.api.key, unknown.version, unknown.client_id) == (key, version, client)
    kinds = {finding.kind for finding in unknown.all_findings()}
    assert kinds & {"unknown-api", "unknown-version"}


@given(st.lists(st.sampled_from(["ask", "tell", "skip", "quiet"]), max_size=40), st.integers(-(2**31), 2**31 - 41))
def test_every_request_comes_out_once(steps: list[str], first: int) -> None:
    """Asked, answered, passed over, not to be answered, in any order: nothing is lost, nothing is said twice."""
    playbook, waiting, wanted, number = Playbook(), [], {}, first
    for step in steps:
        if step in ("ask", "quiet"):
            playbook >> (request(number) if step == "ask" else produce(number, 0))
            wanted[number] = f"{number}>" if step == "ask" else f"{number}>!"
            waiting += [number] if step == "ask" else []
            number += 1
        elif waiting:
            if step == "skip":
                waiting.pop(0)
            if waiting:
                playbook << response(asked := waiting.pop(0))
                wanted[asked] = f"{asked}><"
    assert sorted(playbook.close()) == sorted(wanted.values())
    assert [exchange.number for exchange in playbook.exchanges] == list(range(1, len(wanted) + 1))


def test_encode_is_the_other_half_of_these_tests() -> None:
    assert kdbg.decode(request(5)[4:], api="Metadata", version=1, direction="request").body["topics"]


# Responses out of order


def kinds(playbook: Playbook) -> dict[str, list[str]]:
    """What is said of each exchange that something is said of."""
    return {told(one): [str(found.kind) for found in one.findings] for one in playbook.exchanges if one.findings}


def test_answers_in_another_order_are_paired_and_it_is_said(playbook: Playbook) -> None:
    playbook >> request(1) >> request(2) >> request(3) << response(2) << response(1) << response(3)
    assert playbook.close() == ["2><", "1><", "3><"]
    assert kinds(playbook) == {"1><": ["out-of-order"]}
    (finding,) = playbook.findings
    assert "(correlation id 2)" in finding.text
    assert finding.side == "response"


def test_the_other_way_round(playbook: Playbook) -> None:
    for n in range(5):
        playbook >> request(n)
    for n in reversed(range(5)):
        playbook << response(n)
    assert playbook.close() == ["4><", "3><", "2><", "1><", "0><"]
    assert kinds(playbook) == {f"{n}><": ["out-of-order"] for n in range(4)}


def test_a_request_that_was_passed_over_holds_up_nobody(playbook: Playbook) -> None:
    playbook >> request(1) >> request(2) << response(2)
    assert playbook.seen == ["2><"]
    for n in range(3, 3 + LATE - 1):
        playbook >> request(n) << response(n)
    assert playbook.seen == [f"{n}><" for n in range(2, 2 + LATE)]
    playbook >> request(998) << response(998) >> request(999) << response(999)
    assert "1>" in playbook.seen, "given up, and said"
    (finding,) = playbook.findings
    assert finding.facts == FactKind.PASSED_OVER.of(LATE)


def test_an_answer_that_comes_after_all_that_is_read_and_said() -> None:
    playbook = Playbook() >> request(1) >> request(2) << response(2)
    for n in range(3, 4 + LATE):
        playbook >> request(n) << response(n)
    playbook << response(1)
    playbook >> request(999) << response(999)
    assert playbook.close().count("1>") == 1
    (late,) = [one for one in playbook.exchanges if told(one) == "<1"]
    assert [finding.facts for finding in late.findings] == [PlainFact.ANSWERED_TOO_LATE]
    assert late.messages()[0].body["brokers"], "it can be read as its"


def test_only_so_many_requests_are_passed_over() -> None:
    playbook = Playbook()
    for n in range(LATE + 3):
        playbook >> request(n)
    playbook << response(LATE + 2)
    assert playbook.seen == ["0>", "1>", f"{LATE + 2}><"]
    assert {finding.facts for finding in playbook.findings} == {FactKind.PASSED_OVER_MANY.of(LATE)}


def asked(*ids: int) -> Line:
    """A conversation without TCP, which would wait for what is missing."""
    return Line().feed(True, *map(request, ids))


def test_what_was_lost_explains_what_is_missing() -> None:
    """A hole in what the broker sent: nobody waits for what was in it."""
    line = asked(1, 2, 3).feed(False, len(response(1)), response(2))
    assert list(map(told, line.exchanges)) == ["1>", "2><"]
    line.feed(False, response(3)).end()
    assert list(map(told, line.exchanges)) == ["1>", "2><", "3><"]


def test_a_hole_gives_up_what_was_passed_over() -> None:
    line = asked(1, 2, 3, 4).feed(False, response(2), 9, response(3))
    assert list(map(told, line.exchanges)) == ["2><", "1>", "3><"]
    assert PlainFact.RESPONSES_LOST in [finding.facts for finding in line.exchanges[1].findings]
    line.feed(False, response(4)).end()
    assert list(map(told, line.exchanges)) == ["2><", "1>", "3><", "4><"]


def test_requests_after_a_hole_may_be_answered_late() -> None:
    line = asked(1, 2).feed(False, len(response(1)), response(2))
    line.feed(True, request(3), request(4)).feed(False, response(4), response(3)).end()
    assert list(map(told, line.exchanges)) == ["1>", "2><", "4><", "3><"]
    assert [str(finding.kind) for finding in line.exchanges[3].findings] == ["out-of-order"]


def test_an_answer_to_no_acks_pairs_and_it_is_said(playbook: Playbook) -> None:
    playbook >> produce(5, 0) << response(5, 0, 9) >> request(6) << response(6)
    assert playbook.close() == ["5>!<", "6><"]
    assert [finding.facts for finding in playbook.findings] == [PlainFact.ANSWERED_UNASKED]
    assert len(playbook.exchanges[0].messages()) == 2


def test_an_answer_to_no_acks_among_others(playbook: Playbook) -> None:
    playbook >> request(4) >> produce(5, 0) >> request(6) << response(4) << response(5, 0, 9) << response(6)
    assert playbook.close() == ["5>!<", "4><", "6><"]


def test_no_acks_are_final_once_both_ends_have_closed(playbook: Playbook) -> None:
    """No answer can come any more: nobody has to wait for the next packet."""
    playbook >> produce(5, 0)
    assert playbook.handed_out == []
    playbook.fin()
    assert [told(one) for one in playbook.handed_out] == ["5>!"]


def test_an_answer_to_no_acks_that_was_told(playbook: Playbook) -> None:
    """Nobody holds a request back for an answer that it does not want."""
    playbook >> produce(5, 0)
    assert playbook.seen == ["5>!"]
    playbook << response(5, 0, 9)
    playbook >> request(6) << response(6)
    assert playbook.close() == ["5>!", "<5", "6><"]
    (finding,) = playbook.findings
    assert (str(finding.kind), finding.facts) == ("unsolicited-response", PlainFact.ANSWERED_UNASKED_LATE)
    assert playbook.exchanges[1].messages()[0].body["responses"] == []


def test_no_acks_before_a_request_that_is_answered_are_done() -> None:
    """Responses come in order: what came before needs no more patience."""
    playbook = Playbook() >> produce(5, 0) >> request(6) << response(6) >> request(7)
    assert [told(one) for one in playbook.handed_out] == ["5>!"]
    playbook = Playbook() >> request(6) >> produce(7, 0) << response(6) >> request(8)
    assert playbook.handed_out == [], "an answer to 7 may still come"


# GSSAPI (RFC 4752): the client has the last word

AP_REQ, AP_REP = framed(b"\x60\x82\x02\x10 from the client"), framed(b"\x60\x40 from the broker")
OFFER, CHOICE = framed(b"\x05\x04\x05\xff\0\x0c" + bytes(22)), framed(b"\x05\x04\x04\xff\0\x0c" + bytes(38))
GSSAPI = {"mechanism": "GSSAPI"}


def test_the_last_gssapi_token_has_no_answer(playbook: Playbook) -> None:
    playbook >> request(1, "SaslHandshake", 0, **GSSAPI) << response(1, "SaslHandshake", 0, mechanisms=["GSSAPI"])
    playbook >> AP_REQ << AP_REP >> EMPTY << OFFER >> CHOICE >> request(2) << response(2) >> request(3) << response(3)
    assert playbook.close() == ["1><", "token><", "token><", "token>!", "2><", "3><"]
    assert playbook.findings == []


def test_so_in_the_form_of_0_9(playbook: Playbook) -> None:
    """No handshake, and the client asks for metadata right behind its last token."""
    playbook >> AP_REQ << AP_REP >> EMPTY << OFFER >> CHOICE + request(1) << response(1) >> request(2) << response(2)
    assert playbook.close() == ["token><", "token><", "token>!", "1><", "2><"]
    assert playbook.findings == []
    first = playbook.exchanges[0].request
    assert first is not None
    assert first.known is not None
    assert first.known.facts == GSSAPI


def test_a_large_answer_behind_the_last_gssapi_token(playbook: Playbook) -> None:
    """Larger than any token: it is told by the correlation id."""
    large = [{"node_id": n, "host": "h" * 30_000, "port": 1, "rack": None} for n in range(40)]
    playbook.cut = max(playbook.cut, 1448)
    playbook >> AP_REQ << AP_REP >> EMPTY << OFFER >> CHOICE >> request(1) << response(1, brokers=large)
    assert playbook.close() == ["token><", "token><", "token>!", "1><"]


def test_gssapi_tokens_that_end_early(playbook: Playbook) -> None:
    """The connection ends behind the last token: nothing says that the broker took it."""
    playbook >> request(1, "SaslHandshake", 0, **GSSAPI) << response(1, "SaslHandshake", 0, mechanisms=["GSSAPI"])
    playbook >> AP_REQ << AP_REP >> EMPTY << OFFER >> CHOICE
    playbook.fin()
    assert playbook.seen == ["1><", "token><", "token><", "token>"]
    assert [str(finding.kind) for finding in playbook.findings] == ["no-response"]


def test_gssapi_with_a_request_nobody_answers(playbook: Playbook) -> None:
    playbook >> AP_REQ << AP_REP >> EMPTY << OFFER >> CHOICE >> request(1)
    assert playbook.close() == ["token><", "token><", "token>!", "1>"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "OWN"])
def test_other_mechanisms_leave_the_last_word_to_the_broker(playbook: Playbook, mechanism: str) -> None:
    playbook >> request(1, "SaslHandshake", 0, mechanism=mechanism) << response(1, "SaslHandshake", 0)
    playbook >> PLAIN >> request(2) << response(2)
    assert playbook.close() == ["1><", "token>", "2><"]
    assert [str(finding.kind) for finding in playbook.findings] == ["no-response"]


def test_a_refused_handshake_of_gssapi_expects_no_tokens(playbook: Playbook) -> None:
    playbook >> request(1, "SaslHandshake", 0, **GSSAPI) << response(1, "SaslHandshake", 0, error_code=33)
    playbook >> request(2) << response(2)
    assert playbook.close() == ["1><", "2><"]
    assert playbook.findings == []
