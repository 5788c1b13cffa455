"""What is to be sent: an API, and its body at whichever version it will be.

The body comes from the API's own options (its form), from --body or from a capture; --set changes it. Options may leave
something to look up: the partition to produce to, the offset to fetch from.
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ....capture import open_capture
from ....errors import BuildError, InputError, UnknownVersion
from ....exchanges.engine.engine import Engine
from ....exchanges.messages.guide_names import guide_names, understood
from ....exchanges.messages.message import strict
from ....exchanges.messages.reshape import Assignment, assign, in_order
from ....live.client.bodies import body_bytes
from ....live.client.forms import FORMS, Body, Partitioner, carried_by, list_offsets, partitioner
from ....protocol.wire import Api
from ....views.reading import numbered
from ..filters import option_name
from ..reencode import guarded
from .api_options import TIMES, repeated, required

if TYPE_CHECKING:
    from ....live.client.cluster import Cluster

TRIES, PAUSE = 6, 0.1
"""How often, and how long after the first time, a topic's partitions are asked for: a new one has none at first."""


class Request:
    """`version` is the one to send come what may, None for the highest that the broker knows too, of `versions`.

    `varies` says that `prepare` may change the body each time it is called.
    """

    varies = False

    def __init__(self, api: Api, version: int | None, sets: list[Assignment]) -> None:
        if version is not None and version not in api.versions:
            refusal = UnknownVersion(api.name, version, api.versions[0], api.versions[-1])
            raise InputError(f"{refusal}; use --raw to send other bytes")
        self.api = api
        self.version = version
        self.versions: range = api.versions
        self.sets: list[Assignment] = in_order(sets)
        self.written: int = 0
        """The version that a body was last made for."""

    async def prepare(self, cluster: Cluster) -> None:
        """Look up what the body depends on."""

    def initial(self, version: int) -> Body:
        """Return the body for a version, before --set changes it."""
        raise NotImplementedError

    def body(self, version: int) -> Body:
        """Return the body for a version, with --set applied. Raise `InputError` for a body that cannot be."""
        self.written = version
        names = guide_names(self.api, "request", version)
        try:
            body = names.body(self.initial(version))
            for one in self.sets:
                renamed = one._replace(steps=tuple(names.steps(one.steps)))
                assign(body, renamed.suited(self.api.at("request", version)))
            _, body = understood(self.api, "request", version, body)
        except BuildError as error:
            raise self.refusal(error) from None
        return cast(Body, body)

    def refusal(self, error: BuildError) -> InputError:
        """Return the error to raise for a body that cannot be: what is wrong, and how to see a whole one."""
        name, version = self.api.name, self.written
        hint = f"kdbg send {name} --version {version} --show-template prints a complete body"
        return InputError(f"{name} v{version}: {error}; {hint}")


class FromBody(Request):
    """A body that the user wrote, or that a capture holds: sent as it is, so that no typing error is overlooked."""

    def __init__(self, api: Api, version: int | None, sets: list[Assignment], given: Any) -> None:
        super().__init__(api, version, sets)
        if not isinstance(given, Mapping):
            raise InputError("--body: not a JSON object; print a body with --show-template")
        self.given: dict[str, Any] = dict(given)

    def initial(self, version: int) -> Body:
        return deepcopy(self.given)

    def body(self, version: int) -> Body:
        body = super().body(version)
        with suppress(BuildError):  # said when it is sent: a topic's name may have become its id by then
            guarded(lambda: body_bytes(self.api, version, body))
        return body


class FromOptions(Request):
    """A body that the API's own options come to; `looked_up` completes what was said."""

    def __init__(self, api: Api, version: int | None, sets: list[Assignment], said: Mapping[str, Any]) -> None:
        super().__init__(api, version, sets)
        self.said: dict[str, Any] = dict(said)
        self.looked_up: dict[str, Any] = {}

    def initial(self, version: int) -> Body:
        return FORMS[self.api.name](version, **self.said | self.looked_up)


class Produce(FromOptions):
    """Records go to a partition that the partitioner chooses, in a format that the version carries."""

    def __init__(self, api: Api, version: int | None, sets: list[Assignment], said: Mapping[str, Any]) -> None:
        super().__init__(api, version, sets, {"timestamp": time.time_ns() // 1_000_000} | dict(said))
        key, name = self.said.get("key"), self.said.pop("partitioner", None)
        self.choose: Partitioner = partitioner(name or "murmur2")
        self.varies: bool = "partition" not in self.said and (key is None or name in ("random", "round-robin"))
        about = {name: self.said[name] for name in ("record_format", "compression", "header") if name in self.said}
        if version is None:
            self.versions: range = carried_by(api.versions, **about)

    async def prepare(self, cluster: Cluster) -> None:
        if "partition" in self.said:
            return
        topic = self.said["topic"]
        for tried in range(TRIES):
            if cluster.partitions.get(topic):
                break
            await cluster.refresh(topic, create=True)  # where the broker creates topics, asking does
            if not cluster.partitions.get(topic):
                await asyncio.sleep(PAUSE * 2**tried)
        self.looked_up["partition"] = self.choose(self.said.get("key"), cluster.partitions.get(topic) or (0,))


class Fetch(FromOptions):
    """Records from an offset, or from either end of the log."""

    async def prepare(self, cluster: Cluster) -> None:
        word = self.said.get("offset", "earliest")
        if isinstance(word, str):
            place = {"topic": self.said["topic"], "partition": (self.said.get("partition", 0),)}
            exchange = await cluster.send("ListOffsets", partial(list_offsets, time=TIMES[word], **place))
            message = exchange.response.message() if exchange.response is not None else None
            topics = (message.body.get("topics") or ()) if message is not None else ()
            parts = (part for topic in topics for part in topic.get("partitions") or ())
            first: Mapping[str, Any] = next(parts, {})  # where no offset is told, the fetch shows why
            self.looked_up["offset"] = max(0, first.get("offset", -1), *(first.get("old_style_offsets") or ()))


KINDS: dict[str, type[FromOptions]] = {"Produce": Produce, "Fetch": Fetch}
STAND_INS: dict[str, str | int] = {"group": "kdbg", "generation": 0, "member_id": "kdbg"}
"""What versions can be tried with, and changes nothing at a broker: a member that no group has."""
OTHERWISE = {"value": " (or --file, or --tombstone)"}


def make_request(api: Api, version: int | None, sets: list[Assignment], said: Mapping[str, Any], given: Any) -> Request:
    """Return the request of --body (`given`) or of the API's options (`said`); raise `InputError` for both."""
    said = with_values(said) if api.name == "Produce" else said
    if given is not None and said:
        raise InputError(
            f"{option_name(next(iter(said)))} cannot be combined with --body; use --set to change the body"
        )
    missing = [name for name in required(api.name) if name not in said]
    if given is not None or api.name not in FORMS or (missing and sets and not said):
        return FromBody(api, version, sets, {} if given is None else given)
    if missing:
        words = " and ".join(f"{option_name(name)}{OTHERWISE.get(name, '')}" for name in missing)
        raise InputError(f"{api.name} requires {words}, or --body; print a body with --show-template")
    return KINDS.get(api.name, FromOptions)(api, version, sets, said)


def stood_in(api: Api, said: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return what was said with STAND_INS for all that is missing, and these as options; neither if they do not do."""
    missing = [name for name in required(api.name) if name not in said]
    if not missing or not STAND_INS.keys() >= set(missing):
        return dict(said), ""
    many = repeated(api.name)
    found = {name: (STAND_INS[name],) if name in many else STAND_INS[name] for name in missing}
    return {**said, **found}, " ".join(f"{option_name(name)} {STAND_INS[name]}" for name in missing)


def with_values(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was said of records, with all values as one option: given, from files, None for a tombstone."""
    found = dict(said)
    values = (*found.pop("value", ()), *map(content, found.pop("file", ())), *(None,) * found.pop("tombstone", False))
    return found | ({"value": values} if values else {})


def content(path: str) -> bytes:
    """Return the bytes of a file, or of the standard input (-). Raise `InputError` where it cannot be read."""
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def captured(source: str, version: int | None, sets: list[Assignment]) -> FromBody:
    """Return the request of CAPTURE#N in this version, None for its own; raise `InputError` where it is not whole."""
    found = numbered(source)
    if found is None or not found[1].isdecimal():
        raise InputError(f"--from {source!r}: no exchange number; use CAPTURE#N, such as orders.pcap#3")
    path, number, engine, exchange = found[0], int(found[1]), Engine(), None
    with open_capture(path) as capture:
        for exchange in engine.run(capture.blocks()):
            if exchange.number == number:
                break
    if exchange is None or exchange.number != number:
        last = exchange.number if exchange is not None else 0
        raise InputError(f"{path}: no exchange #{number}; the last is #{last}")
    half = exchange.request
    if half is None or exchange.api is None:
        raise InputError(f"{source}: the request of this exchange is not in the capture")
    if exchange.api.headerless:
        raise InputError(f"{source}: a raw SASL token, not a request; use --sasl-raw with --sasl-mechanism")
    message = half.message()
    if message is None or half.missing:
        raise InputError(f"{source}: the request is incomplete in the capture")
    strict(message)
    chosen = version if version is not None else exchange.version
    return FromBody(exchange.api, chosen, sets, by_name(message.body, engine.topic_names))


def by_name(value: Any, names: Mapping[uuid.UUID, str]) -> Any:
    """Return the value with topics by name, not by id, where `names` has one: ids differ from cluster to cluster."""
    if isinstance(value, list):
        return [by_name(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    topic = names.get(value.get("topic_id", uuid.UUID(int=0)))
    found = {name: by_name(item, names) for name, item in value.items() if topic is None or name != "topic_id"}
    return found | {"name": topic} if topic is not None else found
