"""A request's body as bytes, whatever words and forms it is written in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...exchanges.messages.guide_names import understood
from ...exchanges.messages.message import grammar_of
from ...exchanges.messages.rebuild import rebuild
from ...protocol.wire import Api
from ...protocol.wire.nodes import build


def body_bytes(api: Api, version: int, body: Mapping[str, Any]) -> bytes:
    """Return the bytes of a body by its grammar, or by that of the guide whose fields it has.

    `BuildError` names the field that does not fit.
    """
    if version in api.versions:
        grammar, body = understood(api, "request", version, body)
    else:
        grammar = grammar_of(api, version, "request")
    return build(grammar, rebuild(body))
