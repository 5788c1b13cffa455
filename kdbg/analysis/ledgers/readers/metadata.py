"""Metadata, FindCoordinator, DescribeCluster, CreateTopics and ApiVersions: clusters, and software."""

from __future__ import annotations

from typing import Any

from ....exchanges.messages.exchange import Exchange
from ....exchanges.messages.handshake import software_of
from ..accounts import Accounts
from ..evidence import Mark
from ..sessions import KafkaConnection, offered_by

Body = dict[str, Any]


def metadata(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of Metadata."""
    book.clusters.metadata(asked, response, session.broker, session.client_id, session.peers.client[0], mark)


def coordinator(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of FindCoordinator: also where a broker is said to be."""
    names = asked.get("coordinator_keys") or ([asked["key"]] if asked.get("key") else [])
    entries = response.get("coordinators") or ([response] if "node_id" in response else [])
    for place, entry in enumerate(entries):
        code = entry.get("error_code", 0)
        name = entry.get("key") or (names[place] if place < len(names) else "")
        if not asked.get("key_type", 0) and name and (group := book.group(name)) is not None:
            group.failed(10, code, mark)
            group.use(session.client_id, mark)
            if not code:
                group.coordinators.append((mark.time, entry.get("node_id", -1)))
                del group.coordinators[:-64]
        if not code and entry.get("host"):
            book.clusters.advertise(
                entry.get("node_id", -1), entry["host"], entry.get("port", 0), session.broker, session.client_id,
                session.peers.client[0], mark,
            )  # fmt: skip


def cluster(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of DescribeCluster."""
    for broker in response.get("brokers") or ():
        book.clusters.advertise(
            broker.get("broker_id", -1), broker.get("host") or "", broker.get("port", 0), session.broker,
            session.client_id, session.peers.client[0], mark,
        )  # fmt: skip


def versions(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of ApiVersions: what the broker offers, what the client is."""
    offered = offered_by(response)
    if offered:
        session.offered = offered
    if exchange.request is not None:
        software = software_of(exchange.request)
        if software is not None:
            session.software = " ".join(filter(None, software))


def created(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of CreateTopics."""
    for entry in response.get("topics") or ():
        name = entry.get("name")
        if name and not entry.get("error_code") and (topic := book.clusters.topic(name)) is not None:
            topic.created.add(mark)


USERS = ("user", "username", "n", "authentication_id")
"""Fields of a token that name the user."""


def handshake(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of SaslHandshake."""
    session.mechanism = asked.get("mechanism") or session.mechanism
    session.offered_mechanisms = tuple(response.get("mechanisms") or ()) or session.offered_mechanisms
    code = response.get("error_code", 0)
    if code and session.refused is None:
        session.refused = mark, code, None


def authenticate(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of SaslAuthenticate; nothing is kept of its tokens but the user's name."""
    message = exchange.request.message() if exchange.request is not None else None
    if message is not None and isinstance(message.body, dict):
        token = getattr(message.body.get("auth_bytes"), "value", None)
        if isinstance(token, dict):
            user = next((token[name] for name in USERS if token.get(name)), None)
            session.user = str(user) if user else session.user
    code = response.get("error_code", 0)
    if code:
        if session.refused is None:
            session.refused = mark, code, response.get("error_message")
        return
    if response:
        session.authenticated.append(mark)
        del session.authenticated[:-64]
        session.lifetime = response.get("session_lifetime_ms") or session.lifetime


READERS = {3: metadata, 10: coordinator, 17: handshake, 18: versions, 19: created, 36: authenticate, 60: cluster}
