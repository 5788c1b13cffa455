"""What each API adds to the ledgers: a function by API key, called with every exchange of it.

A reader takes (ledgers, session, mark, what was asked, what was told, the exchange); the bodies are {} where there is
no message, or none that can be read.
"""

from __future__ import annotations

from typing import Any

from . import flows, groups, metadata

READERS: dict[int, Any] = {**metadata.READERS, **flows.READERS, **groups.READERS}
"""API key → reader."""
COUNTERS: dict[int, Any] = flows.COUNTERS
