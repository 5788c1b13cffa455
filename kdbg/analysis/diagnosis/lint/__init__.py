"""What clients and brokers do against the protocol, or against good practice: a registry, and what looks for it.

A `Linter` takes exchanges behind the ledgers, in the same order, and says at the end what it found, by party.
"""

from .linter import LINTS, Lint, Linter, Party, Remark, remark_object

__all__ = ["LINTS", "Lint", "Linter", "Party", "Remark", "remark_object"]
