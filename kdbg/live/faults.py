"""Rules that say which exchanges something is done to, and what: `Produce topic=orders: error NOT_LEADER 3 times`.

A rule names APIs (`*` for all, as `--api` takes them), then filters by their names in `kdbg decode`, a colon, an action
(actions.py), and how often: `3 times`, `20%`, both in either order. What is done is told, so that a run can be repeated
with the same seed.
"""

from __future__ import annotations

import random
import re
import shlex
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from ..errors import InputError
from ..exchanges.engine.names import Learner, tells_names
from ..exchanges.engine.requests import read_header
from ..exchanges.filters.filter_set import Filters
from ..exchanges.filters.table import FILTERS
from ..exchanges.messages.exchange import CapturedMessage, Exchange, Known
from ..exchanges.messages.peers import Peers
from ..library import encode
from ..protocol.wire import Api
from ..protocol.wire.language import Direction
from .actions import ACTIONS, Action, Turn
from .effects import HangUp, Out, PendingRequest, Send, Wait
from .frames import SIZE

FORM = "use API: ACTION, as in 'Fetch: delay 500ms' or 'Produce topic=orders: drop response 3 times'"


class Applied(NamedTuple):
    """A fault that was done to an exchange."""

    time: int
    client: tuple[str, int]
    api: str
    correlation_id: int
    fault: str


class Rule:
    """One rule, parsed. Raise `InputError` for what is none."""

    text: str
    times: int | None = None
    chance: float = 1.0
    concerns: Callable[[Api | None], bool]
    """Whether the rule may concern an API."""

    def __init__(self, text: str) -> None:
        self.concerns = cache(self._concerns)
        self.text = text = " ".join(text.split())
        head, colon, tail = _divided(text)
        words = _words(tail, text)
        if not colon or not head.strip() or not words:
            raise InputError(f"fault {text!r}: invalid rule; {FORM}")
        kind = words.pop(0)
        if kind not in ACTIONS:
            raise InputError(f"fault {text!r}: unknown action {kind!r}; use one of {', '.join(ACTIONS)}")
        try:
            self.filters = _filters(_words(head, text))
            self.filters.checks()  # raises for what they do not know
            self.action: Action = ACTIONS[kind](words)
            self._how_often(words)
        except InputError as error:
            raise InputError(f"fault {text!r}: {error}") from None

    def _how_often(self, words: list[str]) -> None:
        while words:
            word = words.pop(0)
            if word.isdecimal() and words and words[0] in ("time", "times"):
                words.pop(0)
                self.times = int(word)
            elif re.fullmatch(r"\d+(\.\d+)?%", word):
                self.chance = float(word[:-1]) / 100
            else:
                raise InputError(f"invalid count {word!r}; use 3 times, or 20%")

    def _concerns(self, api: Api | None) -> bool:
        asked = self.filters.given.get("api")
        one = Exchange(NOWHERE, api, 0, 0, None)
        return all(check(one) for check in Filters(api=asked).checks()) if asked else True


NOWHERE = Peers(0, ("", 0), ("", 0))


def _divided(text: str) -> tuple[str, str, str]:
    """Return a rule's head and tail: the first colon that stands in no quotes divides them."""
    quote = ""
    for i, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == ":":
            return text[:i], ":", text[i + 1 :]
    return text, "", ""


def _words(text: str, rule: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"fault {rule!r}: {str(error).lower()}") from None


def _filters(words: list[str]) -> Filters:
    """Return the filters of a rule's head: APIs with commas between, then name=value."""
    given = dict[str, Any]()
    apis = [] if words[0] == "*" else [name for name in words[0].split(",") if name]
    if apis:
        given["api"] = apis
    for word in words[1:]:
        name, equals, value = word.partition("=")
        name = name.replace("-", "_")
        if not equals or name not in FILTERS or not FILTERS[name].asks:
            raise InputError(
                f'invalid filter {word!r}; use name=value, such as topic=orders or where="latency_ms > 10"'
            )
        given.setdefault(name, []).append(value)
    return Filters(**{name: value if name == "api" else _typed(name, value) for name, value in given.items()})


def _typed(name: str, values: list[str]) -> Any:
    """Return the values of a filter in the type that it takes."""
    form = FILTERS[name].form.name
    if form == "NUMBERS":
        return [int(value) if re.fullmatch(r"-?\d+", value) else value for value in values]
    return values if form in ("TEXTS", "RANGES") else values[-1]


class Faults:
    """The rules of a run. `tell` is told of each fault that is done; `seed` makes chances the same again."""

    seed: int

    def __init__(
        self, rules: Sequence[str], *, seed: int | None = None, tell: Callable[[Applied], None] = lambda applied: None
    ) -> None:
        self.rules = [Rule(text) for text in rules]
        self.seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
        self.topics = dict[UUID, str]()
        self._tell = tell
        self._random = random.Random(self.seed)
        self._left = [rule.times for rule in self.rules]
        self._checks = [rule.filters.checks(self.topics) for rule in self.rules]
        self._learner = Learner(self.topics)

    def concerns(self, api: Api | None) -> bool:
        """Return whether any rule that has anything left to do may concern an API, or the names of topics in it."""
        left = [rule for rule, left in zip(self.rules, self._left, strict=True) if left != 0]
        return any(rule.concerns(api) for rule in left) or (
            api is not None and any(rule.filters.given.keys() - {"api"} for rule in left) and tells_names(api)
        )

    def apply(self, turn: Turn) -> Turn:
        """Let each rule that fits do to a message what it does; return what becomes of it."""
        for i, rule in enumerate(self.rules):
            if self._left[i] == 0 or not self._is_for(rule.action, turn):
                continue
            if not all(check(turn.exchange) for check in self._checks[i]):
                continue
            if rule.chance < 1 and self._random.random() >= rule.chance:
                continue
            if not rule.action.apply(turn):
                continue
            if (left := self._left[i]) is not None:
                self._left[i] = left - 1
            self._report(turn, rule)
        return turn

    def learn(self, exchange: Exchange) -> None:
        """Learn the names of topic ids from an exchange."""
        self._learner.learn_from(exchange)

    @staticmethod
    def _is_for(action: Action, turn: Turn) -> bool:
        """Return whether an action is done to messages of this direction; an error is put in either, once."""
        return action.direction == turn.direction or (action.to_responses and turn.direction == "response")

    def _report(self, turn: Turn, rule: Rule) -> None:
        exchange = turn.exchange
        name = exchange.api.name if exchange.api is not None else ""
        self._tell(Applied(time.time_ns(), exchange.peers.client, name, exchange.correlation_id, rule.text))


class ExchangeView:
    """Makes exchanges of one connection's messages; `topics` are the names of topic ids that are known."""

    def __init__(self, peers: Callable[[], Peers], topics: dict[UUID, str]) -> None:
        self._peers = peers
        self._known = Known.nothing(topics)

    def exchange(self, asked: PendingRequest, direction: Direction, data: bytes) -> Exchange | None:
        """Return the exchange of a message, without its size; None for one that cannot be read, or whose request was
        not held."""
        if asked.data is None:
            return None
        header = read_header(asked.data, 0, len(asked.data))[1]
        if header is None:
            return None
        exchange = Exchange(self._peers(), header.api, header.version, header.correlation_id, header.client_id)
        exchange.answered = asked.answered
        exchange.request = self._half(asked.data, "request", exchange)
        if direction == "response":
            exchange.response = self._half(data, "response", exchange)
            exchange.response.asked = exchange.request
        return exchange

    def _half(self, data: bytes, direction: Direction, exchange: Exchange) -> CapturedMessage:
        now = time.time_ns()
        half = CapturedMessage(data, (now, now), (0, 0), direction)
        half.api, half.version, half.known = exchange.api, exchange.version, self._known
        return half


class Meddling:
    """The faults of one connection, as its relay asks for them."""

    def __init__(self, faults: Faults, peers: Callable[[], Peers]) -> None:
        self._faults = faults
        self._rate: float | None = None
        self._seen = ExchangeView(peers, faults.topics)

    def concerns(self, api: Api | None) -> bool:
        """Return whether any fault may concern an API; its messages are held whole then."""
        return self._faults.concerns(api)

    def request(self, asked: PendingRequest, to_broker: Out) -> bool:
        """Put what becomes of a request into the queue; return whether an answer to it may still be passed on."""
        assert asked.data is not None
        turn = self._turn(asked, "request", asked.data)
        if turn is None:
            self._send(to_broker, asked.data)
            return True
        self._faults.apply(turn)
        self._rate = turn.rate or self._rate
        if turn.refused is not None and turn.exchange.api is not None:
            frame = encode(turn.refused, api=turn.exchange.api.key, version=turn.exchange.version,
                           direction="response", header={"correlation_id": turn.exchange.correlation_id})  # fmt: skip
            asked.answer = SIZE.pack(len(frame)) + frame
            return True
        if turn.seconds:
            to_broker.append(Wait(turn.seconds))
        if not turn.dropped:
            asked.data = turn.data
            self._send(to_broker, turn.data)
        if turn.hang_up:
            to_broker.append(HangUp())
        return not turn.dropped

    def response(self, asked: PendingRequest | None, frame: bytes, to_client: Out) -> bytes | None:
        """Put what becomes of a response into the queue; return the frame to pass on, None for none, now or later."""
        turn = self._turn(asked, "response", frame[4:]) if asked is not None else None
        if turn is None:
            return frame
        self._faults.apply(turn)
        if turn.seconds:
            to_client.append(Wait(turn.seconds))
        if turn.hang_up:
            to_client.append(HangUp())
        if turn.dropped:
            return None
        if self._rate:
            to_client.append(Wait(len(turn.data) / self._rate))
        return SIZE.pack(len(turn.data)) + turn.data

    def _send(self, out: Out, data: bytes) -> None:
        """Put a message into a queue, as slow as the connection is."""
        if self._rate:
            out.append(Wait(len(data) / self._rate))
        frame = SIZE.pack(len(data)) + data
        out.append(Send(frame, frame))

    def _turn(self, asked: PendingRequest, direction: Direction, data: bytes) -> Turn | None:
        """Return the turn of a message; None for one that cannot be read, or whose request was not held."""
        exchange = self._seen.exchange(asked, direction, data)
        if exchange is None:
            return None
        if direction == "response":
            self._faults.learn(exchange)
        return Turn(exchange, direction, data)
