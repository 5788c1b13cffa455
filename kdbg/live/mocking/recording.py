"""What a capture can answer: its answered requests by API, those that ask the same in a series, in their order.

Two requests are compared by features: the more they share, the closer they are. Ids that brokers hand out do not count,
but whether there is one does: a member that joins has none yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from ...analysis.compare.broker_assigned import OFFSET, TRANSIENT, assigned_kind
from ...analysis.compare.messages import inside, nodes
from ...errors import BuildError, InputError
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.message import Message
from ...exchanges.messages.reshape import Reshaper
from ...protocol.findings import Kind
from ...protocol.grammars import by_key
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.language.payload import OpenedPayload
from ...protocol.wire.nodes import Node, WireStruct
from ...protocol.wire.readings.outline import outline, parts
from ...protocol.wire.records import RecordsNode
from .responses import NEEDED

Features: TypeAlias = frozenset[tuple[str, Any, int]]
"""Path, value and weight of each."""
SUBJECTS: Final = frozenset({"key", "coordinator_keys", "transactional_id", "resource_name", "mechanism"})
"""Names of fields that say what a request is about, and have no meaning that tells it."""
OF_KINDS: Final = {"topic": 4, "topic_id": 4, "group": 4, "partition": 2, "timestamp": 4}
OF_SUBJECTS, OF_HANDED, OF_LENGTHS, OF_OTHERS, OF_ALL = 4, 8, 2, 1, 12
TOPICS: Final = "topics"
"""The array that is null in a request for all topics, which is another request than one for some."""
API_VERSIONS, PRODUCE, FETCH, METADATA = 18, 0, 1, 3
NOTHING: Final = "no response that the mock can serve; choose another capture, or other filters"
LOWEST: Final = {0: 3, 1: 4, 2: 1}
"""The lowest versions that are offered, by API: those that carry records as they are recorded, and one offset."""


class RecordedBatch(NamedTuple):
    """What a recorded answer says of a partition: its records go from offset `first` up to `last`."""

    first: int
    last: int
    said: Mapping[str, Any]


@dataclass
class RecordedLog:
    """A partition: pieces with records, the latest that was said of it without any, how far it goes."""

    pieces: list[RecordedBatch] = field(default_factory=list)
    said: Mapping[str, Any] = field(default_factory=dict)
    end: int = 0


class FetchLog:
    """All partitions, each answer in version `version`."""

    version: int = 0

    def __init__(self) -> None:
        self._logs: dict[tuple[Any, int], RecordedLog] = {}

    def add(self, grammar: WireStruct, body: Mapping[str, Any], names: Mapping[UUID, str], version: int) -> None:
        """Take a recorded answer."""
        self.version = version
        for part in parts(grammar)(body):
            if part.value.get("error_code"):
                continue
            log = self._logs.setdefault((names.get(part.topic, part.topic), part.partition), RecordedLog())
            log.said = part.value
            log.end = max(log.end, part.value["high_watermark"])
            entries = [one for one in part.value.get("records") or () if "base_offset" in one or "offset" in one]
            if entries:  # others were cut off
                first, last = (one.get("base_offset", one.get("offset")) for one in (entries[0], entries[-1]))
                last += entries[-1].get("last_offset_delta", 0) if "base_offset" in entries[-1] else 0
                log.pieces.append(RecordedBatch(first, last, part.value))

    def at(self, topic: Any, partition: int, offset: int) -> dict[str, Any] | None:
        """Return what a fetch at an offset is told: the piece that begins there or holds it, else no records.

        None for a partition that the capture shows nothing of.
        """
        log = self._logs.get((topic, partition))
        if log is None:
            return None
        fitting = [one for one in log.pieces if one.last >= offset]
        begun = [one for one in fitting if one.first <= offset]
        best = max(begun, key=lambda one: one.first, default=None)
        if best is None:  # offsets in between are those of records that are gone
            best = min(fitting, key=lambda one: one.first, default=None)
        said = dict(best.said if best is not None else log.said)
        if best is None:
            said |= {"records": None if said.get("records") is None else [], "error_code": 0}
        return said | {"high_watermark": log.end}

    def span(self, topic: Any, partition: int) -> tuple[int, int]:
        """Return the first offset of a partition's records, and the end of its log, as far as fetches show them."""
        log = self._logs.get((topic, partition), RecordedLog())
        return min((one.first for one in log.pieces), default=log.end), log.end


def features(body: Mapping[str, Any], struct: WireStruct | None, names: Mapping[Any, str]) -> Features:
    """Return the features of a request; topics by name, where `names` tells that of an id."""
    return frozenset(_of(body, struct, "", names))


def closeness(one: Features, other: Features) -> float:
    """Return how much two requests have in common, less what only one of them says."""
    shared = sum(weight for _, _, weight in one & other)
    return shared - sum(weight for _, _, weight in one ^ other) / 2


def _of(
    value: Mapping[str, Any], struct: WireStruct | None, path: str, names: Mapping[Any, str]
) -> Iterator[tuple[str, Any, int]]:
    known = nodes(struct)
    for name, inner in value.items():
        yield from _one(name, inner, known.get(name), f"{path}.{name}", names)


def _one(
    name: str, value: Any, node: Node | None, path: str, names: Mapping[Any, str]
) -> Iterator[tuple[str, Any, int]]:
    if isinstance(node, RecordsNode):
        return
    if name == TOPICS:
        yield path, "all" if value is None else "some", OF_ALL
    if isinstance(value, OpenedPayload):
        yield from _of(value.value, value.grammar, path, names)
    elif isinstance(value, Mapping):
        yield from _of(value, inside(node), path, names)
    elif isinstance(value, list):
        yield path, bool(value), OF_LENGTHS
        item = getattr(node, "item", node)
        for each in value:
            if isinstance(each, Mapping):
                yield from _of(each, inside(node), f"{path}[]", names)
            else:
                yield from _one(name, each, item, f"{path}[]", names)
    else:
        kind = assigned_kind(name, node, value)
        if kind is OFFSET:
            return
        if kind is not None and not (node is not None and node.kind == "topic_id"):
            yield path, ("fixed", value) if value in kind.fixed else "given", OF_HANDED
            return
        of = node.kind if node is not None else ""
        weight = OF_KINDS.get(of, OF_SUBJECTS if name in SUBJECTS else OF_OTHERS)
        if of in ("topic", "topic_id"):
            path, value = path.rpartition(".")[0] + ".topic", names.get(value, value)
        yield path, value, weight


@dataclass
class Recorded:
    """An answered request: both bodies in the version that was spoken; `passing`: the answer says "not yet"."""

    api: Api
    version: int
    asked: Mapping[str, Any]
    answer: Mapping[str, Any]
    passing: bool


@dataclass
class Series:
    """Requests that ask the same, in their order. Each is answered once; then the last that is no "not yet"."""

    wanted: Features
    recorded: list[Recorded] = field(default_factory=list)
    given: int = 0
    at: dict[int, Features] = field(default_factory=dict)
    """What is wanted, as a request of another version says it."""

    def next(self, *, passing: bool = True) -> Recorded:
        """Return the answer that is due, and note that it was given; without `passing` none that says "not yet"."""
        self.given += 1
        while not passing and self.given <= len(self.recorded) and self.recorded[self.given - 1].passing:
            self.given += 1
        return self.now(self.given - 1)

    def now(self, place: int | None = None) -> Recorded:
        """Return the answer at a place, the last one without any."""
        if place is not None and place < len(self.recorded):
            return self.recorded[place]
        return next((one for one in reversed(self.recorded) if not one.passing), self.recorded[-1])


class Recording:
    """All that captures can answer; of more than `most` bytes they are refused."""

    passed_over: int
    """Exchanges that answer nothing: without an answer, or not to be read."""

    def __init__(self, most: int) -> None:
        self.names: dict[UUID, str] = {}
        self.passed_over = 0
        self.fetches: FetchLog = FetchLog()
        self._left = most
        self._series: dict[int, dict[Features, Series]] = {}
        self._versions: dict[int, set[int]] = {}
        self._told: dict[int, tuple[int, int]] = {}
        self._partitions = set[tuple[str, int | None]]()

    def add(self, exchange: Exchange) -> None:
        """Take an exchange; raise `InputError` where it is too much."""
        request, response, api = exchange.request, exchange.response, exchange.api
        asked = request.message() if request is not None else None
        answer = response.message() if response is not None else None
        if asked is None or answer is None or api is None or not all(map(_is_replayable, (asked, answer))):
            self.passed_over += api is not None and exchange.answered
            return
        self._left -= exchange.size
        if self._left < 0:
            raise InputError("the captures are too large for the mock; use filters, or raise --max-memory")
        passing = bool(set(outline(answer.grammar)(answer.body)[2]) & TRANSIENT)
        one = Recorded(api, exchange.version, asked.body, answer.body, passing)
        self._versions.setdefault(api.key, set()).add(exchange.version)
        wanted = features(asked.body, asked.grammar, self.names)
        self._series.setdefault(api.key, {}).setdefault(wanted, Series(wanted)).recorded.append(one)
        if api.key == METADATA:
            for topic in answer.body["topics"]:
                numbers = (part["partition_index"] for part in topic["partitions"])
                self._partitions.update((topic["name"], number) for number in (None, *numbers))
        if api.key == API_VERSIONS and not answer.body.get("error_code"):
            self._told |= {
                each["api_key"]: (each["min_version"], each["max_version"]) for each in answer.body["api_keys"]
            }

    def order(self, names: Mapping[UUID, str]) -> Recording:
        """Take note of the names of topic ids, once all is added; return this."""
        self.names |= names
        for key, series in self._series.items():
            again: dict[Features, Series] = {}
            for recorded in (one for each in series.values() for one in each.recorded):
                wanted = features(recorded.asked, recorded.api.at("request", recorded.version), self.names)
                again.setdefault(wanted, Series(wanted)).recorded.append(recorded)
            self._series[key] = again
        fetched = [one for each in self._series.get(FETCH, {}).values() for one in each.recorded]
        highest = max((one.version for one in fetched), default=0)
        for one in fetched:
            body = self.reshaped(one, highest)
            if body is not None:
                self.fetches.add(one.api.at("response", highest), body, self.names, highest)
        return self

    def __bool__(self) -> bool:
        return bool(self._series)

    @property
    def answers(self) -> int:
        """How many answers there are."""
        return sum(len(one.recorded) for each in self._series.values() for one in each.values())

    @property
    def offered(self) -> dict[int, tuple[int, int]]:
        """The versions of each API that can be answered: up to the highest recorded one, as low as it can be said."""
        found = {}
        for key, versions in self._versions.items():
            api, first = next(iter(self._series[key].values())).recorded[0].api, min(versions)
            least, told = api.versions[0], self._told.get(key, api.versions)[0]
            found[key] = min(max(LOWEST.get(key, least), least, told), first), max(versions)
        for key, needs in NEEDED.items():
            if key not in found and needs in found and (not self._told or key in self._told):
                known = by_key(key).versions
                low, high = self._told.get(key, (known[0], known[-1]))
                found[key] = max(low, known[0], LOWEST.get(key, low)), min(high, known[-1])
        return found

    def has(self, topic: Any, partition: int | None = None) -> bool:
        """Return whether Metadata showed a topic, or a partition of it."""
        return (topic, partition) in self._partitions

    def speaks(self, api: Api, version: int) -> bool:
        """Return whether the recorded broker takes requests of this version: by what it told, if it told that."""
        if api.key in self._versions and self.offered[api.key][0] <= version <= self.offered[api.key][1]:
            return True
        if not self._told:
            return version in api.versions
        if api.key not in self._told:
            return False
        low, high = self._told[api.key]
        if api.key == PRODUCE and self.since_kafka_4:
            low = LOWEST[PRODUCE]  # lower ones are listed for the sake of old librdkafka, and rejected (KIP-896)
        return low <= version <= high

    @property
    def since_kafka_4(self) -> bool:
        """Whether the recorded broker is of Kafka 4.0 or later, which has no Fetch before v4."""
        return FETCH in self._told and self._told[FETCH][0] >= 4

    def due(
        self, api: Api, version: int, asked: Mapping[str, Any], most: int
    ) -> tuple[Recorded | None, list[Recorded]]:
        """Return the recorded request that is due, and those whose answers make the answer, the closest first.

        A "not yet" is for a client that asks what the recorded one asked. None where the API is not recorded.
        """
        series, wanted = self._series.get(api.key, {}), features(asked, api.at("request", version), self.names)
        same = series.get(wanted)
        others = [one for one in series.values() if one is not same]
        others.sort(key=lambda one: -closeness(self._wanted(one, version), wanted))
        if same is None and not others:
            return None, []
        first = same.next() if same is not None else others.pop(0).next(passing=False)
        return first, [first, *(each.now() for each in others[:most])]

    def _wanted(self, series: Series, version: int) -> Features:
        """Return what the requests of a series ask for, as one of another version would: their layouts may differ."""
        if version not in series.at:
            first = series.recorded[0]
            asked = self.reshaped(first, version, "request")
            struct = first.api.at("request", version)
            series.at[version] = features(asked, struct, self.names) if asked is not None else series.wanted
        return series.at[version]

    def reshaped(self, one: Recorded, version: int, direction: Direction = "response") -> dict[str, Any] | None:
        """Return a recorded answer, or request, in another version; None where it cannot be said."""
        value = one.asked if direction == "request" else one.answer
        try:
            return Reshaper(self.names.get, self.id_of).reshaped(one.api, direction, value, one.version, version)
        except BuildError:
            return None

    def id_of(self, name: str) -> UUID | None:
        """Return the id of a topic."""
        return next((topic for topic, known in reversed(self.names.items()) if known == name), None)

    def all_of(self, key: int) -> Iterator[Recorded]:
        """Yield all recorded answers of an API."""
        for series in self._series.get(key, {}).values():
            yield from series.recorded


def _is_replayable(message: Message) -> bool:
    """Return whether a message was read whole, in the form that its version has."""
    api, direction, version = message.api, message.direction, message.version
    if api.headerless or version not in api.versions or not api.reads(direction, version):
        return False
    odd = any(not (one.kind.harmless or one.kind is Kind.TRAILING_BYTES) for one in message.findings)
    return message.grammar is api.at(direction, version) and not odd
