"""What the tests of all commands need to know of each; Adding.md names this file."""

from __future__ import annotations

from typing import NamedTuple


class Traits(NamedTuple):
    """How a command treats what it reads."""

    reads: bool = True
    """It reads bytes that others made, so its memory is bounded: it has --max-memory."""
    values: bool = False
    """It prints values of records, so it has --hide-values."""
    counts: bool = False
    """Its closing line counts findings: tests/cli/test_closing.py has a call of it."""
    shows: bool = True
    """It prints what is in a file, so tests/cli/test_secrets_anywhere.py looks for secrets in its output."""


NOTHING_READ = Traits(reads=False, shows=False)
LIVE = Traits(values=True, shows=False)
"""Commands of live traffic, and of a screen: other tests look for secrets there."""
TRAITS = {
    "decode": Traits(values=True, counts=True),
    "records": Traits(values=True, counts=True),
    "stats": Traits(counts=True),
    "browse": LIVE,
    "diff": Traits(values=True),
    "index": Traits(shows=False),
    "export": Traits(counts=True),
    "redact": Traits(counts=True),
    "diagnose": Traits(counts=True),
    "story": Traits(counts=True),
    "lint": Traits(counts=True),
    "readiness": Traits(counts=True),
    "watch": LIVE,
    "proxy": LIVE,
    "send": LIVE,
    "replay": LIVE,
    "mock": Traits(shows=False),
    "tls-keys": NOTHING_READ,
    "explain": Traits(values=True),
    "encode": NOTHING_READ,
    "grammar": NOTHING_READ,
    "errors": NOTHING_READ,
    "apis": NOTHING_READ,
    "coverage": NOTHING_READ,
    "wireshark": NOTHING_READ,
    "pipeline": Traits(shows=False),
    "tables": NOTHING_READ,
    "query": Traits(values=True),
    "report": Traits(),
    "guide": NOTHING_READ,
    "completion": NOTHING_READ,
}
