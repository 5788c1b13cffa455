"""Known quirks of peers in messages: what would be an error or a dialect of its own, told as what it is known to be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import InPayload, KnownQuirk
from ...protocol.findings.quirks import FALLBACK, QUIRKS, Sure, quirk_of, spare
from ...protocol.wire import Api

REFUSES = QUIRKS[FALLBACK].key
UNSUPPORTED_VERSION = (35).to_bytes(2, "big")


def left_over(api: Api, version: int, found: Finding, body: Any, data: bytes) -> Finding:
    """Return the finding for bytes left over behind the last field; as a quirk's, where they are known as one."""
    if found.start is None or len(data) - found.start != found.length:
        return found
    code = spare(found.side, api.key, version, body, data[found.start :])
    return found._replace(kind=Kind.KNOWN_QUIRK, facts=quirk_facts(code)) if code else found


def is_refusal(api: Api | None, response: bytes) -> bool:
    """Return whether a broker refuses a version of ApiVersions, in version 0: then the request was an ordinary try."""
    return api is not None and api.key == REFUSES and response[4:6] == UNSUPPORTED_VERSION


def with_certainty(
    findings: Sequence[Finding], header: Mapping[str, Any] | None, software: str, *, refused: bool
) -> tuple[Finding, ...]:
    """Return findings of a message with the senders of quirks as sure as the connection makes them.

    `software` is what its client says that it is. `refused`: the broker does not know the request's version either, and
    said so.
    """
    client_id = (header or {}).get("client_id") or ""
    return tuple(_with_certainty(one, software, client_id, refused) for one in findings)


def _with_certainty(finding: Finding, software: str, client_id: str, refused: bool) -> Finding:
    facts = finding.facts
    known = quirk_of(finding) if finding.side == "request" else None  # what a response holds may be of other clients
    if known is not None:
        now = quirk_facts(known.code, software, client_id)
        return finding._replace(facts=facts._replace(fault=now) if isinstance(facts, InPayload) else now)
    if refused and finding.kind is Kind.UNKNOWN_VERSION:
        return finding._replace(kind=Kind.KNOWN_QUIRK, facts=quirk_facts(FALLBACK))
    return finding


def quirk_facts(code: str, software: str = "", client_id: str = "") -> KnownQuirk:
    """Return the facts of a quirk on a connection whose client says that it is this software, and has this id."""
    senders = QUIRKS[code].senders
    if not senders:
        return KnownQuirk(code, (), Sure.CERTAIN)
    if software:
        return KnownQuirk(code, (software,), Sure.CERTAIN)
    named = [one.name for one in senders if one.client_id and re.search(one.client_id, client_id, re.IGNORECASE)]
    if len(named) == 1 or len(senders) == 1:
        return KnownQuirk(code, tuple(named) or (senders[0].name,), Sure.LIKELY)
    return KnownQuirk(code, tuple(one.name for one in senders), Sure.GUESS)
