"""The sentences of stories: made last, of what an event has as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..text import duration
from ..text import sentence as cause_of
from .event import Event, Subject

Facts = Mapping[str, Any]
MOST_NAMES = 8
POLL = ("poll timeout", "max.poll.interval", "poll interval")


def listed(names: Sequence[str]) -> str:
    """Return names as a person lists them, the first ones of many."""
    shown = list(names[:MOST_NAMES])
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def spans(numbers: Sequence[int]) -> str:
    """Return partitions as a person writes them: "0-3, 5"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs[:MOST_NAMES]) + (" …" if len(runs) > MOST_NAMES else "")


def often(facts: Facts) -> str:
    """Return how often something happened, and for how long; "" for once."""
    if facts["count"] == 1:
        return ""
    return f", {facts['count']:,} times in {duration(facts['for_ns'])}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count and its noun."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def times(count: int) -> str:
    """Return how often."""
    return "once" if count == 1 else f"{count:,} times"


def client(facts: Facts) -> str:
    """Return what a client is called."""
    return facts["client"] or "a client"


def why(reason: str) -> str:
    """Return why a member left, as a person says what it said itself."""
    if any(one in reason.lower() for one in POLL):
        return "poll interval exceeded"
    return reason.rstrip(".")


def generation(facts: Facts) -> str:
    """Return what happened from one generation to the next."""
    parts = [f"{one['member']} left{': ' + why(one['reason']) if one['reason'] else ''}" for one in facts["left"]]
    if facts["missing"]:
        parts.append(f"{listed(facts['missing'])} did not rejoin")
    if facts["new"]:
        parts.append(f"{listed(facts['new'])} {'joins' if len(facts['new']) == 1 else 'join'}")
    if facts["again"]:
        parts.append(f"{listed(facts['again'])} {'rejoins' if len(facts['again']) == 1 else 'rejoin'}")
    given = [given_to(one) for one in facts["given"]]
    if given:
        parts.append(", ".join(given[:MOST_NAMES]) + (" …" if len(given) > MOST_NAMES else ""))
    if facts["took_ns"] >= 1_000_000_000:
        parts.append(f"it took {duration(facts['took_ns'])}")
    if facts["pause_ns"]:
        parts.append(f"{duration(facts['pause_ns'])} without consumption")
    return f"gen {facts['generation']}: {'; '.join(parts) or 'begins'}"


def given_to(one: Facts) -> str:
    """Return what a member was given."""
    if not one["partitions"]:
        return f"{one['member']} is assigned nothing"
    topics = ", ".join(f"{topic}/{spans(some)}" for topic, some in one["first"][:MOST_NAMES])
    shown = sum(len(some) for _, some in one["first"][:MOST_NAMES])
    return f"{one['member']} is assigned {topics}" + (" …" if shown < one["partitions"] else "")


def member_leaves(facts: Facts) -> str:
    """Return that a member leaves, and why."""
    reason = why(facts["reason"]) or (facts["cause"] or "").replace("-", " ")
    how = "is removed" if facts["by_other"] else "leaves"
    return f"{facts['member']} {how}{': ' + reason if reason else ''}"


def member_joins(facts: Facts) -> str:
    """Return that a member joins, with its limits."""
    limits = [f"session timeout {duration(facts['session_timeout_ns'])}"] if facts["session_timeout_ns"] else []
    if facts["rebalance_timeout_ns"]:
        limits.append(f"poll interval {duration(facts['rebalance_timeout_ns'])}")
    topics = f" for {listed(facts['topics'])}" if facts["topics"] else ""
    static = f" as instance {facts['instance_id']}" if facts["instance_id"] else ""
    return f"{facts['member']} asks to join{static}{topics}{' (' + ', '.join(limits) + ')' if limits else ''}"


def connects(facts: Facts) -> str:
    """Return that a client opens a connection."""
    software = f", {facts['software']}" if facts["software"] else ""
    what = "connects to" if facts["seen"] else "is already connected to"
    return f"{client(facts)} ({facts['host']}{software}) {what} {facts['broker']} (connection {facts['connection']})"


def closes(facts: Facts) -> str:
    """Return who ends a connection."""
    by = client(facts) if facts["by"] == "client" else facts["broker"]
    how = "resets" if facts["reset"] else "closes"
    open = f", {counted(facts['unanswered'], 'request')} unanswered" if facts["unanswered"] else ""
    return f"{by} {how} connection {facts['connection']} after {counted(facts['exchanges'], 'exchange')}{open}"


def error(facts: Facts) -> str:
    """Return that somebody is told an error."""
    subject = f" for {facts['subject']}" if facts["subject"] else ""
    return f"{client(facts)} gets {facts['error']} from {facts['api']}{subject}{often(facts)}"


def login(facts: Facts) -> str:
    """Return that a client logs in."""
    lasts = f" for {duration(facts['lifetime_ms'] * 1_000_000)}" if facts["lifetime_ms"] else ""
    user = f" as {facts['user']}" if facts["user"] else ""
    on = f" (connection {facts['connection']})"
    return f"{client(facts)} is authenticated{user}{lasts} with {facts['mechanism'] or 'SASL'}{on}"


def login_refused(facts: Facts) -> str:
    """Return that a login is refused."""
    user = f" as {facts['user']}" if facts["user"] else ""
    message = f" ({facts['message']})" if facts["message"] else ""
    return f"{client(facts)} fails to authenticate{user} with {facts['mechanism'] or 'SASL'}: {facts['error']}{message}"


def moved(facts: Facts, verb: str) -> str:
    """Return how much of a topic somebody reads or writes."""
    where = f"{facts['topic']}/{spans(facts['partitions'])}"
    return (
        f"{client(facts)} {verb} {where}: {counted(facts['records'], 'record')}, {counted(facts['bytes'], 'byte')} in "
        f"{counted(facts['requests'], 'request')}"
    )


def leader(facts: Facts) -> str:
    """Return that a partition is led by another, or has more or fewer replicas in sync."""
    parts = []
    if facts["leader"] != facts["before"]:
        now = "no leader" if facts["leader"] < 0 else f"leader {facts['leader']}"
        parts.append(f"{now} (previously {facts['before'] if facts['before'] >= 0 else 'none'})")
    if facts["in_sync"] != facts["in_sync_before"]:
        parts.append(
            f"{facts['in_sync']} of {facts['replicas']} replicas in sync (previously {facts['in_sync_before']})"
        )
    return f"{facts['topic']}/{facts['partition']}: {'; '.join(parts) or 'other replicas'}"


def transactional_id(facts: Facts) -> str:
    """Return that somebody begins to use a transactional id."""
    if facts["code"]:
        return f"{client(facts)} asks for transactional id {facts['transactional_id']}: {facts['error']}"
    fences = f", which fences {facts['fences'] or 'another client'}" if facts["fences"] is not None else ""
    limit = f", transaction timeout {duration(facts['timeout_ns'])}" if facts["timeout_ns"] else ""
    return (
        f"{client(facts)} gets producer id {facts['producer_id']} epoch {facts['epoch']} for "
        f"{facts['transactional_id']}{limit}{fences}"
    )


def producer_id(facts: Facts) -> str:
    """Return that a producer gets its id."""
    named = f" for {facts['transactional_id']}" if facts["transactional_id"] else ""
    return f"{client(facts)} gets producer id {facts['producer_id']} epoch {facts['epoch']}{named}"


def transaction_ends(facts: Facts) -> str:
    """Return how a transaction ends."""
    how = "is committed" if facts["committed"] else "is aborted"
    by = " by the coordinator" if facts["by_coordinator"] else ""
    return f"transaction {facts['transaction']} {how}{by} after {duration(facts['for_ns'])}"


def commits(facts: Facts) -> str:
    """Return what a group committed."""
    last = ", ".join(f"{topic}/{partition} at {offset:,}" for topic, partition, offset in facts["last"][:MOST_NAMES])
    more = " …" if facts["partitions"] > MOST_NAMES else ""
    return f"{facts['group']} has committed {times(facts['count'])}" + (
        f": {last}{more}" if last else "; none succeeded"
    )  # fmt: skip


SENTENCES: dict[str, Callable[[Facts], str]] = {
    "asked-for": lambda facts: f"{client(facts)} asks for topic {facts['topic']}{often(facts)}",
    "asks": lambda facts: (
        f"{client(facts)} sends {facts['api']} v{spans(facts['versions'])}, {times(facts['count'])}"
    ),
    "closes": closes,
    "commits": commits,
    "connects": connects,
    "coordinator": lambda facts: (
        f"node {facts['node']} coordinates {facts['group']}"
        + (f", before it node {facts['before']}" if facts["before"] is not None else "")
    ),
    "created": lambda facts: f"topic {facts['topic']} is created",
    "end": lambda facts: f"the capture ends, after {counted(facts['exchanges'], 'exchange')}",
    "epoch": lambda facts: (
        f"producer id {facts['producer_id']} writes {counted(facts['batches'], 'batch', 'batches')} in epoch "
        f"{facts['epoch']}"
    ),
    "error": error,
    "events-lost": lambda facts: f"{counted(facts['count'], 'event')} more were not kept",
    "found": lambda facts: (
        f"topic {facts['topic']} {'is there now' if facts['late'] else 'is there'}, "
        f"{counted(facts['partitions'], 'partition')}"
    ),
    "generation": generation,
    "joins": lambda facts: f"{client(facts)} joins group {facts['group']}",
    "leader": leader,
    "leaves": lambda facts: (
        f"{client(facts)} {'is removed from' if facts['by_other'] else 'leaves'} group {facts['group']}"
        + (f": {why(facts['reason'])}" if facts["reason"] else "")
    ),
    "login": login,
    "login-refused": login_refused,
    "member-joins": member_joins,
    "member-leaves": member_leaves,
    "more-connections": lambda facts: f"{counted(facts['connections'], 'more connection')} not listed individually",
    "not-found": lambda facts: (
        f"Metadata returns {facts['error']} for topic {facts['topic']}, {times(facts['count'])}"
    ),
    "producer-id": producer_id,
    "reads": lambda facts: moved(facts, "begins to read"),
    "reads-last": lambda facts: f"{client(facts)} reads {facts['topic']} for the last time",
    "sequence-gap": lambda facts: (
        f"{client(facts)} sends sequence {facts['found']:,} to {facts['topic']}/{facts['partition']}, "
        f"expected {facts['expected']:,}"
    ),
    "slow": lambda facts: (
        f"{facts['api']} of {client(facts)} takes {duration(facts['took_ns'])}, {duration(facts['late_ns'])} "
        "above the allowed wait"
    ),
    "throttled": lambda facts: (
        f"{client(facts)} is throttled, {times(facts['count'])}, up to "
        f"{duration(facts['throttle_ms'] * 1_000_000)}"
    ),
    "transaction": lambda facts: f"transaction {facts['transaction']} of {facts['transactional_id']} begins",
    "transaction-ends": transaction_ends,
    "transaction-open": lambda facts: (
        f"transaction {facts['transaction']} is still open, {duration(facts['for_ns'])} old"
    ),
    "transactional-id": transactional_id,
    "unanswered": lambda facts: f"{facts['api']} v{facts['version']} of {client(facts)} gets no response",
    "writes": lambda facts: moved(facts, "begins to write"),
    "writes-last": lambda facts: f"{client(facts)} writes to {facts['topic']} for the last time",
}  # fmt: skip
"""By the kind of event: what it says. Those of the kind `cause` say what diagnosis does."""


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
        "who": {key: value for key, value in event.who._asdict().items() if value is not None},
        "facts": dict(event.facts),
        "exchanges": list(event.exchanges),
        "sentence": sentence(event),
    }


def about(subject: Subject) -> str:
    """Return how much there is to tell of a subject."""
    return ", ".join(f"{count:,} {noun if count != 1 else singular(noun)}" for noun, count in subject.facts.items())


def singular(noun: str) -> str:
    """Return a noun of a subject's facts for one of them."""
    return {"batches": "batch"}.get(noun, noun.removesuffix("s"))
