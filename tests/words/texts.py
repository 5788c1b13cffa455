"""A text as its source code has it: literal parts and placeholders, and how it reads when it is filled."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a text is for: limits and punctuation depend on it."""

    COMMAND = "command help"
    SUMMARY = "one-line help"
    OPTION = "option help"
    FINDING = "finding sentence"
    EXPLANATION = "kind explanation"
    LINT = "lint"
    TITLE = "cause title"
    CAUSE = "cause sentence"
    ADVICE = "advice"
    ALTERNATIVE = "alternative"
    FACT = "fact of a cause"
    HEAD = "column head"
    ERROR = "error"
    MEANING = "meaning of a field"
    PAGE = "page"
    OTHER = "other"


class Hole(NamedTuple):
    """A placeholder: the name or expression, its format, and whether a function writes its number and noun."""

    name: str
    spec: str = ""
    conversion: str = ""
    written: bool = False


class Text(NamedTuple):
    """One text of one file."""

    file: str
    line: int
    kind: Kind
    parts: tuple[str | Hole, ...]

    @property
    def template(self) -> str:
        """The text with its placeholders in braces."""
        return "".join(part if isinstance(part, str) else f"{{{part.name}}}" for part in self.parts)

    @property
    def literal(self) -> str:
        """The text with every placeholder as one sign that is no letter."""
        return "".join(part if isinstance(part, str) else "\N{WHITE SQUARE}" for part in self.parts)

    def filled(self, number: int = 2) -> str:
        """Return the text with this number in every placeholder of a number, and samples in the others."""
        parts, texts = [], [*self.parts, ""]
        for part, after in zip(self.parts, texts[1:], strict=True):
            parts.append(
                part if isinstance(part, str) else _filled(part, after if isinstance(after, str) else "", number)
            )
        return "".join(parts)


NUMBERS = 1, 2, 1_234_567
_PLURALS = (
    "APIs attempts batches blocks brokers bytes captures cases causes checks chunks clients clusters codes "
    "columns commits conns connections consumers directories directions entries epochs errors exchanges "
    "exports fields files findings fragments frames groups headers heartbeats hours integers intervals items "
    "keys lines logins members messages milliseconds minutes nodes offsets packets partitions payloads pieces "
    "positions processes producers programs rebalances records redeliveries rejoins rejections replicas "
    "requests responses resumptions retransmissions retries rows runs samples schemas seconds segments "
    "sequences sessions spans structures tables tags tasks timeouts times topics transactions types values "
    "versions warnings writes "
)
COUNTED = _PLURALS.split()
"""Plurals that follow numbers."""
_NO_ADJECTIVE = (
    "a after all an and are as at before by during exceeds for from gave gets got has have in into is its like "
    "may must no not of on or out per than that the to until was were which while with within without"
)
_COUNTED = rf"(?:(?!(?:{'|'.join(_NO_ADJECTIVE.split())})\b)[a-z.-]*[a-rt-z] ){{0,2}}(?:{'|'.join(COUNTED)})\b"
BEFORE_NOUN = re.compile(rf" {_COUNTED}")
SINGULAR = re.compile(rf"(?<![\d.,#:/v-])\b1 {_COUNTED}")
UNGROUPED = re.compile(rf"\b1234567 {_COUNTED}")
NAMED = re.compile(
    r"(?:many|\w*name|api|sender|side|title|label|kind|noun|word|words|what|type|of|which|direction|whose|protocol|category"
    r"|topic|client_id|group|text|one|state|verb|escape\(.*|str\(.*|.*\.(?:name|text|title|what|client_id))$",
    re.IGNORECASE,
)
"""Placeholders of texts, which may stand before a plural: `{api} requests`."""
SAMPLES = {
    "client_id": "orders-app", "broker": "10.0.0.7:9092", "leader": "10.0.0.7:9092", "host": "10.0.0.21",
    "topic": "orders", "group": "billing", "user": "alice", "principal": "alice", "partition": "3",
    "listener": "kafka-1:9092", "times": "2 times", "api": "Produce", "version": "9", "node_id": "1",
    "rule": "", "software": "librdkafka 2.4", "sender": "client",
}  # fmt: skip
NOUN = re.compile(r"[a-z][a-z .-]{2,}$")
"""A format that is a noun: the number is written with it, `{count:request}`."""


def _filled(hole: Hole, after: str, number: int) -> str:
    if hole.conversion == "d":
        return "3.5 s"
    if hole.written or NOUN.match(hole.spec):
        return "2 things"
    if hole.name.isupper():
        return "1,000"  # a limit that is never 1
    if "," in hole.spec:
        return f"{number:,}"
    if BEFORE_NOUN.match(after) and not NAMED.match(hole.name):
        return str(number)
    return SAMPLES.get(hole.name, "a name")
