"""A broker writes a response wrong."""

from __future__ import annotations

from ..by_error import malformed
from ..case import Rule

rule: Rule = malformed(
    "response",
    "malformed response",
    "broker {broker} sends a malformed {api} v{version} response to client {client_id}, {times}: {mistake}",
)
