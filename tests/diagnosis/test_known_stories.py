"""Stories and violations of a few captures in which all happens that they tell of: as `stories.json` has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kdbg.analysis.diagnosis import diagnose
from kdbg.analysis.diagnosis.lint import Linter, remark_object
from kdbg.analysis.diagnosis.stories import subjects, tell
from kdbg.analysis.diagnosis.stories.text import about, sentence
from kdbg.analysis.ledgers import Ledgers
from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine

from ..cases import for_each
from .books import CAPTURES, STAGED
from .golden import same

GOLDEN = Path(__file__).parent / "stories.json"
TOLD = [
    "bootstrap-of-the-wrong-cluster", "commit-after-leave", "commit-with-wrong-generation.cured", "everyday-kafkajs",
    "instance-id-twice-franz-go", "members-come-and-go-new-protocol", "old-coordinator-for-ever.cured",
    "poll-too-late-java", "sasl-mechanism-not-enabled-java", "sasl-session-expired", "sasl-wrong-password-franz-go",
    "sequence-gap", "throttled-producer", "too-many-connections", "topic-made-on-first-use",
    "topic-not-allowed-produce", "transaction-timed-out-java", "transaction-timeout-beyond-the-most-java.cured",
    "transactions-aborted-on-purpose",
]  # fmt: skip
LINTED = ["first-contact.pcap", "real-0.10.1.1.pcap", "controlled-shutdown.pcap", "transactions.pcap"]


def read(path: Path) -> tuple[Ledgers, Linter]:
    engine = Engine()
    ledgers = Ledgers(engine.names_then)
    linter = Linter(ledgers)
    with open_capture(path) as capture:
        for packets in capture.blocks():
            ledgers.packets(packets)
            exchanges = list(engine.receive_all(packets))
            ledgers.take(exchanges)
            linter.take(exchanges)
        exchanges = list(engine.close())
        ledgers.take(exchanges)
        linter.take(exchanges)
        ledgers.left_over(engine.findings)
    return ledgers, linter


def stories(book: Ledgers) -> Iterator[str]:
    cases = diagnose(book)
    for kind, subject in subjects(book):
        yield f"{kind} {subject.name}: {about(subject)}"
        for event in tell(book, kind, subject.name, cases) or ():
            who = ", ".join(f"{name} {value}" for name, value in event.who._asdict().items() if value is not None)
            yield f"  +{event.time - book.first_time} {sentence(event)} [{event.kind}; {who}; {event.exchanges}]"


@for_each("name", TOLD)
def test_stories_are_those_that_were_told(name: str) -> None:
    ledgers, linter = read(STAGED / f"{name}.pcap.gz")
    same(GOLDEN, name, {"stories": list(stories(ledgers)), "lint": list(map(remark_object, linter.remarks()))})


@pytest.mark.parametrize("name", LINTED)
def test_violations_are_those_that_were_found(name: str) -> None:
    same(GOLDEN, name, {"lint": list(map(remark_object, read(CAPTURES / name)[1].remarks()))})
