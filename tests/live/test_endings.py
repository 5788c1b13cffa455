"""How connections through the proxy end: what the broker has sent is shown, nothing is left, and nothing raises."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from contextlib import ExitStack, suppress

import pytest

from kdbg.live.client.settings import Settings, Tls
from tests.client.certificates import Authority

from .proxies import answered, asked, broker, read_frame, reset, running

BOTH_ENDS = 40


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    return Authority(tmp_path_factory.mktemp("tls")).server()


@pytest.fixture
def client() -> ssl.SSLContext:
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found.check_hostname, found.verify_mode = False, ssl.CERT_NONE
    return found


def goodbye(sock: socket.socket) -> None:
    """Close as librdkafka does: close_notify where TLS is spoken, then the end."""
    if isinstance(sock, ssl.SSLSocket):
        sock.setblocking(False)
        with suppress(OSError):
            sock.unwrap()
    sock.close()


WAYS = {"goodbye": goodbye, "without a word": socket.socket.close, "reset": reset}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("secure", [True, False], ids=["TLS", "plaintext"])
def test_responses_are_shown_though_the_client_has_gone(
    server: ssl.SSLContext, client: ssl.SSLContext, secure: bool, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    came, gone = threading.Event(), threading.Event()

    def answer(sock: socket.socket) -> None:
        for number in (1, 2, 3):
            read_frame(sock)
            if number == 3:
                came.set()
                gone.wait(20)
            sock.sendall(answered(number))
        with suppress(OSError):
            while sock.recv(100):
                pass

    with ExitStack() as stack:
        peer = stack.enter_context(broker(answer, server if secure else None))
        stage = stack.enter_context(running(peer, tls=server if secure else None,
                                            settings=Settings(tls=Tls(verify=False) if secure else None)))  # fmt: skip
        sock = stage.connect(client if secure else None)
        for number in (1, 2, 3):
            sock.sendall(asked(number))
            if number < 3:
                read_frame(sock)
        assert came.wait(20)
        WAYS[way](sock)
        (session,) = stage.proxy._sessions
        stage.wait(lambda: session.client.has_ended)
        gone.set()
        stage.wait_until_empty()
        exchanges = stage.exchanges()
    assert [one.correlation_id for one in exchanges if one.response is not None] == [1, 2, 3]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_proxy_that_ends_waits_for_responses_to_clients_that_have_gone(
    server: ssl.SSLContext, client: ssl.SSLContext
) -> None:
    came, ending = threading.Event(), threading.Event()

    def answer(sock: socket.socket) -> None:
        read_frame(sock)
        came.set()
        ending.wait(20)
        sock.sendall(answered(1))

    with broker(answer, server) as peer:
        with running(peer, tls=server, settings=Settings(tls=Tls(verify=False))) as stage:
            sock = stage.connect(client)
            sock.sendall(asked(1))
            assert came.wait(20)
            goodbye(sock)
            (session,) = stage.proxy._sessions
            stage.wait(lambda: session.client.is_lost)
            threading.Timer(0.2, ending.set).start()
        assert [one.response is not None for one in stage.exchanges()] == [True]


def test_a_broker_that_does_not_respond_is_not_waited_for_long(
    client: ssl.SSLContext, server: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kdbg.live.session.FINISH", 0.05)

    def answer(sock: socket.socket) -> None:
        with suppress(OSError):
            while sock.recv(100):
                pass

    with broker(answer, server) as peer, running(peer, tls=server, settings=Settings(tls=Tls(verify=False))) as stage:
        sock = stage.connect(client)
        sock.sendall(asked(1))
        stage.wait(stage.exchanges)
        goodbye(sock)
        stage.wait_until_empty()


def test_both_ends_may_break_off_at_once(
    client: ssl.SSLContext, server: ssl.SSLContext, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio forgets its socket, or all of its state, before it tells of the end of a TLS connection."""
    both = threading.Barrier(2 * BOTH_ENDS)

    def answer(sock: socket.socket) -> None:
        read_frame(sock)
        sock.sendall(answered(1))
        both.wait(20)
        reset(sock)

    def ask(address: tuple[str, int]) -> None:
        sock = client.wrap_socket(socket.create_connection(address))
        sock.sendall(asked(1))
        read_frame(sock)
        sock.sendall(asked(2) + asked(3))
        both.wait(20)
        reset(sock)

    with broker(answer, server) as peer, running(peer, tls=server, settings=Settings(tls=Tls(verify=False))) as stage:
        clients = [threading.Thread(target=ask, args=(stage.address,)) for _ in range(BOTH_ENDS)]
        for each in clients:
            each.start()
        for each in clients:
            each.join(20)
        stage.wait_until_empty()
        assert sum(one.response is not None for one in stage.exchanges()) == BOTH_ENDS
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_handshake_that_fails_leaves_nothing(server: ssl.SSLContext) -> None:
    with broker(lambda sock: None) as peer, running(peer, tls=server) as stage:
        for said in (b"", b"GET / HTTP/1.1\r\n\r\n", asked(1)):
            sock = stage.connect()
            sock.sendall(said)
            if said:
                with suppress(OSError):
                    while sock.recv(100):
                        pass
            sock.close()
        stage.wait(lambda: stage.proxy.connections == 3)
        stage.wait_until_empty()
        assert stage.said[1].startswith("a client's TLS handshake failed: ")
