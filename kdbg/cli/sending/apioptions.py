"""The options that an API has of its own, made from the signature of its form (kdbg/client/forms.py).

The signature says which there are, which may be repeated (tuples) and what they default to; the table here says what
each is called for and how its value is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import click

from ...client.forms import FORMS
from ...client.partitioner import PARTITIONERS
from ...client.producing import CODECS
from ...client.producing import FORMATS as RECORD_FORMATS
from .words import TIMES, Acks, Bytes, Moment, Offset, Pair

ABOUT: dict[str, dict[str, Any]] = {
    "acks": {"help": ("Acknowledgements required (acks): all, 1 or 0; with 0 the broker sends no "
                      "response."), "type": Acks(),
             "metavar": "all|1|0"},
    "compression": {"help": "The codec of the batch.", "type": click.Choice(CODECS)},
    "count": {"help": "Total number of partitions after the change.", "metavar": "N"},
    "create": {"help": "Whether the broker may create the topic (v4 on)."},
    "election_type": {"help": ("Election type: preferred, or unclean (allows out-of-sync replicas; "
                               "v1+)."), "metavar": "NAME"},
    "generation": {"help": "Generation id from the JoinGroup response.", "metavar": "N"},
    "group": {"help": "The consumer group.", "metavar": "NAME"},
    "header": {"help": "A record header (record format v2).", "type": Pair(), "metavar": "NAME=VALUE"},
    "host": {"help": "Only ACLs for this host; * matches the literal host "*".", "metavar": "NAME"},
    "instance_id": {"help": "group.instance.id, of a static member (v3 or v5 on).", "metavar": "ID"},
    "key": {"help": "The records' key.", "type": Bytes(), "metavar": "TEXT"},
    "max_bytes": {"help": "Maximum bytes of records to return.", "metavar": "N"},
    "max_offsets": {"help": "Most offsets wanted (v0).", "metavar": "N"},
    "max_wait": {"help": "How long the broker may wait for --min-bytes.", "metavar": "MS"},
    "mechanism": {"help": "The SASL mechanism.", "metavar": "NAME"},
    "member_id": {"help": "Member id (the broker assigns one in the first JoinGroup response).", "metavar": "ID"},
    "metadata": {"help": "Text to keep with the offset.", "metavar": "TEXT"},
    "min_bytes": {"help": "Minimum bytes of records per response (min_bytes).", "metavar": "N"},
    "offset": {"help": "The offset.", "metavar": "N"},
    "operation": {"help": "Only of this operation: read, write, describe …", "metavar": "NAME"},
    "partition": {"help": "The partition.", "metavar": "N"},
    "partitions": {"help": "How many partitions it gets.", "metavar": "N"},
    "pattern_type": {"help": "Only of this kind of name: literal, prefixed; match: what applies to the name (v1 on).",
                     "metavar": "NAME"},
    "permission": {"help": "Only these: allow or deny.", "metavar": "NAME"},
    "principal": {"help": "Only of this principal: User:alice.", "metavar": "NAME"},
    "protocol": {"help": "The assignor's name.", "metavar": "NAME"},
    "protocol_type": {"help": "The group's protocol type.", "metavar": "NAME"},
    "read_committed": {"help": "Read committed records only (v4+)."},
    "rebalance_timeout_ms": {"help": "How long a rebalance may take (v1 on).", "metavar": "MS"},
    "record_format": {"help": "v0 goes with Produce 0 and 1, v1 with 2, v2 with 3 and later; else as the version wants "
                      "it. (--format is the view.)", "type": click.Choice(list(RECORD_FORMATS))},
    "replication_factor": {"help": "How many replicas each partition gets.", "metavar": "N"},
    "resource_name": {"help": "Only of resources of this name.", "metavar": "NAME"},
    "resource_type": {"help": "Only of this type of resource: topic, group, cluster …", "metavar": "NAME"},
    "session_timeout_ms": {"help": "Session timeout.", "metavar": "MS"},
    "software_name": {"help": "The client software's name (v3 on).", "metavar": "NAME"},
    "software_version": {"help": "The client software's version (v3 on).", "metavar": "VERSION"},
    "state": {"help": "Only groups in this state (v4 on).", "metavar": "NAME"},
    "time": {"help": "The time whose offset is wanted: latest, earliest, max-timestamp, …, a date, or milliseconds.",
             "type": Moment(TIMES), "metavar": "TIME"},
    "timeout_ms": {"help": "Timeout for the broker to complete the request.", "metavar": "MS"},
    "timestamp": {"help": "The records' time: a date, or milliseconds.", "type": Moment(), "metavar": "TIME"},
    "topic": {"help": "The topic.", "metavar": "NAME"},
    "topic_config": {"help": "A setting of the new topic.", "type": Pair(), "metavar": "NAME=VALUE"},
    "transactional_id": {"help": "The transactional id (v1 on).", "metavar": "ID"},
    "type": {"help": "Only groups of this type (v5 on).", "metavar": "NAME"},
    "validate_only": {"help": "A dry run (v1 on)."},
    "value": {"help": "The value of a record.", "type": Bytes(), "metavar": "TEXT"},
}  # fmt: skip
"""What each option means, by its name in the forms."""
PLACES: dict[tuple[str, str], dict[str, Any]] = {
    ("Fetch", "offset"): {"help": "Where to read from; a word is looked up first.", "type": Offset(), "metavar":
                          "N|earliest|latest"},
    ("Produce", "partition"): {"help": "The partition; else --partitioner chooses it.", "metavar": "N"},
    ("Metadata", "topic"): {"help": "The topic; all topics if none is given.", "metavar": "NAME"},
    ("OffsetFetch", "topic"): {"help": "The topic; all of the group's (v2 on) if none is given.", "metavar": "NAME"},
    ("ElectLeaders", "topic"): {"help": "The topic; all partitions there are if none is given.", "metavar": "NAME"},
    ("SyncGroup", "topic"): {"help": "As group leader, assign --partition of this topic to this member itself.",
                             "metavar": "NAME"},
}  # fmt: skip
"""Where an option means something else for one API."""
SAID = {("Produce", "timestamp"): "now", ("Produce", "acks"): "all", ("ListOffsets", "time"): "latest"}
"""Defaults in words."""
MORE: dict[str, tuple[Callable[[type[click.Option]], click.Option], ...]] = {
    "Produce": (
        lambda cls: cls(["--file"], multiple=True, metavar="PATH", help="A file as a record's value; - is a pipe."),
        lambda cls: cls(["--tombstone"], is_flag=True, default=None, help="A record without a value."),
        lambda cls: cls(
            ["--partitioner"], type=click.Choice(list(PARTITIONERS)), help="Who chooses the partition: Java's murmur2, "
            "librdkafka's crc32 (by key), round-robin, random. [default: murmur2 with a key, else random]",
        ),
    ),
}  # fmt: skip
"""Options that are no field, but decide one."""
TYPES = {"int": click.INT, "str": click.STRING}


def own_options(api: str, cls: type[click.Option]) -> list[click.Option]:
    """Return the options that this API has of its own; none for most."""
    form = FORMS.get(api)
    if form is None:
        return []
    found = [_option(api, parameter, cls) for parameter in _parameters(form)]
    return found + [make(cls) for make in MORE.get(api, ())]


def required(api: str) -> list[str]:
    """Return the options that must be given for the API's form to make a body."""
    form = FORMS.get(api)
    return [p.name for p in _parameters(form) if p.default is p.empty] if form is not None else []


def repeated(api: str) -> set[str]:
    """Return the options that may be given several times."""
    form = FORMS.get(api)
    return {p.name for p in _parameters(form) if _is_repeated(p)} if form is not None else set()


def _is_repeated(parameter: inspect.Parameter) -> bool:
    kind = str(parameter.annotation)
    return kind.startswith("tuple") or kind in ("Words", "Pairs")


def _parameters(form: Callable[..., Any]) -> list[inspect.Parameter]:
    return [found for found in inspect.signature(form).parameters.values() if found.kind is found.KEYWORD_ONLY]


def _option(api: str, parameter: inspect.Parameter, cls: type[click.Option]) -> click.Option:
    name, kind, default = parameter.name, str(parameter.annotation), parameter.default
    about = dict(PLACES.get((api, name), ABOUT[name]))
    about["help"] += _shown(default, SAID.get((api, name), ""))
    word = f"--{name.replace('_', '-')}"
    if kind == "bool":
        return cls([f"{word}/--no{word[1:]}" if default else word], is_flag=True, default=None, **about)
    many = _is_repeated(parameter)
    if many:
        about["help"] = about["help"].replace(".", " (may be repeated).", 1)
    about.setdefault("type", TYPES["int" if "int" in kind else "str"])
    return cls([word], multiple=many, **about)


def _shown(default: Any, said: str) -> str:
    """Return what the help says about a default: its value, that the option is required, or nothing."""
    if default is inspect.Parameter.empty:
        return " [required]"
    words = said or (",".join(map(str, default)) if isinstance(default, tuple) else str(default))
    return "" if words in ("", "None", "False", "True") else f" [default: {words}]"
