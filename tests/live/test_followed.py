"""Brokers that others advertise: which of them the proxy follows, how many, how long, and which get its password."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.errors import CannotConnect
from kdbg.live.client.settings import Sasl, Settings, Tls, check_trust, is_trusted, show
from kdbg.live.listeners import UNLISTED, Address, Addresses, Listening, Ports
from kdbg.streams.tls.certificate import made

from .proxies import PATIENCE, Stage, answered, asked, broker, files, read_frame, reset, running


def brokers(count: int) -> list[Address]:
    return [(f"10.0.{number >> 8}.{number & 255}", 9092) for number in range(1, count + 1)]


def asks(stage: Stage) -> bytes:
    with stage.connect() as sock:
        sock.sendall(asked(1))
        return read_frame(sock)


def test_brokers_are_followed_up_to_a_bound() -> None:
    many = brokers(2000)

    def answer(sock: socket.socket) -> None:
        read_frame(sock)
        sock.sendall(answered(1, *many))

    before = files()
    with broker(answer) as peer, running(peer, most=20) as stage:
        told = kdbg.decode(asks(stage), api="Metadata", version=1, direction="response")
        assert len(stage.proxy.addresses.stand_ins) == 20
        assert files() - before < 60
        ours = [one for one in told.body["brokers"] if one["host"] == "127.0.0.1"]
        assert len(ours) == 19
        assert sum("raise --max-brokers" in line for line in stage.said) == 1


def test_a_broker_that_is_no_longer_advertised_has_no_listener() -> None:
    lists = [brokers(5), brokers(2)]

    def answer(sock: socket.socket) -> None:
        read_frame(sock)
        sock.sendall(answered(1, peer, *lists.pop(0)))

    now = [0.0]
    with broker(answer) as peer, running(peer) as stage:
        stage.proxy.addresses._clock = lambda: now[0]
        asks(stage)
        first = dict(stage.proxy.addresses.stand_ins)
        assert len(first) == 6
        now[0] += UNLISTED
        asks(stage)
        assert set(stage.proxy.addresses.stand_ins) == {peer, *brokers(2)}
        for gone in brokers(5)[2:]:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(first[gone])
        gone = [f"broker {show(each)} is no longer advertised; closed its listener" for each in brokers(5)[2:]]
        assert sorted(stage.said[-3:]) == gone


class Book:
    """Addresses whose listeners are numbers."""

    def __init__(self, *named: str, most: int = 100) -> None:
        self.now, self.closed = 0.0, list[str]()
        self.refused = list[str]()
        self._next = 0
        self.addresses = Addresses(
            self._open, lambda broker: self.closed.append(broker[0]), most=most,
            full=lambda broker: self.refused.append(broker[0]), clock=lambda: self.now,
        )  # fmt: skip
        for host in named:
            self.addresses.add((host, 9092), self._open((host, 9092)))

    def _open(self, broker: Address) -> Address:
        self._next += 1
        return "proxy", self._next

    def hears(self, via: str, *hosts: str, after: float = UNLISTED) -> list[str]:
        """Metadata of one broker lists these; return those that are followed then."""
        self.now += after
        for host in hosts:
            self.addresses.change(host, 9092, (via, 9092))
        self.addresses.listed({(host, 9092) for host in hosts}, (via, 9092))
        return sorted(host for host, _ in self.addresses.stand_ins)


def test_each_cluster_keeps_its_own_brokers() -> None:
    book = Book("a", "b")
    assert book.hears("a", "a", "a1", "a2") == ["a", "a1", "a2", "b"]
    assert book.hears("b", "b", "b1") == ["a", "a1", "a2", "b", "b1"]
    assert book.hears("a1", "a", "a1") == ["a", "a1", "b", "b1"]
    assert book.closed == ["a2"]
    assert book.hears("b1", "b2") == ["a", "a1", "b", "b2"]


def test_who_names_a_broker_in_common_names_one_cluster() -> None:
    book = Book("a", "b")
    book.hears("a", "a", "b", "c", "d")
    book.hears("b", "a", "b", "c", "d")
    assert book.hears("c", "a", "b", "c") == ["a", "b", "c"]


def test_a_broker_that_restarts_keeps_its_listener() -> None:
    book = Book("a")
    book.hears("a", "a", "b")
    told = book.addresses.change("b", 9092, ("a", 9092))
    book.hears("a", "a", after=UNLISTED / 2)
    assert book.addresses.change("b", 9092, ("a", 9092)) == told
    assert not book.closed


def test_what_finds_no_room_stays_as_it_is_until_there_is_some() -> None:
    book = Book("a", most=3)
    assert book.hears("a", "a", "b", "c", "d") == ["a", "b", "c"]
    assert book.addresses.change("d", 9092, ("a", 9092)) == ("d", 9092)
    assert book.refused == ["d", "d"]
    assert book.hears("a", "a", "c") == ["a", "c"]
    assert book.hears("a", "a", "c", "d") == ["a", "c", "d"]


def test_a_broker_that_comes_back_gets_its_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ports = Ports(Listening("127.0.0.1", port))
    for name in ("a", "b"):
        ports.bound((name, 9092), strict=False).close()
    with ports.bound(("a", 9092), strict=False) as again:
        assert again.getsockname()[1] == port
    assert ports._port == port + 2, "the next new broker gets the next port"


def test_behind_the_last_port_any_is_taken() -> None:
    ports = Ports(Listening("127.0.0.1", 65535))
    for name in "abc":
        with ports.bound((name, 9092), strict=False) as sock:
            assert sock.getsockname()[1] > 0


@pytest.mark.parametrize(
    ("named", "trusted", "others"),
    [
        ("b-1.shop.example.com", ["b-1.shop.example.com", "B-2.shop.example.com.", "shop.example.com"],
         ["example.com", "b.example.com", "evilshop.example.com", "shop.example.com.evil.org", "10.0.0.7", ""]),
        ("example.com", ["b.example.com"], ["other.com", "com"]),
        ("shop.co.uk", ["b.shop.co.uk"], ["evil.co.uk", "co.uk"]),
        ("kafka", ["kafka"], ["b.kafka", "other"]),
        ("10.0.0.7", ["10.0.0.7"], ["10.0.0.8", "0.0.7", "x.0.0.7"]),
        ("localhost", ["127.0.0.1", "::1"], ["10.0.0.1", "evil.localhost"]),
        ("::1", ["localhost"], ["::2"]),
    ],
)  # fmt: skip
def test_whom_credentials_go_to(named: str, trusted: list[str], others: list[str]) -> None:
    assert [host for host in trusted if not is_trusted(host, [named])] == []
    assert [host for host in others if is_trusted(host, [named])] == []


def test_a_password_a_token_and_a_client_certificate_are_credentials() -> None:
    other, named = ("b-1.elsewhere.example.net", 9092), [("b-1.shop.example.com", 9092)]
    cases: list[dict[str, Any]] = [{"sasl": Sasl("PLAIN", "a", "b")}, {"tls": Tls(certificate="own.pem")}]
    for given in cases:
        with pytest.raises(CannotConnect, match="so kdbg sends it no credentials"):
            check_trust(other, named, Settings(**given))
        check_trust(other, named, Settings(**given, trust_advertised=True))
        check_trust(("b-2.shop.example.com", 1), named, Settings(**given))
    check_trust(other, named, Settings(tls=Tls()))


def test_a_host_that_only_brokers_name_sees_no_client_certificate(tmp_path: Path) -> None:
    (own := tmp_path / "own.pem").write_bytes(made(["localhost"]).certificate)
    settings = Settings(tls=Tls(certificate=str(own)))
    with broker(lambda sock: None) as peer, running(peer, settings=settings) as stage:
        stage.proxy._named = [("b-1.shop.example.com", 9092)]
        with stage.connect() as sock, suppress(ConnectionError):
            assert sock.recv(1) == b""
        stage.wait(lambda: any("so kdbg sends it no credentials" in line for line in stage.said))


@pytest.mark.parametrize("trust", [False, True])
def test_a_host_that_only_brokers_name_gets_no_password(trust: bool) -> None:
    came = threading.Event()

    def authenticate(sock: socket.socket) -> None:
        read_frame(sock)
        came.set()

    settings = Settings(sasl=Sasl("PLAIN", "alice", "correct-horse"), trust_advertised=trust)
    with broker(authenticate) as peer, running(peer, settings=settings) as stage:
        stage.proxy._named = [("b-1.shop.example.com", 9092)]
        with stage.connect() as sock, suppress(ConnectionError):
            assert sock.recv(1) == b""
        if trust:
            assert came.wait(PATIENCE)
        else:
            stage.wait(
                lambda: any(
                    "so kdbg sends it no credentials" in line and "--trust-advertised" in line for line in stage.said
                )
            )
            assert not came.is_set()
        stage.wait_until_empty()


def test_an_authentication_that_fails_leaves_nothing() -> None:
    def refuse(sock: socket.socket) -> None:
        read_frame(sock)
        reset(sock)

    with (
        broker(refuse) as peer,
        running(peer, settings=Settings(sasl=Sasl("PLAIN", "a", "b"))) as stage,
    ):
        before = files()
        for _ in range(5):
            with stage.connect() as sock, suppress(ConnectionError):
                assert sock.recv(1) == b""
        stage.wait_until_empty()
        stage.wait(lambda: files() <= before)


def test_a_proxy_that_closes_follows_no_more_brokers() -> None:
    """A response that comes while it closes opens no listener, which nobody would close."""
    sent, late = threading.Event(), threading.Event()

    def answer(sock: socket.socket) -> None:
        read_frame(sock)
        sent.set()
        assert late.wait(PATIENCE)
        sock.sendall(answered(1, ("kafka", 9092)))

    with broker(answer) as peer, running(peer) as stage:
        with stage.connect() as sock:
            sock.sendall(asked(1))
            assert sent.wait(PATIENCE)
        loop = stage.proxy._listeners[peer]._loop
        closing = asyncio.run_coroutine_threadsafe(stage.proxy.close(), loop)
        stage.wait(lambda: stage.proxy._closed)
        late.set()
        closing.result(PATIENCE)
        assert len(stage.exchanges()) == 1, "the response came"
        assert list(stage.proxy.addresses.stand_ins) == [peer]
        assert len(stage.said) == 1, "the line of its only listener"
