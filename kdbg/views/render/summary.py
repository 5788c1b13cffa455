"""An exchange on one line: number, time, connection, API, sizes, latency, and what it was about.

Where there is room, client id, broker and client have columns too. On a terminal the last column is cut to the width,
but never what went wrong: where that has no room, it has a line of its own. In a pipe nothing is cut.

`SAID` is the table of APIs: which fields of the request and of the response are told of, beside topics and groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.message import UNTIMED
from ...exchanges.messages.peers import endpoint
from ...exchanges.messages.rejection import is_normal_step
from ...exchanges.messages.requested_wait import WAITS, asked_to_wait
from ...protocol.findings import Finding
from ...protocol.findings.amounts import count
from ...protocol.grammars.errors import error_name
from ...protocol.wire import Api
from ...protocol.wire.readings.outline import Outline, Topics
from .findings import mark, style
from .style import Look
from .values import MOST_KEPT, Clock, cells, cut, escape

LONG_POLL = 10_000_000
"""Nanoseconds from which on it is told how long an answer may have been held back."""
KEY_TYPES = {0: "group", 1: "transaction", 2: "share group"}
EPOCHS = {"member_epoch": "epoch", "generation_id": "generation", "generation_id_or_member_epoch": "generation"}
_MEMBER = "generation_id", "member_id", "group_instance_id"
_TRANSACTION = ("transactional_id", "v3_and_below_transactional_id"), ()
_OF_NEW_GROUPS = ("member_id", "member_epoch"), ("member_id", "member_epoch")
Fields: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The fields of a request, and of its response, that are told of."""
SAID: dict[int, Fields] = {
    8: (("generation_id_or_member_epoch", *_MEMBER), ()),  # OffsetCommit
    10: (("key", "key_type", "coordinator_keys"), ()),  # FindCoordinator
    11: (("member_id", "group_instance_id"), ("generation_id", "member_id")),  # JoinGroup
    12: (_MEMBER, ()),  # Heartbeat
    13: (("member_id", "members"), ()),  # LeaveGroup
    14: (_MEMBER, ()),  # SyncGroup
    22: (("transactional_id",), ("producer_id", "producer_epoch")),  # InitProducerId
    24: _TRANSACTION,  # AddPartitionsToTxn
    25: _TRANSACTION,  # AddOffsetsToTxn
    26: (("transactional_id", "committed"), ()),  # EndTxn
    28: (("transactional_id", "generation_id_or_member_epoch", *_MEMBER[1:]), ()),  # TxnOffsetCommit
    68: _OF_NEW_GROUPS,  # ConsumerGroupHeartbeat
    76: _OF_NEW_GROUPS,  # ShareGroupHeartbeat
    88: _OF_NEW_GROUPS,  # StreamsGroupHeartbeat
}
"""API key by API key, what is worth a word."""
HELD = frozenset(key for key, wait in WAITS.items() if wait.held)
"""Keys of the APIs whose answers a broker holds back on purpose."""


def summary_text(exchange: Exchange, fields: Fields) -> list[str]:
    """Return the words of an exchange; where request and response have a field, the response's counts if it is set.

    A message that broke off, or is odd, says less.
    """
    found: dict[str, Any] = {}
    for half, names in zip((exchange.request, exchange.response), fields, strict=True):
        if half is not None and names:
            told = half.fields(names)
            found |= {name: told[name] for name in names if told.get(name) not in (None, "", -1)}
    kind = KEY_TYPES.get(found.get("key_type", 0), "key")
    words = _each(kind, [found.get("key"), *(found.get("coordinator_keys") or ())])
    words += _each("transaction", [found.get("transactional_id"), found.get("v3_and_below_transactional_id")])
    if "committed" in found:
        words.append("commit" if found["committed"] else "abort")
    if "producer_id" in found:
        words.append(f"producer {found['producer_id']}/{found.get('producer_epoch', 0)}")
    words += [f"{word} {found[name]}" for name, word in EPOCHS.items() if name in found]
    members = [found.get("member_id"), *(member.get("member_id") for member in found.get("members") or ())]
    return words + _each("member", members) + _each("instance", [found.get("group_instance_id")])


def waited(exchange: Exchange) -> str:
    """Return for how long the broker was asked to hold the answer back, where it took long or never came; else ""."""
    latency = exchange.latency
    if latency is not None and latency < LONG_POLL:
        return ""
    most = asked_to_wait(exchange)
    if not most or most < 1000:
        return f"wait {most}ms" if most else ""
    return f"wait {most / 1000:.4g}s" if most < 60_000 else f"wait {most / 60_000:.4g}min"


def _each(word: str, names: Iterable[str | None]) -> list[str]:
    return [f"{word} {escape(name)}" for name in names if name]


Places: TypeAlias = "dict[str, dict[int, None]]"
"""Partitions by their topics; none where the topic as a whole is meant."""
FEW_TOPICS, FEW_RANGES = 3, 4
"""Topics, and ranges of partitions of one, that are named where there is not room for all."""


class Wrong(NamedTuple):
    """Something that went wrong: the style it is painted in, its name with a mark, and what it is of."""

    style: str
    name: str
    places: str = ""

    @property
    def text(self) -> str:
        return f"{self.name} {self.places}" if self.places else self.name


class SummarySubject(NamedTuple):
    """What an exchange was about: what went wrong, what else it names, and both without saying a place twice."""

    wrong: tuple[Wrong, ...]
    subjects: str
    others: str
    """The subjects but for the places that something in `wrong` names."""


def about(
    api: Api | None, outlines: Sequence[Outline], findings: Iterable[Finding], topics: Topics, said: Sequence[str], *,
    whole: bool,
) -> SummarySubject:  # fmt: skip
    """Return what outlines and findings say; `said` are more words. `whole`: everything is named, however much."""
    everywhere, failed, codes, groups, records = _gathered(outlines, topics, whole)
    wrong = []
    for code in codes:
        painted = "dim" if is_normal_step(api, code) else "bad"
        wrong.append(Wrong(painted, f"✗ {error_name(code)}", " ".join(_named(failed.get(code, {}), whole))))
    wrong.sort(key=lambda one: one.style == "dim")
    kinds = dict.fromkeys(finding.kind for finding in findings)
    wrong += [Wrong(style(kind), f"{mark(kind)} {kind}") for kind in sorted(kinds, key=lambda kind: not kind.is_error)]
    words = [f"group {escape(group)}" for group in groups if group]
    words += [*said, f"{records} record{'s' * (records != 1)}"] if records else said
    subjects = " ".join([*_named(everywhere, whole), *words])
    if not failed:
        return SummarySubject(tuple(wrong), subjects, subjects)
    left = dict(everywhere)
    for known in failed.values():
        for name, partitions in known.items():
            kept = {partition: None for partition in left.pop(name, {}) if partition not in partitions}
            if kept:
                left[name] = kept
    rest = _named(left, whole)
    return SummarySubject(tuple(wrong), subjects, " ".join([*(["·", *rest] if rest else []), *words]))


def _gathered(
    outlines: Sequence[Outline], topics: Topics, whole: bool
) -> tuple[Places, dict[int, Places], dict[int, None], dict[str, None], int]:
    """Return (all places, those of each error code, all codes, the groups, the number of records)."""
    everywhere: Places = {}
    failed: dict[int, Places] = {}
    codes: dict[int, None] = {}
    groups: dict[str, None] = {}
    records = 0
    for rows, named, errors in outlines:
        groups.update(dict.fromkeys(named))
        codes.update(dict.fromkeys(errors))
        for topic, partition, code, many in rows:
            if topic is not None:
                name = topic
                if type(name) is not str:  # the beginning of an id says which one
                    name = topics.get(name) or (str(name) if whole else f"{str(name)[:8]}…")
                for places in (everywhere, failed.setdefault(code, {})) if code else (everywhere,):
                    partitions = places.setdefault(name, {})
                    if partition is not None:
                        partitions[partition] = None
            if many:
                records += many
    return everywhere, failed, codes, groups, records


def _named(places: Places, whole: bool) -> list[str]:
    """Return `orders/0-7,9` for each topic, or for the first few and how many more there are."""
    most = len(places) if whole else FEW_TOPICS
    words = []
    for name in list(places)[:most]:
        found = ranges(places[name]) if len(places[name]) > 1 else [str(partition) for partition in places[name]]
        more = "" if whole or len(found) <= FEW_RANGES else "…"
        words.append(f"{escape(name)}{'/' if found else ''}{','.join(found if whole else found[:FEW_RANGES])}{more}")
    return words if len(places) <= most else [*words, f"+{count(len(places) - most, 'topic')}"]


def ranges(numbers: Iterable[int]) -> list[str]:
    """Return numbers in their order as text, three or more neighbours as `first-last`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts: list[str] = []
    for first, last in runs:
        texts += [f"{first}-{last}"] if last - first > 1 else map(str, range(first, last + 1))
    return texts


WHOLE = 10_000
"""Sizes below are written as they are."""
BELOW = " " * 6
"""What stands in front of what has no room on its line."""


class Columns(NamedTuple):
    """Letters of the columns that depend on the width; 0 for one that is left out."""

    client: int
    broker: int
    client_id: int
    api: int

    def text(self, client: str, broker: str, client_id: str, api: str) -> str:
        """Return the columns, each with the space after it; ends of connections are cut in front, for the port."""
        ends = [
            f"{text if len(text) <= room else '…' + text[len(text) + 1 - room:]:<{room}} "
            for text, room in ((client, self.client), (broker, self.broker)) if room
        ]  # fmt: skip
        name = cut(client_id, self.client_id)
        names = [f"{name}{' ' * (self.client_id - cells(name))} "] if self.client_id else []
        return "".join([*ends, *names, f"{api:<{self.api}} "])


def columns(width: int) -> Columns:
    """Return the columns that there is room for in a width."""
    return Columns(
        client=21 if width >= 180 else 0,
        broker=21 if width >= 140 else 0,
        client_id=14 if width >= 110 else 0,
        api=18 if width < 140 else 24,
    )


def header(look: Look, time: int | None) -> str:
    """Return the line with the names of the columns, the zone of the times, and the date of the first, if known."""
    clock, second = Clock(local=look.local), None if time is None else time // 1_000_000_000
    names = columns(look.width).text("client", "broker", "client id", "api")
    zone = f"time {clock.zone(second)}"
    line = f"{'#':>5} {zone:<12} {'conn':<4} {names}{'req':>4} {'resp':>4} {'lat':>5} details"
    line = line if second is None else f"{line} ({clock.day(second)})"
    return look.paint("dim", line if look.full else cut(line, look.width)) + "\n"


class SummaryKind(NamedTuple):
    """What exchanges have in common that come again and again: a text, fields to tell of, whether answers are held."""

    text: str
    fields: Fields | None
    held: bool


class SummaryLine(NamedTuple):
    """What follows the columns, as it is painted where there is room, how wide, and what it was made of."""

    painted: str
    width: int
    about: SummarySubject


class Summary:
    """Renders exchanges, each as one line."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.look, self.topics = look, topics
        self.clock: Clock = Clock(local=look.local)
        self._columns, self._whole = columns(look.width), look.full
        self._times = self.clock.times
        self._kinds: dict[tuple[int, Api | None, int, str | None], SummaryKind] = {}
        self._lines: dict[tuple[Any, ...], SummaryLine] = {}

    def __call__(self, exchange: Exchange) -> str:
        """Return the line of an exchange, newline included; more lines where something that is wrong has no room."""
        kind = self._kinds.get((exchange.peers.number, exchange.api, exchange.version, exchange.client_id))
        if kind is None:
            kind = self._met(exchange)
        beginning = self._beginning(exchange, kind.text)
        line = self._about(exchange, kind)
        if self._whole:
            return f"{beginning}{line.painted}\n" if line.painted else f"{beginning.rstrip()}\n"
        room = self.look.width - cells(beginning)
        return f"{beginning}{line.painted if line.width <= room else self._fitted(line.about, room)}".rstrip() + "\n"

    def subject(self, exchange: Exchange) -> SummarySubject:
        """Return what the last column of its line is made of."""
        key = exchange.peers.number, exchange.api, exchange.version, exchange.client_id
        return self._about(exchange, self._kinds.get(key) or self._met(exchange)).about

    def begin(self, time: int) -> None:
        """Take the day of the first exchange, in nanoseconds since 1970, for that of the header."""
        self.clock.begin(time // 1_000_000_000)

    def _fitted(self, told: SummarySubject, room: int) -> str:
        """Return the last column for so many letters; with lines below it, where what is wrong has no room in it."""
        wide = sum(cells(one.text) + 1 for one in told.wrong)
        if wide <= room + 1:
            painted = [self.look.paint(one.style, one.text) for one in told.wrong]
            return " ".join([*painted, *filter(None, [cut(told.others, room - wide)])])
        lines, room, wide = [cut(told.subjects, room)], self.look.width - len(BELOW), 0
        for one in told.wrong:  # as much in each line as there is room for; names are never cut
            text = one.name if room <= cells(one.name) else cut(one.text, room)
            shown = self.look.paint(one.style, text)
            if len(lines) > 1 and wide + 1 + cells(text) <= room:
                lines[-1] += f" {shown}"
                wide += 1 + cells(text)
            else:
                lines.append(f"\n{BELOW}{shown}")
                wide = cells(text)
        return "".join(lines)

    def _beginning(self, exchange: Exchange, kind: str) -> str:
        """Return the columns of a line in front of the last; nearly all have their numbers in them as they are."""
        request, response = exchange.request, exchange.response
        if request is not None and response is not None and exchange.logged_latency is None:
            sent, got, latency = request.size, response.size, response.first_time - request.last_time
            if 0 < sent < WHOLE > got > 0 and 9_950 <= latency < 999_500:
                clock = self._times[request.first_time // 1_000_000]
                return f"{exchange.number:5d} {clock} {kind}{sent:4d} {got:4d} {latency / 1e3:3.0f}µs "
        sent_text, got_text = (
            size(half.size) if half is not None and half.size else "–" for half in (request, response)
        )
        clock = self._times[exchange.time // 1_000_000] if exchange.time != UNTIMED else f"{'–':<12}"
        return f"{exchange.number:5d} {clock} {kind}{sent_text:>4} {got_text:>4} {short(exchange.latency):>5} "

    def _met(self, exchange: Exchange) -> SummaryKind:
        """Return what exchanges have in common of which this is the first, and remember it."""
        api, peers, client_id = exchange.api, exchange.peers, exchange.client_id
        number, name = -1 if api is None else api.key, "?"
        if api is not None:
            version = f" v{exchange.version}" if number >= 0 <= exchange.version else ""
            whole = self.look.full or number < 0
            name = (api.name if whole else cut(api.name, self._columns.api - len(version))) + version
        columns = self._columns.text(endpoint(peers.client), endpoint(peers.broker), escape(client_id or ""), name)
        if len(self._kinds) >= MOST_KEPT:
            self._kinds.clear()
        found = SummaryKind(f"{'c' + str(peers.number):<4} {columns}", SAID.get(number), number in HELD)
        self._kinds[peers.number, api, exchange.version, client_id] = found
        return found

    def _about(self, exchange: Exchange, kind: SummaryKind) -> SummaryLine:
        """Return what an exchange was about, and what went wrong in it."""
        facts = exchange.facts() if not exchange.findings else None
        words = summary_text(exchange, kind.fields) if kind.fields is not None else []
        if kind.held and (wait := waited(exchange)):
            words.append(wait)
        if exchange.lines or exchange.capture_points:
            from .exchange_header import places_words  # which one capture does without

            words += [f"log {','.join(str(line.number) for line in exchange.lines)}"] if exchange.lines else []
            words += filter(None, [places_words(exchange)])
        if facts is None:
            halves = [half for half in (exchange.request, exchange.response) if half is not None]
            outlines = [found for half in halves if (found := half.open_outline()) is not None]
            return self._line(exchange.api, outlines, exchange.all_findings(shallow=True), words)
        key: tuple[Any, ...] = facts if not words else (*facts, *words)
        line = self._lines.get(key)
        if line is None:
            line = self._line(exchange.api, list(facts), [], words)
            rows = [row for part in facts for row in part[0]]
            # remembered where it may come twice and nothing may change it: what an error code means depends on the API
            if not line.about.wrong and len(rows) <= 8 and all(type(row[0]) is not UUID for row in rows):
                if len(self._lines) >= MOST_KEPT:
                    self._lines.clear()
                self._lines[key] = line
        return line

    def _line(self, api: Api | None, outlines: list[Outline], findings: list[Finding], words: list[str]) -> SummaryLine:
        told = about(api, outlines, findings, self.topics, words, whole=self.look.full)
        text = " ".join(filter(None, [*(one.text for one in told.wrong), told.others]))
        painted = [self.look.paint(one.style, one.text) for one in told.wrong]
        return SummaryLine(" ".join(filter(None, [*painted, told.others])), cells(text), told)


def size(count: int) -> str:
    """Return a number of bytes in four columns at most, as `9.8k`."""
    if count < WHOLE:
        return str(count)
    for unit in "kMG":
        count_in_unit = count / 1024
        if count_in_unit < 9.95:
            return f"{count_in_unit:.1f}{unit}"
        if count_in_unit < 1023.5:
            return f"{count_in_unit:.0f}{unit}"
        count = int(count_in_unit)
    return "huge"


def short(nanoseconds: int | None) -> str:
    """Return a latency in nanoseconds in five columns at most, as `1.2ms`."""
    if nanoseconds is None:
        return "–"
    for unit, scale in (("µs", 1e3), ("ms", 1e6)):
        value = nanoseconds / scale
        if abs(value) < 9.95:
            return f"{value:.1f}{unit}"
        if abs(value) < 999.5:
            return f"{value:.0f}{unit}"
    return f"{nanoseconds / 1e9:.1f}s" if nanoseconds < 99_950_000_000 else f"{nanoseconds / 1e9:.0f}s"
