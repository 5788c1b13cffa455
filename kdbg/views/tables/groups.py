"""What happens in consumer groups, as rows: who joins, syncs, keeps up, leaves and commits, in which generation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...exchanges.messages.message import Message
from ...protocol.grammars.errors import error_name
from ...protocol.wire.readings.outline import outline
from .cells import integer, text

EVENTS = {
    "JoinGroup": "join",
    "SyncGroup": "sync",
    "Heartbeat": "heartbeat",
    "LeaveGroup": "leave",
    "OffsetCommit": "commit",
    "TxnOffsetCommit": "commit",
    "ConsumerGroupHeartbeat": "heartbeat",
    "ShareGroupHeartbeat": "heartbeat",
    "StreamsGroupHeartbeat": "heartbeat",
}
"""The APIs by which members speak to their group's coordinator."""
GENERATIONS = ("generation_id", "generation_id_or_member_epoch", "member_epoch")
INSTANCES = ("group_instance_id", "instance_id")
JOINS, LEAVES = 0, (-1, -2)
"""What a member epoch says in a heartbeat of the newer protocols (KIP-848)."""
Body = Mapping[str, Any]


def event_rows(
    api: str, request: Body, answer: Message | None, client_id: str | None
) -> Iterator[tuple[tuple[Any, ...], tuple[list[str] | None, bool | None, bool | None]]]:
    """Yield the columns of `groups` from `event` to `error`, `member_ids`, and `new_member` by both of its names.

    There are several rows where several members leave at once.
    """
    response: Body = answer.body if answer is not None else {}
    asked, told = _first(GENERATIONS, request), _first(GENERATIONS, response)
    joined = response.get("members") if api == "JoinGroup" else None
    event = _event(api, asked)
    new_member = (api != "JoinGroup" or not request.get("member_id")) if event == "join" else None
    ids = [text(member.get("member_id")) or "" for member in joined] if joined else None
    whole = request.get("members") or (request,)
    for who, error in zip(whole, _errors(answer, len(whole)), strict=True):
        yield (
            (
                event,
                text(request.get("group_id")),
                text(who.get("member_id")) or text(response.get("member_id")),
                text(_first(INSTANCES, who)),
                text(client_id),
                integer(asked if error or told is None else told),
                text(response.get("protocol_type") or request.get("protocol_type")),
                text(response.get("protocol_name") or request.get("protocol_name")),
                response.get("leader") == response.get("member_id")
                if api == "JoinGroup" and not error and response
                else None,
                len(joined) if joined else None,
                text(who.get("reason")),
                error,
                None if error is None else error_name(error),
            ),
            (ids, new_member, new_member),
        )


def _errors(answer: Message | None, count: int) -> list[int | None]:
    """Return the error that each of so many members is answered with: its own where there is one for each."""
    if answer is None:
        return [None] * count
    body: Body = answer.body
    members = body.get("members")
    if answer.api.name == "LeaveGroup" and not body.get("error_code") and members and len(members) == count:
        return [member.get("error_code") for member in members]
    return [next(iter(outline(answer.grammar)(body)[2]), 0)] * count


def _event(api: str, epoch: Any) -> str:
    """Return the event that a request is; in the newer protocols the member's epoch in a heartbeat tells."""
    if api.endswith("GroupHeartbeat"):
        return "join" if epoch == JOINS else "leave" if epoch in LEAVES else "heartbeat"
    return EVENTS[api]


def _first(names: tuple[str, ...], value: Body) -> Any:
    """Return the value of the first of these fields that there is; None if none is."""
    return next((value[name] for name in names if name in value), None)
