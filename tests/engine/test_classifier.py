"""Is it Kafka, and who is the client? On any port, from either end, from the middle; what is not Kafka is let go."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from kdbg.budget import Budget
from kdbg.capture.packet import ACK, FIN, RST, SYN
from kdbg.exchanges.engine.classifier import HELD, PATIENCE_MIDSTREAM, PATIENCE_WHOLE
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.engine.foreign import BEGINNINGS
from kdbg.exchanges.engine.identify import fits_any
from kdbg.protocol.findings.facts import FactKind
from kdbg.streams.tcp.stream import LOOK, PATIENCE

from ..cases import for_each
from .playbook import Lost, Playbook, flow, framed, opaque, request, response

PORTS = [(51514, 9092), (9092, 51514), (9092, 9093), (40000, 50000), (50000, 40000), (1, 65535)]


@pytest.mark.parametrize("ports", PORTS)
@pytest.mark.parametrize("syn", [True, False], ids=["opened", "midway"])
@pytest.mark.parametrize("first", ["request", "response"])
def test_kafka_is_recognised(ports: tuple[int, int], syn: bool, first: str, cut: int) -> None:
    """Whatever the ports, whether the capture saw the connection open, whichever side it heard first."""
    playbook = Playbook(cut, syn=syn, path=flow(*ports))
    if first == "request":
        playbook >> request(5) << response(5)
    else:
        playbook << response(5)
        playbook >> request(5)
    playbook >> request(6) << response(6)
    assert playbook.close() == ["5><", "6><"]
    assert playbook.findings == []
    ends = (1, ("10.0.0.1", ports[0]), ("10.0.0.2", ports[1]))
    assert {exchange.peers[:3] for exchange in playbook.exchanges} == {ends}
    assert (playbook.session.connections, playbook.session.other_connections) == (1, 0)


@pytest.mark.parametrize(
    "first", [request(5, "ApiVersions", 0), request(5, "ApiVersions", 3), request(5, "Produce", 3)]
)
def test_whatever_the_first_request(playbook: Playbook, first: bytes) -> None:
    playbook >> first
    playbook.fin()
    assert len(playbook.seen) == 1


@pytest.mark.parametrize("first", [opaque(5, 31999, 0, b"?"), opaque(5, 3, 99, b"?"), opaque(5, 18, 99, b"?", None)])
def test_an_opened_connection_may_begin_with_an_unknown_request(playbook: Playbook, first: bytes) -> None:
    playbook >> first >> request(6) << response(6)
    assert playbook.close() == ["6><", "5>"]


def test_a_first_request_that_is_long_is_not_held() -> None:
    playbook = Playbook(1448) >> request(5, topics=[{"name": "t" * 200}] * 2000)[:300_000]
    assert playbook.session.connections == 1
    playbook.close()


def test_a_response_is_not_taken_for_a_request(cut: int) -> None:
    """A small correlation id and a list of one look like a Produce request from a client without a name."""
    playbook = Playbook(cut, syn=False)
    playbook << response(5, "Metadata", 0, brokers=[{"node_id": 0, "host": "h", "port": 9092}], topics=[])
    playbook >> request(6) << response(6)
    assert playbook.close() == ["<5", "6><"]
    assert playbook.exchanges[0].peers.client == ("10.0.0.1", 51514)


def test_a_capture_that_starts_in_the_middle_of_a_request(midway: Playbook) -> None:
    midway >> request(5)[11:] + request(6) << response(6)
    assert midway.close() == ["6><"]
    assert midway.lengths("midstream") == [len(request(5)) - 11]


def test_a_capture_that_starts_in_the_middle_of_a_response(midway: Playbook) -> None:
    midway << response(5)[7:]
    midway >> request(6) << response(6)
    assert midway.close() == ["6><"]
    assert midway.lengths("midstream") == [len(response(5)) - 7]


def test_a_capture_that_starts_behind_some_requests(midway: Playbook) -> None:
    midway << response(4) << response(5)
    midway >> request(6) << response(6)
    assert midway.close() == ["<4", "<5", "6><"]
    assert midway.lengths("undecoded-bytes") == []


def test_one_response_of_an_older_connection_is_shown_and_its_request_is_before_the_capture(midway: Playbook) -> None:
    midway << response(4)
    midway.fin()
    assert midway.close() == ["<4"]
    assert [finding.kind for finding in midway.exchanges[0].findings] == ["unsolicited-response"]
    assert midway.findings == midway.exchanges[0].findings


def test_the_end_of_one_alone_is_a_note_and_no_other_protocol(midway: Playbook) -> None:
    midway << response(4)[5:]
    assert midway.close() == []
    assert [(finding.kind, finding.length) for finding in midway.findings] == [("midstream", len(response(4)) - 5)]


def test_behind_a_gap_what_is_passed_over_is_an_error(cut: int) -> None:
    playbook = Playbook(cut, syn=False) << response(4)[5:] << Lost(100) << response(5)[5:]
    playbook >> request(6) << response(6)
    playbook.close()
    assert "midstream" not in {finding.kind for finding in playbook.findings}
    assert playbook.lengths("undecoded-bytes")


def test_brokers_alone(cut: int) -> None:
    """The handshake says who answers; what was asked, the answers tell."""
    playbook = Playbook(cut)
    for n in range(5, 9):
        playbook << response(n)
    assert playbook.close() == ["<5", "<6", "<7", "<8"]
    assert {one.api.name for one in playbook.exchanges if one.api is not None} == {"Metadata"}
    assert playbook.exchanges[0].peers.client == ("10.0.0.1", 51514)
    assert {finding.kind for finding in playbook.findings} == {"unsolicited-response"}


def test_brokers_alone_and_midway(midway: Playbook) -> None:
    for n in range(5, 9):
        midway << response(n)
    assert midway.close() == ["<5", "<6", "<7", "<8"]
    assert midway.exchanges[0].peers.client == ("10.0.0.1", 51514)


def test_brokers_alone_with_a_loss(cut: int) -> None:
    playbook = Playbook(cut)
    playbook << response(5) << response(6) << response(7)[:9] << Lost(len(response(7)) - 9 + 20) << response(8)[20:]
    playbook << response(9) << response(10)
    assert playbook.close() == ["<5", "<6", "<7", "<9", "<10"]


def test_a_lone_response_is_kafka(playbook: Playbook) -> None:
    playbook << response(5)
    assert playbook.close() == ["<5"]


@for_each("place", range(14))
def test_one_wrong_byte_in_the_first_request_costs_no_other(place: int) -> None:
    damaged = bytearray(request(5))
    damaged[place] ^= 0x40
    playbook = Playbook() >> bytes(damaged) << response(5)
    for n in range(6, 9):
        playbook >> request(n) << response(n)
    assert {"6><", "7><", "8><"} <= set(playbook.close())


def test_a_capture_that_missed_the_first_request(cut: int) -> None:
    playbook = Playbook(cut) >> Lost(len(request(5))) << response(5) >> request(6) << response(6)
    assert playbook.close() == ["<5", "6><"]


def test_an_opened_connection_whose_first_request_is_cut(cut: int) -> None:
    asked = request(5)
    playbook = Playbook(cut) >> asked[:30] >> Lost(len(asked) - 30) << response(5) >> request(6) << response(6)
    assert playbook.close() == ["5><", "6><"]


def test_midway_with_every_message_cut_by_the_snaplen() -> None:
    """Nothing can prove itself; what seems to begin with a request is taken for the client in the end."""
    playbook = Playbook(syn=False)
    for n in range(5):
        asked, told = request(n, topics=[{"name": "t" * 90}]), response(n)
        playbook >> asked[:40] >> Lost(len(asked) - 40) << told[:20] << Lost(len(told) - 20)
    playbook >> request(9)[:30]
    assert playbook.close() == [*(f"{n}><" for n in range(5)), "9>"]


def test_a_first_request_that_is_damaged_is_one_by_its_header(midway: Playbook) -> None:
    """It cannot prove itself, the next one can: then the first one is read, too, for it stands where one may begin."""
    damaged = request(5)[:-12] + b"\x7f" * 12
    midway >> damaged >> request(6) << response(5) << response(6)
    assert midway.close() == ["5><", "6><"]
    assert midway.lengths("undecoded-bytes") == []


def test_both_ends_may_be_slow_to_show_it(midway: Playbook) -> None:
    """A consumer that catches up: many megabytes come before it asks again."""
    chunk = random.Random(1).randbytes(1 << 16)
    midway.cut = 1 << 16
    for _ in range(100):
        midway << chunk
    midway >> request(6) << response(6)
    assert midway.close() == ["6><"]
    assert midway.lengths("midstream") == [100 << 16]


@pytest.mark.parametrize("acknowledged", [False, True])
def test_what_was_lost_before_it_was_given_up_is_still_said(acknowledged: bool) -> None:
    """Acknowledged, the loss is certain before a request shows, and is given up with the bytes around it."""
    playbook = Playbook(1 << 16, syn=False) << b"rubbish" << Lost(1000) << bytes(1 << 16)
    if acknowledged:
        playbook.packet(True, ACK, ack=playbook.next[False])
    for _ in range(99):
        playbook << bytes(1 << 16)
    playbook >> request(6) << response(6)
    assert playbook.close() == ["6><"]
    assert playbook.lengths("tcp-gap") == [1000]
    assert playbook.lengths("undecoded-bytes") == [7 + (100 << 16)]


# Not Kafka

HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(190)
OTHERS = {
    "HTTP GET": b"GET / HTTP/1.1\r\nHost: example\r\n\r\n",
    "HTTP POST": b"POST /topics/orders HTTP/1.1\r\n\r\n",
    "SSH": b"SSH-2.0-OpenSSH_9.6\r\n",
    "PROXY": b"PROXY TCP4 10.0.0.1 10.0.0.2 51514\r\n",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_well_known_is_named_and_let_go(playbook: Playbook, name: str) -> None:
    data = OTHERS[name]
    playbook >> data << b"answer" * 100 >> request(5)
    assert playbook.close() == []
    (finding,) = playbook.findings
    assert (finding.kind, name in finding.text) == ("not-kafka", True)
    assert (playbook.session.connections, playbook.session.other_connections) == (0, 1)


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_every_beginning_is_recognised_however_it_is_cut(playbook: Playbook, beginning: bytes) -> None:
    playbook >> beginning + b" and more of it"
    playbook.close()
    assert [finding.facts for finding in playbook.findings] == [FactKind.FOREIGN.of(BEGINNINGS[beginning][0])]


def test_the_one_who_listens_may_speak_first(playbook: Playbook) -> None:
    playbook << b"SSH-2.0-OpenSSH_9.6\r\n"
    assert [finding.text for finding in playbook.findings] == ["an SSH banner; not decoded"][: len(playbook.findings)]
    playbook.close()
    assert len(playbook.findings) == 1


def test_tls_midway_is_let_go_at_once(midway: Playbook) -> None:
    midway << bytes.fromhex("17030304d2") + bytes(0x04D2)
    assert [finding.kind for finding in midway.findings] == ["not-decrypted"]


def test_tls_to_a_port_without_tls(playbook: Playbook) -> None:
    playbook >> HELLO << b"answer" * 100 >> request(5)
    assert playbook.close() == []
    (finding,) = playbook.findings
    assert (finding.kind, "TLS" in finding.text) == ("not-decrypted", True)
    assert (playbook.session.connections, playbook.session.other_connections) == (0, 1)


def test_text_midway_may_be_a_record(midway: Playbook) -> None:
    """Words at the beginning mean nothing where the capture starts in the middle of a message."""
    midway >> b"GET /index.html" + request(5) << response(5)
    assert midway.close() == ["5><"]


def test_random_bytes_are_let_go(playbook: Playbook) -> None:
    playbook >> random.Random(7).randbytes(PATIENCE_WHOLE // 8)
    assert playbook.findings == []
    playbook.close()
    (finding,) = playbook.findings
    assert finding.kind == "not-kafka"
    assert f"no Kafka request in the first {PATIENCE_WHOLE // 8:,} bytes" in finding.text


def test_patience_ends_early_where_the_connection_was_seen_to_open() -> None:
    playbook = Playbook(1448) >> random.Random(7).randbytes(PATIENCE_WHOLE + 1448)
    assert [finding.kind for finding in playbook.findings] == ["not-kafka"]


def test_a_connection_without_a_byte_says_nothing(playbook: Playbook) -> None:
    playbook.fin()
    playbook.packet(True, RST)
    assert playbook.close() == []
    assert playbook.findings == []
    assert playbook.session.other_connections == 1


OF_ENGINE = [tracemalloc.Filter(True, f"*/kdbg/{folder}/*") for folder in ("streams", "exchanges", "protocol")]
"""Selects what the engine allocates: other tests of this process may have left threads."""


@pytest.mark.parametrize("way", [True, False], ids=["client", "broker"])
@pytest.mark.parametrize("syn", [True, False], ids=["opened", "midway"])
def test_what_is_not_kafka_takes_little_memory(way: bool, syn: bool) -> None:
    playbook = Playbook(1 << 16, syn=syn)
    rubbish = random.Random(7).randbytes(1 << 16)
    fits_any(rubbish[:64])  # whose tables stay for good
    tracemalloc.start()
    try:
        for _ in range(2 * PATIENCE_MIDSTREAM >> 16):
            playbook.send(way, bytes(rubbish))
        _, most = tracemalloc.get_traced_memory()
        held = tracemalloc.take_snapshot().filter_traces(OF_ENGINE).statistics("lineno")
    finally:
        tracemalloc.stop()
    assert most < 4 * HELD
    assert sum(line.size for line in held) < 1 << 20, held[:5]
    assert [finding.kind for finding in playbook.findings] == ["not-kafka"]
    assert playbook.session.budget.left == Budget.left


def test_all_openings_together_hold_only_so_much() -> None:
    session = Engine()
    session.budget.left = limit = 1 << 20
    rubbish = random.Random(7).randbytes(1 << 15)
    books = [Playbook(1 << 15, syn=False, path=flow(40000 + n), session=session) for n in range(100)]
    for book in books:
        book << rubbish
    session.idle()
    assert session.other_connections == 100 - limit // len(rubbish) - 0
    good = Playbook(path=flow(39000), session=session) >> request(5) << response(5)
    assert good.seen == ["5><"]


def test_other_connections_are_unharmed() -> None:
    session = Engine()
    good = Playbook(path=flow(40001), session=session)
    bad = Playbook(path=flow(40002), session=session)
    for n in range(10):
        good >> request(n)
        bad >> b"\x16\x03\x01\x02" + bytes(700) << random.Random(n).randbytes(900)
        good << response(n)
    assert good.seen == [f"{n}><" for n in range(10)]
    bad.fin()
    assert [(peers.client[1], finding.kind) for peers, finding in session.findings] == [(40002, "not-decrypted")]


def test_the_same_ports_again_are_another_connection(playbook: Playbook) -> None:
    playbook >> b"SSH-2.0-client\r\n"
    playbook.fin()
    playbook.next = {True: 90_000, False: 95_000}
    playbook.packet(True, SYN)
    playbook.next[True] += 1
    playbook.packet(False, SYN | ACK, ack=90_001)
    playbook.next[False] += 1
    playbook >> request(5) << response(5)
    playbook.packet(True, FIN | ACK)
    assert playbook.close() == ["5><"]
    assert playbook.exchanges[0].peers.number == 2


def test_a_frame_of_an_unknown_protocol_with_a_length_is_not_kafka(playbook: Playbook) -> None:
    playbook >> framed(b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\0\x80\0")
    assert playbook.close() == []
    assert [finding.kind for finding in playbook.findings] == ["not-kafka"]


def test_half_of_what_is_held_is_given_up_at_a_time() -> None:
    """So that what is near the end is not lost, and giving up is rare."""
    playbook = Playbook(1 << 16, syn=False)
    for _ in range(HELD >> 16):
        playbook << bytes(1 << 16)
    playbook.session.idle()
    left = playbook.session.budget.left
    assert left == Budget.left - HELD, "all of it is still held"
    playbook << bytes(1)
    assert Budget.left - playbook.session.budget.left <= HELD // 2
    assert Budget.left - playbook.session.budget.left > HELD // 2 - (1 << 16)


def acknowledge(playbook: Playbook) -> None:
    """The broker has what the client sent, and says so until a loss in the capture is certain."""
    for _ in range(2 * (PATIENCE + LOOK)):
        playbook.packet(False, ACK, ack=playbook.next[True])


def test_an_odd_request_before_a_loss_proves_itself_as_nothing_follows_it() -> None:
    """A byte too long, it waits for the next one to speak for it: behind a loss none can."""
    playbook = Playbook(syn=False) >> framed(request(5)[4:] + b"x")
    assert playbook.session.idle() == []
    assert playbook.session.connections == 0
    playbook >> Lost(1000) >> bytes(100)
    acknowledge(playbook)
    assert playbook.session.connections == 1
    assert playbook.close() == ["5>"]


def test_a_request_behind_a_loss_survives_the_giving_up_of_what_was_before() -> None:
    """Its beginning is there when its end comes, and so it proves itself at once."""
    long = request(6, topics=[{"name": "t" * 200}] * 3000)
    playbook = Playbook(1 << 16, syn=False) >> bytes(HELD - (len(long) // 2 >> 16 << 16)) >> Lost(1000)
    playbook >> long[: 1 << 16]
    acknowledge(playbook)
    playbook >> long[1 << 16 : -1]
    assert playbook.session.budget.left > Budget.left - HELD, "some was given up"
    assert playbook.session.connections == 0
    playbook >> long[-1:]
    assert playbook.session.connections == 1
    assert playbook.close() == ["6>"]


def test_what_is_recent_survives_the_giving_up() -> None:
    """A response just before its request is still there when the request shows who is the client."""
    playbook = Playbook(1 << 16, syn=False)
    for _ in range(HELD >> 16):
        playbook << bytes(1 << 16)
    playbook << response(6)
    playbook >> request(6) >> request(7)
    playbook << response(7)
    assert playbook.close() == ["6><", "7><"]
    assert sum(playbook.lengths("midstream")) == HELD


@pytest.mark.parametrize(
    ("answered", "what"),
    [
        (bytes.fromhex("15030300020228"), "TLS (alert, TLS 1.2 or 1.3)"),
        (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "an HTTP response"),
    ],
)
def test_what_answers_a_request_and_is_no_broker_is_named(answered: bytes, what: str) -> None:
    playbook = Playbook() >> request(5) << answered
    playbook.fin()
    assert playbook.close() == ["5>"]
    (finding,) = [one for one in playbook.exchanges[0].findings if one.kind != "no-response"]
    assert finding.kind == "not-kafka"
    assert finding.text == f"{what} from the broker ({len(answered)} bytes), not Kafka"


def test_what_looks_like_another_protocol_amid_responses_is_not_named() -> None:
    playbook = Playbook() >> request(5) << response(5) >> request(6) << b"HTTP/1.1 400 Bad Request\r\n\r\n"
    playbook.fin()
    assert playbook.close() == ["5><", "6>"]
    assert [one.kind for one in playbook.exchanges[1].findings] == ["undecoded-bytes", "no-response"]
