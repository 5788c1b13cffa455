"""A client writes a request wrong."""

from __future__ import annotations

from ..case import Rule
from ..malformed import malformed

rule: Rule = malformed(
    "request",
    "a request that the client writes wrong",
    "client {client_id} sends malformed {api} v{version} requests to {broker}, {times}: {mistake}",
)
