"""The names of topic ids, learnt from what is said: from metadata, and from the records of Kafka's own topics."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from uuid import UUID

from ...protocol.grammars.payloads import TOPICS
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS, Direction
from ...protocol.wire.nodes import contains
from ...protocol.wire.readings.codegen import UNREADABLE
from ...protocol.wire.readings.outline import learn, topic_names, topics_in
from ...protocol.wire.records import RecordsNode
from ..messages.exchange import Exchange
from ..messages.message import NO_HEADER, grammar_of, header_grammar

NAMES = tuple(name.encode() for name in TOPICS)
SEARCHED = 1 << 16
"""Bytes of a message up to which it is searched for topics; in a longer one it costs less to step over its records."""


class Learner:
    """Learns into `topics` what exchanges tell; `own` are the ids of Kafka's own topics that it knows."""

    def __init__(self, topics: dict[UUID, str]) -> None:
        self.topics = topics
        self.own: list[bytes] = [topic_id.bytes for topic_id, name in topics.items() if name in TOPICS]

    def learn_from(self, exchange: Exchange) -> None:
        """Add what an exchange tells; read only messages that may tell something."""
        if directions := self.directions(exchange):
            self._learn(exchange, directions)

    def directions(self, exchange: Exchange) -> Sequence[Direction]:
        """Return the directions of an exchange whose messages may tell something."""
        api = exchange.api
        if api is None:
            return ()
        telling, carrying, by_id = _directions(api, exchange.version)
        if not carrying:
            return telling
        for half in (exchange.request, exchange.response):  # a fetch session does not ask again for what it has
            if half is None:
                continue
            data = half.data  # whose records tell names if it names one of Kafka's own topics, or its id
            if len(data) > SEARCHED:
                found: list[str | bytes] = []
                with suppress(*UNREADABLE):  # of one that breaks, the topics in front of that place count
                    header = NO_HEADER if api.headerless else header_grammar(api, half.version, half.direction)
                    topics_in(header, grammar_of(api, half.version, half.direction))(data, found)
                own = any(topic in TOPICS or topic in self.own for topic in found)
            elif by_id:
                own = any(topic_id in data for topic_id in self.own)
            else:
                own = b"__" in data and any(name in data for name in NAMES)
            if own:
                return tuple(dict.fromkeys((*telling, *carrying)))
        return telling

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
        self.own += [topic_id.bytes for topic_id, name in new if name in TOPICS]


def tells_names(api: Api) -> bool:
    """Return whether messages of an API may tell the names of topic ids."""
    return bool(_directions(api, api.versions[-1])[0])


@lru_cache(maxsize=4096)
def _directions(api: Api, version: int) -> tuple[tuple[Direction, ...], tuple[Direction, ...], bool]:
    """Return the directions whose messages may tell names, those that carry records, and whether topics go by ids."""
    grammars = {each: grammar_of(api, version, each) for each in DIRECTIONS}
    telling = tuple(each for each, grammar in grammars.items() if topic_names(grammar) is not None)
    carrying = tuple(
        each for each, grammar in grammars.items() if contains(grammar, lambda node: isinstance(node, RecordsNode))
    )
    return telling, carrying, contains(grammars["request"], lambda node: node.kind == "topic_id")
