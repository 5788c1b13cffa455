"""What somebody names: an API, or a payload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import UnknownApi

if TYPE_CHECKING:
    from ...protocol.wire import Api
    from ...protocol.wire.language.payload import Payload


def api_or_payload(name: str) -> Api | Payload:
    """Return the API or payload of this name. Raise `UnknownApi`, with APIs of similar names, where there is none."""
    from ...protocol import grammars
    from ...protocol.grammars.payloads import known

    try:
        return grammars.api(name)
    except UnknownApi:
        found = known(name)
        if found is None:
            raise
        return found
