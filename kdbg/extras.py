"""What of kdbg is optional: the name of an extra goes in, the command that installs it comes out."""

from __future__ import annotations

DISTRIBUTION = "kdbg-kafka"
"""The name to install by. The index's `kdbg` is another project; the import and the command are `kdbg` all the same."""


def install(extra: str) -> str:
    """Return the command that adds an extra, from the index and from a checkout."""
    return f"pip install '{DISTRIBUTION}[{extra}]' (in a checkout: pip install '.[{extra}]')"
