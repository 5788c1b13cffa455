"""Consumer groups: who belongs to one, generation after generation, who left and why, what was committed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .evidence import Bounded, Mark, Occurrences
from .sessions import KafkaConnection

MOST_MEMBERS, MOST_EVENTS, MOST_LEFT, MOST_CLIENTS, MOST_PLACES = 4096, 4096, 64, 256, 4096
FEW_PARTITIONS, LONGEST_REASON = 32, 200


class Event(NamedTuple):
    """What happened in a group: `kind` is join, sync, heartbeat, leave, commit; `code` the error it got, 0 for none.

    `assigned` is what a member was given, its first FEW_PARTITIONS alone, `partitions` how many these are in all.
    """

    mark: Mark
    kind: str
    member_id: str
    generation: int
    code: int
    assigned: tuple[tuple[str, tuple[int, ...]], ...] = ()
    partitions: int = 0
    reason: str = ""


class Member:
    """One member: a client that joined, by the id that the coordinator gave it."""

    def __init__(self, member_id: str) -> None:
        self.member_id: str = member_id
        self.client_id: str = ""
        self.host: str = ""
        self.instance_id: str | None = None
        self.session_timeout_ms: int = 0
        self.rebalance_timeout_ms: int = 0
        self.topics: tuple[str, ...] = ()
        self.subscribes: bool = True
        """Whether its last subscription names a topic, or could not be read."""
        self.assigned: dict[str, tuple[int, ...]] | None = None
        """What it was given last, None before that."""
        self.joined: Occurrences = Occurrences()
        self.synced: Occurrences = Occurrences()
        self.beats: Occurrences = Occurrences()
        self.longest_pause: tuple[int, int] = (0, 0)
        """The longest time between two signs of life, in nanoseconds, and when it began."""
        self.left: Mark | None = None
        self.lefts: list[Mark] = []
        self.reason: str = ""
        """Why it left, as it says itself (KIP-800)."""
        self.left_by_other: bool = False
        self.errors: dict[int, Occurrences] = {}
        self.connections: set[int] = set()
        self.last_sign: int = 0
        self.protocols: tuple[str, ...] = ()

    def sign(self, mark: Mark) -> None:
        """Note a sign of life."""
        if self.last_sign and mark.time - self.last_sign > self.longest_pause[0]:
            self.longest_pause = mark.time - self.last_sign, self.last_sign
        self.last_sign = max(self.last_sign, mark.end)
        self.connections.add(mark.connection)

    def go(self, mark: Mark) -> None:
        """Note that it left."""
        self.left = mark
        self.lefts.append(mark)
        del self.lefts[:-MOST_LEFT]

    def failed(self, code: int, mark: Mark) -> None:
        """Count an error that it was told."""
        if code:
            self.errors.setdefault(code, Occurrences()).add(mark)


class Group:
    """One group."""

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.members: Bounded[str, Member] = Bounded(MOST_MEMBERS)
        self.events: list[Event] = []
        self.events_lost: int = 0
        """Events beyond the bound."""
        self.generations: dict[int, Mark] = {}
        self.errors: dict[tuple[int, int], Occurrences] = {}
        """By API key and error code."""
        self.clients: dict[str, Occurrences] = {}
        self.committed: dict[tuple[str, int], tuple[int, int, int]] = {}
        """Topic and partition: the offset committed last, when, and how often one was."""
        self.missing: Bounded[tuple[str, str, int], Occurrences] = Bounded(MOST_PLACES)
        """Responses that no offset is committed, by client id, topic and partition."""
        self.lost: Bounded[tuple[str, str, int], Occurrences] = Bounded(MOST_PLACES)
        """Those of them where one had been committed before."""
        self.deleted: KafkaConnection | None = None
        """The connection of the client that deleted it last."""
        self.commits: Occurrences = Occurrences()
        self.new_protocol: bool = False
        self.acknowledged: int = 0
        """Records that a share group accepted or rejected."""
        self.released: dict[str, Occurrences] = {}
        """Acknowledgements that release records, by topic."""
        self.coordinators: list[tuple[int, int]] = []
        """Nodes that were told to coordinate it, with the time."""

    def use(self, client_id: str, mark: Mark) -> None:
        """Note that a client uses the group."""
        if client_id and len(self.clients) < MOST_CLIENTS:
            self.clients.setdefault(client_id, Occurrences()).add(mark)

    def member(self, member_id: str, client_id: str = "", host: str = "") -> Member | None:
        """Return the entry of a member."""
        entry = self.members.entry(member_id, lambda: Member(member_id))
        if entry is not None and client_id:
            entry.client_id, entry.host = entry.client_id or client_id, entry.host or host
        return entry

    def happened(self, event: Event) -> None:
        """Note an event."""
        if len(self.events) < MOST_EVENTS:
            self.events.append(event)
        else:
            self.events_lost += 1

    def failed(self, api_key: int, code: int, mark: Mark) -> None:
        """Count an error."""
        if code:
            self.errors.setdefault((api_key, code), Occurrences()).add(mark)

    def known_members(self) -> list[Member]:
        """Return the members that have an id, in the order of their joining."""
        return [member for member in self.members.values() if member.member_id]


def assignment_of(value: Any) -> dict[str, tuple[int, ...]] | None:
    """Return topics and partitions of an assignment as consumers write it; None where it could not be read."""
    value = getattr(value, "value", value)
    if not isinstance(value, dict):
        return None
    given = value.get("assigned_partitions") or value.get("topic_partitions") or ()
    found = dict[str, tuple[int, ...]]()
    for entry in given:
        if isinstance(entry, dict):
            name = entry.get("topic") or entry.get("topic_name") or entry.get("topic_id")
            found[str(name)] = tuple(entry.get("partitions") or ())
    return found


def few_of(assigned: dict[str, tuple[int, ...]] | None) -> tuple[tuple[tuple[str, tuple[int, ...]], ...], int]:
    """Return the first partitions of an assignment, by topic, and how many there are."""
    found = list[tuple[str, tuple[int, ...]]]()
    left = FEW_PARTITIONS
    for topic, partitions in (assigned or {}).items():
        if left <= 0:
            break
        found.append((topic, partitions[:left]))
        left -= max(len(partitions), 1)
    return tuple(found), sum(map(len, (assigned or {}).values()))


def subscription_of(protocols: Iterable[Any]) -> tuple[str, ...] | None:
    """Return the topics that a member subscribes to, by the first protocol that could be read; None without one."""
    for protocol in protocols:
        value = getattr(protocol.get("metadata"), "value", None)
        if isinstance(value, dict) and value.get("topics") is not None:
            return tuple(str(name) for name in value["topics"])
    return None
