"""An exchange on one line of 80 columns: number, time, connection, API, sizes, latency, and what it was about."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from itertools import islice

from ..grammars.errors import error_name
from ..messages.exchange import Exchange
from ..wire.readings.outline import Outline, outline
from .findings import mark
from .heading import moment
from .look import Look
from .values import cut, escape


def header(look: Look) -> str:
    """Return the line with the names of the columns."""
    names = f"{'#':>5} {'time':<12} {'conn':<4} {'api':<18} {'req':>4} {'resp':>4} {'lat':>5} about"
    return look.paint("dim", names) + "\n"


def summary_line(exchange: Exchange, look: Look, topics: Mapping[uuid.UUID, str]) -> str:
    """Return an exchange as one line, newline included, with its last column cut to the width of the look."""
    request, response = exchange.request, exchange.response
    sent = size(request.size) if request is not None else "–"
    got = size(response.size) if response is not None else "–"
    line = (
        f"{exchange.number:>5} {moment(exchange.time)[11:23]} {'c' + str(exchange.peers.number):<4} "
        f"{_api(exchange):<18} {sent:>4} {got:>4} {short(exchange.latency):>5} "
    )
    good, bad = _about(exchange, topics)
    about = cut(bad or good, look.max_line - len(line))
    if bad:
        about = look.paint("bad" if bad[0] == "✗" else "note", about)
    return f"{line}{about}".rstrip() + "\n"


def _api(exchange: Exchange) -> str:
    api = exchange.api
    if api is None:
        return "?"
    if api.key < 0:
        return api.name
    version = f" v{exchange.version}"
    room = 18 - len(version)
    return (api.name if len(api.name) <= room else api.name[: room - 1] + "…") + version


def _about(exchange: Exchange, topics: Mapping[uuid.UUID, str]) -> tuple[str, str]:
    """Return (what an exchange was about, "") or, where something went wrong, ("", that and what it was about)."""
    outlines, findings = [], exchange.findings
    for half in (exchange.request, exchange.response):
        message = half.message(shallow=True) if half is not None else None
        if message is not None:
            if message.findings:
                findings = [*findings, *message.findings]
            if not message.misaligned:
                outlines.append(outline(message.grammar)(message.body))
    about = _subjects(outlines, topics)
    codes = [code for found in outlines for code in found.errors]
    if codes:
        names = ", ".join(map(error_name, dict.fromkeys(codes)))
        return "", f"✗ {names} {about}".rstrip()
    if not findings:
        return about, ""
    worst = next((finding for finding in findings if finding.kind.is_error), findings[0])
    return "", f"{mark(worst.kind)} {worst.kind} {about}".rstrip()


def _subjects(outlines: list[Outline], topics: Mapping[uuid.UUID, str]) -> str:
    """Return topics with their partitions, consumer groups, and the number of records."""
    places: dict[str, dict[int, None]] = {}
    groups: list[str] = []
    records = 0
    for found in outlines:
        groups += found.groups
        for topic, partition, _, count in found.rows:
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


def _name(topic: uuid.UUID, topics: Mapping[uuid.UUID, str]) -> str:
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
    if count < 10_000:
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
