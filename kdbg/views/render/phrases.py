"""Phrases of clients and brokers in words: what each defines, with Kafka's names, and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...analysis.pasted.phrases import Match, code_of, matches
from ...errors import InputError
from ...protocol.findings.amounts import count
from ...protocol.grammars import apis, named
from ...protocol.grammars.errors import ERRORS, Error
from ...protocol.grammars.errors import named as error_named
from ...protocol.wire import Api
from ...protocol.wire.readings.layout import walk
from .columns import paragraph
from .numbers import bytes_of, number_facts, reading
from .style import Look

EARLIER = (
    "Responses arrive in request order: this one belongs to an earlier request, which timed out or was sent by "
    "another thread."
)
LATER = (
    "The responses in between were not read, or another thread read them: two threads share the connection, or a "
    "response was skipped. A Produce request with acks=0 has no response."
)
FAR = 1 << 16
"""Correlation ids that differ by more are not of one connection."""
TYPES = {"byte": "INT8", "int8": "INT8", "short": "INT16", "int16": "INT16", "int": "INT32", "int32": "INT32",
         "long": "INT64", "int64": "INT64", "unsignedvarint": "UNSIGNED_VARINT", "array": "array"}  # fmt: skip
READ_AS = {"length": "a length", "count": "an array's count", "seen": "a correlation id", "id": "a correlation id"}
VALUE = re.compile(r"\{(\w+)(?::(\w+))?\}")
"""A value of a phrase in a sentence: `{left}`, or `{left:byte}` with its noun."""
COUNTED = ("left", "limit", "at")
MOST = 6
"""Phrases of a text that are shown."""
MOST_FIELDS = 12
ADVICE = {
    ":8081": "Port 8081 is the usual port of a Schema Registry, which uses HTTP.",
    ":8082": "Port 8082 is the usual port of a REST proxy, which uses HTTP.",
    ":8083": "Port 8083 is the usual port of Kafka Connect, which uses HTTP.",
    ":2181": "Port 2181 is ZooKeeper's usual port.",
    "broker.version.fallback": "Set api.version.request=true (librdkafka's default), or broker.version.fallback to the "
    "broker's version.",
    "receive.message.max.bytes": "receive.message.max.bytes is librdkafka's limit for a response. Raise it only for a "
    "plausible size.",
    "socket.request.max.bytes": "socket.request.max.bytes is the broker's limit for a request.",
    "max.message.bytes": "max.message.bytes limits a record batch, not a request.",
}
"""Words beside a size, and what they mean."""


class Statement(NamedTuple):
    """What a phrase states: a headline, what to do, whether it is explained."""

    format: str
    head: str
    advice: str
    known: bool = True
    number: int | None = None
    error: bool = False


def statements(text: str) -> list[Statement]:
    """Return what the phrases in a text state, those of a known program before those of any."""
    found: list[Statement] = []
    for match in sorted(matches(text), key=lambda match: match.phrase.format == "any"):
        said = _statement(match, text)
        if said is not None and not any(_repeats(said, other) for other in found):
            found.append(said)
    found = found[:MOST]
    stated = " ".join(said.head for said in found)
    if found and (more := [name for name in names_in(text) if name not in stated]):
        last = found[-1]
        found[-1] = last._replace(advice=f"{last.advice} The text names {', '.join(more)}.".strip())
    return found


def _repeats(said: Statement, other: Statement) -> bool:
    """Return whether an error, or a number, was stated before."""
    name = re.fullmatch(r"error code (-?\d+) = (\w+)", said.head)
    return name[2] in other.head if name else said.number is not None and str(said.number) in other.head


def phrases_text(said: Sequence[Statement], look: Look) -> str:
    """Return statements as text."""
    blocks = []
    for one in said:
        head = [look.paint("heading", line) for line in paragraph(one.head, look.width)]
        blocks.append("\n".join([*head, *paragraph(one.advice, look.width), ""]))
    return "\n".join(blocks)


def _statement(match: Match, text: str) -> Statement | None:
    """Return what one phrase states; None where it names no API or error that Kafka has."""
    values, phrase = dict(match.values), match.phrase
    api = named(values["api"]) if "api" in values else None
    error = _error(values)
    if ("api" in values and api is None) or (error is None and "error code {" in phrase.sentence):
        return None
    if error is not None:
        return Statement(phrase.format, f"error code {error.code} = {error.name}", error.text, error=True)
    if phrase.sentence == "size {size}":
        return _size(match, text)
    shown = {name: _shown(name, value) for name, value in values.items()} | _derived(values, api)
    head, advice = _filled(phrase.sentence, shown), _filled(phrase.advice, shown)
    if "shown" in values:
        codes = dict.fromkeys(map(int, re.findall(r"errorCode=(-?\d+)", values["shown"])))
        errors = [ERRORS[code] for code in codes if code and code in ERRORS]
        advice = " ".join(f"errorCode {one.code} is {one.name}: {one.text}" for one in errors)
    number, meaning = _wire(values)
    if meaning is not None and number is not None:
        unsure = "id" in values
        head += "" if unsure else f"; {meaning[0]}"
        advice = f"Possibly {meaning[0]}, if no request has this id." if unsure else meaning[1] or advice
    return Statement(phrase.format, head, advice.strip(), True, number)


def _filled(sentence: str, shown: dict[str, str]) -> str:
    """Return a sentence with its values; without the parts in brackets that have none."""

    def part(found: re.Match[str]) -> str:
        return found[1] if all(value[1] in shown for value in VALUE.finditer(found[1])) else ""

    def value(found: re.Match[str]) -> str:
        text = shown.get(found[1], "")
        return count(int(text.replace(",", "")), found[2]) if found[2] and text else text

    return VALUE.sub(value, re.sub(r"\[([^\]]*)\]", part, sentence))


def _shown(name: str, value: str) -> str:
    """Return a value as sentences have it."""
    if name == "fields":
        return ".".join(re.findall(r"'(\w+)'", value))
    if name in COUNTED or (name == "size" and value.isdecimal()):
        return f"{int(value):,}"
    if name == "type":
        return TYPES.get(value.lower(), value)
    if name == "shown":
        return ", ".join(re.findall(r"\w+=(?:'[^']*'|[\w.-]+)", value)[:MOST_FIELDS]) or "none"
    return value.lower() if name == "direction" else value


def _derived(values: dict[str, str], api: Api | None) -> dict[str, str]:
    """Return what follows from values: Kafka's name of an API, an order of ids, what an older version lacks."""
    found: dict[str, str] = {}
    if api is not None:
        found["api"] = api.name
        found["older"] = _older_layout(api, int(values.get("version", -1)))
    if "seen" in values and "awaited" in values:
        apart = int(values["seen"]) - int(values["awaited"])
        found["apart"] = f"{count(abs(apart), 'request')} {'later' if apart > 0 else 'earlier'}"
        found["order"] = LATER if apart > 0 else EARLIER
    return found


def _error(values: dict[str, str]) -> Error | None:
    """Return the error that a phrase names: by its code, its name, its exception, or its text."""
    word = values.get("error") or values.get("exception")
    if word is not None:
        found = ERRORS.get(int(word)) if word.removeprefix("-").isdecimal() else error_named(word)
        return found if found is None or found.code else None
    if "told" not in values:
        return None
    code = code_of(values["told"])
    return ERRORS[code] if code is not None else error_named(re.split(r"[.:(\"]", values["told"])[0])


def _size(match: Match, text: str) -> Statement:
    """Return what a size is: real and above a limit, or no size at all."""
    value, limit = int(match.values["size"]), match.values.get("limit")
    what, advice, known = number_facts(value, "a length", int(limit) if limit else None)
    line = text[text.rfind("\n", 0, match.start) + 1 : match.end + 100]
    more = " ".join(said for word, said in ADVICE.items() if word in line)
    return Statement(match.phrase.format, what, f"{advice} {more}".strip(), known, value)


def _wire(values: dict[str, str]) -> tuple[int | None, tuple[str, str] | None]:
    """Return a number that was read from the wire, and what its bytes are, if they are more than that number."""
    name = next((name for name in READ_AS if name in values), None)
    if name is None:
        return None, None
    value = int(values[name])
    widest = 16  # bytes of a field whose length is fixed
    if (name == "seen" and abs(value - int(values["awaited"])) < FAR) or (name == "length" and value <= widest):
        return value, None
    text = values.get("kind") == "string"
    found = reading(value, READ_AS["count" if values.get("kind") == "array" else name], 2 if text else 4)
    if found is None and name in ("length", "count") and value >= FAR:
        found = f"{value} = bytes {bytes_of(value).hex(' ')}", ""
    return value, found


def _older_layout(api: Api, version: int) -> str:
    """Return what a version of a request has that the nearest shorter one lacks, and how to see it."""
    if not api.reads("request", version):
        return ""
    here = [path for path, *_ in walk(api.at("request", version))]
    for before in range(version - 1, api.versions[0] - 1, -1):
        there = {path for path, *_ in walk(api.at("request", before))}
        if missing := [path for path in here if path not in there]:
            return (
                f"v{version} has {' and '.join(missing)}, v{before} does not: the client probably writes the layout of "
                f"v{before} and the version v{version}. Compare them with `kdbg grammar {api.name} --diff {before} "
                f"{version}`, and give the request's bytes to `kdbg explain`."
            )
    return ""


def unrecognised(text: str) -> InputError | None:
    """Return the error for words that hold neither bytes nor a known phrase; None for what is no prose."""
    words = re.findall(r"\b[A-Za-z]*[g-zG-Z][A-Za-z]*\b", text[: 1 << 16])
    if len(words) < 3:  # it is no prose
        return None
    names = names_in(text)
    said = f"; it names {', '.join(names)}" if names else ""
    return InputError(
        f"not recognised: neither bytes nor a known message of a Kafka client or broker{said}; give the bytes "
        "that the program sent or received, or the lines around the error"
    )


def names_in(text: str) -> list[str]:
    """Return the names of APIs and error codes that a text has in Kafka's spelling."""
    words = set(re.findall(r"\b(?:[A-Z][a-z]+){2,}\b|\b[A-Z]+(?:_[A-Z]+)+\b", text[: 1 << 20]))
    called = {api.name: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", api.name).upper() for api in apis()}
    named = [name for name, constant in called.items() if name in words or constant in words]
    return [*named, *(error.name for error in ERRORS.values() if error.name in words)]
