"""The secure broker: TLS with our authority alone, each mechanism of SASL with the right password alone."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import time
from pathlib import Path

import pytest

from . import probe
from .broker import Broker
from .cluster import Cluster
from .security import MECHANISMS, PASSWORD, Security, unsecured_token
from .settings import HOST
from .tools import ToolFailed


def security_of(cluster: Cluster) -> Security:
    assert cluster.security is not None
    return cluster.security


def list_topics(broker: Broker, listener: str, config: Path) -> str:
    where = ("--bootstrap-server", broker.listener(listener), "--command-config", str(config))
    return broker.run("TopicCommand", *where, "--list")


def shake_hands(broker: Broker, context: ssl.SSLContext, name: str = HOST) -> str | None:
    """The TLS version that was agreed on."""
    port = int(broker.listener("SSL").partition(":")[2])
    with (
        socket.create_connection((HOST, port), 5) as connection,
        context.wrap_socket(connection, server_hostname=name) as tls,
    ):
        return tls.version()


@pytest.mark.nightly  # of kdbg it tests nothing, and by day test_secure_sessions.py uses this broker in all ways
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_java_gets_in_with_the_users_password(secure_cluster: Cluster, listener: str, mechanism: str) -> None:
    broker = secure_cluster.brokers[0]
    probe.metadata(broker.port, "seen")
    broker.wait_for_topic("seen")
    config = security_of(secure_cluster).client_properties(listener, mechanism)
    assert "seen" in list_topics(broker, listener, config).split()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_java_is_refused_with_another_password(secure_cluster: Cluster, mechanism: str, tmp_path: Path) -> None:
    config = security_of(secure_cluster).client_properties("SASL_SSL", mechanism)
    wrong = tmp_path / "wrong.properties"
    wrong.write_text(config.read_text().replace(PASSWORD, "guessed"))
    with pytest.raises(ToolFailed, match="SaslAuthenticationException"):
        list_topics(secure_cluster.brokers[0], "SASL_SSL", wrong)


@pytest.mark.parametrize("name", [HOST, "localhost"])
def test_the_certificate_is_our_authoritys(secure_cluster: Cluster, name: str) -> None:
    context = ssl.create_default_context(cafile=security_of(secure_cluster).authority)
    assert shake_hands(secure_cluster.brokers[0], context, name) == "TLSv1.3"


def test_a_client_may_show_a_certificate(secure_cluster: Cluster) -> None:
    security = security_of(secure_cluster)
    context = ssl.create_default_context(cafile=security.authority)
    context.load_cert_chain(security.client, security.client_key)
    assert shake_hands(secure_cluster.brokers[0], context) == "TLSv1.3"


def test_another_authority_did_not_sign_it(secure_cluster: Cluster) -> None:
    context = ssl.create_default_context(cafile=security_of(secure_cluster).stranger)
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate verify failed"):
        shake_hands(secure_cluster.brokers[0], context)


def test_the_plain_listener_needs_nothing(secure_broker: Broker) -> None:
    assert secure_broker.ready(1)


def test_a_token_is_a_jwt_that_nobody_signed() -> None:
    header, claims, signature = unsecured_token("bob", seconds=60).split(".")
    assert json.loads(base64.urlsafe_b64decode(header + "==")) == {"alg": "none"}
    values = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert values["sub"] == "bob"
    assert values["iat"] <= time.time() < values["exp"]
    assert signature == ""
