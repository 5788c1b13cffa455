"""What an exchange was about, in words: errors with the topics and partitions they are of, then all else.

Words are escaped. Partitions are sorted, and neighbours joined: `orders/0-7,9`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ...exchanges.messages.rejection import is_normal_step
from ...protocol.findings import Finding, amounts
from ...protocol.grammars.errors import error_name
from ...protocol.wire import Api
from ...protocol.wire.readings.outline import Outline
from .findings import mark, style
from .values import escape

Topics: TypeAlias = Mapping[uuid.UUID, str]
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
        for topic, partition, code, count in rows:
            if topic is not None:
                name = topic
                if type(name) is not str:  # the beginning of an id says which one
                    name = topics.get(name) or (str(name) if whole else f"{str(name)[:8]}…")
                for places in (everywhere, failed.setdefault(code, {})) if code else (everywhere,):
                    partitions = places.setdefault(name, {})
                    if partition is not None:
                        partitions[partition] = None
            if count:
                records += count
    return everywhere, failed, codes, groups, records


def _named(places: Places, whole: bool) -> list[str]:
    """Return `topic/partitions` for each topic, or for the first few and how many more there are."""
    most = len(places) if whole else FEW_TOPICS
    words = []
    for name in list(places)[:most]:
        found = ranges(places[name]) if len(places[name]) > 1 else [str(partition) for partition in places[name]]
        more = "" if whole or len(found) <= FEW_RANGES else "…"
        words.append(f"{escape(name)}{'/' if found else ''}{','.join(found if whole else found[:FEW_RANGES])}{more}")
    return words if len(places) <= most else [*words, f"+{amounts.count(len(places) - most, 'topic')}"]


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
