"""Clients that are not let in, or not let at what they want."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from ...brokers.security import MODULE
from ..clusters import USERS
from ..foreign import franz_go, java_client, kafkajs
from ..handmade import handmade
from ..incident import Incident, Packets, Shown, healthy
from ..stage import PATIENCE, Stage, apart, ended

ONE = "127.0.0.11"
PLAIN, SASL, SHORT = f"{ONE}:9092", f"{ONE}:9094", f"{ONE}:9097"
WRONG = "not-the-password"
SECONDS = 3.0


def login(user: str, password: str | None = None, mechanism: str = "PLAIN") -> dict[str, Any]:
    """librdkafka's settings for a user, with the right password if none is given."""
    return {
        "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism, "sasl_username": user,
        "sasl_password": password or USERS[user], "bootstrap_servers": SASL,
    }  # fmt: skip


def librdkafka(stage: Stage, user: str = "bob", mechanism: str = "PLAIN", password: str | None = None) -> None:
    stage.topic("nightly")
    with (
        stage.recording(),
        stage.producer("etl-nightly", **login(user, password, mechanism), reconnect_backoff_ms=500) as writer,
    ):
        writer.produce("nightly", "row 1")
        writer.flush(SECONDS)


def java(stage: Stage, password: str | None = None, mechanism: str = "PLAIN") -> None:
    stage.topic("nightly")
    kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    jaas = f'{MODULE}.{kind}LoginModule required username="alice" password="{password or USERS["alice"]}";'
    settings = {
        "bootstrap.servers": SASL, "client.id": "payout-job", "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism, "sasl.jaas.config": jaas, "max.block.ms": 3000, "do.count": 1, "do.pause": 0,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("produce", "nightly", settings))


def go(stage: Stage, password: str) -> None:
    stage.topic("nightly")
    told = {"brokers": SASL, "id": "seat-map", "user": "alice", "password": password, "count": 1}
    with stage.recording():
        ended(franz_go("produce", "nightly", **told))


def without_sasl(stage: Stage, address: str = SASL) -> None:
    stage.topic("nightly")
    with stage.recording(), stage.producer("kiosk-3", bootstrap_servers=address, reconnect_backoff_ms=500) as writer:
        writer.produce("nightly", "row 1")
        writer.flush(SECONDS)


def javascript_without_sasl(stage: Stage, address: str = SASL) -> None:
    stage.topic("nightly")
    with stage.recording():
        ended(kafkajs("produce", "nightly", kafka={"brokers": [address], "clientId": "web-shop"}, count=1))


def aio_without_sasl(stage: Stage, address: str = SASL) -> None:
    import asyncio

    from aiokafka import AIOKafkaProducer
    from aiokafka.errors import KafkaError

    stage.topic("nightly")

    async def send() -> None:
        writer = AIOKafkaProducer(bootstrap_servers=address, client_id="async-feed", request_timeout_ms=2000)
        try:
            with suppress(KafkaError, TimeoutError):
                await writer.start()
                await writer.send_and_wait("nightly", b"row 1")
        finally:
            await writer.stop()

    with stage.recording():
        asyncio.run(send())


def session(stage: Stage, again: bool = False) -> None:
    """A client made by hand that logs in once, and works on when its session's time is over."""
    stage.topic("meters")
    token = f"\0bob\0{USERS['bob']}".encode()
    with stage.recording(), handmade("meter-gw", SHORT) as client, suppress(OSError):
        for round_ in range(2):
            if round_ == 0 or again:
                client.ask("SaslHandshake", 1, mechanism="PLAIN")
                client.ask("SaslAuthenticate", 1, auth_bytes=token)
            for _ in range(4):
                client.ask("Metadata", 4, topics=[{"name": "meters"}], allow_auto_topic_creation=False)
                time.sleep(0.4)
            if not again:
                time.sleep(1.0)
                stage.fails_now()


def session_in_aiokafka(stage: Stage, listener: str = SHORT) -> None:
    """aiokafka, which logs in once for each connection and never again."""
    import asyncio

    from aiokafka import AIOKafkaProducer
    from aiokafka.errors import KafkaError

    stage.topic("meters")
    options = {
        "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_username": "bob",
        "sasl_plain_password": USERS["bob"], "client_id": "meter-aio", "request_timeout_ms": 3000,
    }  # fmt: skip

    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=listener, **options) as writer:
            for number in range(16):
                with suppress(KafkaError):
                    await writer.send_and_wait("meters", b"%d" % number)
                await asyncio.sleep(0.5)

    with stage.recording():
        asyncio.run(send())


def token(stage: Stage) -> None:
    """A client of librdkafka's that logs in again whenever its session nears its end."""
    stage.topic("meters")
    options = login("bob") | {"bootstrap_servers": SHORT}
    with stage.recording(), stage.producer("meter-lib", **options) as writer:
        for number in range(10):
            writer.produce("meters", f"{number}")
            writer.flush(PATIENCE)
            time.sleep(0.5)


def token_of_kafka_python(stage: Stage) -> None:
    """kafka-python does the same."""
    from kafka import KafkaProducer

    stage.topic("meters")
    options = {
        "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_username": "bob",
        "sasl_plain_password": USERS["bob"], "client_id": "meter-py",
    }  # fmt: skip

    def send() -> None:
        writer = KafkaProducer(bootstrap_servers=SHORT, **options)
        for number in range(12):
            writer.send("meters", b"%d" % number).get(3)
            time.sleep(0.5)

    with stage.recording():
        apart(send)


def rule(stage: Stage, kind: ResourceType, name: str, user: str, permission: AclPermissionType) -> None:
    """An ACL for a resource, gone with the incident."""
    binding = AclBinding(
        kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", AclOperation.ALL, permission
    )  # fmt: skip
    for done in stage.admin.create_acls([binding]).values():
        done.result(PATIENCE)
    every = AclBindingFilter(
        kind, name, ResourcePatternType.LITERAL, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    stage.finally_do(lambda: [done.result(PATIENCE) for done in stage.admin.delete_acls([every]).values()])


def allow(stage: Stage, kind: ResourceType, name: str, user: str, operation: AclOperation) -> None:
    """An ACL that allows one operation, gone with the incident."""
    binding = AclBinding(
        kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, AclPermissionType.ALLOW
    )  # fmt: skip
    for done in stage.admin.create_acls([binding]).values():
        done.result(PATIENCE)
    mine = AclBindingFilter(
        kind, name, ResourcePatternType.LITERAL, f"User:{user}", None, operation, AclPermissionType.ALLOW
    )
    stage.finally_do(lambda: [done.result(PATIENCE) for done in stage.admin.delete_acls([mine]).values()])


def produce_as_bob(stage: Stage, allowed: bool = False) -> None:
    stage.topic("payroll")
    rule(stage, ResourceType.TOPIC, "payroll", "bob" if allowed else "alice", AclPermissionType.ALLOW)
    time.sleep(0.5)
    with stage.recording(), stage.producer("hr-import", **login("bob")) as writer:
        for number in range(3):
            with suppress(KafkaException):  # once it knows, the client refuses to take more
                writer.produce("payroll", f"salary {number}")
            writer.flush(1)


def consume_as_bob(stage: Stage, kind: ResourceType, name: str, allowed: bool = False) -> None:
    stage.topic("payslips")
    stage.fill("payslips", "slip 1", "slip 2")
    rule(stage, kind, name, "bob" if allowed else "alice", AclPermissionType.ALLOW)
    time.sleep(0.5)
    with stage.recording(), stage.consumer("hr-report", "hr-monthly", "payslips", **login("bob")) as reader:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            reader.poll(0.2)


def transact_as_bob(stage: Stage, allowed: bool = False) -> None:
    stage.topic("payouts")
    rule(stage, ResourceType.TRANSACTIONAL_ID, "payouts-1", "bob" if allowed else "alice", AclPermissionType.ALLOW)
    time.sleep(0.5)
    with (
        stage.recording(),
        suppress(KafkaException),
        stage.producer("payout-app", **login("bob"), transactional_id="payouts-1") as writer,
    ):
        writer.init_transactions(SECONDS)
        writer.begin_transaction()
        writer.produce("payouts", "10.00")
        writer.commit_transaction(SECONDS)


REFUSED = "SASL_AUTHENTICATION_FAILED"
INCIDENTS = (
    Incident(
        "sasl-plain-wrong-password", "sasl-wrong-credentials", "one", partial(librdkafka, password=WRONG),
        {"client_id": "etl-nightly", "user": "bob", "broker": SASL},
        (Shown("SaslAuthenticate", REFUSED, client_id="etl-nightly"),), "the password of bob", librdkafka,
    ),
    Incident(
        "sasl-scram-wrong-password", "sasl-wrong-credentials", "one",
        partial(librdkafka, user="alice", mechanism="SCRAM-SHA-256", password=WRONG),
        {"client_id": "etl-nightly", "user": "alice", "broker": SASL},
        (Shown("SaslAuthenticate", REFUSED, client_id="etl-nightly"),), "the password of alice",
        partial(librdkafka, user="alice", mechanism="SCRAM-SHA-256"),
    ),
    Incident(
        "sasl-scram-wrong-password-java", "sasl-wrong-credentials", "one",
        partial(java, password=WRONG, mechanism="SCRAM-SHA-256"),
        {"client_id": "payout-job", "user": "alice", "broker": SASL},
        (Shown("SaslAuthenticate", REFUSED, client_id="payout-job"),), "the password of alice",
        partial(java, mechanism="SCRAM-SHA-256"),
    ),
    Incident(
        "sasl-wrong-password-franz-go", "sasl-wrong-credentials", "one", partial(go, password=WRONG),
        {"client_id": "seat-map", "user": "alice", "broker": SASL},
        (Shown("SaslAuthenticate", REFUSED, client_id="seat-map"),), "the password of alice",
        partial(go, password=USERS["alice"]),
    ),
    Incident(
        "sasl-mechanism-not-enabled", "sasl-mechanism-not-enabled", "one",
        partial(librdkafka, user="alice", mechanism="SCRAM-SHA-512"),
        {"client_id": "etl-nightly", "broker": SASL},
        (Shown("SaslHandshake", "UNSUPPORTED_SASL_MECHANISM", client_id="etl-nightly"),),
        "sasl.mechanism: one of the broker's", partial(librdkafka, user="alice", mechanism="SCRAM-SHA-256"),
    ),
    Incident(
        "sasl-mechanism-not-enabled-java", "sasl-mechanism-not-enabled", "one",
        partial(java, mechanism="SCRAM-SHA-512"), {"client_id": "payout-job", "broker": SASL},
        (Shown("SaslHandshake", "UNSUPPORTED_SASL_MECHANISM", client_id="payout-job"),),
        "sasl.mechanism: one of the broker's", partial(java, mechanism="PLAIN"),
    ),
    Incident(
        "no-sasl-librdkafka", "client-without-sasl", "one", without_sasl, {"client_id": "kiosk-3", "broker": SASL},
        (Shown("ApiVersions", client_id="kiosk-3"), Packets("F", port=9094)),
        "security.protocol=sasl_plaintext, or another listener", partial(without_sasl, address=PLAIN),
    ),
    Incident(
        "no-sasl-kafkajs", "client-without-sasl", "one", javascript_without_sasl,
        {"client_id": "web-shop", "broker": SASL}, (Shown("Metadata", client_id="web-shop", unanswered=True),),
        "sasl: …, or another listener", partial(javascript_without_sasl, address=PLAIN),
    ),
    Incident(
        "no-sasl-aiokafka", "client-without-sasl", "one", aio_without_sasl,
        {"client_id": "async-feed", "broker": SASL}, (Packets("F", port=9094),),
        "security_protocol=SASL_PLAINTEXT, or another listener", partial(aio_without_sasl, address=PLAIN),
    ),
    Incident(
        "sasl-session-expired", "sasl-session-expired", "one", session,
        {"client_id": "meter-gw", "user": "bob", "broker": SHORT},
        (Shown("SaslAuthenticate"), Shown("Metadata", unanswered=True)),
        "log in again before the session's lifetime is over (KIP-368)", partial(session, again=True),
    ),
    Incident(
        "sasl-session-expired-aiokafka", "sasl-session-expired", "one", session_in_aiokafka,
        {"client_id": "meter-aio", "user": "bob", "broker": SHORT},
        (Shown("SaslAuthenticate", client_id="meter-aio", at_least=2), Shown("Produce", unanswered=True, at_least=2)),
        "a client that logs in again (KIP-368), or no connections.max.reauth.ms",
        partial(session_in_aiokafka, listener=SASL),
    ),
    Incident(
        "topic-not-allowed-produce", "topic-authorization-failed", "one", produce_as_bob,
        {"client_id": "hr-import", "user": "bob", "topic": "payroll"},
        (Shown("Metadata", "TOPIC_AUTHORIZATION_FAILED", client_id="hr-import"),),
        "an ACL for User:bob on topic payroll", partial(produce_as_bob, allowed=True),
    ),
    Incident(
        "topic-not-allowed-consume", "topic-authorization-failed", "one",
        partial(consume_as_bob, kind=ResourceType.TOPIC, name="payslips"),
        {"client_id": "hr-report", "user": "bob", "topic": "payslips"},
        (Shown("Metadata", "TOPIC_AUTHORIZATION_FAILED", client_id="hr-report"),),
        "an ACL for User:bob on topic payslips",
        partial(consume_as_bob, kind=ResourceType.TOPIC, name="payslips", allowed=True),
    ),
    Incident(
        "group-not-allowed", "group-authorization-failed", "one",
        partial(consume_as_bob, kind=ResourceType.GROUP, name="hr-monthly"),
        {"client_id": "hr-report", "user": "bob", "group": "hr-monthly"},
        (Shown("FindCoordinator", "GROUP_AUTHORIZATION_FAILED", client_id="hr-report"),),
        "an ACL for User:bob on group hr-monthly",
        partial(consume_as_bob, kind=ResourceType.GROUP, name="hr-monthly", allowed=True),
    ),
    Incident(
        "transactional-id-not-allowed", "transactional-id-authorization-failed", "one", transact_as_bob,
        {"client_id": "payout-app", "user": "bob", "transactional_id": "payouts-1"},
        (Shown("FindCoordinator", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", client_id="payout-app"),),
        "an ACL for User:bob on transactional id payouts-1", partial(transact_as_bob, allowed=True),
    ),
    Incident(
        "sasl-sessions-renewed", "none", "one", token, evidence=(Shown("SaslAuthenticate", at_least=2),),
        looks_like="repeated logins on one connection",
    ),
    healthy(
        "sasl-sessions-renewed-kafka-python", "one", token_of_kafka_python, "repeated logins on one connection",
        Shown("SaslAuthenticate", at_least=3), Shown("Produce", client_id="meter-py", at_least=10),
    ),
)  # fmt: skip
