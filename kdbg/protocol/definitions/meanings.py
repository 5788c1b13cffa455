"""What a field's value stands for, as far as its definition tells: an error code, a duration, a secret.

Where kdbg has a grammar of the API itself, a field that stands there as well, at the same place and of the same type,
means what it means there. For the others it goes by `entityType` and by the names that Kafka gives its fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..wire import (
    ApiKey,
    Array,
    Classic,
    Duration,
    Duration64,
    ErrorCode,
    GroupId,
    Partition,
    Secret,
    Struct,
    Timestamp,
    TopicId,
    TopicName,
)
from ..wire.language.types import Text, rules_of
from ..wire.nodes import join

ENTITIES = {"topicName": TopicName, "groupId": GroupId}
NAMES = {
    "int16": ((r"(.*_)?error_code", ErrorCode), (r"api_key", ApiKey)),
    "int32": ((r"partition(_id|_index)?|partitions|partition_(ids|indexes)", Partition), (r".*_ms", Duration)),
    "int64": ((r".*timestamp(_ms)?|.*(append|start)_time_ms", Timestamp), (r".*_ms", Duration64)),
    "uuid": ((r"topic_ids?", TopicId),),
}
"""Type by type: which names mean what; the first that fits."""
SECRET = re.compile(
    r"(.*_)?(password|passphrase|secret|hmac|salt|token|credentials?|private_key|jaas_config|auth_bytes)"
)
"""Names of strings and bytes that are hidden whatever the API."""
Known = Mapping[str, Any]
"""Path -> type of every field that a grammar of kdbg's own has."""
NOTHING: Known = {}


def known(struct: Struct, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, type) of the fields that hold values themselves, in all versions of a declaration."""
    for field in struct.declared:
        here, (_, of) = join(path, field.name or ""), rules_of(field)
        while isinstance(of, (Array, Classic)):
            of = of.of
        if isinstance(of, Struct):
            yield from known(of, here)
        else:
            yield here, of


def meant(wire: Any, item: str, path: str, entity: str, own: Known) -> Any:
    """Return a primitive type with its meaning: that of kdbg's own field, a secret's, its entity's or its name's.

    `item` is the type's name in the definition, `path` the field's in snake_case.
    """
    same = own.get(path)
    if same is not None and _alike(same, wire):
        return same
    name = path.rpartition(".")[2]
    if isinstance(wire, Text) and (SECRET.fullmatch(name) or name in _secret_names(own)):
        return Secret(wire)
    if entity in ENTITIES:
        return ENTITIES[entity]
    return next((of for pattern, of in NAMES.get(item, ()) if re.fullmatch(pattern, name)), wire)


def _alike(one: Any, other: Any) -> bool:
    """Return whether two types are the same on the wire."""
    return type(one) is type(other) and getattr(one, "bnf", "") == getattr(other, "bnf", "")


def _secret_names(own: Known) -> set[str]:
    """Return the names of fields that kdbg's own grammar has as secrets: they are secret anywhere in the API."""
    return {path.rpartition(".")[2] for path, of in own.items() if isinstance(of, Text) and of.kind == "secret"}
