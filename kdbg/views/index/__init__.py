"""An index of a capture: of each exchange what filters compare, and where its bytes are in the file.

A complete reading of a large capture writes it (recorded.py, writer.py) into the user's cache folder (cache.py); the
next one reads the exchanges that may match, and no others (reader.py, block.py). layout.py has the form of the file.
"""

from __future__ import annotations

import os

from ...capture.keylog import ENVIRONMENT
from ...exchanges.filters.filter_set import Filters

VARIABLE = "KDBG_NO_INDEX"
"""The variable of the environment with which no index is written or used."""
LEAST = 20_000_000
"""Bytes of a capture from which on it gets an index: smaller ones are read at once."""
OTHERS = frozenset({"port", "tls_keys", "pid"})
"""Filters with which a capture is read in another way than an index says."""


def narrows(filters: Filters) -> bool:
    """Return whether an index can leave out exchanges: an expression alone is asked of all of them."""
    return filters.but(where=None).asks


def is_large(size: int | None) -> bool:
    """Return whether a file of so many bytes, or of unknown size, may have an index.

    A reading of it ends with a block of packets, also where that has more than `--limit` exchanges: an index has what
    was counted at the end of each block.
    """
    return size is not None and size >= LEAST


def pays(filters: Filters) -> bool:
    """Return whether a large file is read with its index, if it has one."""
    if filters.timed or filters.given.keys() & OTHERS:
        return False
    return not (os.environ.get(VARIABLE) or os.environ.get(ENVIRONMENT))
