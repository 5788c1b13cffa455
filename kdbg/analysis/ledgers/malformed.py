"""Messages that a program writes wrong: by what is wrong with them, with the exchanges that show it."""

from __future__ import annotations

from collections.abc import Sequence

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.mistakes import INDEX
from ...protocol.findings import Finding, Kind, Severity
from ...protocol.findings.facts import MessageMistake
from ...protocol.findings.quirks import Sure
from .evidence import Bounded, Mark, Occurrences

MOST, MOST_EXCHANGES = 256, 4096
OF_RECORDS = (Kind.CRC_MISMATCH, Kind.DECOMPRESSION_FAILED, Kind.MALFORMED_RECORD_SET)
ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
Key = tuple[str, str, int, str, str]
"""Side, API, version, kind of the mistake, path without indexes."""


class Malformed:
    """One mistake of a connection: `finding` is the first one.

    `severity` says whether the peer rejects such a message, misreads it, or ignores what is wrong.
    """

    __slots__ = ("facts", "finding", "seen", "severity")

    def __init__(self, finding: Finding, facts: MessageMistake) -> None:
        self.finding: Finding = finding
        self.facts: MessageMistake = facts
        self.seen: Occurrences = Occurrences()
        self.severity: Severity = Severity.NOTE


class Mistakes:
    """The mistakes in the messages of one connection."""

    def __init__(self) -> None:
        self.by_kind: Bounded[Key, Malformed] = Bounded(MOST)
        self.exchanges: dict[int, str] = {}
        """The numbers of exchanges that a mistake matters in, and the side of the message that has it."""

    def add(self, finding: Finding, mark: Mark, exchange: Exchange, findings: Sequence[Finding]) -> None:
        """Take a finding of an exchange, if it is a mistake; `findings` are all that the exchange has."""
        facts = finding.facts
        if finding.kind is not Kind.ENCODING_MISTAKE or not isinstance(facts, MessageMistake):
            return
        key = finding.side, facts.api, facts.version, facts.kind, INDEX.sub("[]", finding.path)
        found = self.by_kind.entry(key, lambda: Malformed(finding, facts))
        if found is not None:
            found.seen.add(mark)
            severity = _severity(finding, exchange, findings)
            found.severity = min(found.severity, severity, key=ORDER.index)
            if severity is not Severity.NOTE and len(self.exchanges) < MOST_EXCHANGES:
                self.exchanges.setdefault(mark.number, finding.side)


def _severity(finding: Finding, exchange: Exchange, findings: Sequence[Finding]) -> Severity:
    """Return how much a mistake matters: the peer rejects the message, reads fields wrong, or ignores what is wrong.

    A guess matters only where the message is not valid, whichever its mistake is. Records of a response are as they
    were written, and not the broker's.
    """
    facts, request = finding.facts, exchange.request
    guess = isinstance(facts, MessageMistake) and facts.sure == Sure.GUESS
    odd = [
        one
        for one in findings
        if one.side == finding.side and one.kind is not Kind.ENCODING_MISTAKE and one.kind.is_error
    ]
    if finding.side == "request" and (exchange.response is None or (request is not None and request.rejected)):
        return Severity.NOTE if guess and not odd else Severity.ERROR
    ignored = {Kind.TRAILING_BYTES} if finding.side == "request" else {Kind.TRAILING_BYTES, *OF_RECORDS}
    return Severity.NOTE if guess or (odd and all(one.kind in ignored for one in odd)) else Severity.WARNING
