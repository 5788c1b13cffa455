"""What a group coordinator makes of a member's own words: the protocol that it offers, the assignment that it sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...protocol.wire import Api


def for_member(api: Api, body: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recorded response to JoinGroup or SyncGroup as it is for the member that sent this request.

    The protocol of its group is one that it offers: the recorded one, else the first. What it offers stands beside its
    id, and a leader gets the assignment that it sent.
    """
    if body.get("error_code"):
        return body
    if api.name == "JoinGroup":
        return _joined(body, asked)
    return _synced(body, asked) if api.name == "SyncGroup" else body


def _joined(body: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    offered = {one["name"]: one["metadata"] for one in asked.get("protocols") or ()}
    if not offered:
        return body
    name = body["protocol_name"] if body.get("protocol_name") in offered else next(iter(offered))
    members = [
        {**one, "metadata": offered[name]} if one["member_id"] == body["member_id"] else one
        for one in body.get("members") or ()
    ]
    own = {"protocol_type": asked["protocol_type"]} if "protocol_type" in body else {}
    return body | own | {"protocol_name": name, "members": members}


def _synced(body: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    sent = (one["assignment"] for one in asked.get("assignments") or () if one["member_id"] == asked["member_id"])
    own = {name: asked[name] for name in ("protocol_type", "protocol_name") if name in body and asked.get(name)}
    return body | own | {"assignment": next(sent, body["assignment"])}
