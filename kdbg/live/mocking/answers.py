"""What a mock answers: bytes of a request in, bytes of an answer out. Opens nothing, and waits for nothing.

The answer is that of the closest recorded request, in the version that is asked for, with what was asked in it: the
topics and partitions that the request names, each as some recorded answer has it, and the client's own ids and names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from ...analysis.compare.messages import inside, nodes
from ...errors import BuildError, GrammarError, InputError, WireError
from ...exchanges.engine.requests import RequestHeader
from ...exchanges.messages.exchange import CapturedMessage
from ...exchanges.messages.known import Known
from ...exchanges.messages.message import Message, header_grammar
from ...exchanges.messages.reshape import Reshaper
from ...exchanges.mistakes.connection import find_frame_mistake
from ...exchanges.mistakes.finder import examine
from ...library import encode
from ...protocol.findings.amounts import count
from ...protocol.grammars import by_key
from ...protocol.grammars.errors import error_name
from ...protocol.wire import Api
from ...protocol.wire.nodes import WireStruct
from ...protocol.wire.readings.compiled import UNREADABLE
from ...protocol.wire.readings.endpoints import Change, with_endpoints
from ...protocol.wire.readings.outline import PartitionOutline
from ..actions import refusal, skeleton, with_error
from . import responses
from .recording import API_VERSIONS, FETCH, Recording
from .rejections import (
    INVALID_TOPIC,
    Reaction,
    Rejection,
    Request,
    header_of,
    is_topic,
    read_request,
    rejections,
    text_beside,
)

UNSUPPORTED_VERSION, UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID, SESSION_NOT_FOUND = 35, 3, 100, 70
EARLIEST, LATEST = -2, -1
"""Timestamps of ListOffsets requests that stand for the first and the last offset."""
EMPTY: Final[Mapping[str, Any]] = {"offset": 0, "log_start_offset": 0}
"""What such an answer says of a partition that nothing is known of."""
HOUR: Final = 3_600_000
"""How far ahead, in milliseconds, a record's timestamp may be (log.message.timestamp.after.max.ms)."""
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
    """Answers requests. `change` gives the addresses that clients are told.

    `say` is told what had no answer, `tell` what is wrong in requests.
    """

    answered: int = 0
    refused: int = 0
    rejected: int = 0

    def __init__(
        self, recording: Recording, change: Change, say: Callable[[str], None] = lambda line: None,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:  # fmt: skip
        self.recording, self._change, self.say, self.tell = recording, change, say, tell
        self._told = set[str]()
        self._known = Known.nothing(dict(recording.names))
        offered = recording.offered
        last = offered.get(API_VERSIONS, by_key(API_VERSIONS).versions)[-1]
        self._offered = offered | {API_VERSIONS: (0, last)}

    def reply(self, frame: bytes) -> Reply:
        """Return what becomes of a request, its bytes without their size."""
        header = header_of(frame)
        if header is None:
            self.garbage(len(frame).to_bytes(4) + frame)
            return HANG_UP
        api, version = header.api, header.version
        if api.key == API_VERSIONS and not self._offers(api, version):
            return self._reply(header, 0, self._versions(api, 0, UNSUPPORTED_VERSION))
        request = read_request(frame, header, self._known) if self.recording.speaks(api, version) else None
        if request is None:
            self._reject(header, Rejection("the broker does not support the API, or its version", Reaction.CLOSE))
            return HANG_UP
        found = [Rejection(text_beside(one), Reaction.ACCEPT) for one in request.lenient] + rejections(
            request.message, int(time.time() * 1000) + HOUR if self.recording.since_kafka_4 else None
        )
        found = [one for one in found if one.end is Reaction.CLOSE][:1] or found
        if len(found) == 1 and found[0].finding and found[0].end is not Reaction.ACCEPT:
            meant = examine(frame, api=api, version=version, direction="request", size=len(frame)).mistake
            found = [found[0]._replace(text=meant.text)] if meant is not None else found
        for one in found:
            self._reject(header, one)
        ends = [one.end for one in found]
        silent = header.api.name == "Produce" and request.message.body.get("acks") == 0
        if Reaction.CLOSE in ends or (silent and any(isinstance(end, int) for end in ends)):
            return HANG_UP
        if Reaction.SILENCE in ends:
            return Reply()
        code = next((one.end for one in found if isinstance(one.end, int) and one.place is None), None)
        if code is not None:
            return self._refused(header, request.half, code)
        body, seconds = self._body(request)
        if silent:
            self.answered += 1
            return HANG_UP if body is not None and responses.has_errors(api, version, body) else Reply()
        if body is None:  # the capture has no answer: an error code, where the answer has room for one
            reply = self._refused(header, request.half, UNSUPPORTED_VERSION)
            end = "closed the connection" if reply is HANG_UP else "responded with UNSUPPORTED_VERSION"
            self.refuse(f"no recorded response for {api.name} v{version}; {end}")
            self.answered -= reply is not HANG_UP
            return reply
        responses.with_partition_errors(body, {one.place: one.end for one in found if isinstance(one.end, int)})
        return self._reply(header, version, body, seconds)

    def _offers(self, api: Api, version: int) -> bool:
        offered = self._offered.get(api.key)
        return offered is not None and offered[0] <= version <= offered[1]

    # What is said

    def _body(self, request: Request) -> tuple[dict[str, Any] | None, float]:
        """Return the body of the answer, None where the capture has none; and the seconds to wait before it."""
        message = request.message
        api, version = message.api, message.version
        if api.key == API_VERSIONS:
            return self._versions(api, version, 0), 0.0
        if not self._offers(api, version):
            return None, 0.0
        if api.key == FETCH and message.body.get("session_id"):  # as a broker answers that has forgotten the session
            made = {field.name: field.default for field in api.at("response", version).fields}
            return made | {"error_code": SESSION_NOT_FOUND}, 0.0
        if api.key == FETCH:
            return self._fetched(message)
        due, recorded = self.recording.due(api, version, message.body, MOST_SOURCES)
        sources = [body for one in recorded if (body := self.recording.reshaped(one, version)) is not None]
        if due is not None and not sources:
            return None, 0.0
        before, asked, names = due.asked if due is not None else {}, message.body, self.recording.names
        sources = sources or [responses.base(api.key, asked)]
        outline = request.half.outline()
        rows = list[PartitionOutline]()
        for row in outline[0] if outline is not None else ():
            if isinstance(row[0], str):  # Kafka replaces what is not UTF-8 in a name
                row = (row[0].encode(errors="surrogateescape").decode(errors="replace"), *row[1:])
            rows.append(row)
        every = asked.get("topics", ()) is None and before.get("topics", ()) is not None
        fill = partial(self._fill, api)
        requested = responses.RequestedTopics(rows, names, every, fill)
        body = responses.assemble(api.at("response", version), skeleton(api, version, rows), sources, requested)
        if api.key == responses.LIST_OFFSETS:
            self._place(body, before, asked)
        body = responses.echoed(body, before, asked)
        if api.key == responses.OFFSET_FETCH:
            return responses.commits(body, asked, sources, names), 0.0
        return responses.for_member(api, body, asked), 0.0

    def _place(self, body: dict[str, Any], recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
        """Put the earliest and the latest offsets into a ListOffsets response where the recorded request had others."""
        before, wanted = (
            {
                (topic["name"], part["partition_index"]): part["timestamp"]
                for topic in request.get("topics") or ()
                for part in topic["partitions"]
            }
            for request in (recorded, asked)
        )
        for topic in body["topics"]:
            for part in topic["partitions"]:
                place = topic["name"], part["partition_index"]
                timestamp = wanted.get(place)
                if timestamp in (EARLIEST, LATEST) and before.get(place) != timestamp and not part["error_code"]:
                    part["offset"] = self.recording.fetches.span(*place)[timestamp == LATEST]

    def _fill(self, api: Api, struct: WireStruct, item: dict[str, Any], topic: Any) -> None:
        """Fill a topic or a partition that no recorded answer has: with one error where it is unknown.

        Nothing is committed there, and nothing was produced.
        """
        for field in struct.members if api.key in responses.FILLED else ():
            below = inside(field.node) if responses.keyed(field.node) == "partition" else None
            if below is not None:
                for part in item.get(field.name) or ():
                    self._fill(api, below, part, topic)
        number = next((item[field.name] for field in struct.members if field.node.kind == "partition"), None)
        if api.key in responses.FILLED and self.recording.has(topic, number):
            item.update({name: value for name, value in EMPTY.items() if name in item})
            return
        by_id = "topic_id" in item and not item.get("name") and not item.get("topic")
        invalid = "is_internal" in struct.keys and not by_id and not is_topic(item.get("name") or "")
        with_error(struct, item, UNKNOWN_TOPIC_ID if by_id else INVALID_TOPIC if invalid else UNKNOWN_TOPIC)
        item.update(responses.as_rejected(item))

    def _fetched(self, message: Message) -> tuple[dict[str, Any] | None, float]:
        """Return what a fetch brings; one that brings nothing waits as long as it may. No sessions are kept."""
        api, version = message.api, message.version
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
                if said is None and self.recording.has(name, part["partition"]):
                    said = self._no_partition(struct, part["partition"]) | {"error_code": 0, "high_watermark": 0}
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
        return body, 0.0 if found else message.body["max_wait_ms"] / 1000

    @staticmethod
    def _no_partition(topic: WireStruct, partition: int) -> dict[str, Any]:
        struct = inside(nodes(topic)["partitions"])
        assert struct is not None
        made = {field.name: field.default for field in struct.fields}
        return made | {"partition_index": partition, "error_code": UNKNOWN_TOPIC, "high_watermark": -1}

    def _versions(self, api: Api, version: int, code: int) -> dict[str, Any]:
        """Return the body that tells which versions can be answered."""
        recorded = next((one for one in self.recording.all_of(API_VERSIONS) if not one.answer.get("error_code")), None)
        body = self.recording.reshaped(recorded, version) if recorded is not None else None
        made = body or {field.name: field.default for field in api.at("response", version).fields}
        keys = [{"api_key": key, "min_version": low, "max_version": high} for key, (low, high) in self._offered.items()]
        return made | {"error_code": code, "api_keys": sorted(keys, key=lambda one: one["api_key"])}

    # How it is encoded

    def _reply(self, header: RequestHeader, version: int, body: Mapping[str, Any], seconds: float = 0.0) -> Reply:
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
            self.refuse(f"the response to {api.name} v{version} cannot be encoded: {error}; closed the connection")
            return HANG_UP
        self.answered += 1
        return Reply(data, seconds)

    def _refused(self, header: RequestHeader, half: CapturedMessage, code: int) -> Reply:
        """Return the response that rejects a request; the connection is closed where it has no room for a code."""
        body = refusal(header.api, header.version, half, code)
        return self._reply(header, header.version, responses.as_rejected(body)) if body is not None else HANG_UP

    def garbage(self, data: bytes, *, waits: bool = False) -> None:
        """Tell of bytes that are not a request, their size included; `waits` says that a broker waits for more."""
        self.rejected += 1
        found = find_frame_mistake(data)
        bytes_ = f"these bytes are not a request: {data[:16].hex(' ')}{' …' * (len(data) > 16)}"
        what = f"{found.api} v{found.version}: {found.text}" if found is not None else bytes_
        size = int.from_bytes(data[:4], signed=True)
        end = f"waits for {count(size, 'byte')}" if waits else Reaction.CLOSE.value
        self.tell(f"{what}; a broker {end}")

    def cut(self, data: bytes) -> None:
        """Tell of bytes that came before a connection ended, and are the beginning of a request, its size included."""
        self.rejected += 1
        size, header = int.from_bytes(data[:4], signed=True), header_of(data[4:])
        found = find_frame_mistake(data)
        if found is None and header is not None:
            found = examine(data[4:], api=header.api, version=header.version, direction="request", size=size).mistake
        what = f"{header.api.name} v{header.version}: " if header is not None else ""
        said = found.text if found is not None else f"the size is {size:,}, followed by {count(len(data) - 4, 'byte')}"
        self.tell(f"{what}{said}; a broker waits for the rest")

    def _reject(self, header: RequestHeader, one: Rejection) -> None:
        """Tell what is wrong in a request, and what a broker does."""
        self.rejected += 1
        end = f"responds with {error_name(one.end)}" if isinstance(one.end, int) else one.end.value
        where = f"topic {one.place[0]}, partition {one.place[1]}: " if one.place is not None else ""
        client = f"client {header.client_id}, " if header.client_id else ""
        self.tell(
            f"{header.api.name} v{header.version} ({client}correlation id {header.correlation_id}): "
            f"{where}{one.text}; a broker {end}"
        )

    def refuse(self, line: str) -> None:
        """Count what had no answer, and say so, once for all of a kind."""
        self.refused += 1
        if line not in self._told and len(self._told) < 1000:
            self._told.add(line)
            self.say(line)
