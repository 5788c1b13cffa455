"""Fetch sessions and share sessions (KIP-227, KIP-932): what is in them, and how their requests are numbered.

A session's requests say only what has changed since the one before. Who has to do without the session, because a
version or a broker has none, needs the whole of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..exchanges.messages.peers import End, Peers

OUTSIDE = {"session_id": 0, "session_epoch": -1, "forgotten_topics_data": []}
"""What a fetch says that is in no session."""
OF_TOPIC = ("topic_id", "topic")


class FetchSessions:
    """The sessions of some conversations, request by request."""

    def __init__(self) -> None:
        self._inside: dict[tuple[End, int], dict[tuple[Any, int], Mapping[str, Any]]] = {}
        self._next: dict[Any, int] = {}

    def opened(self, broker: End, session: int | None, body: Mapping[str, Any]) -> None:
        """Note the session that a broker opened for a request."""
        if session and not body.get("session_id"):
            self._inside[broker, session] = parts_of(body)

    def whole(self, peers: Peers, body: Mapping[str, Any], *, keep: bool) -> Mapping[str, Any]:
        """Return a request that stands for itself, and note what it changes in its session; `keep` returns it as is."""
        session = body.get("session_id")
        if not session:
            return body if keep or "session_id" not in body else {**body, "session_epoch": -1}
        inside = self._inside.setdefault((peers.broker, session), {})
        for topic in body.get("forgotten_topics_data") or ():
            for partition in topic.get("partitions") or ():
                inside.pop((topic_of(topic), partition), None)
        inside |= parts_of(body)
        return body if keep else {**body, **OUTSIDE, "topics": topics_of(inside)}

    def number(self, api: str, body: dict[str, Any]) -> None:
        """Set the number of a request within its session, in place: one more than the one before."""
        if "share_session_epoch" in body:
            self._count((api[:5], body.get("group_id"), body.get("member_id")), body, "share_session_epoch")
        elif body.get("session_id"):
            self._count(body["session_id"], body, "session_epoch")

    def _count(self, session: Any, body: dict[str, Any], name: str) -> None:
        if body[name] > 0:
            body[name] = self._next.get(session, 1)
        self._next[session] = max(body[name], 0) + 1


def topic_of(topic: Mapping[str, Any]) -> Any:
    """Return the id or the name of a topic in a fetch."""
    return next((topic[name] for name in OF_TOPIC if name in topic), None)


def parts_of(body: Mapping[str, Any]) -> dict[tuple[Any, int], Mapping[str, Any]]:
    """Return what a fetch says of each partition."""
    return {
        (topic_of(topic), part["partition"]): part
        for topic in body.get("topics") or ()
        for part in topic.get("partitions") or ()
    }


def topics_of(parts: Mapping[tuple[Any, int], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the same as the topics of a fetch."""
    topics: dict[Any, list[Mapping[str, Any]]] = {}
    for (topic, _), part in parts.items():
        topics.setdefault(topic, []).append(part)
    return [
        {("topic" if isinstance(topic, str) else "topic_id"): topic, "partitions": listed}
        for topic, listed in topics.items()
    ]
