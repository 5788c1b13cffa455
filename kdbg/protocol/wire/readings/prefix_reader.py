"""Some fields of a body, straight from its bytes: it is read up to the last of them, and no further.

For the few words that a line says of a message: who a member is, how long a request may wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ..nodes import Node, WireStruct
from .compiled import message_reader

FrontReader = Callable[[bytes], Mapping[str, Any]]
"""Returns the fields of a sound message up to the last that is wanted, by their names."""


@cache
def front_reader(header: Node, body: WireStruct, names: tuple[str, ...]) -> FrontReader | None:
    """Return what reads these fields of a body after such a header; None where the body has none of them.

    Tagged fields follow all others, so the complete body is read for one.
    """
    wanted = [i for i, field in enumerate(body.fields) if field.name in names]
    tagged = any(field.name in names for field in (body.tags or {}).values())
    if not (wanted or tagged) or body.front:
        return None
    part = body if tagged else WireStruct(body.fields[: wanted[-1] + 1], None)
    read_both = message_reader(header, part, shallow=True)

    def read(data: bytes) -> Mapping[str, Any]:
        (_, fields), _ = read_both(data, 0)
        return fields  # type: ignore[no-any-return]

    return read
