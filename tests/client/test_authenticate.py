"""SASL on live connections: every mechanism, both ways, brokers of every generation; and no secret in sight."""

from __future__ import annotations

import traceback
import uuid
from typing import Any

import pytest

from kdbg.errors import Closed, InputError, NotAuthenticated, WrongAnswer
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.cluster import Cluster
from kdbg.live.client.connection import Connection
from kdbg.live.client.sasl import authenticate
from kdbg.live.client.settings import Sasl, Settings, show
from kdbg.protocol import grammars
from kdbg.views.render.style import Look
from kdbg.views.render.views import VIEWS, view

from ..cases import for_each
from ..traffic import forms
from .saslbroker import MECHANISMS, SECRETS, USER, SaslBroker, good
from .servers import Peer, Serve, in_loop, metadata, server

WRONG = "-".join(["not", "the", "secret"])  # so that no line of a traceback holds it


async def session(serve: Serve, sasl: Sasl, **told: Any) -> Exchange:
    """One Metadata request of somebody who authenticates."""
    async with server(serve) as address, Cluster(show(address), Settings(timeout=10, sasl=sasl), **told) as cluster:
        return await cluster.send("metadata")


def leaks(text: str | bytes) -> list[str]:
    """The secrets that stand in a text, in whatever form."""
    data = text.encode() if isinstance(text, str) else text
    secrets = [*SECRETS, WRONG]
    return [secret for secret in secrets if any(form in data for form in forms(secret.encode()))]


# It works


@for_each("version", [0, 1, 2])
@for_each("mechanism", MECHANISMS)
@in_loop
async def test_framed(mechanism: str, version: int) -> None:
    broker = SaslBroker(authenticate=version)
    assert (await session(broker, good(mechanism))).response is not None
    rounds = 2 if mechanism.startswith("SCRAM") else 1
    said = [("ApiVersions", 3), ("SaslHandshake", 1), *[("SaslAuthenticate", version)] * rounds, ("Metadata", 12)]
    assert broker.said == said


@pytest.mark.parametrize("mechanism", MECHANISMS)
@in_loop
async def test_raw(mechanism: str) -> None:
    """As the user wants it: then the versions need not be known."""
    broker = SaslBroker()
    assert (await session(broker, good(mechanism, raw=True))).response is not None
    rounds = 2 if mechanism.startswith("SCRAM") else 1
    assert broker.said[: 1 + rounds] == [("SaslHandshake", 0), *[("token", 0)] * rounds]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@in_loop
async def test_a_broker_before_1_0(mechanism: str) -> None:
    """It says that it knows no SaslAuthenticate: the tokens go alone."""
    broker = SaslBroker(handshake=0, authenticate=None)
    assert (await session(broker, good(mechanism))).response is not None
    assert broker.said[:3] == [("ApiVersions", 3), ("SaslHandshake", 0), ("token", 0)]


@in_loop
async def test_a_broker_that_hangs_up_on_the_question_for_its_versions() -> None:
    broker = SaslBroker(handshake=0, authenticate=None)
    broker.knows_versions = False
    assert (await session(broker, good("PLAIN"))).version == 0
    assert broker.said == [("ApiVersions", 3), ("SaslHandshake", 0), ("token", 0), ("Metadata", 0)]


@pytest.mark.parametrize("mechanism", ["plain", "Scram-Sha-256", "oauthbearer"])
@in_loop
async def test_the_mechanism_in_any_case(mechanism: str) -> None:
    assert (await session(SaslBroker(), good(mechanism))).response is not None


@in_loop
async def test_without_knowing_the_versions_the_newer_way_is_tried() -> None:
    broker = SaslBroker()
    async with server(broker) as address:
        connection = await Connection.open(address, Settings(timeout=10))
        await authenticate(connection, good("SCRAM-SHA-512"))
        assert (await connection.answer(connection.send(grammars.api("metadata"), 1))).response is not None
        await connection.close()
    assert broker.said[:2] == [("SaslHandshake", 1), ("SaslAuthenticate", 0)]


@in_loop
async def test_every_connection_is_authenticated_and_asked_for_its_versions() -> None:
    broker = SaslBroker()
    settings = Settings(timeout=10, sasl=good("PLAIN"))
    async with server(broker) as address, Cluster(show(address), settings) as cluster:
        await cluster.send("metadata")
        await cluster.pool.connections[address].close()
        await cluster.send("metadata")
    assert [name for name, _ in broker.said].count("SaslAuthenticate") == 2
    assert [name for name, _ in broker.said].count("ApiVersions") == 2


# It does not


REFUSED = "check the user name, the password and the mechanism"


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("PLAIN", "SASL PLAIN: Authentication failed: Invalid username or password"),
        ("SCRAM-SHA-256", "SASL SCRAM-SHA-256: Authentication failed during authentication due to invalid"),
        ("SCRAM-SHA-512", "SASL SCRAM-SHA-512: Authentication failed during authentication due to invalid"),
        ("OAUTHBEARER", 'SASL OAUTHBEARER: {"status":"invalid_token"}'),
    ],
)
@in_loop
async def test_a_wrong_secret(mechanism: str, words: str) -> None:
    with pytest.raises(NotAuthenticated) as caught:
        await session(SaslBroker(), good(mechanism, password=WRONG, token=WRONG))
    assert words in str(caught.value)
    assert str(caught.value).endswith(REFUSED)
    assert not leaks("".join(traceback.format_exception(caught.value)))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@in_loop
async def test_a_wrong_secret_and_a_broker_that_just_hangs_up(mechanism: str) -> None:
    with pytest.raises(
        NotAuthenticated, match=("the broker closed the connection without a response; check the user name")
    ) as caught:
        await session(SaslBroker(authenticate=None), good(mechanism, password=WRONG, token=WRONG))
    assert not leaks("".join(traceback.format_exception(caught.value)))


@in_loop
async def test_a_user_nobody_knows() -> None:
    with pytest.raises(NotAuthenticated, match="invalid credentials"):
        await session(SaslBroker(), good("SCRAM-SHA-256", username="mallory"))


@pytest.mark.parametrize("raw", [True, False])
@in_loop
async def test_a_mechanism_that_the_broker_does_not_take(raw: bool) -> None:
    broker = SaslBroker(mechanisms=("SCRAM-SHA-256", "GSSAPI"))
    with pytest.raises(NotAuthenticated) as caught:
        await session(broker, good("PLAIN", raw=raw))
    line = (
        "SASL PLAIN: the broker does not support this SASL mechanism; it offers SCRAM-SHA-256, GSSAPI; choose "
        "one with --sasl-"
    )
    assert line in str(caught.value)


@in_loop
async def test_a_broker_that_offers_nothing() -> None:
    with pytest.raises(NotAuthenticated, match="it offers none"):
        await session(SaslBroker(mechanisms=()), good("PLAIN"))


def refuses_the_handshake(code: int) -> Serve:
    async def serve(peer: Peer) -> None:
        peer.tell((await peer.request()).response({"error_code": code}))
        await peer.silence()

    return serve


@pytest.mark.parametrize(("code", "words"), [(34, "ILLEGAL_SASL_STATE"), (35, "UNSUPPORTED_VERSION"), (999, "999")])
@in_loop
async def test_a_handshake_that_ends_in_an_error(code: int, words: str) -> None:
    """34: a listener without SASL says so."""
    with pytest.raises(NotAuthenticated, match=words):
        await session(refuses_the_handshake(code), good("PLAIN", raw=True))


@in_loop
async def test_a_listener_without_sasl_that_hangs_up() -> None:
    async def serve(peer: Peer) -> None:
        await peer.request()

    with pytest.raises(NotAuthenticated, match="SASL PLAIN: the broker closed the connection without a response"):
        await session(serve, good("PLAIN", raw=True))


@in_loop
async def test_no_sasl_where_sasl_is_wanted() -> None:
    async with server(SaslBroker()) as address, Cluster(show(address), Settings(timeout=10)) as cluster:
        with pytest.raises(Closed, match="use --tls or --sasl-mechanism if"):
            await cluster.send("metadata")


@in_loop
async def test_a_handshake_that_cannot_be_read() -> None:
    async def serve(peer: Peer) -> None:
        peer.tell((await peer.request()).correlation_id.to_bytes(4, "big") + b"\0")
        await peer.silence()

    with pytest.raises(WrongAnswer, match="response to SaslHandshake v0 cannot be decoded"):
        await session(serve, good("PLAIN", raw=True))


def challenges(*tokens: bytes) -> Serve:
    """A broker that answers a client's tokens with these, whatever it says."""

    async def serve(peer: Peer) -> None:
        peer.tell((await peer.request()).response({"mechanisms": list(MECHANISMS)}))
        for token in tokens:
            await peer.frame()
            peer.tell(token)
        peer.tell(metadata(await peer.request()))
        await peer.silence()

    return serve


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([b""], "the broker closed the connection|malformed|no SCRAM message"),
        ([b"\xff\xfe"], "the broker sent an invalid SCRAM message"),
        ([b"r=other,s=QSXCR+Q6sek8bf92,i=4096"], "client nonce doesn't match"),
        ([b"e=unknown-user"], "the server returned an error: unknown-user"),
        ([b"rubbish"], "malformed server first message"),
    ],
)
@in_loop
async def test_a_broker_that_does_not_know_the_mechanism_itself(tokens: list[bytes], words: str) -> None:
    with pytest.raises(NotAuthenticated, match=words) as caught:
        await session(challenges(*tokens), good("SCRAM-SHA-256", raw=True))
    assert not leaks(str(caught.value))


@in_loop
async def test_a_broker_that_does_not_know_the_password() -> None:
    """SCRAM is for both ends: a broker that lets anybody in has not proved itself."""

    async def serve(peer: Peer) -> None:
        peer.tell((await peer.request()).response({"mechanisms": list(MECHANISMS)}))
        nonce = (await peer.frame()).decode().partition("r=")[2]
        peer.tell(f"r={nonce}more,s=QSXCR+Q6sek8bf92,i=4096".encode())
        await peer.frame()
        peer.tell(b"v=" + b"rmF9pqV8S7suAoZWja4dJRkFsKQ=")
        await peer.silence()

    with pytest.raises(NotAuthenticated, match="server authentication failed: the broker's SCRAM signature is wrong"):
        await session(serve, good("SCRAM-SHA-256", raw=True))


@in_loop
async def test_a_broker_that_complains_for_ever() -> None:
    with pytest.raises(NotAuthenticated, match=r'the broker rejected the token: \{"status":"expired"\}'):
        await session(challenges(*[b'{"status":"expired"}'] * 9), good("OAUTHBEARER", raw=True))


@pytest.mark.parametrize(
    ("sasl", "words"),
    [
        (Sasl("GSSAPI"), "use one of PLAIN, SCRAM-SHA-256"),
        (Sasl("PLAIN"), "PLAIN requires a user name; use --sasl-username"),
        (Sasl("OAUTHBEARER"), "OAUTHBEARER requires a token"),
    ],
)
@in_loop
async def test_settings_that_lack_something(sasl: Sasl, words: str) -> None:
    with pytest.raises(InputError, match=words):
        await session(SaslBroker(), sasl)


# Secrets


@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER"])
@in_loop
async def test_a_broker_that_repeats_the_secret(mechanism: str) -> None:
    async def repeat(peer: Peer) -> None:
        peer.tell((await peer.request()).response({"mechanisms": list(MECHANISMS)}))
        request = await peer.request()
        said = request.body["auth_bytes"].decode(errors="replace")
        peer.tell(request.response({"error_code": 58, "error_message": f"no idea who {said!r} is"}))
        await peer.silence()

    async with server(repeat) as address:
        connection = await Connection.open(address, Settings(timeout=10))
        with pytest.raises(NotAuthenticated, match=r"\*\*\*") as caught:
            await authenticate(connection, good(mechanism))
        await connection.close()
    assert not leaks("".join(traceback.format_exception(caught.value)))


@for_each("raw", [True, False])
@for_each("mechanism", MECHANISMS)
@in_loop
async def test_no_view_and_no_step_shows_a_secret(mechanism: str, raw: bool) -> None:
    seen: list[Exchange] = []
    steps: list[str] = []
    names: dict[uuid.UUID, str] = {}
    settings = good(mechanism, raw=raw)
    await session(SaslBroker(), settings, seen=seen.append, trace=steps.append)
    assert len(seen) >= 4
    for format in VIEWS:
        hidden, shown = view(format).exchange(Look(), names), view(format).exchange(Look(show_secrets=True), names)
        for exchange in seen:
            assert not leaks(hidden(exchange))
        if mechanism == "PLAIN" and format == "json":
            assert any(leaks(shown(exchange)) for exchange in seen), "or this test would see none"
    assert not leaks("\n".join(steps) + repr(settings) + repr(Settings(sasl=settings)))
    assert (USER in repr(settings)) == (mechanism != "OAUTHBEARER")
