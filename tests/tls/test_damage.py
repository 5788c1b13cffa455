"""Damaged and reordered captures of TLS: what was not touched is decrypted as before, and nothing is invented."""

from __future__ import annotations

import io
import random
import ssl
from pathlib import Path

import pytest

import kdbg
from kdbg.capture import open_capture
from kdbg.capture.keylog import KeyLog
from kdbg.exchanges.engine.engine import Engine
from kdbg.streams.tls.cutter import LARGEST
from kdbg.streams.tls.session import TlsConnection as Decrypting
from kdbg.streams.tls.side import TlsDirection

from ..cases import by_day
from ..traffic import PCAP_HEADER, Segment, record
from .talks import TlsTalk, ends

KINDS = {
    "1.3": ("", ssl.TLSVersion.TLSv1_3, True),
    "1.2-gcm": ("ECDHE-ECDSA-AES128-GCM-SHA256", ssl.TLSVersion.TLSv1_2, True),
    "1.2-chacha": ("ECDHE-ECDSA-CHACHA20-POLY1305", ssl.TLSVersion.TLSv1_2, True),
    "1.2-cbc": ("ECDHE-ECDSA-AES128-SHA256", ssl.TLSVersion.TLSv1_2, False),
}
ROUNDS = 12


def spoken(talk: TlsTalk) -> TlsTalk:
    """Requests of one packet and of many, each with its answer."""
    for number in range(ROUNDS):
        topics = [{"name": f"topic-{number}-{each}"} for each in range(400 if number % 4 == 2 else 2)]
        talk.ask("Metadata", 1, topics=topics)
        talk.answer(brokers=[{"node_id": number, "host": f"broker-{number}", "port": 9093}], controller_id=number)
    return talk


class Session:
    """One connection, decrypted from any selection of its packets."""

    def __init__(self, kind: str, pem: Path, folder: Path) -> None:
        cipher, newest, encrypt_then_mac = KINDS[kind]
        ciphers = f"{cipher}:@SECLEVEL=0" if cipher else ""
        both = ends(pem, ciphers=ciphers, newest=newest, encrypt_then_mac=encrypt_then_mac)
        self.keys = folder / "keys"
        talk = TlsTalk(both, self.keys)
        self.handshake = len(talk.segments)
        self.segments = spoken(talk).segments

    def read(self, segments: list[Segment]) -> dict[int, kdbg.Exchange]:
        data = PCAP_HEADER + b"".join(map(record, segments))
        with kdbg.read_capture(io.BytesIO(data), tls_keys=self.keys) as found:
            return {exchange.correlation_id: exchange for exchange in found}


@pytest.fixture(scope="module", params=KINDS)
def session(request: pytest.FixtureRequest, pems: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Session:
    return Session(request.param, pems["ec"], tmp_path_factory.mktemp("session"))


def told(exchange: kdbg.Exchange) -> list[object]:
    """What both halves say."""
    return [half and (half.data, half.missing) for half in (exchange.request, exchange.response)]


def touched(exchange: kdbg.Exchange, number: int) -> bool:
    halves = [half for half in (exchange.request, exchange.response) if half is not None]
    return any(half.first_packet <= number <= half.last_packet for half in halves)


def test_a_lost_packet_takes_only_what_lay_in_it(session: Session) -> None:
    whole = session.read(session.segments)
    assert len(whole) == ROUNDS
    for lost in range(session.handshake, len(session.segments)):
        left = session.read(session.segments[:lost] + session.segments[lost + 1 :])
        assert left.keys() <= whole.keys(), "none is invented"
        for number, exchange in whole.items():
            if not touched(exchange, lost + 1):
                assert told(left[number]) == told(exchange), (lost, number)


def test_lost_packets_in_a_row(session: Session) -> None:
    """From the middle of one record into another: the next number is searched for."""
    whole = session.read(session.segments)
    for seed in range(12):
        rng = random.Random(seed)
        first = rng.randrange(session.handshake, len(session.segments) - 3)
        last = min(first + rng.randrange(2, 12), len(session.segments) - 1)
        left = session.read(session.segments[:first] + session.segments[last:])
        assert left.keys() <= whole.keys()
        for number, exchange in whole.items():
            if not any(touched(exchange, packet + 1) for packet in range(first, last)):
                assert told(left[number]) == told(exchange), (seed, number)


def test_packets_out_of_order_and_sent_again_change_nothing(session: Session) -> None:
    whole = session.read(session.segments)
    for seed in range(6):
        rng = random.Random(seed)
        places = sorted(range(len(session.segments)), key=lambda place: place + rng.uniform(0, 6) * (place > 2))
        segments = [session.segments[place] for place in places]
        for _ in range(10):
            place = rng.randrange(3, len(segments))
            segments.insert(rng.randrange(place, len(segments)), segments[place])
        times = [segment._replace(at=at) for at, segment in enumerate(segments)]
        found = session.read(times)
        assert {number: told(exchange) for number, exchange in found.items()} == {
            number: told(exchange) for number, exchange in whole.items()
        }


def test_a_flipped_byte_takes_only_its_record(session: Session) -> None:
    whole = session.read(session.segments)
    for seed in range(20):
        rng = random.Random(seed)
        place = rng.randrange(session.handshake, len(session.segments))
        data = bytearray(session.segments[place].data)
        if len(data) <= 40:
            continue
        data[rng.randrange(40, len(data))] ^= 1 << rng.randrange(8)
        segments = list(session.segments)
        segments[place] = segments[place]._replace(data=bytes(data))
        found = session.read(segments)
        assert found.keys() <= whole.keys()
        for number, exchange in whole.items():
            if not touched(exchange, place + 1) and not touched(exchange, place) and not touched(exchange, place + 2):
                assert told(found[number]) == told(exchange), (seed, number)


def test_memory_is_bounded_by_a_record() -> None:
    """Nothing is held beyond a record that is not complete."""

    class Budget:
        left = 1 << 20

    class Nothing:
        def find(self, key: bytes) -> None:
            return None

        def bound(self, *_: object) -> tuple[()]:
            return ()

        def awaits(self, _: object) -> bool:
            return False

        def __bool__(self) -> bool:
            return True

    ends = ("10.0.0.1", 40000), ("10.0.0.2", 9093)
    decrypting = Decrypting(ends, Nothing(), Budget(), lambda session: None, lambda session, why: None)
    side: TlsDirection = decrypting.sides[0]
    rng = random.Random(1)
    for number in range(2000):
        side.data(b"\x17\x03\x03\x40\x00" + rng.randbytes(rng.randrange(3000)), number, number)
        assert side._cutter.held <= LARGEST + 5 + 3005
    assert side.over


def test_random_bytes_and_cut_ones_raise_nothing(session: Session) -> None:
    for seed in by_day(range(60), 4):
        rng = random.Random(seed)
        keys = KeyLog().use([str(session.keys)])
        engine = Engine(keys=keys)
        segments = [segment for segment in session.segments if rng.random() > 0.2]
        data = bytearray(PCAP_HEADER + b"".join(map(record, segments)))
        for _ in range(rng.randrange(1, 30)):
            place = rng.randrange(len(PCAP_HEADER) + 16, len(data))
            data[place] = rng.randrange(256)
        with open_capture(io.BytesIO(bytes(data))) as capture:
            for exchange in engine.run(capture.blocks()):
                exchange.all_findings()
