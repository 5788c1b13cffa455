"""The client's own words in a recorded answer: names and ids that its request says otherwise than the recorded one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...protocol.wire.language.payload import OpenedPayload

ECHOED: Final = frozenset({
    "member_id", "group_id", "group_instance_id", "instance_id", "transactional_id", "v3_and_below_transactional_id",
    "key", "coordinator_keys", "group_ids", "groups", "groups_names",
})  # fmt: skip
"""Fields whose values a client chooses, or was given, and that answers repeat."""


def echoed(body: dict[str, Any], recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recorded answer with the words of a request in place of those that the recorded request had there."""
    words = dict(_pairs(recorded, asked))
    return _with(body, words) if words else body


def _pairs(recorded: Any, asked: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield what the recorded request says, and the one at hand in the same place, where they differ."""
    if isinstance(recorded, Mapping) and isinstance(asked, Mapping):
        for each in recorded.keys() & asked.keys():
            yield from _pairs(recorded[each], asked[each], each)
    elif isinstance(recorded, list) and isinstance(asked, list):
        for one, other in zip(recorded, asked, strict=False):
            yield from _pairs(one, other, name)
    elif name in ECHOED and isinstance(recorded, str) and isinstance(asked, str) and "" != recorded != asked != "":
        yield recorded, asked


def _with(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _with(inner, words) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with(inner, words) for inner in value]
    return words.get(value, value) if isinstance(value, str) and not isinstance(value, OpenedPayload) else value
