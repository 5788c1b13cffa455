"""A principal may not use a transactional id."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "transactional-id-authorization-failed",
    "a transactional id that a client may not use",
    "{client_id} (user {principal}) may not use transactional id {transactional_id}, {times}",
    "Add ACLs for the principal on transactional id {transactional_id}: Write and Describe.",
    "KIP-98",
    errors=(53,),  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    subject="transactional_id",
)
