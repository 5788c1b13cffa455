"""Why something does not work: causes, found in the ledgers of a conversation by rules, each with its evidence.

`diagnose(ledgers)` returns the cases that the rules find, the weightiest first. A rule is a file of its own in
`rules`: what it looks for, what makes it sure, its sentence, its advice. Nothing here opens files or prints.
"""

from .case import Case, Certainty, Evidence, Rule, Who
from .judge import diagnose

__all__ = ["Case", "Certainty", "Evidence", "Rule", "Who", "diagnose"]
