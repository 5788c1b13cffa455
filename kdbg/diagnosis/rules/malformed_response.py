"""A broker writes a response wrong."""

from __future__ import annotations

from ..case import Rule
from ..malformed import malformed

rule: Rule = malformed(
    "response",
    "a response that the broker writes wrong",
    "broker {broker} sends malformed {api} v{version} responses to {client_id}, {times}: {mistake}",
)
