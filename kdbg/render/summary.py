"""An exchange on one line of 80 columns: number, time, connection, API, sizes, latency, and what it was about."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from ..findings import Finding
from ..grammars.errors import error_name
from ..messages.exchange import Exchange
from ..wire import Api
from ..wire.readings.outline import Outline, outline
from .findings import mark, style
from .heading import clocks
from .look import Look
from .values import MOST_KEPT, cut, escape

Topics: TypeAlias = Mapping[uuid.UUID, str]
About: TypeAlias = "tuple[str, str]"
"""What an exchange was about, and the style in which that is shown: "" where nothing went wrong."""
WHOLE = 10_000
"""Sizes below are written as they are."""
FEW_ROWS = 8
"""Rows of two outlines whose text is worth remembering: longer ones seldom come twice."""


def header(look: Look) -> str:
    """Return the line with the names of the columns."""
    names = f"{'#':>5} {'time':<12} {'conn':<4} {'api':<18} {'req':>4} {'resp':>4} {'lat':>5} about"
    return look.paint("dim", names) + "\n"


class Summary:
    """Renders exchanges, each as one line with its last column cut to the width of the look."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.look, self.topics = look, topics
        self._most = look.max_line
        self._kinds: dict[tuple[int, Api | None, int], str] = {}
        self._abouts: dict[tuple[Outline, Outline], About] = {}

    def __call__(self, exchange: Exchange) -> str:
        """Return the line of an exchange, newline included."""
        line = self._beginning(exchange)
        about, style = self._about(exchange)
        if not about:
            return line.rstrip() + "\n"
        room = self._most - len(line)
        if len(about) > room or not about.isascii():
            about = cut(about, room)
        return f"{line}{about}\n" if not style else f"{line}{self.look.paint(style, about)}\n"

    def _beginning(self, exchange: Exchange) -> str:
        """Return the columns of a line in front of the last; nearly all have their numbers in them as they are."""
        request, response = exchange.request, exchange.response
        if request is not None and response is not None:
            sent, got, latency = request.size, response.size, response.first_time - request.last_time
            if sent < WHOLE > got and 9_950 <= latency < 999_500:
                clock = clocks[request.first_time // 1_000_000]
                return f"{exchange.number:5d} {clock} {self._kind(exchange)} {sent:4d} {got:4d} {latency / 1e3:3.0f}µs "
        sent_text, got_text = (size(half.size) if half is not None else "–" for half in (request, response))
        return (
            f"{exchange.number:5d} {clocks[exchange.time // 1_000_000]} {self._kind(exchange)} "
            f"{sent_text:>4} {got_text:>4} {short(exchange.latency):>5} "
        )

    def _kind(self, exchange: Exchange) -> str:
        """Return connection, API and version, which come again and again."""
        key = exchange.peers.number, exchange.api, exchange.version
        found = self._kinds.get(key)
        if found is None:
            if len(self._kinds) >= MOST_KEPT:
                self._kinds.clear()
            found = self._kinds[key] = f"{'c' + str(exchange.peers.number):<4} {_api(exchange):<18}"
        return found

    def _about(self, exchange: Exchange) -> About:
        """Return what an exchange was about, and what went wrong in it, with the style of that."""
        facts = exchange.facts() if not exchange.findings else None
        if facts is not None:
            known = self._abouts.get(facts)
            return known if known is not None else self._clean(facts)
        outlines, findings = [], exchange.findings
        for half in (exchange.request, exchange.response):
            found = half.facts() if half is not None else None
            if found is not None:
                outlines.append(found)
            elif half is not None and (message := half.message(shallow=True)) is not None:
                if message.findings:
                    findings = [*findings, *message.findings]
                if not message.misaligned:
                    outlines.append(outline(message.grammar)(message.body))
        return about(outlines, findings, self.topics)

    def _clean(self, facts: tuple[Outline, Outline]) -> About:
        """Return the same of two messages without findings, and remember it where nothing can become known later."""
        found = about(list(facts), (), self.topics)
        rows = [row for part in facts for row in part[0]]
        if len(rows) <= FEW_ROWS and all(type(row[0]) is not uuid.UUID for row in rows):
            if len(self._abouts) >= MOST_KEPT:
                self._abouts.clear()
            self._abouts[facts] = found
        return found


def _api(exchange: Exchange) -> str:
    api = exchange.api
    if api is None:
        return "?"
    if api.key < 0:
        return api.name
    version = f" v{exchange.version}"
    room = 18 - len(version)
    return (api.name if len(api.name) <= room else api.name[: room - 1] + "…") + version


def about(outlines: list[Outline], findings: Sequence[Finding], topics: Topics) -> About:
    """Return what outlines and findings say in a line, errors first, and the style for what went wrong, "" for none."""
    subjects = _subjects(outlines, topics)
    codes = [code for _, _, errors in outlines for code in errors]
    if codes:
        names = ", ".join(map(error_name, dict.fromkeys(codes)))
        return f"✗ {names} {subjects}".rstrip(), "bad"
    if not findings:
        return subjects, ""
    worst = next((finding for finding in findings if finding.kind.is_error), findings[0])
    return f"{mark(worst.kind)} {worst.kind} {subjects}".rstrip(), style(worst.kind)


def _subjects(outlines: list[Outline], topics: Topics) -> str:
    """Return topics with their partitions, consumer groups, and the number of records."""
    places: dict[str, dict[int, None]] = {}
    groups: list[str] = []
    records = 0
    for rows, named, _ in outlines:
        groups += named
        for topic, partition, _, count in rows:
            if topic is not None:
                partitions = places.setdefault(topic if type(topic) is str else _name(topic, topics), {})
                if partition is not None:
                    partitions[partition] = None
            if count:
                records += count
    words = [_place(name, partitions) for name, partitions in places.items()] if len(places) <= 3 else _places(places)
    if groups:
        words += [f"group {escape(group)}" for group in dict.fromkeys(groups) if group]
    if records:
        words.append(f"{records} record{'s' * (records != 1)}")
    return " ".join(words)


def _name(topic: uuid.UUID, topics: Topics) -> str:
    return topics.get(topic) or str(topic)


def _place(name: str, partitions: dict[int, None]) -> str:
    """Return `topic/partitions`, with four partitions at most."""
    if not partitions:
        return escape(name)
    numbers = ",".join(map(str, islice(partitions, 4))) + ("…" if len(partitions) > 4 else "")
    return f"{escape(name)}/{numbers}"


def _places(places: dict[str, dict[int, None]]) -> list[str]:
    shown = [_place(name, partitions) for name, partitions in islice(places.items(), 3)]
    return [*shown, f"+{len(places) - 3} topics"]


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
