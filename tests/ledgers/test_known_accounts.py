"""What ledgers hold of a few captures, and where the time of their exchanges went: as `accounts.json` here has it."""

from __future__ import annotations

from pathlib import Path

from kdbg.analysis.ledgers.latency import Timed
from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine

from ..cases import for_each
from ..diagnosis.books import STAGED, book
from ..diagnosis.golden import same
from .accounts import Accounts

GOLDEN = Path(__file__).parent / "accounts.json"
HELD = [
    "client-reads-late", "commit-after-leave", "commit-with-wrong-generation.cured", "fetch-too-small-for-one-message",
    "records-deleted-unread-java", "sasl-session-expired", "sequence-gap", "throttled-consumer-franz-go",
    "throttled-producer", "transaction-timed-out-java", "transactions-aborted-on-purpose", "unknown-topic-consumer",
    "wrong-checksum",
]  # fmt: skip
TIMED = [
    "broker-stood-still-java", "client-reads-late", "late-answer-taken-for-the-next", "metadata-behind-a-long-poll",
    "throttled-consumer-franz-go", "too-few-replicas.cured",
]  # fmt: skip


@for_each("name", HELD)
def test_ledgers_hold_what_they_held(name: str) -> None:
    same(GOLDEN, name, Accounts(book(STAGED / f"{name}.pcap.gz")).plain())


@for_each("name", TIMED)
def test_time_went_where_it_went(name: str) -> None:
    engine = Timed(Engine())
    with open_capture(STAGED / f"{name}.pcap.gz") as capture:
        found = [exchange.timing for chunk in engine.chunks(capture.blocks()) for exchange in chunk]
    same(GOLDEN, f"{name}, times", [[list(one.split), one.tcp and list(one.tcp)] for one in found if one is not None])
