"""Logins that fail for another reason than the password, and what a principal may not do with the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from ...brokers.security import MODULE, unsecured_token
from ..certificates import HOST
from ..clusters import USERS
from ..foreign import franz_go, java_client, kafkajs
from ..handmade import Handmade, handmade
from ..incident import Incident, Shown
from ..stage import QUIET, Stage, apart, ended
from .administration import repeated
from .security import allow

PLAIN, SASL, TOKENS = f"{HOST}:9092", f"{HOST}:9094", f"{HOST}:9106"
ONE = "127.0.0.11:9092"
SECONDS = 4.0


def login(address: str = SASL, user: str = "alice") -> dict[str, str]:
    """librdkafka's settings for a user with the right password."""
    return {
        "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": user,
        "sasl_password": USERS[user], "bootstrap_servers": address,
    }  # fmt: skip


def sasl_to_plaintext(stage: Stage, address: str = PLAIN) -> None:
    """A client that logs in, at a listener that takes no logins."""
    stage.topic("nightly")
    with stage.recording(), stage.producer("etl-nightly", **login(address), reconnect_backoff_ms=500) as writer:
        writer.produce("nightly", "row 1")
        writer.flush(SECONDS)


def sasl_to_plaintext_in_go(stage: Stage, address: str = PLAIN) -> None:
    stage.topic("nightly")
    told = {"brokers": address, "id": "seat-map", "user": "alice", "password": USERS["alice"], "count": 1}
    with stage.recording():
        ended(franz_go("produce", "nightly", **told))


def sasl_to_plaintext_in_javascript(stage: Stage, address: str = PLAIN) -> None:
    stage.topic("nightly")
    sasl = {"mechanism": "plain", "username": "alice", "password": USERS["alice"]}
    with stage.recording():
        ended(
            kafkajs("produce", "nightly", kafka={"brokers": [address], "clientId": "web-shop", "sasl": sasl}, count=1)
        )


def token(stage: Stage, seconds: float = -600) -> None:
    """A token of OAUTHBEARER whose time is over."""
    from kafka import KafkaProducer
    from kafka.errors import KafkaError
    from kafka.net.sasl.oauth import AbstractTokenProvider

    stage.topic("nightly")

    class Provider(AbstractTokenProvider):  # type: ignore[misc]
        def token(self) -> str:
            return unsecured_token("alice", seconds)

    def send() -> None:
        options = {
            "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER", "max_block_ms": 3000,
            "sasl_oauth_token_provider": Provider(),
        }  # fmt: skip
        with suppress(KafkaError):
            KafkaProducer(bootstrap_servers=TOKENS, client_id="claims-api", **options).send("nightly", b"row").get(3)

    with stage.recording():
        apart(send)


def token_in_librdkafka(stage: Stage, seconds: float = -600) -> None:
    """The same, by a program that tells the library the token is good for an hour."""
    stage.topic("nightly")
    options = {
        "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER", "bootstrap_servers": TOKENS,
        "oauth_cb": lambda _: (unsecured_token("alice", seconds), time.time() + 3600), "reconnect_backoff_ms": 700,
    }  # fmt: skip
    with stage.recording(), stage.producer("claims-feed", **options) as writer:
        writer.produce("nightly", "row 1")
        writer.flush(SECONDS)


def plain_token(client: Handmade, user: str = "bob") -> None:
    client.ask("SaslHandshake", 1, mechanism="PLAIN")
    client.ask("SaslAuthenticate", 1, auth_bytes=f"\0{user}\0{USERS[user]}".encode())


def delegation(stage: Stage, *, logs_in: bool = True, lifetime: int = 1500) -> None:
    """A delegation token that is renewed too late; or one that is wanted of a listener without logins."""
    with stage.recording(), handmade("spark-driver", SASL if logs_in else PLAIN) as client:
        client.ask("ApiVersions", 0)
        if logs_in:
            plain_token(client)
        for _ in range(2):
            told = client.ask("CreateDelegationToken", 1, renewers=[], max_lifetime_ms=lifetime)
            if logs_in:
                time.sleep(2.5)
                client.ask("RenewDelegationToken", 1, hmac=told["hmac"], renew_period_ms=60_000)


def as_bob(stage: Stage, client: str, work: Callable[[AdminClient], object], user: str = "bob") -> None:
    """An administrator's client of a user who may do nothing with the cluster, or of one who may."""
    names = {key.replace("_", "."): value for key, value in login(user=user).items()}
    with stage.recording():
        admin = AdminClient({**names, "client.id": client, **QUIET})
        repeated(lambda: work(admin))


def list_acls(admin: AdminClient) -> None:
    every = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    with suppress(KafkaException):
        admin.describe_acls(every).result(5)


def write_idempotently(stage: Stage, idempotent: bool = True) -> None:
    """A user who may describe and write a topic by its prefix only: the broker gives no producer id."""
    stage.topic("nightly")
    allow(stage, ResourceType.TOPIC, "nightly", "bob", AclOperation.DESCRIBE)
    settings = {
        "bootstrap.servers": SASL, "client.id": "payout-job", "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN", "do.count": 2, "enable.idempotence": str(idempotent).lower(),
        "sasl.jaas.config": f'{MODULE}.plain.PlainLoginModule required username="bob" password="{USERS["bob"]}";',
    }  # fmt: skip
    if not idempotent:
        allow(stage, ResourceType.TOPIC, "nightly", "bob", AclOperation.WRITE)
    with stage.recording():
        ended(java_client("produce", "nightly", settings))


LISTENER = "security.protocol=PLAINTEXT, or the port for SASL"
INCIDENTS = (
    Incident(
        "sasl-to-plaintext-librdkafka", "sasl-client-to-plaintext-listener", "guarded", sasl_to_plaintext,
        {"client_id": "etl-nightly", "broker": PLAIN}, (Shown("SaslHandshake", client_id="etl-nightly"),
        Shown("SaslHandshake", "ILLEGAL_SASL_STATE")), LISTENER, partial(sasl_to_plaintext, address=SASL),
    ),
    Incident(
        "sasl-to-plaintext-franz-go", "sasl-client-to-plaintext-listener", "guarded", sasl_to_plaintext_in_go,
        {"client_id": "seat-map", "broker": PLAIN}, (Shown("SaslHandshake", "ILLEGAL_SASL_STATE"),), LISTENER,
        partial(sasl_to_plaintext_in_go, address=SASL),
    ),
    Incident(
        "sasl-to-plaintext-kafkajs", "sasl-client-to-plaintext-listener", "guarded", sasl_to_plaintext_in_javascript,
        {"client_id": "web-shop", "broker": PLAIN}, (Shown("SaslHandshake", "ILLEGAL_SASL_STATE"),), LISTENER,
        partial(sasl_to_plaintext_in_javascript, address=SASL),
    ),
    Incident(
        "oauth-token-expired-kafka-python", "sasl-wrong-credentials", "guarded", token,
        {"client_id": "claims-api", "broker": TOKENS},
        (Shown("SaslAuthenticate", "SASL_AUTHENTICATION_FAILED", client_id="claims-api"),),
        "fetch a new token before the old one ends", partial(token, seconds=3600),
    ),
    Incident(
        "oauth-token-expired-librdkafka", "sasl-wrong-credentials", "guarded", token_in_librdkafka,
        {"client_id": "claims-feed", "broker": TOKENS},
        (Shown("SaslAuthenticate", "SASL_AUTHENTICATION_FAILED", client_id="claims-feed"),),
        "fetch a new token before the old one ends", partial(token_in_librdkafka, seconds=3600),
    ),
    Incident(
        "delegation-token-renewed-too-late", "error-response", "guarded", delegation,
        {"client_id": "spark-driver", "user": "bob"},
        (Shown("RenewDelegationToken", "DELEGATION_TOKEN_EXPIRED", client_id="spark-driver"),),
        "renew the token before it expires", partial(delegation, lifetime=600_000),
    ),
    Incident(
        "delegation-token-without-login", "error-response", "guarded", partial(delegation, logs_in=False),
        {"client_id": "spark-driver", "broker": PLAIN},
        (Shown("CreateDelegationToken", "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", client_id="spark-driver", at_least=2),),
        "a listener with SASL or mutual TLS", partial(delegation, lifetime=600_000),
    ),
    Incident(
        "cluster-not-allowed", "cluster-authorization-failed", "guarded",
        partial(as_bob, client="acl-audit", work=list_acls), {"client_id": "acl-audit", "user": "bob"},
        (Shown("DescribeAcls", "CLUSTER_AUTHORIZATION_FAILED", client_id="acl-audit", at_least=3),),
        "an ACL for User:bob: Describe on the cluster",
        partial(as_bob, client="acl-audit", work=list_acls, user="alice"),
    ),
    Incident(
        "idempotent-write-not-allowed", "cluster-authorization-failed", "guarded", write_idempotently,
        {"client_id": "payout-job", "user": "bob"},
        (Shown("InitProducerId", "CLUSTER_AUTHORIZATION_FAILED", client_id="payout-job"),),
        "an ACL for User:bob: Write on the topic", partial(write_idempotently, idempotent=False),
    ),
)  # fmt: skip
