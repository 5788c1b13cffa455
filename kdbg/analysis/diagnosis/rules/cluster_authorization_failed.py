"""A principal may not do what concerns the whole cluster."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "cluster-authorization-failed",
    "client not authorized for a cluster operation",
    (
        "client {client_id} (user {principal}) is not authorized for a cluster operation on broker "
        "{broker}: CLUSTER_AUTHORIZATION_FAILED, {times}"
    ),
    ("Add an ACL for user {principal} on the Cluster resource, for example IdempotentWrite, Create or Describe."),
    "KIP-11",
    errors=(31,),  # CLUSTER_AUTHORIZATION_FAILED
    subject="",
)
