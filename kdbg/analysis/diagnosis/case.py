"""What a rule is, and what it finds: a cause as data, from which the sentences are made last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from ...protocol.findings import Severity
from ..ledgers import Ledgers
from .trials import CERTAINTIES, Certainty, certainty

NO_FACTS: Mapping[str, Any] = {}
Milestone = Literal[
    "connection", "TLS", "API versions", "authentication", "metadata", "coordinator", "group membership",
    "partition assignment", "position", "records", "commits", "transactions",
]  # fmt: skip
MILESTONES: tuple[Milestone, ...] = get_args(Milestone)
"""What a client reaches one after another, in this order."""


class Who(NamedTuple):
    """Whom it is about; None for what does not matter or is not known. Ends are `address:port`."""

    client_id: str | None = None
    host: str | None = None
    broker: str | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    user: str | None = None
    transactional_id: str | None = None
    listener: str | None = None
    """The address that a broker was said to have."""
    cluster_id: str | None = None


class Evidence(NamedTuple):
    """Where to look: exchanges by number, packets by number, the fields that tell."""

    exchanges: tuple[int, ...] = ()
    packets: tuple[int, ...] = ()
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One cause that a rule found.

    `since` and `until` are nanoseconds since the epoch, `count` how often it was seen. `facts` fill the rule's
    sentence and advice. `weight` orders cases of one severity: how much harm it does, 1 by default. `because` is the
    code of the cause that this is an after-effect of, "" for none. `rivals` are other explanations of what was seen.
    """

    rule: Rule
    who: Who
    since: int
    until: int
    count: int
    evidence: Evidence
    facts: Mapping[str, Any] = field(default_factory=dict)
    certainty: Certainty = "certain"
    weight: float = 1.0
    severity: Severity = Severity.ERROR
    because: str = ""
    before: Milestone | None = None
    rivals: tuple[Case, ...] = ()

    @property
    def milestone(self) -> Milestone:
        """The milestone that is not reached, or not kept: `before`, unless that is None the rule's."""
        return self.before or self.rule.milestone

    @property
    def code(self) -> str:
        """The code of the cause."""
        return self.rule.code


Find = Callable[[Ledgers], Iterator[Case]]


class Rule(NamedTuple):
    """How one cause is found, and told: why clients do not get past a milestone.

    `sentence` and `advice` are templates, filled with a case's facts and with who it is about. `document` is where to
    read on. `alternatives` say what else it might be. `explains` are codes of causes that follow from this one: found
    beside it, they are after-effects. A `fallback` gives no reason: it is omitted where another rule has its evidence.
    """

    code: str
    milestone: Milestone
    title: str
    sentence: str
    advice: str
    document: str
    find: Find
    alternatives: tuple[str, ...] = ()
    explains: frozenset[str] = frozenset()
    severity: Severity = Severity.ERROR
    fallback: bool = False

    def case(
        self, who: Who, since: int, until: int, count: int, evidence: Evidence, facts: Mapping[str, Any] = NO_FACTS,
        **more: Any,
    ) -> Case:  # fmt: skip
        """Return a case of this rule; of its severity, unless another is given, and as certain as trials allow."""
        sure = certainty(self.code, more.pop("certainty", CERTAINTIES[0]))
        return Case(self, who, since, until, count, evidence, facts, sure, **{"severity": self.severity, **more})


def rule(
    code: str,
    milestone: Milestone,
    title: str,
    sentence: str,
    advice: str,
    document: str,
    alternatives: tuple[str, ...] = (),
    explains: Set[str] = frozenset(),
    *,
    severity: Severity = Severity.ERROR,
    fallback: bool = False,
) -> Callable[[Find], Rule]:
    """Return a decorator that makes a rule of the function that finds its cases."""
    return lambda find: Rule(
        code, milestone, title, sentence, advice, document, find, alternatives, frozenset(explains), severity, fallback
    )
