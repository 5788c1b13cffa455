"""What clients call APIs beside Kafka's names: `ApiVersion`, `topic_metadata`, `fetch_response`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import api, plain

if TYPE_CHECKING:
    from ..wire import Api

OTHER_NAMES = {
    "apiversion": 18, "offset": 2, "groupcoordinator": 10, "consumermetadata": 10, "offsetsforleaderepoch": 23,
    "topicmetadata": 3,
}  # fmt: skip


def named(name: str) -> Api | None:
    """Return the API that a program calls so, by name or key; None where kdbg knows none."""
    from ...errors import UnknownApi

    key = OTHER_NAMES.get(plain(name.removesuffix("_response").removesuffix("_request")))
    try:
        return api(name.removesuffix("_response").removesuffix("_request") if key is None else key)
    except UnknownApi:
        return None
