"""Closing lines of commands: counts with their nouns, and the findings, which all commands count the same way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...exchanges.messages.exchange import Exchange
from ...protocol.findings import Finding, Kind
from ...protocol.findings.amounts import count


def findings_of(exchange: Exchange) -> Sequence[Finding]:
    """Return what is odd in an exchange; its messages are read no further than for that."""
    if exchange.is_sound(shallow=True) or (not exchange.findings and exchange.facts() is not None):
        return ()
    return exchange.all_findings(shallow=True)


def finding_parts(findings: Counter[str]) -> list[str]:
    """Return the parts of a closing line on findings: requests without a response, then all others by their kinds."""
    others = +findings
    unanswered = others.pop(Kind.NO_RESPONSE, 0)
    ordered = sorted(others.items(), key=lambda found: (-found[1], str(found[0])))
    listed = ", ".join(f"{kind} {many:,}" for kind, many in ordered)
    return [
        count(unanswered, "missing response"),
        count(others.total(), "finding") + (f" ({listed})" if listed else ""),
    ]
