"""What is worth saying of an error that came out of Spark: one line, where Java and Python say pages."""

from __future__ import annotations

import re

from ...errors import SparkError

OURS = "kdbg.errors."
CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .*")
"""Spark's own message, wherever in a report of Java's it stands."""
STATE = re.compile(r"\.? SQLSTATE: \w+")
ERROR_LINE = re.compile(r"[\w.]+(?:Error|Exception|Interrupt)\b.*")


def failure(error: Exception) -> SparkError:
    """Return kdbg's own error in a task if there is one, else Spark's, else the first line that names an error.

    py4j's errors, Spark's and gRPC's have nothing in common but their text.
    """
    lines = [text for line in str(error).splitlines() if (text := line.strip(": "))]
    ours = [line for line in lines if line.startswith(OURS)]
    if ours:
        return SparkError(ours[-1].partition(": ")[2])
    condition = CONDITION.search(str(error))
    if condition is not None:
        return SparkError(STATE.sub("", condition.group()).rstrip(";"))
    named = next((line for line in lines if ERROR_LINE.match(line)), lines[0] if lines else type(error).__name__)
    return SparkError(named)
