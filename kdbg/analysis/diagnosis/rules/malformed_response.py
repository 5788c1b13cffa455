"""A broker writes a response wrong."""

from __future__ import annotations

from ..case import Rule
from ..malformed import malformed

rule: Rule = malformed(
    "response",
    "malformed response",
    "broker {broker} sends a malformed {api} v{version} response to client {client_id}, {times}: {mistake}",
)
