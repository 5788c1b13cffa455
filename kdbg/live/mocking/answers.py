"""What a mock answers: bytes of a request in, bytes of an answer out. Opens nothing, and waits for nothing.

The answer is that of the closest recorded request, in the version that is asked for, with what was asked in it: the
topics and partitions that the request names, each as some recorded answer has it, and the client's own ids and names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...compare.fields import inside, nodes
from ...engine.prefixes import read_prefix
from ...engine.requests import RequestHeader, read_header
from ...errors import BuildError, GrammarError, InputError, WireError
from ...library import encode
from ...messages.exchange import CapturedMessage, Known
from ...messages.message import Message, header_grammar
from ...messages.reshape import Reshaper
from ...wire import Api
from ...wire.nodes import WireStruct
from ...wire.readings.compiled import UNREADABLE
from ...wire.readings.endpoints import Change, with_endpoints
from ...wire.readings.outline import PartitionOutline
from ..answers import refusal, skeleton, with_error
from .assemble import Asked, assemble
from .echo import echoed
from .meaning import features
from .recording import API_VERSIONS, FETCH, Recording

UNSUPPORTED_VERSION, UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID, SESSION_NOT_FOUND = 35, 3, 100, 70
MOST_SOURCES = 64
"""Recorded answers that are looked through for the topics of one request."""


class Reply(NamedTuple):
    """What becomes of a request: `data` is the answer's bytes, without their size, to be given after `seconds`.

    None is no answer; `hang_up` closes the connection instead.
    """

    data: bytes | None = None
    seconds: float = 0.0
    hang_up: bool = False


HANG_UP = Reply(hang_up=True)


class Answers:
    """Answers requests. `change` gives the addresses that clients are told, `say` is told what had no answer."""

    answered: int
    refused: int

    def __init__(self, recording: Recording, change: Change, say: Callable[[str], None] = lambda line: None) -> None:
        self.recording, self._change, self.say = recording, change, say
        self.answered = self.refused = 0
        self._told = set[str]()
        self._known = Known(dict(recording.names), {})
        self._offered = recording.offered

    def reply(self, frame: bytes) -> Reply:
        """Return what becomes of a request, its bytes without their size."""
        header = read_header(frame, 0, len(frame))[1]
        if header is None:
            self.refuse("what came is no request of Kafka's; its connection is closed")
            return HANG_UP
        api, version = header.api, header.version
        if api.key == API_VERSIONS and not self._offers(api, version):
            return self._said(header, 0, self._versions(api, 0, UNSUPPORTED_VERSION))
        half = CapturedMessage(frame, (now := time.time_ns(), now), (0, 0), "request")
        half.api, half.version, half.known = api, version, self._known
        message = half.message() if api.reads("request", version) else None
        if message is None or any(one.kind.breaks for one in message.findings):
            self.refuse(f"{api.name} v{version} cannot be read; its connection is closed")
            return HANG_UP
        prefix = read_prefix(header, frame)
        if prefix is not None and not prefix.wants_answer:
            self.answered += 1
            return Reply()
        body, seconds = self._body(api, version, half, message)
        if body is None:
            return self._refused(header, half)
        return self._said(header, version, body, seconds)

    def _offers(self, api: Api, version: int) -> bool:
        if api.key == API_VERSIONS:
            return 0 <= version <= self._offered.get(API_VERSIONS, (0, api.versions[-1]))[1]
        low, high = self._offered.get(api.key, (0, -1))
        return low <= version <= high

    # What is said

    def _body(
        self, api: Api, version: int, half: CapturedMessage, message: Message
    ) -> tuple[dict[str, Any] | None, float]:
        """Return the body of the answer, None where the capture has none; and the seconds to wait before it."""
        if api.key == API_VERSIONS:
            return self._versions(api, version, 0), 0.0
        if not self._offers(api, version):
            return None, 0.0
        if api.key == FETCH and message.body.get("session_id"):
            return self._no_session(api, version), 0.0
        if api.key == FETCH:
            return self._fetched(api, version, half, message)
        recording = self.recording
        first, *others = recording.closest(api, features(message.body, message.grammar, recording.names))
        due = first.next()
        sources = [recording.reshaped(one, version) for one in (due, *(each.now() for each in others[:MOST_SOURCES]))]
        if sources[0] is None:
            return None, 0.0
        grammar = api.at("response", version)
        rows = self._rows(half)
        body = assemble(
            grammar, skeleton(api, version, rows), [one for one in sources if one is not None],
            Asked(rows, recording.names, _asks_for_all(message.body) and not _asks_for_all(due.asked), self._unknown),
        )  # fmt: skip
        return echoed(body, due.asked, message.body), 0.0

    def _rows(self, half: CapturedMessage) -> Sequence[PartitionOutline]:
        outline = half.outline()
        return outline[0] if outline is not None else ()

    @staticmethod
    def _unknown(struct: WireStruct, item: dict[str, Any]) -> None:
        """Say of a topic, or of a partition, that there is none."""
        by_id = "topic_id" in item and not item.get("name") and not item.get("topic")
        with_error(struct, item, UNKNOWN_TOPIC_ID if by_id else UNKNOWN_TOPIC)

    def _fetched(
        self, api: Api, version: int, half: CapturedMessage, message: Message
    ) -> tuple[dict[str, Any] | None, float]:
        """Return what a fetch brings; one that brings nothing waits as long as it may. No sessions are kept."""
        log, names = self.recording.fetches, self.recording.names
        struct = inside(nodes(api.at("response", log.version))["responses"])
        assert struct is not None
        made, found = [], False
        for topic in message.body.get("topics") or ():
            by_id = topic.get("topic_id")
            name = names.get(by_id, by_id) if by_id is not None else topic.get("topic")
            rows = []
            for part in topic.get("partitions") or ():
                said = log.at(name, part["partition"], part["fetch_offset"])
                found = found or said is None or bool(said.get("records"))
                rows.append(said if said is not None else self._no_partition(struct, part["partition"]))
            named = {"topic_id": by_id if by_id is not None else self.recording.id_of(name), "topic": name}
            made.append({key: value for key, value in named.items() if key in struct.keys} | {"partitions": rows})
        whole = {"throttle_time_ms": 0, "error_code": 0, "session_id": 0, "responses": made}
        known = {key: value for key, value in whole.items() if key in api.at("response", log.version).keys}
        try:
            reshaper = Reshaper(names.get, self.recording.id_of)
            body = reshaper.reshaped(api, "response", known, log.version, version)
        except BuildError:
            return None, 0.0
        return body, 0.0 if found else message.body.get("max_wait_ms", 0) / 1000

    @staticmethod
    def _no_session(api: Api, version: int) -> dict[str, Any]:
        """Return the answer to a fetch in a session, as a broker that has forgotten it gives it."""
        made = {field.name: field.default for field in api.at("response", version).fields}
        return made | {"error_code": SESSION_NOT_FOUND}

    @staticmethod
    def _no_partition(topic: WireStruct, partition: int) -> dict[str, Any]:
        struct = inside(nodes(topic)["partitions"])
        assert struct is not None
        made = {field.name: field.default for field in struct.fields}
        return made | {"partition_index": partition, "error_code": UNKNOWN_TOPIC, "high_watermark": -1}

    def _versions(self, api: Api, version: int, code: int) -> dict[str, Any]:
        """Return the body that tells which versions can be answered."""
        offered = dict(self._offered)
        offered[API_VERSIONS] = 0, self._offered.get(API_VERSIONS, (0, api.versions[-1]))[1]
        recorded = next((one for one in self.recording.all_of(API_VERSIONS) if not one.answer.get("error_code")), None)
        body = self.recording.reshaped(recorded, version) if recorded is not None else None
        made = body or {field.name: field.default for field in api.at("response", version).fields}
        keys = [{"api_key": key, "min_version": low, "max_version": high} for key, (low, high) in offered.items()]
        return made | {"error_code": code, "api_keys": sorted(keys, key=lambda one: one["api_key"])}

    # How it is said

    def _said(self, header: RequestHeader, version: int, body: Mapping[str, Any], seconds: float = 0.0) -> Reply:
        api = header.api
        try:
            data = encode(
                body, api=api.key, version=version, direction="response",
                header={"correlation_id": header.correlation_id},
            )  # fmt: skip
            data = with_endpoints(
                header_grammar(api, version, "response"), api.at("response", version), data, self._change
            )
        except (BuildError, GrammarError, WireError, InputError, *UNREADABLE) as error:
            self.refuse(f"the answer to {api.name} v{version} cannot be written: {error}; its connection is closed")
            return HANG_UP
        self.answered += 1
        return Reply(data, seconds)

    def _refused(self, header: RequestHeader, half: CapturedMessage) -> Reply:
        """Return the answer to what the capture does not answer: an error code, where the answer has room for one."""
        api, version = header.api, header.version
        body = refusal(api, version, half, UNSUPPORTED_VERSION)
        end = "UNSUPPORTED_VERSION" if body is not None else "its connection is closed"
        self.refuse(f"the captures have no answer to {api.name} v{version}: {end}")
        if body is None:
            return HANG_UP
        self.answered -= 1
        return self._said(header, version, body)

    def refuse(self, line: str) -> None:
        """Count what had no answer, and say so, once for all of a kind."""
        self.refused += 1
        if line not in self._told and len(self._told) < 1000:
            self._told.add(line)
            self.say(line)


def _asks_for_all(body: Mapping[str, Any]) -> bool:
    return body.get("topics", ()) is None
