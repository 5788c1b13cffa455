"""What Wireshark shows with kdbg's dissector, compared with what `kdbg decode --format json` says of a capture.

tshark's PDML has every item of the tree, with the bytes that it stands for. `differences` yields a line for each value
on which the two do not agree.
"""

from __future__ import annotations

import base64
import io
import json
import re
import struct
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, iterparse

OWN = {
    "kdbg." + name
    for name in (
        "size", "api", "api_key", "api_version", "correlation_id", "client_id", "error", "error_code", "topic",
        "request_in", "response_in", "time", "record.offset", "record.timestamp",
    )
}  # fmt: skip
"""Fields of headers, and those that are made of others."""


class Shown(NamedTuple):
    """A message as Wireshark shows it."""

    frame: int
    direction: str
    api: str
    version: int | None
    correlation_id: int | None
    items: list[Element]
    notes: list[str]

    @property
    def key(self) -> tuple[int, str, str, int | None, int | None]:
        return self[:5]


def tshark(*arguments: str | Path, script: Path) -> subprocess.CompletedProcess[bytes]:
    """Run tshark with the dissector to its end, without an error of Lua's."""
    command = ["tshark", "-X", f"lua_script:{script}", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, check=False, timeout=300)
    assert b"Lua" not in result.stderr, result.stderr.decode()
    assert result.returncode in (0, 2), result.stderr.decode()
    return result


def shown(capture: Path, script: Path, *options: str) -> Iterator[Shown]:
    """Yield the messages that Wireshark shows of a capture."""
    output = io.BytesIO(tshark("-r", capture, "-T", "pdml", *options, script=script).stdout)
    number = 0
    for _, element in iterparse(output):
        if element.tag == "proto" and element.get("name") == "geninfo":
            number = next(int(one.get("show", "")) for one in element if one.get("name") == "num")
        elif element.tag == "proto" and element.get("name") == "kdbg":
            yield message(number, element)
        elif element.tag == "packet":
            element.clear()


def message(number: int, element: Element) -> Shown:
    text = element.get("showname", "")
    match = re.match(r"Apache Kafka \(kdbg\), (\S+)(?: v(\S+))? (request|response)", text)
    ids = [one for one in element.iter("field") if one.get("name") == "kdbg.correlation_id"]
    notes = [one.get("showname", "") for one in element.iter("field") if one.get("name") == "_ws.expert"]
    for one in element.iter("field"):
        assert not re.search(r"Lua Error|\.lua:\d", one.get("showname", "") + one.get("show", "")), one.attrib
    if not match:
        return Shown(number, "", "", None, None, list(element), notes)
    version = int(match[2]) if match[2] and match[2].lstrip("-").isdecimal() else None
    return Shown(
        number, match[3], match[1], version, int(ids[0].get("show", "")) if ids else None, list(element), notes
    )


def decoded(capture: Path, *options: str) -> Iterator[tuple[tuple[Any, ...], Any, list[Any]]]:
    """Yield what kdbg says of each message: the same key, its body, and the exchange's findings."""
    command = [sys.executable, "-m", "kdbg", "decode", str(capture), "--format", "json", "--no-index", *options]
    result = subprocess.run(command, capture_output=True, check=False)
    assert result.returncode in (0, 1), result.stderr.decode()
    for line in result.stdout.splitlines():
        exchange = json.loads(line)
        for direction in ("request", "response"):
            half = exchange[direction]
            if half is not None and half["packets"]:  # an empty token is in none
                last = (half["packets"])[-1]
                key = (last, direction, exchange["api"], exchange["api_version"], exchange["correlation_id"])
                yield key, half["body"], exchange["findings"]


def label(item: Element) -> str:
    """The name of a field as the grammar has it."""
    return item.get("name", "").rpartition(".")[2]


def text_of(item: Element) -> str:
    return item.get("showname") or item.get("show") or ""


def raw(item: Element) -> bytes:
    return bytes.fromhex(item.get("value", ""))


def differences(items: list[Element], body: Any, path: str = "") -> Iterator[str]:
    """Yield where a structure's items and its value differ."""
    fields: dict[str, Element] = {}
    for item in items:
        name = label(item)
        if item.get("name") == "kdbg.unknown_tagged_field":
            continue
        if item.get("name") == "_ws.lua.text":
            name = text_of(item).partition(":")[0]
        fields.setdefault(name, item)
    for name, value in (body or {}).items():
        if name == "tagged_fields":
            unknown = [raw(item) for item in items if item.get("name") == "kdbg.unknown_tagged_field"]
            if unknown != [base64.b64decode(each["base64"]) for each in value.values()]:
                yield f"{path}{name}: {unknown} for {value}"
        elif name not in fields:
            yield f"{path}{name}: missing, kdbg has {value!r}"
        else:
            yield from compare(fields[name], value, f"{path}{name}")


def compare(item: Element, value: Any, path: str) -> Iterator[str]:
    text = text_of(item)
    if value is None:
        if not text.endswith(": null"):
            yield f"{path}: {text} for null"
    elif isinstance(value, dict) and "redacted" in value:
        if "hidden" not in text:
            yield f"{path}: {text} for a secret"
    elif isinstance(value, dict) and "payload" in value and "hidden" in text:
        return  # kdbg reads the payload, and shows what is no secret in it
    elif isinstance(value, dict) and "base64" in value:
        if raw(item) != base64.b64decode(value["base64"]):
            yield f"{path}: {item.get('value')} for {value}"
        elif "payload" in value and (inner := [one for one in item if text_of(one) == value["payload"]]):
            yield from differences(list(inner[0]), value["value"], f"{path}.")
    elif isinstance(value, dict):
        yield from differences(list(item), value, f"{path}.")
    elif isinstance(value, list) and item.get("name", "").endswith("records") and not text.startswith("records["):
        yield from record_set(list(item), value, path)
    elif isinstance(value, list):
        children = [one for one in item if one.get("name") != "_ws.expert"]
        if len(children) != len(value):
            yield f"{path}: {len(children)} items for {len(value)}"
        for i, (one, each) in enumerate(zip(children, value, strict=False)):
            yield from compare(one, each, f"{path}[{i}]")
    else:
        yield from leaf(item, value, path)


def leaf(item: Element, value: Any, path: str) -> Iterator[str]:
    show = item.get("show", "")
    number = isinstance(value, float) or value in ("inf", "-inf", "nan")
    if isinstance(value, bool):
        same = show in ("1", "True") if value else show in ("0", "False")
    elif isinstance(value, int):
        same = re.fullmatch(r"-?\d+", show) is not None and int(show) == value
    elif number and len(raw(item)) == 8:
        same = raw(item) == struct.pack(">d", float(value))
    elif re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(value)) and len(raw(item)) == 16:
        same = show == value
    else:
        same = raw(item) == str(value).encode("utf-8", "surrogateescape") or (
            label(item) == "control" and show == value
        )
    if not same:
        yield f"{path}: {show} ({item.get('value', '')[:60]}) for {value!r}"


def record_set(items: list[Element], value: list[Any], path: str) -> Iterator[str]:
    entries = [one for one in items if one.get("name") in ("kdbg.batch", "kdbg.message", "kdbg.bytes")]
    if len(entries) != len(value):
        yield f"{path}: {len(entries)} entries for {len(value)}"
    for i, (item, entry) in enumerate(zip(entries, value, strict=False)):
        here = f"{path}[{i}]"
        if "partial" in entry or "raw" in entry:
            continue
        plain = {
            name: each for name, each in entry.items() if name not in ("records", "compressed_records", "raw_records")
        }
        yield from differences(list(item), plain, f"{here}.")
        if "records" in entry:
            yield from records(item, entry, here)


def records(item: Element, entry: Any, path: str) -> Iterator[str]:
    codec = entry["attributes"] & 7
    inner = [one for one in item if one.get("name") == "kdbg.message"]
    if entry["magic"] < 2 and inner:
        for i, (one, message) in enumerate(zip(inner, entry["records"], strict=True)):
            plain = {
                name: each for name, each in message.items() if name not in ("records", "offset"[: 7 * entry["magic"]])
            }
            yield from differences(list(one), plain, f"{path}.records[{i}].")
        return
    lists = [one for one in item.iter("field") if text_of(one).startswith("records: ")]
    if not lists and codec:
        assert any("decompress" in text_of(one) for one in item.iter("field")), (path, [text_of(one) for one in item])
        return  # one line names the codec
    found = [one for one in lists[0] if one.get("name") == "kdbg.record"] if lists else []
    if len(found) != len(entry["records"]):
        yield f"{path}.records: {len(found)} for {len(entry['records'])}"
    for i, (one, record) in enumerate(zip(found, entry["records"], strict=False)):
        yield from differences(list(one), record, f"{path}.records[{i}].")


class Agreement(NamedTuple):
    """How many messages are the same in all values, and a line for each difference."""

    same: int
    differences: list[str]


INCOMPLETE = {"truncated", "tcp-gap", "unsolicited-response", "undecoded-bytes"}
"""Findings on messages of which the capture lacks a part, or the request: kdbg shows what there is."""


def agreement(
    capture: Path, script: Path, *options: str, secrets: bool = False, ordered: bool = True, keys: Path | None = None
) -> Agreement:
    """Compare all messages of a capture; without `ordered`, the frame that ends a message may be a later one."""
    options += ("-o", "kdbg.secrets:TRUE") if secrets else ()
    options += ("-o", f"tls.keylog_file:{keys}") if keys else ()
    ours = [*(["--show-secrets"] if secrets else []), *(["--tls-keys", str(keys)] if keys else [])]
    theirs: dict[tuple[Any, ...], list[Shown]] = defaultdict(list)
    for one in shown(capture, script, *options):
        theirs[one.key[0 if ordered else 1 :]].append(one)
    messages = list(decoded(capture, *ours))
    lines, same = [], 0
    for key, body, findings in messages:
        found = theirs[key[0 if ordered else 1 :]]
        kinds = {finding["kind"] for finding in findings}
        if not found and not kinds & INCOMPLETE:
            lines.append(f"{key}: not in Wireshark")
        if not found:
            continue
        one = found.pop(0)
        differing = list(differences([item for item in one.items if item.get("name") not in OWN], body))
        if not kinds:
            differing += (note for note in one.notes if "Malformed" in note)
        lines += (f"{key}: {text}" for text in differing)
        same += not differing
    left = [one for ones in theirs.values() for one in ones if one.api not in ("", "unknown", "SaslToken")]
    return Agreement(same, [*lines, *(f"{one.key}: only in Wireshark" for one in left)])
