"""Payloads: what stands inside the bytes of messages and of the records of internal topics, one file a family.

Beside the declarations, registry.py knows every payload by its name, holdings.py says which one a field of bytes may
be, topics.py which ones the records of a topic are; forwarded.py and telemetry.py read what is no layout of its own.
"""

from .holdings import assignment, subscription
from .registry import about, aliases, known, payload, payloads
from .topics import CONTROL, SPECIAL, TOPICS

__all__ = [
    "CONTROL", "SPECIAL", "TOPICS", "about", "aliases", "assignment", "known", "payload", "payloads", "subscription",
]  # fmt: skip
