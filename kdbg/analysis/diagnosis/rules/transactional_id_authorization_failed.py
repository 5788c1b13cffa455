"""A principal may not use a transactional id."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "transactional-id-authorization-failed",
    "client not authorized for a transactional id",
    "client {client_id} (user {principal}) is not authorized for transactional id {transactional_id}: "
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED, {times}",
    "Add ACLs for user {principal} on transactional id {transactional_id}: Write and Describe.",
    "KIP-98",
    errors=(53,),  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    subject="transactional_id",
)
