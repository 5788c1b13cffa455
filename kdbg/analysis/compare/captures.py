"""Two captures by meaning: the rows of a comparison, section by section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...protocol.wire.nodes import Node
from ..stats.sketch import Sketch
from .profile import Profile, Setting

PERCENTS = 50, 95, 99
MOST_DIFFERENT = 12
"""Different values beyond which a field is not a setting any more, unless the other capture has few."""


class ComparisonRow(NamedTuple):
    """One line of a comparison: what was counted in each capture, by value; None where a capture has nothing of it.

    In `answers` it is percentiles, in nanoseconds beyond the wait that was asked for. `node` is what the values of a
    field were read by. `same`: both captures have the same values, however often, or the same percentiles.
    """

    section: str
    api: str | None
    name: str
    a: Mapping[Any, int] | None
    b: Mapping[Any, int] | None
    node: Node | None = None

    @property
    def same(self) -> bool:
        if self.section == "answers":
            return self.a == self.b
        return (self.a or {}).keys() == (self.b or {}).keys()


def rows(a: Profile, b: Profile) -> Iterator[ComparisonRow]:
    """Yield the rows of all sections: clients, versions, settings, errors, and how late answers came."""
    yield from _clients(a, b)
    apis = _union(a.versions, b.versions)
    for api in apis:
        yield ComparisonRow("versions", api, api, a.versions.get(api), b.versions.get(api))
    for api, path in sorted(_union(a.settings, b.settings), key=lambda setting: apis.index(setting[0])):
        if api not in a.versions or api not in b.versions:
            continue  # that a capture lacks an API is said once
        one, other = a.settings.get((api, path)), b.settings.get((api, path))
        if _is_settled(one) or _is_settled(other):
            node = (one or other).node  # type: ignore[union-attr]
            yield ComparisonRow("settings", api, path, _counts(one), _counts(other), node)
    for api in _union(a.errors, b.errors):
        yield ComparisonRow("errors", api, api, a.errors.get(api), b.errors.get(api))
    for api in apis:
        if api in a.answers and api in b.answers:
            yield ComparisonRow("answers", api, api, _late(a.answers[api]), _late(b.answers[api]))


def _clients(a: Profile, b: Profile) -> Iterator[ComparisonRow]:
    """Yield a row for each client id, with the software that it says it is."""
    ours, theirs = _software(a), _software(b)
    for client_id in _union(ours, theirs):
        yield ComparisonRow("clients", None, client_id, ours.get(client_id), theirs.get(client_id))


def _software(profile: Profile) -> dict[str, dict[str, int]]:
    """Return client id by client id: software and version as one text, with how often it was told."""
    found: dict[str, dict[str, int]] = {}
    for (client_id, name, version), count in profile.clients.items():
        found.setdefault(client_id or "", {})[f"{name} {version}"] = count
    return found


def _late(answers: Sketch) -> dict[str, int]:
    """Return the percentiles that are shown, in nanoseconds."""
    return {f"p{percent}": answers.quantile(percent / 100) or 0 for percent in PERCENTS}


def _union(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> list[Any]:
    """Return the keys of both, those of the first in their order before the others."""
    return [*dict.fromkeys((*a, *b))]


def _is_settled(setting: Setting | None) -> bool:
    return setting is not None and not setting.more and len(setting.values) <= MOST_DIFFERENT


def _counts(setting: Setting | None) -> Mapping[Any, int] | None:
    return setting.values if setting is not None else None
