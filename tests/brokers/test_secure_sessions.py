"""TLS and SASL at a real broker: what lets one in, one clear line for what does not, and no secret anywhere."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kdbg.errors import ClientError, NotAuthenticated
from kdbg.live.client.cluster import Cluster as Client
from kdbg.live.client.settings import Sasl, Settings, Tls

from .broker import Broker
from .cluster import Cluster
from .leaks import leaks
from .pool import needed
from .releases import release
from .security import LISTENERS, MECHANISMS, PASSWORD, USER, Security, unsecured_token
from .sending import Outcome, send

WRONG = "battery-staple"
TOKEN = unsecured_token()
FORGED = unsecured_token(seconds=-60)
EVERYTHING = ("--trace", "--show-exchanges")
WITH_PASSWORD = tuple(mechanism for mechanism in MECHANISMS if mechanism != "OAUTHBEARER")


@pytest.fixture
def security(secure_cluster: Cluster) -> Security:
    assert secure_cluster.security is not None
    return secure_cluster.security


@pytest.fixture
def trust(security: Security) -> tuple[str, str]:
    """The options that trust the broker's certificate."""
    return "--ca", str(security.authority)


def ask(broker: Broker, listener: str, *options: object, **environment: str) -> Outcome:
    """Ask a listener for metadata, as `kdbg send`; whatever comes of it, no secret is shown."""
    outcome = send(broker.listener(listener), "metadata", "--timeout", 5, *options, **environment)
    if "--show-secrets" not in options:
        assert leaks(outcome.out + outcome.err, PASSWORD, WRONG, TOKEN, FORGED) == []
    return outcome


def sasl(mechanism: str, *options: object) -> tuple[object, ...]:
    return ("--sasl-mechanism", mechanism, "--sasl-username", USER, *options)


def ours(mechanism: str) -> dict[str, str]:
    """The environment of somebody who knows the secret."""
    return {"KDBG_SASL_TOKEN": TOKEN} if mechanism == "OAUTHBEARER" else {"KDBG_SASL_PASSWORD": PASSWORD}


def theirs(mechanism: str) -> dict[str, str]:
    """That of somebody who does not."""
    return {"KDBG_SASL_TOKEN": FORGED} if mechanism == "OAUTHBEARER" else {"KDBG_SASL_PASSWORD": WRONG}


def let_in(outcome: Outcome) -> None:
    """The broker answered, by an exchange that was understood whole."""
    assert outcome.status == 0, outcome.err
    assert " responded in " in outcome.closing
    assert "Metadata v12" in outcome.out


def refused(outcome: Outcome, *words: str) -> None:
    """One clear line with these words; before it at most that a request was sent once more."""
    assert outcome.status == 1, outcome.out
    *before, line = outcome.err.splitlines()
    assert all("; sending " in one and one.endswith(" again") for one in before), outcome.err
    assert line.startswith("kdbg: 127.0.0.1:")
    for word in words:
        assert word in line
    assert "Traceback" not in outcome.out


class TestTls:
    """Whom kdbg trusts, and what it says of ports that speak something else."""

    def test_with_the_authority_the_broker_is_trusted(self, secure_broker: Broker, trust: tuple[str, str]) -> None:
        let_in(ask(secure_broker, "SSL", *trust))
        let_in(ask(secure_broker, "SSL", *trust, "--server-name", "localhost"))

    def test_insecure_trusts_anybody(self, secure_broker: Broker) -> None:
        let_in(ask(secure_broker, "SSL", "--insecure"))

    def test_a_client_may_show_a_certificate(
        self, secure_broker: Broker, security: Security, trust: tuple[str, str]
    ) -> None:
        let_in(ask(secure_broker, "SSL", *trust, "--cert", security.client, "--key", security.client_key))

    def test_without_the_authority_it_is_not(self, secure_broker: Broker, security: Security) -> None:
        for options in (("--tls",), ("--ca", security.stranger)):
            outcome = ask(secure_broker, "SSL", *options)
            refused(outcome, "its certificate is not trusted", "issuer certificate", "--ca", "--insecure")

    def test_another_name_is_not_the_brokers(self, secure_broker: Broker, trust: tuple[str, str]) -> None:
        outcome = ask(secure_broker, "SSL", *trust, "--server-name", "kafka.example")
        refused(outcome, "its certificate is not trusted", "'kafka.example'", "--server-name")

    @pytest.mark.parametrize("listener", ["SSL", "SASL_SSL"])
    def test_plaintext_to_a_port_that_speaks_tls(self, secure_broker: Broker, listener: str) -> None:
        refused(ask(secure_broker, listener), "the response is TLS", "use --tls")

    @pytest.mark.parametrize("listener", ["PLAINTEXT", "SASL_PLAINTEXT"])
    def test_tls_to_a_port_that_does_not(self, secure_broker: Broker, listener: str) -> None:
        refused(ask(secure_broker, listener, "--tls"), "during the TLS handshake", "omit --tls")


class TestSasl:
    """Every mechanism, in SaslAuthenticate and as raw tokens."""

    @pytest.mark.parametrize("raw", [False, True], ids=["framed", "raw"])
    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_who_knows_the_secret_is_let_in(self, secure_broker: Broker, mechanism: str, raw: bool) -> None:
        options = (*sasl(mechanism), *EVERYTHING, *(["--sasl-raw"] if raw else []))
        outcome = ask(secure_broker, "SASL_PLAINTEXT", *options, **ours(mechanism))
        let_in(outcome)
        assert f"authenticated with {mechanism}" in outcome.err
        assert f"SaslHandshake v{int(not raw)}" in outcome.out
        assert ("SaslToken" in outcome.out, "SaslAuthenticate v2 ·" in outcome.out) == (raw, not raw)
        rounds = 2 if mechanism.startswith("SCRAM") else 1
        assert len(re.findall(r"^#\d+ Sasl(?:Token|Authenticate)", outcome.out, re.MULTILINE)) == rounds

    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_inside_tls_as_well(self, secure_broker: Broker, trust: tuple[str, str], mechanism: str) -> None:
        let_in(ask(secure_broker, "SASL_SSL", *trust, *sasl(mechanism), **ours(mechanism)))

    def test_inside_tls_with_raw_tokens(self, secure_broker: Broker, trust: tuple[str, str]) -> None:
        mechanism = "SCRAM-SHA-512"
        let_in(ask(secure_broker, "SASL_SSL", *trust, *sasl(mechanism, "--sasl-raw"), **ours(mechanism)))

    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_who_does_not_is_told_so_by_the_broker(self, secure_broker: Broker, mechanism: str) -> None:
        outcome = ask(secure_broker, "SASL_PLAINTEXT", *sasl(mechanism), **theirs(mechanism))
        why = "invalid_token" if mechanism == "OAUTHBEARER" else "uthentication failed"
        refused(outcome, f"SASL {mechanism}: ", why, "check the user name, the password and the mechanism")

    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_or_with_raw_tokens_is_hung_up_on(self, secure_broker: Broker, mechanism: str) -> None:
        outcome = ask(secure_broker, "SASL_PLAINTEXT", *sasl(mechanism, "--sasl-raw"), **theirs(mechanism))
        refused(
            outcome,
            f"SASL {mechanism}: the broker closed the connection",
            "check the user name, the password and the mechanism",
        )

    def test_a_mechanism_that_kdbg_lacks(self, secure_broker: Broker) -> None:
        outcome = ask(secure_broker, "SASL_PLAINTEXT", *sasl("GSSAPI"), **ours("PLAIN"))
        assert outcome.status == 2
        assert outcome.err == f"kdbg: unknown SASL mechanism 'GSSAPI'; use one of {', '.join(MECHANISMS)}\n"

    def test_the_brokers_word_for_one_that_it_lacks(self, secure_broker: Broker) -> None:
        outcome = send(secure_broker.listener("SASL_PLAINTEXT"), "sasl-handshake", "--mechanism", "GSSAPI")
        assert outcome.status == 0
        assert "UNSUPPORTED_SASL_MECHANISM" in outcome.closing

    def test_nobody_asked_for_sasl(self, secure_broker: Broker) -> None:
        outcome = ask(secure_broker, "PLAINTEXT", *sasl("PLAIN"), **ours("PLAIN"))
        refused(outcome, "ILLEGAL_SASL_STATE", "this listener does not use SASL", "omit the SASL options")

    def test_sasl_was_wanted(self, secure_broker: Broker) -> None:
        refused(
            ask(secure_broker, "SASL_PLAINTEXT"),
            "the broker closed the connection without a response",
            "use --tls or --sasl-mechanism if the listener requires it",
        )


@pytest.fixture(scope="module")
def of_one_mechanism() -> Iterator[Broker]:
    """A broker that takes SCRAM-SHA-512 and nothing else."""
    with needed():
        cluster = Cluster(release("3.9"), secure=True)
    only = {"sasl.enabled.mechanisms": "SCRAM-SHA-512"}
    cluster.plan = replace(cluster.plan, extra={**cluster.plan.extra, **only})
    cluster.brokers = [Broker(cluster.plan, 1)]
    with needed(), cluster:
        cluster.start()
        yield cluster.brokers[0]


@pytest.mark.parametrize("raw", [False, True], ids=["framed", "raw"])
@pytest.mark.parametrize("mechanism", [mechanism for mechanism in MECHANISMS if mechanism != "SCRAM-SHA-512"])
def test_a_mechanism_that_the_broker_lacks(of_one_mechanism: Broker, mechanism: str, raw: bool) -> None:
    options = ["--sasl-raw"] if raw else []
    outcome = ask(of_one_mechanism, "SASL_PLAINTEXT", *sasl(mechanism), *options, **ours(mechanism))
    said = f"SASL {mechanism}: the broker does not support this SASL mechanism; it offers SCRAM-SHA-512"
    refused(outcome, said, "choose one with --sasl-mechanism")


class TestSecrets:
    """Where they come from, and where they are not seen."""

    @pytest.mark.parametrize("view", ["tree", "hex", "json", "summary"])
    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_no_view_shows_them(self, secure_broker: Broker, mechanism: str, view: str) -> None:
        outcome = ask(secure_broker, "SASL_PLAINTEXT", *sasl(mechanism), *EVERYTHING, "-f", view, **ours(mechanism))
        assert outcome.status == 0, outcome.err
        assert "Sasl" in outcome.out

    @pytest.mark.parametrize("raw", [False, True], ids=["framed", "raw"])
    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_nor_when_they_are_refused(self, secure_broker: Broker, mechanism: str, raw: bool) -> None:
        options = (*sasl(mechanism), *EVERYTHING, "-f", "hex", *(["--sasl-raw"] if raw else []))
        assert ask(secure_broker, "SASL_PLAINTEXT", *options, **theirs(mechanism)).status == 1

    def test_unless_they_are_asked_for(self, secure_broker: Broker) -> None:
        options = (*sasl("PLAIN"), *EVERYTHING, "--show-secrets")
        outcome = ask(secure_broker, "SASL_PLAINTEXT", *options, **ours("PLAIN"))
        let_in(outcome)
        assert leaks(outcome.out, PASSWORD)

    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_no_exception_and_no_settings_hold_them(self, secure_broker: Broker, mechanism: str) -> None:
        told: list[str] = []
        settings = Settings(sasl=Sasl(mechanism, USER, WRONG, FORGED))

        async def session() -> None:
            async with Client(secure_broker.listener("SASL_PLAINTEXT"), settings, trace=told.append) as client:
                await client.send("metadata")

        with pytest.raises(NotAuthenticated) as failed:
            asyncio.run(session())
        text = "".join(traceback.format_exception(failed.value)) + repr(failed.value) + repr(settings) + "".join(told)
        assert leaks(text, WRONG, FORGED) == []

    def test_they_come_from_the_command_line_or_a_file(self, secure_broker: Broker, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.write_text(f"{PASSWORD}\n")
        for given in (("--sasl-password", PASSWORD), ("--sasl-password-file", secret)):
            let_in(ask(secure_broker, "SASL_PLAINTEXT", *sasl("PLAIN"), *given))
        secret.write_text(f"{TOKEN}\n")
        let_in(ask(secure_broker, "SASL_PLAINTEXT", *sasl("OAUTHBEARER"), "--sasl-token-file", secret))

    @pytest.mark.parametrize("listener", LISTENERS)
    def test_or_from_the_properties_of_javas_client(
        self, secure_broker: Broker, security: Security, listener: str
    ) -> None:
        for mechanism in WITH_PASSWORD if listener.startswith("SASL") else ("",):
            let_in(ask(secure_broker, listener, "--config", security.client_properties(listener, mechanism)))


def test_python_programs_have_the_same_session(secure_broker: Broker, security: Security) -> None:
    settings = Settings(tls=Tls(ca=str(security.authority)), sasl=Sasl("scram-sha-256", USER, PASSWORD))

    async def session() -> int:
        async with Client(secure_broker.listener("SASL_SSL"), settings) as client:
            exchange = await client.send("metadata")
            return exchange.peers.broker[1]

    assert secure_broker.listener("SASL_SSL").endswith(f":{asyncio.run(session())}")


def test_they_have_the_same_errors(secure_broker: Broker) -> None:
    async def session() -> None:
        async with Client(secure_broker.listener("SSL"), Settings(tls=Tls())) as client:
            await client.send("metadata")

    with pytest.raises(ClientError, match="its certificate is not trusted"):
        asyncio.run(session())
