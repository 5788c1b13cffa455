"""Whether a changed definition can still talk to the one it was: `compare(old, new)`.

The rules are those of Kafka's README of its message definitions and of the draft of KIP-482: what is on the wire in an
existing version stays as it is, no version is dropped, and tags are never used for something else. Fields are told
apart by their names, tagged and optional ones by their tags; a plain field that stands where another of its type stood,
after the same field and in the same versions, is that one with a new name.

Versions are ranges in here, never walked one by one: a file may say that there are thirty thousand.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from ..wire.nodes import NO_DEFAULT
from .model import (
    ALL_VERSIONS,
    FieldDefinition,
    MessageDefinition,
    StructDefinition,
    Versions,
    common,
    difference,
    listed,
    minus,
)

RULES: dict[str, str] = {
    "identity": "a message keeps its name, its type and its API key",
    "versions": "no version is dropped",
    "fields": "an existing version does not gain or lose fields; new fields require a new version",
    "order": "the order of the fields of an existing version stays",
    "type": "the type of a field stays in the versions that have it",
    "null": "whether a field may be null stays in the versions that have it",
    "tag": "a tag is never used again for something else",
    "flexible": "an existing version stays flexible, or not flexible",
    "optional": "an existing version does not gain or lose optional fields",
}
"""Every rule on compatible change, by its short name."""


Fields = tuple[FieldDefinition, ...]


class Difference(NamedTuple):
    """One difference: `rule` is the one of RULES that it breaks, "" for a compatible change, `path` by Kafka's names.

    `file` and `line` are where the new definition says it, or the old one where the new one says nothing.
    """

    rule: str
    path: str
    text: str
    file: str
    line: int


@dataclass
class DefinitionDiff:
    """All differences of two definitions of one message that a peer may notice."""

    old: MessageDefinition
    new: MessageDefinition
    differences: list[Difference] = field(default_factory=list)

    @property
    def broken(self) -> list[Difference]:
        """Those that break a rule."""
        return [difference for difference in self.differences if difference.rule]

    @property
    def changes(self) -> list[Difference]:
        """The compatible ones."""
        return [difference for difference in self.differences if not difference.rule]


def compare(old: MessageDefinition, new: MessageDefinition) -> DefinitionDiff:
    """Return every difference between an older and a newer definition, each with the rule that it breaks, if any."""
    comparing = _Comparing(old, new)
    comparing.message()
    comparing.structure(old.body, new.body, "", comparing.existing)
    return comparing.result


class _Comparing:
    """Two definitions being compared.

    `existing` are the versions that both have; one that was unstable (`latestVersionUnstable`) may change at will.
    """

    def __init__(self, old: MessageDefinition, new: MessageDefinition) -> None:
        self.old, self.new = old, new
        self.settled = old.valid._replace(last=old.valid.last - old.latest_unstable)
        self.existing = self.settled & new.valid
        self.result = DefinitionDiff(old, new)

    def say(self, rule: str, path: str, text: str, line: int | None = None, *, gone: bool = False) -> None:
        """Note a difference that the new file shows, or, if it is `gone` from that, the old one."""
        file, where = self.old.file if gone else self.new.file, self.new.body.line if line is None else line
        self.result.differences.append(Difference(rule, path, text, file, where))

    def message(self) -> None:
        """Compare what holds for the message as a whole: name, type, API key and versions."""
        old, new = self.old, self.new
        for key, was, is_now in (("name", old.name, new.name), ("type", old.kind, new.kind),
                                 ("apiKey", old.api_key, new.api_key)):  # fmt: skip
            if was != is_now:
                self.say("identity", "", f"{key} {was} became {is_now}")
        dropped = listed(minus([self.settled], [new.valid]))
        if old.valid != new.valid:
            text = f"validVersions {old.valid} became {new.valid}"
            self.say("versions" if dropped else "", "", f"{text}: {dropped} dropped" if dropped else text)
        for rule, key, before, after in (
            ("flexible", "flexibleVersions", old.flexible, new.flexible),
            ("optional", "versionsWithOptional", old.with_optional, new.with_optional),
        ):
            changed = listed(difference(before & self.existing, after & self.existing))
            if changed:
                self.say(rule, "", f"{key} {before} became {after}, which changes {changed}")

    def structure(self, old: StructDefinition, new: StructDefinition, path: str, where: Versions) -> None:
        """Compare the fields of one structure, in the versions `where` both definitions have it."""
        names = renamed(old.fields, new.fields, where)
        before = {names.get(field.name, field.name): field for field in old.fields}
        after = {field.name: field for field in new.fields}
        for name, known in before.items():
            lost = listed(plain(known, where))
            if name in after:
                self.field(known, after[name], f"{path}{name}", where)
            elif lost:
                self.say("fields", f"{path}{known.name}", f"removed from {lost}", known.line, gone=True)
            elif not known.tagged:
                text = f"removed; it was in {listed([known.versions])}"
                self.say("", f"{path}{known.name}", text, known.line, gone=True)
        for name, found in after.items():
            gained = listed(plain(found, where))
            if name not in before and gained:
                self.say("fields", f"{path}{name}", f"added to {gained}", found.line)
            elif name not in before and not found.tagged:
                self.say("", f"{path}{name}", f"new in {listed([found.versions])}", found.line)
        self.order(before, after, path, where)
        self.tags(old.fields, new.fields, path, where)
        self.tags(old.optional_fields, new.optional_fields, path, where)

    def field(self, old: FieldDefinition, new: FieldDefinition, path: str, where: Versions) -> None:
        """Compare a field that both definitions have, under its name or a new one."""
        if old.name != new.name:
            self.say(
                "", path, f"renamed from {old.name}: the bytes are the same, and must keep their meaning", new.line
            )
        before, after = plain(old, where), plain(new, where)
        lost, gained = listed(minus(before, after)), listed(minus(after, before))
        if lost:
            self.say("fields", path, f"removed from {lost}, where it was untagged", new.line)
        if gained:
            self.say("fields", path, f"added to {gained}, where it was missing or tagged", new.line)
        if not lost and not gained and old.versions != new.versions:
            self.say("", path, f"versions {old.versions} became {new.versions}", new.line)
        self.content(old, new, path, old.versions & new.versions & where)

    def content(self, old: FieldDefinition, new: FieldDefinition, path: str, where: Versions) -> None:
        """Compare what a field holds in the versions `where` both have it: type, nulls, default and inner fields."""
        if not where:
            return
        if form(old) != form(new):
            self.say("type", path, f"{old.type} became {new.type} in {listed([where])}", new.line)
            return
        before, after = old.nullable & where, new.nullable & where
        for words, one, other in (("may now", after, before), ("may no longer", before, after)):
            versions = listed(minus([one], [other]))
            if versions:
                self.say("null", path, f"{words} be null in {versions}", new.line)
        # In which versions each is in the compact form of a flexible message.
        forms = [(ALL_VERSIONS if each.flexible is None else each.flexible) & self.old.flexible for each in (old, new)]
        compact = listed(difference(forms[0] & where, forms[1] & where))
        if compact:
            self.say("flexible", path, f"its own flexibleVersions now differ for {compact}", new.line)
        if default(old) != default(new):
            text = f"default {default(old)} became {default(new)}: an omitted field has another meaning"
            self.say("", path, text, new.line)
        if old.struct is not None and new.struct is not None:
            self.structure(old.struct, new.struct, f"{path}.", where)

    def order(
        self, before: dict[str, FieldDefinition], after: dict[str, FieldDefinition], path: str, where: Versions
    ) -> None:
        """Note the plain fields of both definitions that have changed places in a version that has them."""
        both = [name for name in before if name in after]
        ranges = {name: common(plain(before[name], where), plain(after[name], where)) for name in both}
        moved, versions = set[str](), list[Versions]()
        for one, other in swapped(ranges, [name for name in after if name in ranges]):
            moved |= {one, other}
            versions += common(ranges[one], ranges[other])
        if moved:
            was, now = ([name for name in names if name in moved] for names in (before, after))
            text = f"the order {', '.join(was)} became {', '.join(now)} in {listed(versions)}"
            self.say("order", path.removesuffix("."), text, after[now[0]].line)

    def tags(self, old: Fields, new: Fields, path: str, where: Versions) -> None:
        """Compare the tagged fields of a structure, or its optional ones: what each tag stands for."""
        before, after = ({field.tag: field for field in fields if field.tag is not None} for fields in (old, new))
        for tag, known in before.items():
            found = after.get(tag)
            if found is None:
                self.say("", f"{path}{known.name}", f"{tagged(known)} removed", known.line, gone=True)
            elif found.name != known.name:
                self.say("tag", f"{path}{found.name}", f"{tagged(found)} was that of {known.name}", found.line)
            elif known.optional:
                self.content(known, found, f"{path}{known.name}", known.versions & found.versions & where)
        for tag, found in after.items():
            if tag not in before:
                self.say("", f"{path}{found.name}", f"{tagged(found)} added", found.line)


def plain(field: FieldDefinition, where: Versions) -> list[Versions]:
    """Return the versions among `where` that have the field untagged."""
    return list((field.versions & where).without(field.tagged))


def swapped(ranges: Mapping[str, list[Versions]], names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names in one order in `ranges` and in the other in `names`, though some version has both.

    The versions are gone through by where ranges begin and end; of the names that are there, those side by side are
    looked at, which is enough to find one pair wherever there is any.
    """
    was, now = ({name: place for place, name in enumerate(order)} for order in (ranges, names))
    begins = [(versions.first, True, name) for name in ranges for versions in ranges[name]]
    ends = [(versions.last + 1, False, name) for name in ranges for versions in ranges[name]]
    there: list[str] = []
    for _, begun, name in sorted(begins + ends):
        place = bisect_left(there, now[name], key=now.__getitem__)
        if not begun:
            del there[place]
            continue
        there.insert(place, name)
        for one, other in pairwise(there[max(place - 1, 0) : place + 2]):
            if was[one] > was[other]:
                yield one, other


def renamed(old: Fields, new: Fields, where: Versions) -> dict[str, str]:
    """Return the names that plain fields have now, by those that they had."""
    follower = dict(zip(["", *(known.name for known in old)], old, strict=False))  # the first one follows ""
    kept = {found.name for found in new}
    names: dict[str, str] = {}
    before = ""  # the former name of the field in front
    for found in new:
        known = follower.get(before)
        if (
            known is not None
            and known.name not in kept
            and form(known) == form(found)
            and plain(known, where) == plain(found, where) != []
        ):
            names[known.name] = found.name
            before = known.name
        else:
            before = found.name
    return names


def form(field: FieldDefinition) -> tuple[bool, str]:
    """Return whether the field is an array, and of which primitive type it is; "" for a structure of any name."""
    return field.array, "" if field.struct is not None else field.item


def default(field: FieldDefinition) -> str:
    """Return the default as a text, escaped and cut where it is long; "none" where there is none."""
    return "none" if field.default is NO_DEFAULT else json.dumps(field.default, default=str)[:60]


def tagged(field: FieldDefinition) -> str:
    """Return `tag 3`, or `optional field 0x0003`, as the two formats write it."""
    return f"optional field 0x{field.tag:04x}" if field.optional else f"tag {field.tag}"


def history(definitions: Sequence[MessageDefinition]) -> list[DefinitionDiff]:
    """Compare each of the definitions, oldest first, with those before it.

    Returns the comparison of each pair of neighbours, in order; after them one for each pair farther apart that breaks
    a rule at a field where no pair of those between them breaks it, with these breaks alone.
    """
    steps = [compare(old, new) for old, new in pairwise(definitions)]
    told = {(place, place + 1): {(it.rule, it.path) for it in step.broken} for place, step in enumerate(steps)}
    farther: list[DefinitionDiff] = []
    for newest in range(2, len(definitions)):
        for oldest in range(newest - 2, -1, -1):
            found = compare(definitions[oldest], definitions[newest])
            between = {it for pair in told for it in told[pair] if oldest <= pair[0] and pair[1] <= newest}
            found.differences = [it for it in found.broken if (it.rule, it.path) not in between]
            told[oldest, newest] = {(it.rule, it.path) for it in found.differences}
            farther += [found] if found.differences else []
    return steps + farther
