"""The names of topic ids, learnt from what is said: from metadata, and from the records of Kafka's own topics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from uuid import UUID

from ..grammars.payloads import TOPICS
from ..messages.exchange import Exchange
from ..messages.message import grammar_of
from ..wire import Api
from ..wire.language.api import DIRECTIONS, Direction
from ..wire.nodes.children import contains
from ..wire.readings.topic_names import learn, topic_names
from ..wire.records.node import RecordsNode

NAMES = tuple(name.encode() for name in TOPICS)
BEGINNING = 1 << 12
"""Bytes of a message in which its topics are looked for: most have one, in front of its records."""


class Learner:
    """Learns into `topics` what exchanges tell."""

    def __init__(self, topics: dict[UUID, str]) -> None:
        self.topics = topics
        self._own = [topic_id.bytes for topic_id, name in topics.items() if name in TOPICS]

    def learn_from(self, exchange: Exchange) -> None:
        """Add what an exchange tells; read only messages that may tell something."""
        api = exchange.api
        if api is None:
            return
        telling, carrying, by_id = _directions(api, exchange.version)
        if telling:
            self._learn(exchange, telling)
        if not carrying:
            return
        for half in (exchange.request, exchange.response):  # a fetch session does not ask again for what it has
            if half is not None and self._names_own_topic(half.data, by_id):
                self._learn(exchange, carrying)
                break

    def _learn(self, exchange: Exchange, directions: Sequence[Direction]) -> None:
        """Learn what messages tell, and the payloads in them."""
        before = len(self.topics)
        for direction in directions:
            half = exchange.request if direction == "request" else exchange.response
            message = half.message() if half is not None else None
            if message is not None:
                learn(message.grammar, message.body, self.topics)
                for payload in message.payloads:
                    learn(payload.grammar, payload.value, self.topics)
        new = islice(self.topics.items(), before, None)
        self._own += [topic_id.bytes for topic_id, name in new if name in TOPICS]

    def _names_own_topic(self, data: bytes, by_id: bool) -> bool:
        """Return whether a message names one of Kafka's own topics, whose records tell names, or its id."""
        if by_id:
            return any(data.find(topic_id, 0, BEGINNING) >= 0 for topic_id in self._own)
        return data.find(b"__", 0, BEGINNING) >= 0 and any(data.find(name, 0, BEGINNING) >= 0 for name in NAMES)


@lru_cache(maxsize=4096)
def _directions(api: Api, version: int) -> tuple[tuple[Direction, ...], tuple[Direction, ...], bool]:
    """Return the directions whose messages may tell names, those that carry records, and whether topics go by ids."""
    grammars = {each: grammar_of(api, version, each) for each in DIRECTIONS}
    telling = tuple(each for each, grammar in grammars.items() if topic_names(grammar) is not None)
    carrying = tuple(
        each for each, grammar in grammars.items() if contains(grammar, lambda node: isinstance(node, RecordsNode))
    )
    return telling, carrying, contains(grammars["request"], lambda node: node.kind == "topic_id")
