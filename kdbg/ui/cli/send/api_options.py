"""The options that an API has of its own, made from the signature of its form (kdbg/live/client/forms.py).

The signature says which there are, which may be repeated (tuples) and what they default to; the table here says what
each is called for and how its value is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from ....live.client.forms import CODECS, FORMS, PARTITIONERS, RECORD_FORMATS

TIMES = {
    "latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5,
    "earliest-pending-upload": -6,
}  # fmt: skip
"""ListOffsets' timestamps with a special meaning, by their names in `kafka-get-offsets`."""
ENDS = ("earliest", "latest")


def utf8(text: str) -> bytes:
    """Return text as it goes over the wire."""
    return text.encode("utf-8", "surrogateescape")


def pair(text: str) -> tuple[str, str | None]:
    """Parse `name=value`; a name alone has a null value."""
    name, equals, rest = text.partition("=")
    if not name:
        raise click.BadParameter(f"{text!r} has no name; use name=value")
    return name, rest if equals else None


def acks(text: str) -> int:
    """Parse how many replicas must have the records: all (-1), 1, or 0 for no answer at all; any number is sent."""
    if text.lower() == "all":
        return -1
    if not text.removeprefix("-").isdecimal():
        raise click.BadParameter(f"invalid acks {text!r}; use all, 1 or 0")
    return int(text)


def moment(text: str, words: tuple[str, ...] = ()) -> int:
    """Parse a point in time as Kafka counts them, milliseconds since 1970, or one of these `words` of TIMES."""
    if text.lower() in words:
        return TIMES[text.lower()]
    if text.removeprefix("-").isdecimal():
        return int(text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        named = "".join(f"{word}, " for word in words)
        problem = f"invalid time {text!r}; use {named}milliseconds since 1970, or 2026-11-21T12:30"
        raise click.BadParameter(problem) from None
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def moment_or_word(text: str) -> int:
    """Parse a point in time, or one of TIMES."""
    return moment(text, tuple(TIMES))


def offset(text: str) -> int | str:
    """Parse an offset, or the end of the log that is looked up."""
    if text.lower() in ENDS:
        return text.lower()
    if not text.removeprefix("-").isdecimal():
        raise click.BadParameter(f"invalid offset {text!r}; use a number, earliest or latest")
    return int(text)


ABOUT: dict[str, dict[str, Any]] = {
    "acks": {"help": "Set the required acknowledgements (acks); with 0 the broker sends no response.", "type": acks,
             "metavar": "all|1|0"},
    "compression": {"help": "Set the compression codec of the batch.", "type": click.Choice(CODECS)},
    "count": {"help": "Set the total number of partitions after the change.", "metavar": "N"},
    "create": {"help": "Let the broker create the topic (v4+)."},
    "election_type": {"help": "Set the election type: preferred, or unclean (allows out-of-sync replicas; v1+).",
                      "metavar": "NAME"},
    "generation": {"help": "Set the generation id from the JoinGroup response.", "metavar": "N"},
    "group": {"help": "Set the consumer group.", "metavar": "NAME"},
    "header": {"help": "Add a record header (record format v2).", "type": pair, "metavar": "NAME=VALUE"},
    "host": {"help": "Select ACLs for this host; * selects those that apply to all hosts.", "metavar": "NAME"},
    "instance_id": {"help": "Set the group.instance.id of a static member (v3+ or v5+).", "metavar": "ID"},
    "key": {"help": "Set the key of the records.", "type": utf8, "metavar": "TEXT"},
    "max_bytes": {"help": "Limit the bytes of records in the response (max_bytes).", "metavar": "N"},
    "max_offsets": {"help": "Limit the number of offsets in the response (v0).", "metavar": "N"},
    "max_wait": {"help": "Limit the broker's wait for --min-bytes (max_wait_ms).", "metavar": "MS"},
    "mechanism": {"help": "Set the SASL mechanism.", "metavar": "NAME"},
    "member_id": {"help": "Set the member id (the broker assigns one in the first JoinGroup response).",
                  "metavar": "ID"},
    "metadata": {"help": "Store this text with the offset.", "metavar": "TEXT"},
    "min_bytes": {"help": "Set the minimum bytes of records per response (min_bytes).", "metavar": "N"},
    "offset": {"help": "Set the offset.", "metavar": "N"},
    "operation": {"help": "Select ACLs for this operation, such as read, write or describe.", "metavar": "NAME"},
    "partition": {"help": "Set the partition.", "metavar": "N"},
    "partitions": {"help": "Set the number of partitions.", "metavar": "N"},
    "pattern_type": {"help": "Select ACLs by pattern type: literal, prefixed, or match for all that apply (v1+).",
                     "metavar": "NAME"},
    "permission": {"help": "Select ACLs by permission: allow or deny.", "metavar": "NAME"},
    "principal": {"help": "Select ACLs of this principal, such as User:alice.", "metavar": "NAME"},
    "protocol": {"help": "Set the name of the assignor.", "metavar": "NAME"},
    "protocol_type": {"help": "Set the protocol type of the group.", "metavar": "NAME"},
    "read_committed": {"help": "Read committed records only (v4+)."},
    "rebalance_timeout_ms": {"help": "Set the rebalance timeout (v1+).", "metavar": "MS"},
    "record_format": {"help": "Set the record format (default: v0 for Produce v0 and v1, v1 for v2, otherwise v2).",
                      "type": click.Choice(list(RECORD_FORMATS))},
    "replication_factor": {"help": "Set the number of replicas of each partition.", "metavar": "N"},
    "resource_name": {"help": "Select resources with this name.", "metavar": "NAME"},
    "resource_type": {"help": "Select resources of this type, such as topic, group or cluster.", "metavar": "NAME"},
    "session_timeout_ms": {"help": "Set the session timeout.", "metavar": "MS"},
    "software_name": {"help": "Set the name of the client software (v3+).", "metavar": "NAME"},
    "software_version": {"help": "Set the version of the client software (v3+).", "metavar": "VERSION"},
    "state": {"help": "Select groups in this state (v4+).", "metavar": "NAME"},
    "time": {"help": "Find the offset at this time: latest, earliest, max-timestamp, …, a date, or milliseconds.",
             "type": moment_or_word, "metavar": "TIME"},
    "timeout_ms": {"help": "Limit the time that the broker has for the request.", "metavar": "MS"},
    "timestamp": {"help": "Set the timestamp of the records: a date, or milliseconds.", "type": moment,
                  "metavar": "TIME"},
    "topic": {"help": "Set the topic.", "metavar": "NAME"},
    "topic_config": {"help": "Set a configuration property of the new topic.", "type": pair, "metavar": "NAME=VALUE"},
    "transactional_id": {"help": "Set the transactional id (v1+).", "metavar": "ID"},
    "type": {"help": "Select groups of this type (v5+).", "metavar": "NAME"},
    "validate_only": {"help": "Validate the request without a change (v1+)."},
    "value": {"help": "Set the value of a record.", "type": utf8, "metavar": "TEXT"},
}  # fmt: skip
"""What each option means, by its name in the forms."""
PLACES: dict[tuple[str, str], dict[str, Any]] = {
    ("Fetch", "offset"): {"help": "Start at this offset; earliest and latest are looked up first.", "type": offset,
                          "metavar": "N|earliest|latest"},
    ("Produce", "partition"): {"help": "Set the partition (default: chosen by --partitioner).", "metavar": "N"},
    ("Metadata", "topic"): {"help": "Select a topic (default: all).", "metavar": "NAME"},
    ("OffsetFetch", "topic"): {"help": "Select a topic (default: all of the group, v2+).", "metavar": "NAME"},
    ("ElectLeaders", "topic"): {"help": "Select a topic (default: all partitions of all topics).", "metavar": "NAME"},
    ("SyncGroup", "topic"): {"help": "Assign --partition of this topic to this member, which must be the group leader.",
                             "metavar": "NAME"},
}  # fmt: skip
"""Where an option means something else for one API."""
SAID = {("Produce", "timestamp"): "now", ("Produce", "acks"): "all", ("ListOffsets", "time"): "latest"}
"""Defaults in words."""
MORE: dict[str, tuple[Callable[[type[click.Option]], click.Option], ...]] = {
    "Produce": (
        lambda cls: cls(["--file"], multiple=True, metavar="PATH", help="Read a value from this file; - is stdin."),
        lambda cls: cls(["--tombstone"], is_flag=True, default=None, help="Produce a record with a null value."),
        lambda cls: cls(
            ["--partitioner"], type=click.Choice(PARTITIONERS), help="Set the partitioner: murmur2 (Java), "
                                                                           "crc32 (librdkafka) … (default: murmur2 "
                                                                           "with a key, otherwise random).",
        ),
    ),
}  # fmt: skip
"""Options that are no field, but decide one."""
TYPES = {"int": click.INT, "str": click.STRING}


def own_options(api: str, cls: type[click.Option]) -> list[click.Option]:
    """Return the options that this API has of its own; none for most."""
    found = [_option(api, parameter, cls) for parameter in _parameters(api)]
    return found + [make(cls) for make in MORE.get(api, ())]


def required(api: str) -> list[str]:
    """Return the options that must be given for the API's form to make a body."""
    return [p.name for p in _parameters(api) if p.default is p.empty]


def repeated(api: str) -> set[str]:
    """Return the options that may be given several times."""
    return {p.name for p in _parameters(api) if _is_repeated(p)}


def _is_repeated(parameter: inspect.Parameter) -> bool:
    kind = str(parameter.annotation)
    return kind.startswith("tuple") or kind in ("Words", "Pairs")


def _parameters(api: str) -> list[inspect.Parameter]:
    parameters = inspect.signature(FORMS[api]).parameters.values() if api in FORMS else ()
    return [found for found in parameters if found.kind is found.KEYWORD_ONLY]


def _option(api: str, parameter: inspect.Parameter, cls: type[click.Option]) -> click.Option:
    """Return an option; its help ends with the default, or with the note that the option is required."""
    name, kind, default = parameter.name, str(parameter.annotation), parameter.default
    about = dict(PLACES.get((api, name), ABOUT[name]))
    said = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
    said = SAID.get((api, name)) or said
    if default is parameter.empty:
        about["help"] += " Required."
    elif said not in ("", "None", "False", "True"):
        about["help"] = f"{about['help'].removesuffix('.')} (default: {said})."
    word = f"--{name.replace('_', '-')}"
    if kind == "bool":
        return cls([f"{word}/--no{word[1:]}" if default else word], is_flag=True, default=None, **about)
    many = _is_repeated(parameter)
    if many:
        about["help"] += " Repeatable."
    about.setdefault("type", TYPES["int" if "int" in kind else "str"])
    return cls([word], multiple=many, **about)
