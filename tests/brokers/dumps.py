"""What `kafka.tools.DumpLogSegments` prints, taken apart; and what it would have to print of what kdbg decoded.

Every release prints other fields, under names that differ in case: a line is compared by the fields it has, each of
which `batch` or `record` must know.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kdbg.live.client.forms import CODECS

from .releases import Release
from .tools import run_tool

LINE = re.compile(r"^(?=\| offset: |baseOffset: |offset: \d+ (?:position|CreateTime|NoTimestampType))", re.MULTILINE)
CONTENT = re.compile(r" (?:key|payload|endTxnMarker|LeaderChange|SnapshotHeader|SnapshotFooter|KRaftVersion):? ")
FIELD = re.compile(r"(\w+): (\[[^\]]*\]|\S+)")
CODEC, APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40
Fields = dict[str, str]


class Line(NamedTuple):
    """A batch or a record: its fields, names in lower case; and what is printed of key and value."""

    is_batch: bool
    fields: Fields
    content: str


def dump(release: Release, folder: Path, paths: list[Path], *options: str) -> dict[Path, str]:
    """What the tool prints of each file."""
    names = ",".join(map(str, paths))
    text = run_tool(release, folder, "DumpLogSegments", *options, "--files", names)
    parts = re.split(r"^Dumping (.*)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(map(Path, parts[::2]), parts[1::2], strict=True))


def lines(text: str) -> list[Line]:
    """The batches and records of a log; what stands above them is left out."""
    found = []
    for chunk in LINE.split(text)[1:]:
        content = CONTENT.search(chunk)
        head = chunk[: content.start() if content else None]
        fields = {name.lower(): value for name, value in FIELD.findall(head)}
        said = folded(chunk[content.start() :].rstrip("\n")) if content else ""
        found.append(Line(not chunk.startswith("|") and "payloadsize" not in fields, fields, said))
    return found


def rows(text: str) -> list[Fields]:
    """The entries of an index or a snapshot."""
    return [dict(FIELD.findall(line)) for line in text.splitlines() if FIELD.match(line)]


def told(shown: list[dict[str, Any]], *, batches: bool) -> list[Line]:
    """What the tool has to say of the lines of `kdbg decode --format json`; old releases leave out `batches`."""
    found = []
    for line in shown:
        around = batch(line)
        if batches:
            found.append(Line(True, around, ""))
        found += [Line(False, record(one, around, line), content(one)) for one in records(line["batch"])]
    return found


def records(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The records of a batch, or of a message, which is one itself if it is not compressed."""
    return list(entry["records"]) if "records" in entry else [dict(entry)]


def batch(line: Mapping[str, Any]) -> Fields:
    """The fields of a batch, or of a message of magic 0 or 1 as the newer tools see it."""
    entry, valid = line["batch"], not any(note.startswith("crc-mismatch") for note in line["notes"])
    inside, attributes = records(entry), entry["attributes"]
    if entry["magic"] == 2:
        first, last, newest = entry["base_offset"], entry["base_offset"] + entry["last_offset_delta"], "max_timestamp"
    else:
        first, last, newest = inside[0]["offset"], entry["offset"], "timestamp"
    sequence, horizon = entry.get("base_sequence", -1), attributes & DELETE_HORIZON
    found: dict[str, Any] = {
        "offset": last, "baseoffset": first, "lastoffset": last, "count": entry.get("records_count"),
        "basesequence": sequence, "lastsequence": sequence + last - first if sequence >= 0 else -1,
        "producerid": entry.get("producer_id"), "producerepoch": entry.get("producer_epoch", -1),
        "partitionleaderepoch": entry.get("partition_leader_epoch", -1),
        "istransactional": bool(attributes & TRANSACTIONAL), "iscontrol": bool(attributes & CONTROL),
        "deletehorizonms": f"OptionalLong[{entry['base_timestamp']}]" if horizon else "OptionalLong.empty",
        "position": line["position"], "size": line["size"], "batchsize": line["size"], "magic": entry["magic"],
        "compresscodec": CODECS[attributes & CODEC], "crc": entry["crc"] & 0xFFFFFFFF, "isvalid": valid,
        time_name(entry): entry.get(newest, -1),
    }  # fmt: skip
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in found.items()}


def time_name(entry: Mapping[str, Any]) -> str:
    if entry["magic"] == 0:
        return "notimestamptype"
    return "logappendtime" if entry["attributes"] & APPEND_TIME else "createtime"


def record(one: Mapping[str, Any], around: Fields, line: Mapping[str, Any]) -> Fields:
    """The fields of a record; some releases print those of its batch with it."""
    key, value = octets(one["key"]), octets(one["value"])
    base, offset = int(around["basesequence"]), one["offset"]
    sequence = base + offset - int(around["baseoffset"]) if base >= 0 else -1
    sizes = {"keysize": len(key) if key is not None else -1, "valuesize": len(value) if value is not None else -1}
    names = ",".join(header["key"] for header in one.get("headers", ()))
    found = {
        "offset": offset, "crc": one["crc"] & 0xFFFFFFFF if "crc" in one else "null", **sizes,
        "payloadsize": sizes["valuesize"], "sequence": sequence, "headerkeys": f"[{names}]",
        "compresscodec": CODECS[one["attributes"] & CODEC], "compresstype": around["compresscodec"],
        "controltype": control_type(one), time_name(line["batch"]): one.get("timestamp", -1),
    }  # fmt: skip
    return around | {name: str(value) for name, value in found.items()}


def control_type(one: Mapping[str, Any]) -> str:
    """What a control record is, with the number in its key."""
    return f"{one['control']}({(octets(one['key']) or b'')[3]})" if "control" in one else ""


def content(one: Mapping[str, Any]) -> str:
    """Key and value as the tool prints them, or what a control record says; of those of KRaft the name alone."""
    if one.get("control") in ("COMMIT", "ABORT"):
        epoch = int.from_bytes((octets(one["value"]) or b"")[2:6], "big")
        return f" endTxnMarker: {one['control']} coordinatorEpoch: {epoch}"
    if "control" in one:
        return f" {''.join(word.title() for word in one['control'].split('_'))}"
    parts = [(name, octets(one[field])) for name, field in (("key", "key"), ("payload", "value"))]
    return "".join(f" {name}: {printed(data)}" for name, data in parts if data is not None).rstrip("\n")


def octets(value: Any) -> bytes | None:
    """The bytes of a key or value in JSON."""
    if isinstance(value, Mapping):
        return base64.b64decode(value["base64"])
    return value.encode() if value is not None else None


def printed(data: bytes) -> str:
    """Bytes as Java prints them for text, and as Python reads its lines."""
    return folded(re.sub("\r\n?", "\n", data.decode("utf-8", "replace")))


def folded(text: str) -> str:
    """The text with what is not UTF-8 as one mark: Java and Python put one for other numbers of bytes."""
    return re.sub("[^\0-\x7f]*\ufffd[^\0-\x7f]*", "\ufffd", text)


def fields_known(line: Line, known: Line) -> Iterator[tuple[str, str, str]]:
    """(name, what the tool prints, what kdbg read) where these differ, or kdbg has nothing of that name."""
    for name, value in line.fields.items():
        ours = known.fields.get(name, "nothing")
        if name in ("compresscodec", "compresstype"):
            value, ours = codec_name(value), codec_name(ours)
        if value != ours:
            yield name, value, ours


def codec_name(word: str) -> str:
    """The codec, which every release prints in another way."""
    name = word.lower().removesuffix("compressioncodec")
    return "none" if name == "no" else name


def said(content: str) -> Iterator[tuple[str, Any]]:
    """(key or payload, its JSON) as the decoders of internal topics print them; a control record has none."""
    while found := re.match(r" (key|payload): (?=[{n])", content):
        value, end = json.JSONDecoder().raw_decode(content, found.end())
        if value is not None:
            yield found[1], value
        content = content[end:]


def agree(theirs: Any, ours: Any) -> bool:
    """Whether all that the tool's JSON says stands in kdbg's."""
    if isinstance(ours, dict) and "payload" in ours and not isinstance(theirs, str):
        ours = ours["value"]
    if isinstance(theirs, dict):
        return all(agree(value, ours[snake(name)]) for name, value in theirs.items())
    if isinstance(theirs, list):
        return len(theirs) == len(ours) and all(map(agree, theirs, ours))
    if isinstance(ours, dict):
        return bool(theirs == ours["base64"])
    return bool(theirs == ours) or theirs == short_uuid(ours)


def short_uuid(text: Any) -> str:
    """A UUID as Kafka writes it."""
    try:
        return base64.urlsafe_b64encode(uuid.UUID(text).bytes).decode().rstrip("=")
    except (ValueError, AttributeError, TypeError):
        return ""


def snake(name: str) -> str:
    """A name of Java's as kdbg has it."""
    return re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", name)
