"""A client writes a request wrong."""

from __future__ import annotations

from ..by_error import malformed
from ..case import Rule

rule: Rule = malformed(
    "request",
    "malformed request",
    "client {client_id} sends a malformed {api} v{version} request to broker {broker}, {times}: {mistake}",
)
