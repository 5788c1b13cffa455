"""What commands count alike: what was read and shown, findings by kind, the exit status; and the closing line of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ...exchanges.messages.exchange import Exchange
from ...protocol.findings import Finding, Kind
from ...protocol.findings.amounts import count
from . import UNDECODED

LOST = {"dropped": "dropped by the kernel", "unread": "not shown"}
"""What is said of packets that captures lack, by what `Capture.lost` calls them."""


class CountedFindings(NamedTuple):
    """How many findings there are of each kind, and the exit status."""

    kinds: Counter[str]
    status: int


class FindingCounts:
    """Counts findings by kind; `status` is the exit status so far.

    With `fails`, a finding that says that something could not be decoded makes it UNDECODED.
    """

    kinds: Counter[str]
    status: int

    def __init__(self, *, fails: bool = True) -> None:
        self.kinds, self.status, self._fails = Counter(), 0, fails

    def note(self, finding: Finding) -> None:
        """Count a finding."""
        self.kinds[finding.kind] += 1
        if finding.kind.is_error and self._fails and not self.status:
            self.status = UNDECODED

    def take(self, exchanges: Sequence[Exchange]) -> None:
        """Count what is odd in exchanges, read no further than for that."""
        for exchange in exchanges:
            for finding in findings_of(exchange):
                self.note(finding)

    def clear(self) -> CountedFindings:
        """Begin to count anew; return what was counted so far."""
        counted = CountedFindings(self.kinds, self.status)
        self.kinds, self.status = Counter(), 0
        return counted

    def add(self, counted: CountedFindings) -> None:
        """Add what was counted elsewhere, or before."""
        self.kinds.update(counted.kinds)
        self.status = self.status or counted.status


def findings_of(exchange: Exchange) -> Sequence[Finding]:
    """Return what is odd in an exchange; its messages are read no further than for that."""
    if exchange.is_sound(shallow=True) or (not exchange.findings and exchange.facts() is not None):
        return ()
    return exchange.all_findings(shallow=True)


def finding_parts(kinds: Counter[str]) -> list[str]:
    """Return the parts of a closing line on findings: requests without a response, then all others by their kinds."""
    others = +kinds
    unanswered = others.pop(Kind.NO_RESPONSE, 0)
    ordered = sorted(others.items(), key=lambda found: (-found[1], str(found[0])))
    listed = ", ".join(f"{kind} {many:,}" for kind, many in ordered)
    return [
        count(unanswered, "missing response"),
        count(others.total(), "finding") + (f" ({listed})" if listed else ""),
    ]


def closing_parts(
    counts: Counter[str], kinds: Counter[str], captures: int, more: Sequence[str] = (), selected: str = "shown"
) -> list[str]:
    """Return the parts of a closing line on what was read, `more` of other things than captures, shown and found.

    `selected` is the word for exchanges that the filters select.
    """
    read = ["packet", "line"] if counts["packets"] and counts["lines"] else ["line" if counts["lines"] else "packet"]
    parts = [count(counts[noun + "s"], noun) for noun in (*read, "connection", "exchange") if captures]
    parts += more
    if counts["shown"] < counts["exchanges"] + counts["pieces"]:
        parts.append(f"{counts['shown']:,} {selected}")
    parts += finding_parts(kinds)[not captures :]
    if counts["others"]:
        parts.append(f"{count(counts['others'], 'connection')} not decoded")
    return parts + [f"{count(counts[noun], 'packet')} {lost}" for noun, lost in LOST.items() if counts[noun]]
