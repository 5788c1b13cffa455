"""A client writes a request wrong."""

from __future__ import annotations

from ..case import Rule
from ..malformed import malformed

rule: Rule = malformed(
    "request",
    "malformed request",
    "client {client_id} sends a malformed {api} v{version} request to broker {broker}, {times}: {mistake}",
)
