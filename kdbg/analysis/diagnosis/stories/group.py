"""The story of a group: generation after generation, who joins, leaves and is gone, what each is given, and pauses."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ....protocol.grammars.errors import error_name
from ...ledgers import Ledgers
from ...ledgers.groups import Event as Happened
from ...ledgers.groups import Group
from ..case import Case, Who
from ..queries import who_in
from . import common
from .common import Event, Subject

APIS = {"join": "JoinGroup", "sync": "SyncGroup", "heartbeat": "Heartbeat", "leave": "LeaveGroup",
        "commit": "OffsetCommit"}  # fmt: skip
PAUSE = 200_000_000
"""Nanoseconds without a fetch that are told."""


def subjects(book: Ledgers) -> Iterator[Subject]:
    """Yield all groups."""
    for name in sorted(book.groups):
        group = book.groups[name]
        yield Subject(name, {"members": len(group.known_members()), "generations": len(group.generations)})


def events(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened to a group."""
    group = book.groups[name]
    names = labels(group)
    mine = [
        case for case in cases
        if case.who.group == name or (case.who.group is None and case.who.client_id in group.clients)
    ]  # fmt: skip
    because = {number: case.code for case in mine for number in case.evidence.exchanges if case.who.group == name}
    coordinator = None
    for time, node in group.coordinators:
        if node != coordinator:
            yield Event(time, "coordinator", Who(group=name), {"group": name, "node": node, "before": coordinator})
        coordinator = node
    who = {(member.client_id, member.host) for member in group.known_members() if member.client_id}
    fetched = list[int]()
    for number, polls in book.polls.items():
        session = book.sessions[number]
        if polls.replica < 0 and (session.client_id, session.peers.client[0]) in who:
            fetched += polls.times
    yield from generations(group, names, sorted(fetched))
    for one in group.events:
        yield from member_event(group, one, names, because)
    errors: dict[tuple[str, str, int], list[Happened]] = {}
    for one in group.events:
        if one.code and one.code not in common.NORMAL:
            errors.setdefault((one.member_id, one.kind, one.code), []).append(one)
    for (member_id, kind, code), all in errors.items():
        client = names.get(member_id) or member_id or "(unknown)"
        facts = {"client": client, "api": APIS[kind], "code": code, "error": error_name(code), "subject_kind": "group",
                 "subject": name, "count": len(all), "for_ns": all[-1].mark.end - all[0].mark.time}  # fmt: skip
        numbers = tuple(one.mark.number for one in all[:6])
        yield Event(all[0].mark.end, "error", who_in(group, group.members.get(member_id)), facts, numbers)
    if group.commits.first is not None and group.commits.last is not None:
        last = [[topic, partition, entry[0]] for (topic, partition), entry in sorted(group.committed.items())[:32]]
        facts = {"group": name, "count": group.commits.count, "partitions": len(group.committed), "last": last}
        yield Event(group.commits.last.time, "commits", Who(group=name), facts, group.commits.numbers)
    if group.events_lost:
        yield Event(book.last_time, "events-lost", Who(group=name), {"count": group.events_lost})
    yield from common.causes(mine, lambda who: True)


def labels(group: Group) -> dict[str, str]:
    """Return how each member is called: by its client id; with its instance, or the end of its id, beside others.

    A client that comes again as another member keeps its name.
    """
    together: dict[int, set[str]] = {}
    for one in group.events:
        if one.kind in ("join", "sync") and not one.code:
            together.setdefault(one.generation, set()).add(one.member_id)
    members = {member.member_id: member for member in group.known_members()}
    shared = set[str]()
    for ids in together.values():
        clients = [members[one].client_id for one in ids if one in members]
        shared |= {client for client in clients if clients.count(client) > 1}
    found = dict[str, str]()
    for member_id, member in members.items():
        client = member.client_id
        tail = member.instance_id or member_id[-4:]
        found[member_id] = client if client and client not in shared else f"{client or '(no client.id)'} ({tail})"
    return found


def longest_pause(times: list[int], start: int, end: int) -> int:
    """Return the longest time without a fetch around a rebalance; 0 where nobody fetched before or after it."""
    first, last = bisect_right(times, start) - 1, bisect_left(times, end)
    if first < 0 or last >= len(times):
        return 0
    within = times[first : last + 1]
    return max((later - earlier for earlier, later in pairwise(within)), default=0)


def generations(group: Group, names: dict[str, str], times: list[int]) -> Iterator[Event]:
    """Yield the generations: who is new, comes again, left, or is missing, what they get, and how long it took.

    `times` are those at which members fetched.
    """
    joins: dict[int, list[Happened]] = {number: [] for number in group.generations}
    given: dict[int, list[Happened]] = {number: [] for number in group.generations}
    for one in group.events:
        if one.kind in ("join", "sync") and not one.code and one.generation in joins:
            (joins if one.kind == "join" else given)[one.generation].append(one)
    before: list[str] | None = None
    known = set[str]()
    since = 0
    for number in sorted(group.generations):
        mark, joined, synced = group.generations[number], joins[number], given[number]
        start = min((one.mark.time for one in joined), default=mark.time)
        formed = max((one.mark.end for one in joined), default=mark.end)
        firsts = {one.member_id: one.mark.end for one in reversed(synced)}
        ready = max(firsts.values(), default=formed)
        members = list(dict.fromkeys(names.get(one.member_id, one.member_id) for one in joined or synced))
        left = [one for one in group.events if one.kind == "leave" and since <= one.mark.time <= formed]
        gone = {names.get(one.member_id, one.member_id) for one in left}
        stays = set(before or ()) if group.new_protocol else set[str]()
        missing = [] if group.new_protocol else [one for one in before or () if one not in members and one not in gone]
        pause = longest_pause(times, start, ready) if before is not None else 0
        yield Event(
            formed, "generation", Who(group=group.name),
            {"group": group.name, "generation": number,
             "new": [one for one in members if one not in known],
             "again": [one for one in members if one in known and (one not in stays or one in gone)],
             "missing": sorted(missing),
             "left": [{"member": names.get(one.member_id, one.member_id), "reason": one.reason} for one in left],
             "given": [
                 {"member": names.get(one.member_id, one.member_id), "partitions": one.partitions,
                  "first": [[topic, list(some)] for topic, some in one.assigned]}
                 for one in {one.member_id: one for one in synced}.values()
             ],
             "took_ns": ready - start, "pause_ns": pause if pause >= PAUSE else 0},
            tuple(dict.fromkeys(one.mark.number for one in (*joined, *synced)))[:8] or (mark.number,),
        )  # fmt: skip
        before = [*members, *(one for one in before or () if one not in gone)] if group.new_protocol else members
        since = formed
        known |= set(members)


def member_event(group: Group, one: Happened, names: dict[str, str], because: dict[int, str]) -> Iterator[Event]:
    """Yield an event of one member that is worth a line: that it asks to join first, and that it leaves."""
    member = group.members.get(one.member_id)
    who = who_in(group, member)
    name = names.get(one.member_id) or one.member_id or "(unknown)"
    cause = because.get(one.mark.number)
    if one.kind == "leave" and not one.code:
        left: dict[str, Any] = {"member": name, "group": group.name, "reason": one.reason, "cause": cause,
                                "by_other": member is not None and member.left_by_other}  # fmt: skip
        yield Event(one.mark.time, "member-leaves", who, left, (one.mark.number,))
    if one.kind != "join" or one.code or member is None or member.joined.first not in (None, one.mark):
        return
    facts: dict[str, Any] = {
             "member": name, "group": group.name, "session_timeout_ns": member.session_timeout_ms * 1_000_000,
             "rebalance_timeout_ns": member.rebalance_timeout_ms * 1_000_000, "topics": list(member.topics[:16]),
             "instance_id": member.instance_id, "waited_ns": one.mark.end - one.mark.time}  # fmt: skip
    yield Event(one.mark.time, "member-joins", who, facts, (one.mark.number,))
