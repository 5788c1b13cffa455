"""A request that begins like an earlier one is not decoded again, and what comes out is what comes out without that."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdbg.capture.packet import Packet
from kdbg.exchanges.engine import requests
from kdbg.exchanges.engine.directions import RequestSide, ResponseSide
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.engine.framing import Framer
from kdbg.exchanges.engine.requests import Prefix, Prefixes, RequestHeader, read_header, read_prefix
from kdbg.protocol.findings import Finding
from kdbg.protocol.grammars import by_key

from ..cases import by_day, fewer_by_day, for_each
from .playbook import Lost, Playbook, answer, framed, opaque, request, response
from .test_engine import harm, packets_of
from .test_final import NAMES, Shot, packets_in, shot

PRODUCE_VERSIONS = by_key(0).versions


def prefix(frame: bytes) -> Prefix | None:
    _, header = read_header(frame, 4, len(frame) - 4)
    assert header is not None
    return read_prefix(header, frame[4:])


def produce(correlation_id: int, acks: int, version: int, transaction: str | None = None) -> bytes:
    transactions = {} if version < 3 else {"transactional_id": transaction}
    return request(correlation_id, "Produce", version, acks=acks, timeout_ms=9, **transactions)


def tagged(frame: bytes, name: str = "kdbg") -> bytes:
    """A request of a flexible version with a tagged field in its header."""
    end = 4 + 8 + 2 + len(name)
    assert frame[end] == 0
    return framed(frame[4:end] + b"\1\x05\x01!" + frame[end + 1 :])


# What is read


@for_each("version", PRODUCE_VERSIONS)
@for_each("acks", [0, 1, -1])
def test_a_produce_request_says_in_its_prefix_whether_it_wants_an_answer(version: int, acks: int) -> None:
    frame = produce(5, acks, version)
    found = prefix(frame)
    assert found is not None
    assert found.wants_answer is (acks != 0)
    assert found.same == frame[12 : 4 + found.end]
    assert struct.unpack(">h", frame[4 + found.end - 2 : 4 + found.end]) == (acks,)


@pytest.mark.parametrize(("api", "version"), [("Metadata", 1), ("Metadata", 12), ("ApiVersions", 3), ("Heartbeat", 0)])
def test_any_other_prefix_ends_with_the_header(api: str, version: int) -> None:
    frame = request(5, api, version)
    found = prefix(frame)
    assert found is not None
    assert found.end == 8 + 2 + len("kdbg") + (version in (3, 12))
    assert found.wants_answer


def test_a_header_that_is_not_read_without_doubt_is_not_remembered() -> None:
    assert prefix(tagged(request(5, "Metadata", 12))) is None
    assert prefix(opaque(5, 3, 99, b"")) is None
    assert prefix(opaque(5, 31999, 0, b"")) is None


@pytest.mark.parametrize("end", range(8 + 6, 8 + 6 + 1 + 1 + 2))
def test_a_request_that_breaks_off_before_its_acks_has_none(end: int) -> None:
    header = RequestHeader(by_key(0), 9, 5, "kdbg", True)
    message = produce(5, 0, 9)[4:]
    assert read_prefix(header, message[:end]) is None
    assert read_prefix(header, message[: 8 + 6 + 1 + 1 + 2]) is not None


# What is remembered


def test_prefixes_of_connections_that_are_alike_are_one() -> None:
    assert prefix(request(5)) is prefix(request(6))


def test_of_each_api_and_version_the_newest_is_remembered() -> None:
    memory = Prefixes()
    for frame in (produce(5, 1, 9), produce(6, 0, 9), produce(7, 1, 8)):
        found = prefix(frame)
        assert found is not None
        memory.remember(found, frame[4:])
    assert [(each.version, each.wants_answer) for each in memory.values()] == [(9, False), (8, True)]


def test_long_prefixes_are_not_remembered_nor_many() -> None:
    memory = Prefixes()
    frame = request(5, client="c" * requests.LONGEST)
    found = prefix(frame)
    assert found is not None
    memory.remember(found, frame[4:])
    assert not memory
    short = prefix(request(5))
    assert short is not None
    for n in range(3 * requests.MOST):
        memory.remember(short, struct.pack(">i", n))
        assert len(memory) <= requests.MOST


def test_a_like_request_is_not_decoded_again(playbook: Playbook, cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if cut == 1:
        pytest.skip("a frame that comes in many packets is looked at closely")
    playbook >> request(5) >> produce(6, 1, 9)
    monkeypatch.setattr(requests, "read_header", None)
    playbook >> request(7, topics=[]) >> produce(8, 1, 9) + produce(9, 1, 9) + request(10)
    assert playbook.close() == [f"{n}>" for n in range(5, 11)]


def test_a_client_id_that_was_believed_before_another_must_prove_itself_again(playbook: Playbook) -> None:
    broken = opaque(8, 3, 1, b"rubbish", "kdbg")
    beat = {"api": "Heartbeat", "version": 0, "client": "other"}
    playbook >> request(5) >> request(6, **beat) + request(7, **beat)
    playbook >> broken >> request(9, **beat)
    assert playbook.close() == ["5>", "6>", "7>", "9>"]
    assert playbook.lengths("undecoded-bytes") == [len(broken)]


@pytest.mark.parametrize("transaction", [None, "t"])
@pytest.mark.parametrize("version", [3, 9])
def test_acks_0_among_others_is_not_waited_for(playbook: Playbook, version: int, transaction: str | None) -> None:
    asked = [produce(n, acks, version, transaction) for n, acks in enumerate([1, 0, 0, -1, 1, 0])]
    playbook >> b"".join(asked[:3])
    for frame in asked[3:]:
        playbook >> frame
    assert playbook.seen == ["1>!", "2>!", "5>!"]
    playbook << response(0, 0, version) << response(3, 0, version) << response(4, 0, version)
    assert playbook.close() == ["1>!", "2>!", "5>!", "0><", "3><", "4><"]


def test_another_transactional_id_may_be_longer(playbook: Playbook) -> None:
    for n, (transaction, acks) in enumerate([("ab", 1), ("ab\0\0", 0), ("ab", 0), (None, 1), ("ab", 1)]):
        playbook >> produce(n, acks, 3, transaction)
    assert playbook.close() == ["1>!", "2>!", "0>", "3>", "4>"]


def test_where_a_token_may_come_no_beginning_is_believed(playbook: Playbook) -> None:
    """A token may begin like a request, but it does not go on like one."""
    token = opaque(7, 3, 1, b"rubbish")
    playbook >> request(5) << response(5) >> request(6, "SaslHandshake", 0, mechanism="PLAIN")
    playbook << response(6, "SaslHandshake", 0) >> token << framed(b"") >> request(8) << response(8)
    assert playbook.close() == ["5><", "6><", "token><", "8><"]


def test_a_response_to_a_request_behind_a_token_is_not_the_tokens(playbook: Playbook) -> None:
    """Tokens have no correlation id, and the last one of a login may have no answer."""
    playbook >> request(6, "SaslHandshake", 0, mechanism="GSSAPI") << response(6, "SaslHandshake", 0)
    playbook >> framed(b"token") >> request(0) << response(0)
    assert playbook.close() == ["6><", "token>!", "0><"]


def test_a_request_that_its_response_waited_for_is_paired_at_once(playbook: Playbook) -> None:
    playbook >> request(5) << response(5) << response(6) >> request(6)
    assert playbook.seen == ["5><", "6><"]


# The same with and without


@contextmanager
def nothing_remembered() -> Iterator[None]:
    """Every frame is looked at closely, each after those before it were taken off the same bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prefixes, "remember", lambda *_: None)
        patch.setattr(RequestSide, "take", lambda *_: False)
        patch.setattr(ResponseSide, "take", lambda *_: False)
        patch.setattr(Framer, "_take_whole", lambda self, payload, *_: payload)
        yield


def seen(packets: list[Packet]) -> tuple[list[Shot], list[Finding]]:
    engine = Engine()
    shots = [shot(exchange) for exchange in engine.run([packets])]
    return shots, [finding for _, finding in engine.findings]


def check(packets: list[Packet]) -> list[Shot]:
    found = seen(packets)
    with nothing_remembered():
        assert seen(packets) == found
    return found[0]


CLIENTS = st.sampled_from(["kdbg"] * 9 + ["kdbh", "k", "", None])
TRANSACTIONS = st.sampled_from([None, None, "t", "u"])
ACKS = st.sampled_from([1, 1, 0, -1])
REQUESTS = st.one_of(
    st.tuples(st.just("Metadata"), st.sampled_from([1, 12]), CLIENTS, st.just({})),
    st.tuples(st.just("ApiVersions"), st.sampled_from([0, 3]), CLIENTS, st.just({})),
    st.tuples(st.just("SaslHandshake"), st.sampled_from([0, 1]), CLIENTS, st.just({"mechanism": "PLAIN"})),
    st.tuples(
        st.just("Produce"), st.sampled_from([8, 9]), CLIENTS,
        st.builds(lambda acks, transaction: {"acks": acks, "transactional_id": transaction}, ACKS, TRANSACTIONS),
    ),
)  # fmt: skip
WRONG = st.sampled_from(["", "", "", "", "", "tag", "length", "byte", "lost", "unknown"])
STEPS = st.lists(st.tuples(REQUESTS, WRONG, st.integers(0, 2**16), st.booleans()), min_size=1, max_size=12)
CUTS = st.sampled_from(["one a packet", "pipelined", "cut"])


def harmed(frame: bytes, wrong: str, place: int, client: str | None) -> bytes | Lost:
    """A request with something wrong with its beginning."""
    if wrong == "tag" and frame[6:8] in (b"\0\x0c", b"\0\x09") and client is not None:
        return tagged(frame, client)
    if wrong == "length":
        return struct.pack(">i", len(frame) - 4 + place % 40 - 20) + frame[4:]
    if wrong == "byte":
        at = place % min(len(frame), 40)
        return frame[:at] + bytes([place % 256]) + frame[at + 1 :]
    if wrong == "unknown":
        return opaque(place, 3, 99, b"\0" * 8, client)
    return Lost(len(frame)) if wrong == "lost" else frame


def dialogue(steps: list[Any], cuts: str, rng: random.Random) -> list[Packet]:
    """Requests, each answered at once or later, or never; the client's bytes are in packets as `cuts` says."""

    def play(book: Playbook) -> None:
        waiting: list[bytes | Lost] = []
        owed: list[bytes] = []
        for n, ((api, version, client, body), wrong, place, now) in enumerate(steps):
            waiting.append(harmed(request(n, api, version, client=client, **body), wrong, place, client))
            if body.get("acks") != 0 and place % 5:
                owed.append(response(n, api, version) if place % 7 else answer(n, b"?"))
            if now:
                send(book, True, waiting, cuts, rng)
                send(book, False, owed, cuts, rng)
        send(book, True, waiting, cuts, rng)
        send(book, False, owed, cuts, rng)

    return packets_of(play)


def send(book: Playbook, forth: bool, frames: list[Any], cuts: str, rng: random.Random) -> None:
    """Send frames and holes, and forget them."""
    data = b""
    for frame in [*frames, Lost(0)]:
        if isinstance(frame, bytes) and cuts != "one a packet":
            data += frame
            continue
        size = max(1, rng.randrange(len(data) + 1)) if cuts == "cut" else len(data)
        for piece in (data[:size], data[size:]):
            if piece:
                book.send(forth, piece)
        data = b""
        book.send(forth, frame)
    frames.clear()


def test_a_like_request_behind_a_handshake_ends_the_wait_for_tokens() -> None:
    like = (("Metadata", 1, "kdbg", {}), "", 1, True)
    handshake = (("SaslHandshake", 1, "kdbg", {"mechanism": "PLAIN"}), "", 1, True)
    strange = (("Metadata", 1, "kdbh", {}), "unknown", 1, True)
    check(dialogue([like, handshake, like, strange], "one a packet", random.Random(0)))


def test_a_response_that_another_cuts_off_in_its_size_is_no_message() -> None:
    handshake = request(2, "SaslHandshake", 0, mechanism="PLAIN")
    playbook = Playbook(syn=False)
    playbook << b"\0\0\0\n\0" << bytes(9)
    playbook >> opaque(5822, 3, 99, bytes(8)) + handshake + b"\0\0\0\x14"
    playbook >> b"\0\0\0\x08\0\0\0\3\0\4kdbg\0\1t\0\1" + bytes(8)
    playbook << b"\0\0\0\x0c\0\0\0\3\0\0" << bytes(6)
    playbook << b"\0\0\0\n\0\0\0\4" + bytes(8) + b"\0\x0b\0" << b"\0\0\5\0\1" + bytes(5)
    playbook << b"\0\0\0\n\0\0" << b"\0\6" + bytes(6)
    playbook.close()


@settings(max_examples=fewer_by_day(150, 4), deadline=None)
@given(STEPS, CUTS, st.randoms(use_true_random=False))
def test_in_dialogues_that_change_their_minds(steps: list[Any], cuts: str, rng: random.Random) -> None:
    check(dialogue(steps, cuts, rng))


@for_each("name", by_day(NAMES, 2))
def test_in_every_capture(name: str) -> None:
    assert check(packets_in(name))


@settings(max_examples=fewer_by_day(25, 3), deadline=None)
@given(st.sampled_from(NAMES), st.integers(0, 2**32))
def test_in_damaged_captures(name: str, seed: int) -> None:
    rng = random.Random(seed)
    packets = packets_in(name)
    start = rng.randrange(len(packets))
    check(harm(packets[start : start + 120], rng))
