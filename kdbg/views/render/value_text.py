"""What a reader made of a key or value, on one line: text in quotes, data as JSON, bytes in hex."""

from __future__ import annotations

from ...payloads.values.value import Value
from ...protocol.findings import amounts
from ...protocol.wire.readings.secrets import Hidden
from .jsonlines import dump, printable
from .values import cells, cut, escape, octets, quote


def annotated(value: Value, most: int) -> str:
    """Return a value for a line, and behind it how it was read, or why not otherwise."""
    told = escape(value.problem or value.about)
    return f"{quoted(value, most)}  {told}" if told else quoted(value, most)


def json_text(value: Value) -> str:
    """Return data as JSON on one line."""
    return value.json or dump(value.data).decode().rstrip("\n")


def quoted(value: Value, most: int) -> str:
    """Return a value for a line: text in quotes, escaped; beyond `most` columns it is cut, and its length told."""
    if value.kind == "null":
        return "null"
    if value.kind == "bytes":
        return _shortened_bytes(value.data, most)
    shown = quote(value.data) if value.kind == "text" else escape_json(json_text(value))
    if 2 * len(shown) <= most or cells(shown) <= most:  # no letter is wider than two columns
        return shown
    whole = value.data if value.kind == "text" else json_text(value)
    mark = '"' * (value.kind == "text")
    length = f"{mark}… {len(whole):,} chars"
    if cells(shown) <= len(length) + 1:
        return shown
    return f"{cut(shown, max(most - len(length) + 1, 2)).removesuffix('…')}{length}"


def _shortened_bytes(data: bytes, most: int) -> str:
    whole = octets(data)
    if len(whole) <= most or isinstance(data, Hidden):
        return whole
    head = f"{amounts.count(len(data), 'byte')}  "
    return f"{head}{data[: max((most - len(head)) // 3, 1)].hex(' ')}…"


def escape_json(line: str) -> str:
    """Return JSON with JSON's own escapes in place of what is not printable."""
    return printable(line.encode()).decode()
