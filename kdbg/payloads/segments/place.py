"""A file's name -> whose it is: `orders-0/00000000000000000042.log` is of topic orders, partition 0, from offset 42 on.

Suffixes that brokers give to files on their way out or in (`.deleted`, `.cleaned`, `.swap`), folders that wait for
their end (`orders-0.<id>-delete`) and compressed files (`.gz`, `.zst`) are seen through.
"""

from __future__ import annotations

import re
from typing import NamedTuple

METADATA_TOPIC = "__cluster_metadata"
PASSING = re.compile(r"(\.(deleted|cleaned|swap|part|gz|zst))+$")
FOLDER = re.compile(r"(?P<topic>[A-Za-z0-9._-]+?)-(?P<partition>\d{1,10})(\.[0-9a-f]{32}-(delete|future|stray))?")
NUMBERED = re.compile(r"(?P<offset>\d{20})(-\d{10})?")


class LogLocation(NamedTuple):
    """What a name says: topic and partition by the folder, the first offset by the file; None where it does not.

    `suffix` is what tells kinds of files apart: ".log", ".index"; the whole name where there is no number in front.
    """

    topic: str | None = None
    partition: int | None = None
    base_offset: int | None = None
    suffix: str = ""


def place_of(name: str) -> LogLocation:
    """Return topic, partition and first offset of a path as the user wrote it."""
    *folders, file = name.replace("\\", "/").split("/")
    file = PASSING.sub("", file)
    stem, dot, suffix = file.rpartition(".")
    topic = partition = offset = None
    if found := FOLDER.fullmatch(folders[-1] if folders else ""):
        topic, partition = found["topic"], int(found["partition"])
    if suffix == "checkpoint" and topic is None:
        topic, partition = METADATA_TOPIC, 0
    if dot and (numbered := NUMBERED.fullmatch(stem)):
        offset, file = int(numbered["offset"]), dot + suffix
    return LogLocation(topic, partition, offset, file)
