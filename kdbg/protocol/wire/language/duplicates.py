"""What a structure refuses, as Kafka's message definitions do: one name or one tag for two fields of a version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .types import FieldRules

Placed = tuple[int, str, "FieldRules"]
"""A field: which one of its structure, from 1, its name, and what is said of it."""


def refuse_duplicates(fields: Sequence[tuple[str, FieldRules]]) -> None:
    """Raise `TypeError`, naming both, where two fields of a structure have one name or one tag in the same version."""
    names: dict[str, list[Placed]] = {}
    tags: dict[tuple[int, bool], list[Placed]] = {}
    for place, (name, rules) in enumerate(fields, 1):
        names.setdefault(name, []).append((place, name, rules))
        if rules.tag is not None:
            tags.setdefault((rules.tag, rules.optional), []).append((place, name, rules))
    for (place, name, rules), (other, _, others) in _meeting(names.values()):
        raise TypeError(f"fields {place} and {other} are both called {name!r}{_where(rules, others)}")
    for (_, name, rules), (_, other_name, others) in _meeting(tags.values()):
        raise TypeError(f"{name!r} and {other_name!r} both have tag {rules.tag}{_where(rules, others)}")


def _meeting(groups: Iterable[list[Placed]]) -> Iterable[tuple[Placed, Placed]]:
    """Return the pairs of fields that share a group and, in at least one version, are both there."""
    pairs = (pair for group in groups if len(group) > 1 for pair in combinations(group, 2))
    return ((one, other) for one, other in pairs if _meet(one[2], other[2]))


def _meet(one: FieldRules, other: FieldRules) -> bool:
    versions = max(one.first, other.first) <= min(one.last, other.last)
    releases = max(one.since_release, other.since_release) < min(one.before_release, other.before_release)
    forms = one.tag is None or other.tag is None or one.optional == other.optional
    return versions and releases and forms


def _where(one: FieldRules, other: FieldRules) -> str:
    first, last = max(one.first, other.first), min(one.last, other.last)
    if first == last:
        return f" in version {first}"
    return f" from version {first} on" if last >= 1 << 15 else f" in versions {first} to {last}"
