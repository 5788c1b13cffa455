"""TLS with real certificates: whom the client trusts, whom the broker trusts, and what is said where they do not."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from kdbg.errors import CannotConnect, ClientError, Closed, InputError, WrongAnswer
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.connection import Connection
from kdbg.live.client.reach import context, lost, refused
from kdbg.live.client.settings import Address, Settings, Tls
from kdbg.protocol import grammars

from ..cases import for_each
from .certificates import PASSWORD, Authority, alerting_server, encrypted
from .servers import Peer, in_loop, metadata, server

METADATA = grammars.api("metadata")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The authority that vouches for the broker."""
    return Authority(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """One that nobody trusts."""
    return Authority(tmp_path_factory.mktemp("other"), "somebody else")


async def obliging(peer: Peer) -> None:
    while True:
        peer.tell(metadata(await peer.request(), (1, ("h" * 30_000, 9092))))


async def ask(address: Address, timeout: float = 10, **tls: Any) -> Exchange:
    """A request over TLS with these settings, twice: a broker may refuse a client only after the handshake."""
    connection = await Connection.open(address, Settings(timeout=timeout, tls=Tls(**tls)))
    try:
        await connection.answer(connection.send(METADATA, 1))
        return await connection.answer(connection.send(METADATA, 1))
    finally:
        await connection.close()


def works(exchange: Exchange) -> bool:
    return exchange.response is not None and not exchange.all_findings()


# It works


@in_loop
async def test_the_secrets_of_a_session_are_logged(ours: Authority, tmp_path: Path) -> None:
    keys = tmp_path / "keys.log"
    async with server(obliging, ssl=ours.server()) as address:
        assert works(await ask(address, ca=str(ours.ca), keys_out=str(keys)))
    assert {"CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"} <= {line.split()[0] for line in lines(keys)}
    assert keys.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="cannot be written"):
        context(Tls(keys_out=str(tmp_path / "no" / "keys.log")))


def lines(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


@in_loop
async def test_a_trusted_broker(ours: Authority) -> None:
    async with server(obliging, ssl=ours.server()) as address:
        assert works(await ask(address, ca=str(ours.ca)))


@in_loop
async def test_an_older_tls(ours: Authority) -> None:
    async with server(obliging, ssl=ours.server(newest=False)) as address:
        assert works(await ask(address, ca=str(ours.ca)))


@in_loop
async def test_the_name_to_expect(ours: Authority) -> None:
    async with server(obliging, ssl=ours.server("far", names="DNS:broker.example")) as address:
        assert works(await ask(address, ca=str(ours.ca), server_name="broker.example"))
        assert works(await ask(address, ca=str(ours.ca), check_name=False))


@pytest.mark.parametrize("changes", [{}, {"days": -1}, {"names": "DNS:broker.example"}], ids=str)
@in_loop
async def test_insecure_trusts_anybody(other: Authority, changes: dict[str, Any]) -> None:
    async with server(obliging, ssl=other.server(**changes)) as address:
        assert works(await ask(address, verify=False))


@pytest.mark.parametrize("newest", [True, False], ids=["tls 1.3", "tls 1.2"])
@in_loop
async def test_a_client_certificate(ours: Authority, newest: bool) -> None:
    certificate, key = ours.issue("client")
    async with server(obliging, ssl=ours.server(clients=True, newest=newest)) as address:
        assert works(await ask(address, ca=str(ours.ca), certificate=str(certificate), key=str(key)))


@in_loop
async def test_a_client_certificate_and_key_in_one_file_or_encrypted(ours: Authority, tmp_path: Path) -> None:
    certificate, key = ours.issue("client")
    both = tmp_path / "both.pem"
    both.write_text(certificate.read_text() + key.read_text())
    async with server(obliging, ssl=ours.server(clients=True)) as address:
        assert works(await ask(address, ca=str(ours.ca), certificate=str(both)))
        secret = str(encrypted(key))
        assert works(await ask(address, ca=str(ours.ca), certificate=str(certificate), key=secret, password=PASSWORD))


@in_loop
async def test_what_is_tapped_is_in_the_clear(ours: Authority) -> None:
    tapped = bytearray()
    async with server(obliging, ssl=ours.server()) as address:
        settings = Settings(timeout=10, tls=Tls(ca=str(ours.ca)))
        connection = await Connection.open(address, settings, tap=lambda _, ours, data, time: tapped.extend(data))
        exchange = await connection.answer(connection.send(METADATA, 1))
        await connection.close()
    assert exchange.response is not None
    assert exchange.response.data in tapped


# It does not


UNTRUSTED = "use --ca with its CA certificate, --server-name with its host name, or --insecure to skip the check"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "its certificate is not trusted: unable to get local issuer certificate"),
        ({"ca": "other"}, "its certificate is not trusted: unable to get local issuer certificate"),
        (
            {"ca": "ours", "server_name": "broker.example"},
            "not trusted: Hostname mismatch, certificate is not valid for",
        ),
    ],
)
@in_loop
async def test_a_broker_that_is_not_trusted(
    ours: Authority, other: Authority, changes: dict[str, str], words: str
) -> None:
    if "ca" in changes:
        changes = changes | {"ca": str({"ours": ours, "other": other}[changes["ca"]].ca)}
    async with server(obliging, ssl=ours.server()) as address:
        with pytest.raises(CannotConnect) as caught:
            await ask(address, **changes)
    assert words in str(caught.value)
    assert str(caught.value).endswith(UNTRUSTED)


@in_loop
async def test_a_certificate_of_another_name(ours: Authority) -> None:
    async with server(obliging, ssl=ours.server("far", names="DNS:broker.example")) as address:
        with pytest.raises(CannotConnect, match=r"IP address mismatch, certificate is not valid for '127\.0\.0\.1'"):
            await ask(address, ca=str(ours.ca))


@in_loop
async def test_a_certificate_that_has_expired(ours: Authority) -> None:
    async with server(obliging, ssl=ours.server("late", days=-1)) as address:
        with pytest.raises(CannotConnect, match="its certificate is not trusted: certificate has expired"):
            await ask(address, ca=str(ours.ca))


CLIENT_CERTIFICATE = "check the client certificate"


@pytest.mark.parametrize("newest", [True, False], ids=["tls 1.3", "tls 1.2"])
@in_loop
async def test_a_broker_that_wants_a_client_certificate(ours: Authority, newest: bool) -> None:
    """In TLS 1.3 the client learns of it only after the handshake."""
    with (
        alerting_server(ours.server(clients=True, newest=newest)) as address,
        pytest.raises((CannotConnect, Closed), match=r"TLS (failed|broke off)") as caught,
    ):
        await ask(address, ca=str(ours.ca))
    assert CLIENT_CERTIFICATE in str(caught.value)


@pytest.mark.parametrize("newest", [True, False], ids=["tls 1.3", "tls 1.2"])
@in_loop
async def test_a_client_certificate_that_the_broker_does_not_trust(
    ours: Authority, other: Authority, newest: bool
) -> None:
    certificate, key = other.issue("client")
    with (
        alerting_server(ours.server(clients=True, newest=newest)) as address,
        pytest.raises((CannotConnect, Closed), match=r"UNKNOWN_CA|unknown ca") as caught,
    ):
        await ask(address, ca=str(ours.ca), certificate=str(certificate), key=str(key))
    assert CLIENT_CERTIFICATE in str(caught.value)


@pytest.mark.parametrize("newest", [True, False], ids=["tls 1.3", "tls 1.2"])
@in_loop
async def test_a_broker_that_hangs_up_where_it_wants_a_client_certificate(ours: Authority, newest: bool) -> None:
    """Without a word, as asyncio's servers do."""
    async with server(obliging, ssl=ours.server(clients=True, newest=newest)) as address:
        with pytest.raises(
            (CannotConnect, Closed), match=r"closed the connection (during the TLS handshake|without a response)"
        ):
            await ask(address, ca=str(ours.ca))


@in_loop
async def test_no_tls_version_in_common(ours: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    there = ours.server()
    there.minimum_version = ssl.TLSVersion.TLSv1_3
    older = context(Tls(ca=str(ours.ca)))
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    monkeypatch.setattr("kdbg.live.client.reach.context", lambda tls: older)
    with alerting_server(there) as address, pytest.raises(CannotConnect, match=r"TLS failed: .*VERSION"):
        await ask(address)


@in_loop
async def test_plaintext_to_a_tls_port(ours: Authority) -> None:
    """OpenSSL answers with an alert or just hangs up, by its version."""
    async with server(obliging, ssl=ours.server()) as address:
        connection = await Connection.open(address, Settings(timeout=10))
        with pytest.raises((WrongAnswer, Closed), match=r"use --tls|want TLS or SASL|reset"):
            await connection.answer(connection.send(METADATA, 1))
        await connection.close()


@in_loop
async def test_a_broker_that_hangs_up_over_tls(ours: Authority) -> None:
    async def once(peer: Peer) -> None:
        await peer.request()

    async with server(once, ssl=ours.server()) as address:
        with pytest.raises(Closed, match="the broker closed the connection without a response"):
            await ask(address, ca=str(ours.ca))


@in_loop
async def test_a_silent_broker_over_tls(ours: Authority) -> None:
    async with server(Peer.silence, ssl=ours.server()) as address:
        with pytest.raises(ClientError, match=r"no response within 0.3 s"):
            await ask(address, timeout=0.3, ca=str(ours.ca))


# Files


def test_files_that_cannot_be_used(ours: Authority, other: Authority, tmp_path: Path) -> None:
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("this is no certificate")
    certificate, key = ours.issue("client")
    _, wrong = other.issue("client")
    for tls, words in [
        (Tls(ca=str(tmp_path / "none.pem")), r"none\.pem: no CA certificates \(No such file"),
        (Tls(ca=str(rubbish)), r"rubbish\.pem: no CA certificates"),
        (Tls(certificate=str(rubbish)), r"rubbish\.pem: no usable client certificate and key"),
        (Tls(certificate=str(tmp_path / "none.pem")), r"key \(No such file or directory\)"),
        (Tls(certificate=str(certificate)), "no usable client certificate and key"),
        (Tls(certificate=str(certificate), key=str(wrong)), "KEY_VALUES_MISMATCH|key values mismatch"),
        (Tls(certificate=str(certificate), key=str(encrypted(key))), "if the key is encrypted, set KDBG_KEY_PASSWORD"),
        (
            Tls(certificate=str(certificate), key=str(encrypted(key)), password="wrong-one"),
            "set KDBG_KEY_PASSWORD to its password",
        ),
    ]:
        with pytest.raises(InputError, match=words) as caught:
            context(tls)
        assert "wrong-one" not in str(caught.value) + repr(tls)


def test_without_an_authority_the_systems_are_trusted() -> None:
    found = context(Tls())
    assert found.verify_mode is ssl.CERT_REQUIRED
    assert found.check_hostname


@pytest.mark.parametrize(
    ("tls", "mode", "name"),
    [
        (Tls(verify=False), ssl.CERT_NONE, False),
        (Tls(check_name=False), ssl.CERT_REQUIRED, False),
        (Tls(verify=False, check_name=False), ssl.CERT_NONE, False),
    ],
)
def test_what_is_checked(tls: Tls, mode: ssl.VerifyMode, name: bool) -> None:
    found = context(tls)
    assert (found.verify_mode, found.check_hostname) == (mode, name)


# Words


@for_each(
    ("error", "words"),
    [
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"), "the server does not use TLS"),
        (ssl.SSLError(1, "[SSL: RECORD_LAYER_FAILURE] record layer failure"), "the server does not use TLS"),
        (
            ssl.SSLEOFError(8, "EOF occurred in violation of protocol"),
            ("the server closed the connection during the TLS handshake"),
        ),
        (ConnectionResetError(), "the server closed the connection during the TLS handshake"),
        (ssl.SSLError(1, "something new"), "TLS failed: something new"),
        (ValueError("check_hostname requires server_hostname"), "TLS failed: check_hostname requires server_hostname"),
    ],
)
def test_refusals_in_plain_words(error: Exception, words: str) -> None:
    assert words in str(refused(("host", 9092), error))


def test_what_breaks_later_in_plain_words() -> None:
    error = ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required")
    assert str(lost(("host", 9092), error, 0, 0)).startswith("host:9092: TLS failed: ")
