"""The sentences of stories, filled from the facts of events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....protocol.findings.amounts import count, times
from ....protocol.grammars.generated import spans as runs_of
from ..text import duration, named
from ..text import sentence as cause_of
from .common import Event, Subject

Facts = Mapping[str, Any]
MOST_NAMES = 8
NOUNS = {"batches": "batch"}
"""The singular of facts of subjects, where it is not the plural without its s."""
POLL = ("poll timeout", "max.poll.interval", "poll interval")


def spans(numbers: Sequence[int]) -> str:
    """Return partitions in short: "0-3, 5"."""
    runs = runs_of(numbers).split("+")
    return ", ".join(runs[:MOST_NAMES]) + (" …" if len(runs) > MOST_NAMES else "")


def partitions(topic: str, numbers: Sequence[int]) -> str:
    """Return partitions of a topic: `topic orders, partitions 0-3`."""
    return f"topic {topic}, partition{'s' * (len(numbers) != 1)} {spans(numbers)}"


def often(facts: Facts) -> str:
    """Return how often something happened, and for how long; "" for once."""
    return f", {times(facts['count'])} in {duration(facts['for_ns'])}" if facts["count"] > 1 else ""


def client(facts: Facts) -> str:
    """Return a client after its noun."""
    return named("client", [facts["client"]])


def why(reason: str) -> str:
    """Return the reason that a member gave for leaving, in short."""
    if any(one in reason.lower() for one in POLL):
        return "max.poll.interval.ms exceeded"
    return reason.rstrip(".")


def generation(facts: Facts) -> str:
    """Return what changes from one generation to the next."""
    parts = [
        f"member {one['member']} left{': ' + why(one['reason']) if one['reason'] else ''}" for one in facts["left"]
    ]
    if facts["missing"]:
        parts.append(f"{members(facts['missing'])} did not rejoin")
    if facts["new"]:
        parts.append(f"{members(facts['new'])} {'joins' if len(facts['new']) == 1 else 'join'}")
    if facts["again"]:
        parts.append(f"{members(facts['again'])} {'rejoins' if len(facts['again']) == 1 else 'rejoin'}")
    given = [given_to(one) for one in facts["given"]]
    if given:
        parts.append("; ".join(given[:MOST_NAMES]) + (" …" if len(given) > MOST_NAMES else ""))
    if facts["took_ns"] >= 1_000_000_000:
        parts.append(f"the rebalance took {duration(facts['took_ns'])}")
    if facts["pause_ns"]:
        parts.append(f"no Fetch request for {duration(facts['pause_ns'])}")
    return f"generation {facts['generation']}: {'; '.join(parts) or 'no change'}"


def members(names: Sequence[str]) -> str:
    """Return members after their noun."""
    return named("member", names, MOST_NAMES)


def given_to(one: Facts) -> str:
    """Return which partitions are assigned to a member."""
    topics = [(topic, some) for topic, some in one["first"] if some][:MOST_NAMES]
    if not one["partitions"]:
        return f"member {one['member']} is assigned no partition"
    shown = sum(len(some) for _, some in topics)
    more = " …" if shown < one["partitions"] else ""
    return f"member {one['member']} is assigned {' and '.join(partitions(topic, some) for topic, some in topics)}{more}"


def member_leaves(facts: Facts) -> str:
    """Return that a member leaves, and why."""
    reason = why(facts["reason"]) or (f"see {facts['cause']}" if facts["cause"] else "")
    how = "is removed" if facts["by_other"] else "leaves"
    return f"member {facts['member']} {how}{': ' + reason if reason else ''}"


def member_joins(facts: Facts) -> str:
    """Return that a member starts to join, with its timeouts."""
    limits = [f"session timeout {duration(facts['session_timeout_ns'])}"] if facts["session_timeout_ns"] else []
    if facts["rebalance_timeout_ns"]:
        limits.append(f"rebalance timeout {duration(facts['rebalance_timeout_ns'])}")
    topics = f" for {named('topic', facts['topics'], MOST_NAMES)}" if facts["topics"] else ""
    static = f" as group.instance.id {facts['instance_id']}" if facts["instance_id"] else ""
    within = f" ({', '.join(limits)})" if limits else ""
    return f"member {facts['member']} starts to join{static}{topics}{within}"


def connects(facts: Facts) -> str:
    """Return that a client opens a connection, or had opened it before the capture."""
    software = f" ({facts['software']})" if facts["software"] else ""
    what = "opens" if facts["seen"] else "already has"
    return (
        f"{client(facts)} on host {facts['host']}{software} {what} connection {facts['connection']} to broker "
        f"{facts['broker']}"
    )


def closes(facts: Facts) -> str:
    """Return which end closes a connection."""
    by = client(facts) if facts["by"] == "client" else f"broker {facts['broker']}"
    how = "resets" if facts["reset"] else "closes"
    open = f", {count(facts['unanswered'], 'request')} without a response" if facts["unanswered"] else ""
    return f"{by} {how} connection {facts['connection']} after {count(facts['exchanges'], 'exchange')}{open}"


def error(facts: Facts) -> str:
    """Return that a client receives an error."""
    subject = f" for {facts['subject_kind']} {facts['subject']}" if facts["subject"] else ""
    return f"{client(facts)} receives {facts['error']} in a response to {facts['api']}{subject}{often(facts)}"


def login(facts: Facts) -> str:
    """Return that a client authenticates."""
    lasts = f" for {duration(facts['lifetime_ms'] * 1_000_000)}" if facts["lifetime_ms"] else ""
    user = f" as user {facts['user']}" if facts["user"] else ""
    how = f"with {facts['mechanism'] or 'SASL'} on connection {facts['connection']}"
    return f"{client(facts)} is authenticated{user}{lasts} {how}"


def login_refused(facts: Facts) -> str:
    """Return that the authentication of a client fails."""
    user = f" as user {facts['user']}" if facts["user"] else ""
    message = f" ({facts['message']})" if facts["message"] else ""
    return f"{client(facts)} fails to authenticate{user} with {facts['mechanism'] or 'SASL'}: {facts['error']}{message}"


def moved(facts: Facts, verb: str) -> str:
    """Return how much of a topic a client reads or writes."""
    return (
        f"{client(facts)} {verb} {partitions(facts['topic'], facts['partitions'])}: "
        f"{count(facts['records'], 'record')}, {count(facts['bytes'], 'byte')} in {count(facts['requests'], 'request')}"
    )


def leader(facts: Facts) -> str:
    """Return that a partition has another leader, or more or fewer in-sync replicas."""
    parts = []
    if facts["leader"] != facts["before"]:
        parts.append(f"{led_by(facts['leader'])} (previously {led_by(facts['before'])})")
    if facts["in_sync"] != facts["in_sync_before"]:
        replicas = f"{facts['in_sync']} of {count(facts['replicas'], 'replica')}"
        parts.append(f"{replicas} in sync (previously {facts['in_sync_before']})")
    return f"{partitions(facts['topic'], [facts['partition']])}: {'; '.join(parts) or 'other replicas'}"


def led_by(node: int) -> str:
    """Return the leader of a partition."""
    return "no leader" if node < 0 else f"leader {node}"


def transactional_id(facts: Facts) -> str:
    """Return that a client begins to use a transactional id."""
    if facts["code"]:
        name = f"transactional id {facts['transactional_id']}"
        return f"{client(facts)} receives no producer id for {name}: {facts['error']}"
    fences = f", which fences {named('client', [facts['fences']])}" if facts["fences"] is not None else ""
    limit = f", transaction timeout {duration(facts['timeout_ns'])}" if facts["timeout_ns"] else ""
    return f"{producer_id(facts)}{limit}{fences}"


def producer_id(facts: Facts) -> str:
    """Return that a producer gets its id."""
    name = f" for transactional id {facts['transactional_id']}" if facts["transactional_id"] else ""
    return f"{client(facts)} receives producer id {facts['producer_id']}, epoch {facts['epoch']}{name}"


def transaction_ends(facts: Facts) -> str:
    """Return how a transaction ends."""
    how = "is committed" if facts["committed"] else "is aborted"
    by = " by the coordinator" if facts["by_coordinator"] else ""
    return f"transaction {facts['transaction']} {how}{by} after {duration(facts['for_ns'])}"


def commits(facts: Facts) -> str:
    """Return how often a group committed offsets, and the last ones."""
    last = "; ".join(
        f"{partitions(topic, [number])} at offset {offset}" for topic, number, offset in facts["last"][:MOST_NAMES]
    )
    more = " …" if facts["partitions"] > MOST_NAMES else ""
    return f"{count(facts['count'], 'offset commit')} of group {facts['group']}" + (
        f": {last}{more}" if last else "; none succeeded"
    )  # fmt: skip


SENTENCES: dict[str, Callable[[Facts], str]] = {
    "metadata-request": lambda facts: f"{client(facts)} sends Metadata for topic {facts['topic']}{often(facts)}",
    "api-requests": lambda facts: (
        f"{client(facts)} sends {facts['api']} v{spans(facts['versions'])}, {times(facts['count'])}"
    ),
    "closes": closes,
    "commits": commits,
    "connects": connects,
    "coordinator": lambda facts: (
        f"broker {facts['node']} coordinates group {facts['group']}"
        + (f" (previously broker {facts['before']})" if facts["before"] is not None else "")
    ),
    "topic-created": lambda facts: f"topic {facts['topic']} is created",
    "end": lambda facts: f"the capture ends after {count(facts['exchanges'], 'exchange')}",
    "epoch": lambda facts: (
        f"producer id {facts['producer_id']} begins epoch {facts['epoch']}: {count(facts['batches'], 'batch')}"
    ),
    "error": error,
    "events-lost": lambda facts: f"{count(facts['count'], 'more event')} dropped (memory limit)",
    "topic-found": lambda facts: (
        f"topic {facts['topic']} {'now exists' if facts['late'] else 'exists'}: "
        f"{count(facts['partitions'], 'partition')}"
    ),
    "generation": generation,
    "joins": lambda facts: f"{client(facts)} joins group {facts['group']}",
    "leader": leader,
    "leaves": lambda facts: (
        f"{client(facts)} {'is removed from' if facts['by_other'] else 'leaves'} group {facts['group']}"
        + (f": {why(facts['reason'])}" if facts["reason"] else "")
    ),
    "authentication": login,
    "authentication-failed": login_refused,
    "member-joins": member_joins,
    "member-leaves": member_leaves,
    "more-connections": lambda facts: f"{count(facts['connections'], 'more connection')} not listed",
    "topic-not-found": lambda facts: (
        f"Metadata responses contain {facts['error']} for topic {facts['topic']}, {times(facts['count'])}"
    ),
    "producer-id": producer_id,
    "reads": lambda facts: moved(facts, "begins to read"),
    "reads-last": lambda facts: f"last Fetch request of {client(facts)} for topic {facts['topic']}",
    "sequence-gap": lambda facts: (
        f"{client(facts)} sends sequence number {facts['found']} to "
        f"{partitions(facts['topic'], [facts['partition']])}, expected {facts['expected']}"
    ),
    "slow": lambda facts: (
        f"the response to {facts['api']} of {client(facts)} takes {duration(facts['took_ns'])}, "
        f"{duration(facts['late_ns'])} above the allowed wait"
    ),
    "throttled": lambda facts: (
        f"{client(facts)} is throttled, {times(facts['count'])}, for up to "
        f"{duration(facts['throttle_ms'] * 1_000_000)}"
    ),
    "transaction": lambda facts: (
        f"transaction {facts['transaction']} of transactional id {facts['transactional_id']} begins"
    ),
    "transaction-ends": transaction_ends,
    "transaction-open": lambda facts: (
        f"transaction {facts['transaction']} is still open after {duration(facts['for_ns'])}"
    ),
    "transactional-id": transactional_id,
    "no-response": lambda facts: f"{facts['api']} v{facts['version']} of {client(facts)} receives no response",
    "writes": lambda facts: moved(facts, "begins to write to"),
    "writes-last": lambda facts: f"last Produce request of {client(facts)} to topic {facts['topic']}",
}  # fmt: skip
"""By kind of event: its sentence. An event of kind `cause` has that of its case."""
OLD_KINDS = {
    "api-requests": "asks", "authentication": "login", "authentication-failed": "login-refused",
    "metadata-request": "asked-for", "no-response": "unanswered", "topic-created": "created", "topic-found": "found",
    "topic-not-found": "not-found",
}  # fmt: skip
"""By kind of event, its name up to kdbg 0.1, which JSON has for two more releases."""


def sentence(event: Event) -> str:
    """Return what happened, in one sentence without a full stop; not escaped."""
    if event.case is None:
        return SENTENCES[event.kind](event.facts)
    after = f" (after-effect of {event.case.because})" if event.case.because else ""
    return f"{event.case.code}{after}: {cause_of(event.case)}"


def event_object(kind: str, name: str, event: Event) -> dict[str, Any]:
    """Return an event as JSON has it, with the kind and name of its story."""
    return {
        "story": kind,
        "of": name,
        "time": event.time / 1e9,
        "kind": event.kind,
        "old_kind": OLD_KINDS.get(event.kind),
        "who": {key: value for key, value in event.who._asdict().items() if value is not None},
        "facts": dict(event.facts),
        "exchanges": list(event.exchanges),
        "sentence": sentence(event),
    }


def about(subject: Subject) -> str:
    """Return how much there is of a subject: `3 connections, 20 exchanges, reached records`."""
    return ", ".join(
        f"{noun} {value}" if isinstance(value, str) else count(value, NOUNS.get(noun, noun.removesuffix("s")))
        for noun, value in subject.facts.items()
    )
