"""What clients call APIs beside Kafka's names: `ApiVersion`, `topic_metadata`, `fetch_response`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import UnknownApi
from . import api, plain

if TYPE_CHECKING:
    from ..wire import Api


def named(name: str) -> Api | None:
    """Return the API that a program calls so, by name or key; None where kdbg knows none."""
    try:
        return api("ApiVersions" if plain(name) == "apiversion" else name)
    except UnknownApi:
        return None
