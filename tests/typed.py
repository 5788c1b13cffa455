"""A program of somebody's own: each type that a checker should know of what it reads is asserted.

test_types.py has checkers see it, and so does mypy wherever it checks kdbg; nothing runs it.
"""

from __future__ import annotations

from typing import assert_type

import kdbg

for exchange in kdbg.read("a.pcap"):
    assert_type(exchange, kdbg.Exchange)
assert_type(kdbg.read("a.pcap", api="fetch"), kdbg.Reading[kdbg.Exchange])
assert_type(next(kdbg.read_log("0.log")), kdbg.LogEntry)
