"""What a client says that it is: name and version of its software, in ApiVersions since version 3 (KIP-511)."""

from __future__ import annotations

import re

from .exchange import CapturedMessage
from .message import read

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,63}")
"""What brokers take for the name of a client's software (KIP-511), as far as it is not endless."""


def software_of(request: CapturedMessage) -> tuple[str | None, str | None] | None:
    """Return name and version from a request of ApiVersions; None where it has none."""
    message = request.message()
    if message is None or "client_software_name" not in message.body:
        return None
    return message.body["client_software_name"], message.body.get("client_software_version")


def software_in(request: CapturedMessage) -> str:
    """Return the name of the software in a request of ApiVersions, "" for none; keep nothing of what is read."""
    if request.api is None:
        return ""
    name = read(request.api, request.version, "request", request.data, shallow=True).body.get("client_software_name")
    return name if isinstance(name, str) and NAME.fullmatch(name) else ""
