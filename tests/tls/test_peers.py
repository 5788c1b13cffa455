"""What Python's ssl cannot be made to do, by openssl's own client and server: they are decrypted to what they said."""

from __future__ import annotations

import io
import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest

import kdbg
from kdbg.streams.tls.hello import RETRY

from ..traffic import PCAP_HEADER, Segment, Talk, pcap, record
from .peers import CLIENT, SERVER, Peers
from .talks import TlsTalk, ends

ROUNDS = 4


def speak(talk: Talk, peers: Peers, *, updates: Sequence[tuple[int, bool]] = ()) -> None:
    """Some requests with their answers, small and large; keys are updated in between."""
    for number in range(ROUNDS):
        topics = [{"name": f"topic-{number}-{each}"} for each in range(400 if number == 1 else 2)]
        talk.ask("Metadata", 1, topics=topics)
        talk.answer(brokers=[{"node_id": number, "host": f"broker-{number}", "port": 9093}])
        for side, asked_back in updates:
            peers.update_key(side, asked_back=asked_back)


def heard(exchanges: kdbg.Reading) -> list[tuple[int | None, str]]:
    """What was asked and answered, with the name of the last topic and of the broker."""
    found = []
    for exchange in exchanges:
        request, response = exchange.messages()
        found.append((exchange.correlation_id, f"{request.body['topics'][-1]} {response.body['brokers'][0]['host']}"))
        assert list(exchange.all_findings()) == []
    return found


SAID = [
    (number + 1, f"{{'name': 'topic-{number}-{399 if number == 1 else 1}'}} broker-{number}")
    for number in range(ROUNDS)
]


def check(peers: Peers, folder: Path, version: str, cipher: str = "", times: int = 1) -> None:
    path = folder / "tls.pcap"
    path.write_bytes(pcap(*peers.talks))
    with kdbg.read(path, tls_keys=peers.keys) as exchanges:
        assert heard(exchanges) == SAID * times
        assert exchanges.findings == ()
    tls = {exchange.peers.tls for exchange in kdbg.read(path, tls_keys=peers.keys)}
    assert {known.version for known in tls if known is not None} == {version}
    assert all(known is not None and known.cipher.endswith(cipher) for known in tls)


@pytest.mark.parametrize(
    ("cipher", "name"),
    [
        ("DHE-RSA-AES128-GCM-SHA256", "DHE_RSA_WITH_AES_128_GCM_SHA256"),
        ("DHE-RSA-AES256-GCM-SHA384", "DHE_RSA_WITH_AES_256_GCM_SHA384"),
        ("DHE-RSA-CHACHA20-POLY1305", "DHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
        ("DHE-RSA-AES128-SHA", "DHE_RSA_WITH_AES_128_CBC_SHA"),
        ("DHE-RSA-AES256-SHA256", "DHE_RSA_WITH_AES_256_CBC_SHA256"),
    ],
)
def test_dhe(cipher: str, name: str, pems: dict[str, Path], tmp_path: Path) -> None:
    with Peers(pems["rsa"], tmp_path / "keys", server=["-tls1_2"]) as peers:
        speak(peers.connect("-cipher", cipher), peers)
    check(peers, tmp_path, "TLS 1.2", name)


@pytest.mark.parametrize(
    "suite",
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256"],
)
def test_keys_of_both_directions_are_updated(suite: str, pems: dict[str, Path], tmp_path: Path) -> None:
    server = ["-tls1_3", "-ciphersuites", suite]
    with Peers(pems["ec"], tmp_path / "keys", server=server) as peers:
        updates = [(CLIENT, False), (SERVER, False), (CLIENT, True), (SERVER, True)]
        speak(peers.connect("-ciphersuites", suite), peers, updates=updates)
    check(peers, tmp_path, "TLS 1.3", suite)


@pytest.mark.parametrize(
    ("server", "version"),
    [(["-tls1_3"], "TLS 1.3"), (["-tls1_2"], "TLS 1.2"), (["-tls1_2", "-no_ticket"], "TLS 1.2")],
    ids=["tickets of 1.3", "tickets of 1.2", "session ids"],
)
def test_resumed_sessions(server: list[str], version: str, pems: dict[str, Path], tmp_path: Path) -> None:
    session = str(tmp_path / "session")
    with Peers(pems["rsa"], tmp_path / "keys", server=server) as peers:
        speak(peers.connect("-sess_out", session), peers)
        assert b"\nNew, TLS" in peers.greeting
        speak(peers.connect("-sess_in", session), peers)
        assert b"\nReused, TLS" in peers.greeting
    check(peers, tmp_path, version, times=2)


def retried(pem: Path, keys: Path, session: Sequence[str] = ()) -> Peers:
    """A server that wants another key share than its client begins with."""
    with Peers(pem, keys, server=["-tls1_3", "-groups", "P-384"]) as peers:
        speak(peers.connect("-groups", "X25519:P-384", "-tls1_3", *session), peers)
    return peers


def test_a_client_that_is_asked_for_another_hello(pems: dict[str, Path], tmp_path: Path) -> None:
    check(retried(pems["ec"], tmp_path / "keys"), tmp_path, "TLS 1.3")


def test_a_lost_retry_takes_nothing_else(pems: dict[str, Path], tmp_path: Path) -> None:
    peers = retried(pems["ec"], tmp_path / "keys")
    segments = peers.talks[0].segments
    retry = next(place for place, segment in enumerate(segments) if segment.data[51:83] == RETRY)
    for lost in (retry, retry + 1):
        data = PCAP_HEADER + b"".join(map(record, [*segments[:lost], *segments[lost + 1 :]]))
        with kdbg.read_capture(io.BytesIO(data), tls_keys=peers.keys) as exchanges:
            assert heard(exchanges) == SAID


def test_a_lost_packet_between_updates_of_keys_takes_only_what_lay_in_it(pems: dict[str, Path], tmp_path: Path) -> None:
    with Peers(pems["ec"], tmp_path / "keys", server=["-tls1_3"]) as peers:
        talk = peers.connect()
        handshake = len(talk.segments)
        speak(talk, peers, updates=[(CLIENT, True), (SERVER, False)])
    whole = read(talk.segments, peers.keys)
    assert len(whole) == ROUNDS
    for lost in range(handshake, len(talk.segments)):
        left = read(talk.segments[:lost] + talk.segments[lost + 1 :], peers.keys)
        assert left.keys() <= whole.keys()
        for number, exchange in whole.items():
            halves = [half for half in (exchange.request, exchange.response) if half is not None]
            if not any(half.first_packet <= lost + 1 <= half.last_packet for half in halves):
                assert [half.data for half in halves] == [
                    half.data for half in (left[number].request, left[number].response) if half is not None
                ]


def read(segments: list[Segment], keys: Path) -> dict[int | None, kdbg.Exchange]:
    data = PCAP_HEADER + b"".join(map(record, segments))
    with kdbg.read_capture(io.BytesIO(data), tls_keys=keys) as found:
        return {exchange.correlation_id: exchange for exchange in found}


@pytest.mark.parametrize("late", [False, True])
def test_clients_that_show_a_certificate(late: bool, pems: dict[str, Path], tmp_path: Path) -> None:
    """At once, or when the server asks for it between two requests: its Finished then changes no key."""
    both = ends(pems["ec"])
    both.client.load_cert_chain(pems["rsa"])
    both.client.post_handshake_auth = both.server.post_handshake_auth = late
    both.server.load_verify_locations(pems["rsa"])
    both.server.verify_mode = ssl.CERT_REQUIRED
    talk = TlsTalk(both, tmp_path / "keys")
    for number in range(3):
        talk.ask("Heartbeat", 0, group_id="billing", generation_id=number, member_id="m-1").answer()
        if late:
            talk.show_certificate()
    assert talk.tls[1].getpeercert() is not None
    path = tmp_path / "tls.pcap"
    path.write_bytes(pcap(talk.end()))
    with kdbg.read(path, tls_keys=tmp_path / "keys") as exchanges:
        found = [
            (exchange.messages()[0].body["generation_id"], list(exchange.all_findings())) for exchange in exchanges
        ]
    assert found == [(0, []), (1, []), (2, [])]
