"""A principal may not use a topic."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "topic-authorization-failed",
    "client not authorized for a topic",
    "client {client_id} (user {principal}) is not authorized for topic {topic}: TOPIC_AUTHORIZATION_FAILED, {times}",
    ("Add an ACL for user {principal} on topic {topic}: Read to consume, Write to produce, Describe for metadata."),
    "KIP-11",
    errors=(29,),  # TOPIC_AUTHORIZATION_FAILED
)
