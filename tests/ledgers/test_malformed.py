"""How much a mistake in a message matters: by its side, what the peer did, how sure it is, and what else is wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kdbg.analysis.ledgers.evidence import Mark
from kdbg.analysis.ledgers.sessions import Mistakes
from kdbg.protocol.findings import Finding, Kind, Severity
from kdbg.protocol.findings.facts import MessageMistake

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


def mistake(
    side: Any = "request", sure: str = "certain", kind: str = "crc-range", path: str = "topics[3].name"
) -> Finding:
    return Finding(Kind.ENCODING_MISTAKE, side, path, facts=MessageMistake(kind, "Produce", 9, "1", "2", sure))


def exchange(answer: str) -> Any:
    """An exchange that was answered, rejected, or not answered."""
    request = SimpleNamespace(rejected=answer == "rejected")
    return SimpleNamespace(request=request, response=None if answer == "none" else object())


def severity(finding: Finding, answer: str = "answered", *beside: Finding) -> Severity:
    mistakes = Mistakes()
    mistakes.add(finding, Mark(4, 0, 0, 1), exchange(answer), [finding, *beside])
    (one,) = mistakes.by_kind.values()
    assert mistakes.exchanges == ({} if one.severity is NOTE else {4: finding.side})
    return one.severity


def test_how_much_a_mistake_matters() -> None:
    odd, ignored = Finding(Kind.INVALID_VALUE, "request"), Finding(Kind.TRAILING_BYTES, "request")
    elsewhere, records = Finding(Kind.INVALID_VALUE, "response"), Finding(Kind.CRC_MISMATCH, "response")
    small = Finding(Kind.UNKNOWN_TAG, "request")
    for finding, answer, beside, expected in (
        (mistake(), "none", [], ERROR), (mistake(), "rejected", [], ERROR), (mistake(), "answered", [], WARNING),
        (mistake(), "answered", [odd], WARNING), (mistake(), "answered", [ignored], NOTE),
        (mistake(), "answered", [odd, ignored], WARNING), (mistake(), "answered", [small], WARNING),
        (mistake(sure="guess"), "none", [], NOTE), (mistake(sure="guess"), "none", [odd], ERROR),
        (mistake(sure="guess"), "none", [elsewhere], NOTE), (mistake(sure="guess"), "none", [small], NOTE),
        (mistake(sure="guess"), "answered", [odd], NOTE), (mistake(sure="likely"), "none", [], ERROR),
        (mistake("response"), "none", [], WARNING), (mistake("response"), "rejected", [], WARNING),
        (mistake("response"), "answered", [records], NOTE), (mistake("response"), "answered", [elsewhere], WARNING),
        (mistake("response"), "answered", [Finding(Kind.MALFORMED_RECORD_SET, "response")], NOTE),
        (mistake("response"), "answered", [Finding(Kind.DECOMPRESSION_FAILED, "response")], NOTE),
        (mistake(), "answered", [Finding(Kind.CRC_MISMATCH, "request")], WARNING),
    ):  # fmt: skip
        assert severity(finding, answer, *beside) is expected, (finding, answer, beside)


def test_mistakes_of_one_kind_are_one() -> None:
    mistakes = Mistakes()
    first = mistake()
    for number, (finding, answer) in enumerate(
        ((first, "answered"), (mistake(path="topics[7].name"), "none"), (mistake(path="name"), "answered"),
         (mistake("response"), "answered"), (mistake(kind="zigzag"), "answered"),
         (Finding(Kind.CRC_MISMATCH, "request"), "none"), (mistake(), "answered")), 1
    ):  # fmt: skip
        mistakes.add(finding, Mark(number, 0, 0, 1), exchange(answer), [finding])
    one, *others = mistakes.by_kind.values()
    assert (one.finding, one.facts, one.seen.numbers, one.severity) == (first, first.facts, (1, 2, 7), ERROR)
    assert [(other.seen.count, other.severity) for other in others] == [(1, WARNING)] * 3
    assert mistakes.exchanges == {1: "request", 2: "request", 3: "request", 4: "response", 5: "request", 7: "request"}
    assert mistakes.by_kind.most == 256
