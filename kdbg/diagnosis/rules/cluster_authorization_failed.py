"""A principal may not do what concerns the whole cluster."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "cluster-authorization-failed",
    "an operation on the cluster that a client may not do",
    "{client_id} (user {principal}) may not do this on the cluster: CLUSTER_AUTHORIZATION_FAILED, {times}",
    "Add an ACL for the principal on the cluster, such as IdempotentWrite, Create or Describe.",
    "KIP-11",
    errors=(31,),  # CLUSTER_AUTHORIZATION_FAILED
    subject="",
)
