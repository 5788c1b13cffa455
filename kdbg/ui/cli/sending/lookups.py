"""Requests whose options leave something to look up: the partition to produce to, the offset to fetch from."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import InputError
from ....exchanges.messages.assign import Assignment
from ....live.client.forms import FORMS, list_offsets
from ....live.client.producing import PARTITIONERS, Partitioner, carried_by
from ....protocol.wire import Api
from .apioptions import repeated, required
from .request import FromBody, FromOptions, Request
from .words import TIMES, now

if TYPE_CHECKING:
    from ....live.client import Cluster

TRIES, PAUSE = 6, 0.1
"""How often, and how long after the first time, a topic's partitions are asked for: a new one has none at first."""


class Produce(FromOptions):
    """Records go to a partition that the partitioner chooses, in a format that the version carries."""

    choose: Partitioner

    def __init__(self, api: Api, version: int | None, sets: list[Assignment], said: Mapping[str, Any]) -> None:
        super().__init__(api, version, sets, {"timestamp": now()} | dict(said))
        key, name = self.said.get("key"), self.said.pop("partitioner", None)
        self.choose = PARTITIONERS[name or "murmur2"]()
        self.varies: bool = "partition" not in self.said and (key is None or name in ("random", "round-robin"))
        about = {name: self.said[name] for name in ("record_format", "compression", "header") if name in self.said}
        if version is None:
            self.versions: range = carried_by(api.versions, **about)

    async def prepare(self, cluster: Cluster) -> None:
        if "partition" not in self.said:
            partitions = await partitions_of(cluster, self.said["topic"])
            self.looked_up["partition"] = self.choose(self.said.get("key"), partitions or (0,))


class Fetch(FromOptions):
    """Records from an offset, or from either end of the log."""

    async def prepare(self, cluster: Cluster) -> None:
        word = self.said.get("offset", "earliest")
        if isinstance(word, str):
            place = {"topic": self.said["topic"], "partition": (self.said.get("partition", 0),)}
            exchange = await cluster.send("ListOffsets", partial(list_offsets, time=TIMES[word], **place))
            message = exchange.response.message() if exchange.response is not None else None
            self.looked_up["offset"] = offset_in(message.body if message is not None else {})


def offset_in(answer: Mapping[str, Any]) -> int:
    """Return the offset that an answer to ListOffsets tells, 0 if it tells none; the fetch then shows why."""
    for topic in answer.get("topics") or ():
        for partition in topic.get("partitions") or ():
            offsets: list[int] = [partition.get("offset", -1), *(partition.get("old_style_offsets") or ())]
            return max(0, *offsets)
    return 0


async def partitions_of(cluster: Cluster, topic: str) -> Sequence[int]:
    """Return the partitions of a topic, empty if there are none in time; asking creates it where the broker does so."""
    pause = PAUSE
    for _ in range(TRIES):
        if cluster.partitions.get(topic):
            break
        await cluster.refresh(topic, create=True)
        if not cluster.partitions.get(topic):
            await asyncio.sleep(pause)
            pause *= 2
    return cluster.partitions.get(topic) or ()


KINDS: dict[str, type[FromOptions]] = {"Produce": Produce, "Fetch": Fetch}
STAND_INS: dict[str, str | int] = {"group": "kdbg", "generation": 0, "member_id": "kdbg"}
"""What versions can be tried with, and changes nothing at a broker: a member that no group has."""
OTHERWISE = {"value": " (or --file, or --tombstone)"}


def request(api: Api, version: int | None, sets: list[Assignment], said: Mapping[str, Any], given: Any) -> Request:
    """Return the request that --body (`given`) is, or that the API's own options (`said`) describe.

    Raise `InputError` where both are given, or options are missing.
    """
    said = with_values(said) if api.name == "Produce" else said
    if given is not None and said:
        raise InputError(f"{option(next(iter(said)))} cannot be combined with --body; use --set to change the body")
    missing = [name for name in required(api.name) if name not in said]
    if given is not None or api.name not in FORMS or (missing and sets and not said):
        return FromBody(api, version, sets, {} if given is None else given)
    if missing:
        words = " and ".join(f"{option(name)}{OTHERWISE.get(name, '')}" for name in missing)
        raise InputError(f"{api.name} requires {words}, or --body; print a body with --show-template")
    return KINDS.get(api.name, FromOptions)(api, version, sets, said)


def stood_in(api: Api, said: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return what was said with STAND_INS for all that is missing, and these as options; neither if they do not do."""
    missing = [name for name in required(api.name) if name not in said]
    if not missing or not STAND_INS.keys() >= set(missing):
        return dict(said), ""
    many = repeated(api.name)
    found = {name: (STAND_INS[name],) if name in many else STAND_INS[name] for name in missing}
    return {**said, **found}, " ".join(f"{option(name)} {STAND_INS[name]}" for name in missing)


def option(name: str) -> str:
    """Return an option as it is written on the command line."""
    return f"--{name.replace('_', '-')}"


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
