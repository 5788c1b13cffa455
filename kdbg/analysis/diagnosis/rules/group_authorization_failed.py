"""A principal may not use a consumer group."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "group-authorization-failed",
    "client not authorized for a group",
    "client {client_id} (user {principal}) is not authorized for group {group}: GROUP_AUTHORIZATION_FAILED, {times}",
    "Add an ACL for user {principal}: Read on group {group}.",
    "KIP-11",
    errors=(30,),  # GROUP_AUTHORIZATION_FAILED
    subject="group",
)
