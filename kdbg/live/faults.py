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
from ..exchanges.messages.exchange import CapturedMessage, Exchange
from ..exchanges.messages.known import Known
from ..exchanges.messages.peers import Peers
from ..library import encode
from ..protocol.wire import Api
from ..protocol.wire.language import Direction
from .actions import ACTIONS, Turn, take_action
from .frames import SIZE, HangUp, Out, PendingRequest, Send, Wait

FORM = "use API: ACTION, as in 'Fetch: delay 500ms' or 'Produce topic=orders: drop response 3 times'"
HEAD = re.compile(r"""((?:[^:'"]|'[^']*'|"[^"]*")*):(.*)""")
"""A rule's head and tail: the first colon that stands in no quotes divides them."""


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
        divided = HEAD.fullmatch(text)
        head, tail = divided.groups() if divided is not None else ("", "")
        words = _words(tail, text)
        if not head.strip() or not words:
            raise InputError(f"fault {text!r}: invalid rule; {FORM}")
        kind = words.pop(0)
        if kind not in ACTIONS:
            raise InputError(f"fault {text!r}: unknown action {kind!r}; use one of {', '.join(ACTIONS)}")
        try:
            self.filters = _filters(_words(head, text))
            self.filters.checks()  # raises for what they do not know
            self.action = take_action(kind, words)
            while words:
                word = words.pop(0)
                if word.isdecimal() and words and words[0] in ("time", "times"):
                    words.pop(0)
                    self.times = int(word)
                elif re.fullmatch(r"\d+(\.\d+)?%", word):
                    self.chance = float(word[:-1]) / 100
                else:
                    raise InputError(f"invalid count {word!r}; use 3 times, or 20%")
        except InputError as error:
            raise InputError(f"fault {text!r}: {error}") from None

    def _concerns(self, api: Api | None) -> bool:
        asked = self.filters.given.get("api")
        one = Exchange(Peers(0, ("", 0), ("", 0)), api, 0, 0, None)
        return all(check(one) for check in Filters(api=asked).checks()) if asked else True


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
    for name, values in given.items():  # each in the type that the filter takes
        form = FILTERS[name].form.name
        if name != "api" and form == "NUMBERS":
            given[name] = [int(value) if re.fullmatch(r"-?\d+", value) else value for value in values]
        elif name != "api" and form not in ("TEXTS", "RANGES"):
            given[name] = values[-1]
    return Filters(**given)


class Faults:
    """The rules of a run. `tell` is told of each fault that is done; `seed` makes chances the same again."""

    def __init__(
        self, rules: Sequence[str], *, seed: int | None = None, tell: Callable[[Applied], None] = lambda applied: None
    ) -> None:
        self.rules = [Rule(text) for text in rules]
        self.seed: int = random.SystemRandom().randrange(1 << 32) if seed is None else seed
        self.topics = dict[UUID, str]()
        self._tell = tell
        self._random = random.Random(self.seed)
        self._left = [rule.times for rule in self.rules]
        self._checks = [rule.filters.checks(self.topics) for rule in self.rules]
        self.learner = Learner(self.topics)

    def concerns(self, api: Api | None) -> bool:
        """Return whether any rule that has anything left to do may concern an API, or the names of topics in it."""
        left = [rule for rule, left in zip(self.rules, self._left, strict=True) if left != 0]
        return any(rule.concerns(api) for rule in left) or (
            api is not None and any(rule.filters.given.keys() - {"api"} for rule in left) and tells_names(api)
        )

    def apply(self, turn: Turn) -> Turn:
        """Let each rule that fits do to a message what it does; return what becomes of it."""
        for i, rule in enumerate(self.rules):
            action = rule.action  # an error is put in messages of either direction, once
            if action.direction != turn.direction and not (action.to_responses and turn.direction == "response"):
                continue
            if self._left[i] == 0:
                continue
            if not all(check(turn.exchange) for check in self._checks[i]):
                continue
            if rule.chance < 1 and self._random.random() >= rule.chance:
                continue
            if not action.apply(turn):
                continue
            if (left := self._left[i]) is not None:
                self._left[i] = left - 1
            name = turn.exchange.api.name if turn.exchange.api is not None else ""
            client, number = turn.exchange.peers.client, turn.exchange.correlation_id
            self._tell(Applied(time.time_ns(), client, name, number, rule.text))
        return turn


def exchange_of(
    asked: PendingRequest, direction: Direction, data: bytes, peers: Peers, known: Known
) -> Exchange | None:
    """Return the exchange of a message, without its size; None for one that cannot be read, or whose request was not
    held."""
    header = read_header(asked.data, 0, len(asked.data))[1] if asked.data is not None else None
    if asked.data is None or header is None:
        return None
    exchange = Exchange(peers, header.api, header.version, header.correlation_id, header.client_id)
    exchange.answered = asked.answered

    def half(data: bytes, direction: Direction) -> CapturedMessage:
        now = time.time_ns()
        found = CapturedMessage(data, (now, now), (0, 0), direction)
        found.api, found.version, found.known = exchange.api, exchange.version, known
        return found

    exchange.request = half(asked.data, "request")
    if direction == "response":
        exchange.response = half(data, "response")
        exchange.response.asked = exchange.request
    return exchange


class Meddling:
    """The faults of one connection, as its relay asks for them."""

    def __init__(self, faults: Faults, peers: Callable[[], Peers]) -> None:
        self._faults, self._peers, self._known = faults, peers, Known.nothing(faults.topics)
        self._rate: float | None = None
        self.concerns: Callable[[Api | None], bool] = faults.concerns
        """Whether any fault may concern an API; its messages are held whole then."""

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
        exchange = exchange_of(asked, direction, data, self._peers(), self._known)
        if exchange is None:
            return None
        if direction == "response":
            self._faults.learner.learn_from(exchange)
        return Turn(exchange, direction, data)
