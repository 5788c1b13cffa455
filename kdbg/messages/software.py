"""What a client says that it is: name and version of its software, in ApiVersions since version 3 (KIP-511)."""

from __future__ import annotations

from .exchange import CapturedMessage


def software_of(request: CapturedMessage) -> tuple[str | None, str | None] | None:
    """Return name and version from a request of ApiVersions; None where it has none."""
    message = request.message()
    if message is None or "client_software_name" not in message.body:
        return None
    return message.body["client_software_name"], message.body.get("client_software_version")
