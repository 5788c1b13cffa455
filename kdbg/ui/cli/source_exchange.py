"""The exchange that a row of tables is about, as its capture has it, where that still stands at its recorded path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from typing import Any
from uuid import UUID

from ...capture import Capture
from ...capture.packet import Packet, endpoint
from ...errors import CaptureError
from ...exchanges.engine.driver import Drive, seldom_collected
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import endpoint as ends
from ...exchanges.messages.serialization import Packed
from ...protocol.findings.amounts import count
from ...views.reading import engine_of, open_any
from ..tui.contents import Original
from .packets import write_exchanges


def original(files: Sequence[str], row: Mapping[str, Any], partitions: Iterable[Mapping[str, Any]] = ()) -> Original:
    """Return the exchange of a row out of its capture, or why there is none; `partitions` name topics by their ids."""
    capture = row["capture"]
    if len(files) > 1:
        return Original(missing=f"{capture} consists of {count(len(files), 'rotated file')}; use kdbg decode")
    try:
        found = _found(files[0] if files else capture, row)
    except CaptureError as error:
        return Original(missing=str(error))
    if found is None:
        return Original(missing=f"{capture} has changed; it does not contain the exchange")
    packed = Packed()
    packed.add(found)
    numbers, common, data = packed.take()
    return Original(numbers, common, b"".join(data), names_of(partitions))


def files_of(database: Any, row: Mapping[str, Any]) -> list[str]:
    """Return the files of a row's capture; those of the folder must be shown."""
    asked = (
        f"SELECT file FROM files WHERE capture = {literal(row['capture'])} AND file IS NOT NULL ORDER BY first_packet"
    )
    return [file for (file,) in database.answer(asked).rows]


def literal(value: Any) -> str:
    """Return a value in SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return f"TIMESTAMPTZ '{value.isoformat()}'"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def names_of(partitions: Iterable[Mapping[str, Any]]) -> dict[UUID, str]:
    """Return the names of topic ids, as rows of partitions have them."""
    found: dict[UUID, str] = {}
    for one in partitions:
        if one.get("topic") and one.get("topic_id"):
            with suppress(ValueError):
                found[UUID(one["topic_id"])] = one["topic"]
    return found


def _found(path: str, row: Mapping[str, Any]) -> Exchange | None:
    """Read a connection of a capture up to the exchange of a row; None where that is not in it."""
    capture = open_any(path)
    with closing(capture.source):
        if not isinstance(capture, Capture):
            raise CaptureError(path, "not a capture")
        with capture, seldom_collected():
            drive = Drive(engine_of(capture, Filters(), None), _of_one(capture, row), lambda: None)
            return next((one for chunk in drive.chunks() for one in chunk if _is(one, row)), None)


def _of_one(capture: Capture, row: Mapping[str, Any]) -> Iterator[list[Packet]]:
    """Yield the packets between the ends of a row's connection."""
    wanted: dict[bytes, bool] = {}
    both = {row["client"], row["broker"]}

    def fits(flow: bytes) -> bool:
        found = wanted.get(flow)
        if found is None:
            found = wanted[flow] = {ends(one) for one in endpoint(flow)} == both
        return found

    for packets in capture.blocks():
        yield [packet for packet in packets if fits(packet[2])]


def _is(exchange: Exchange, row: Mapping[str, Any]) -> bool:
    """Return whether an exchange is that of a row."""
    for half, packet, size in ((exchange.request, "request_packet", "request_bytes"),
                               (exchange.response, "response_packet", "response_bytes")):  # fmt: skip
        if (None if half is None else half.first_packet) != row[packet]:
            return False
        if (None if half is None else half.size) != row[size]:
            return False
    return True


def export(folder: str, rows: Sequence[Mapping[str, Any]], target: str) -> Iterator[str]:
    """Write the exchanges of rows, out of their captures, as a capture; yield what to say of it."""
    from ...scale.query.database import Database
    from ...scale.query.sources import show

    missing: list[str] = []
    found: dict[tuple[str, int], list[Exchange]] = {}
    with closing(Database()) as database:
        show(database, folder, {"files"})
        for row in rows:
            one = original(files_of(database, row), row)
            exchange = one.exchange()
            if exchange is None:
                missing.append(one.missing)
            else:
                found.setdefault((row["capture"], exchange.peers.number), []).append(exchange)
    ordered = enumerate(sorted(found.values(), key=lambda some: some[0].time))
    numbered = ((exchange, connection) for connection, exchanges in ordered for exchange in exchanges)
    said = [write_exchanges(target, numbered)] if found else []
    yield "; ".join([*said, *dict.fromkeys(missing)])
