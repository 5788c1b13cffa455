"""Whether a definition kept the rules on compatible change over all its releases: `history(definitions)`.

Neighbours are compared, as `compare` does it. That is not enough: a tag may be given up in one release and stand for
something else in a later one, which breaks no rule between neighbours, yet peers of the first release read the new
field as the old one. So every release is held to all before it as well, and what only that shows is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .compatible import DefinitionDiff, compare
from .model import MessageDefinition

Break = tuple[str, str]
"""A rule, and the field that breaks it."""


def history(definitions: Sequence[MessageDefinition]) -> list[DefinitionDiff]:
    """Compare each of the definitions, oldest first, with those before it.

    Returns the comparison of each pair of neighbours, in order; behind them one for each pair farther apart that breaks
    a rule at a field where no pair of those between them breaks it, with these breaks alone.
    """
    steps = [compare(old, new) for old, new in pairwise(definitions)]
    told = {(place, place + 1): _breaks(step) for place, step in enumerate(steps)}
    farther: list[DefinitionDiff] = []
    for newest in range(2, len(definitions)):
        for oldest in range(newest - 2, -1, -1):
            found = compare(definitions[oldest], definitions[newest])
            between = set[Break]().union(*(told[pair] for pair in told if oldest <= pair[0] and pair[1] <= newest))
            found.differences = [it for it in found.broken if (it.rule, it.path) not in between]
            told[oldest, newest] = _breaks(found)
            farther += [found] if found.differences else []
    return steps + farther


def _breaks(found: DefinitionDiff) -> set[Break]:
    return {(it.rule, it.path) for it in found.broken}
