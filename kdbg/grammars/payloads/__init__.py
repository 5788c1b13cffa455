"""Payloads: what stands inside the bytes of messages and of the records of internal topics, one file a family.

Three files are no declarations: registry.py knows every payload by its name, holdings.py says which one a field of
bytes may be, topics.py which ones the records of a topic are.
"""

from .holdings import assignment, assignment_data, connect_allocation, subscription, subscription_data
from .registry import about, payload, payloads
from .topics import CONTROL, TOPICS

__all__ = [
    "CONTROL",
    "TOPICS",
    "about",
    "assignment",
    "assignment_data",
    "connect_allocation",
    "payload",
    "payloads",
    "subscription",
    "subscription_data",
]
