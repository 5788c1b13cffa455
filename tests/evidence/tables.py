"""The generated tables as files: an object for each table, a line for each API or payload."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kdbg.protocol import grammars
from kdbg.protocol.grammars import generated, releases
from kdbg.protocol.grammars.generated import Versions, spans
from kdbg.protocol.grammars.payloads import payloads
from kdbg.protocol.wire.language import DIRECTIONS

from .proofs import BROKER, Claims, Evidence, Payloads
from .releases import Lifetimes, age

Row = Mapping[str, Any]
FOLDER = Path(generated.__file__).parent
ABOUT = "Made by `python -m tests.evidence`, not by hand: "
RELEASES = ABOUT + "the release of Kafka that brought a version (since), and the last that had it (until)."
PROOFS = ABOUT + "the versions that each kind of proof was had for, requests/responses where they differ."


def write_releases(lifetimes: Lifetimes) -> None:
    """Write the table of releases."""
    (FOLDER / releases.FILE).write_text(text(RELEASES, apis=release_rows(lifetimes)))


def write_proofs(claims: Claims) -> None:
    """Write the table of proofs."""
    rows = {"apis": proof_rows(claims.messages), "payloads": payload_rows(claims.payloads)}
    (FOLDER / generated.PROOFS).write_text(text(PROOFS, **rows))


def text(about: str, **tables: Mapping[str, Row]) -> str:
    """A file of tables: JSON that shows in a diff which API or payload has changed."""
    parts = [f' "about": {_dump(about)}']
    for name, rows in tables.items():
        lines = ",\n".join(f"  {_dump(key)}: {_dump(row)}" for key, row in rows.items() if row)
        parts.append(f' "{name}": {{\n{lines}\n }}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def release_rows(lifetimes: Lifetimes) -> dict[str, Row]:
    """API -> {"since": {release: versions}, "until": {release: versions}}, in the order of the keys and of time."""
    rows: dict[str, Row] = {}
    for entry in grammars.ENTRIES.values():
        mine = {version: lifetime for (key, version), lifetime in lifetimes.items() if key == entry.key}
        since = _by_release((lifetime.since, version) for version, lifetime in mine.items())
        until = _by_release((lifetime.until, version) for version, lifetime in mine.items() if lifetime.until)
        rows[entry.name] = {which: row for which, row in (("since", since), ("until", until)) if row}
    return rows


def _by_release(pairs: Iterable[tuple[str, int]]) -> dict[str, str]:
    found: dict[str, list[int]] = {}
    for release, version in pairs:
        found.setdefault(release, []).append(version)
    return {release: spans(found[release]) for release in sorted(found, key=age)}


def proof_rows(messages: Mapping[str, Evidence]) -> dict[str, Row]:
    """API -> {kind: versions}, the answers of brokers last, by release."""
    kinds = sorted(kind for kind in messages if not kind.startswith(BROKER))
    brokers = sorted((kind for kind in messages if kind.startswith(BROKER)), key=lambda kind: age(kind[len(BROKER) :]))
    rows: dict[str, Row] = {}
    for entry in grammars.ENTRIES.values():
        shown = {kind: of_one(entry.key, messages[kind]) for kind in (*kinds, *brokers)}
        answered = {kind.removeprefix(BROKER): shown[kind] for kind in brokers if shown[kind]}
        row = {kind: shown[kind] for kind in kinds if shown[kind]}
        rows[entry.name] = row | ({generated.BROKERS: answered} if answered else {})
    return rows


def of_one(key: int, evidence: Evidence) -> str:
    """The versions of one API that there is evidence for, as `sides` reads them; "" where there is none."""
    mine = [message for message in evidence if message.key == key]
    return (
        both({side: frozenset(it.version for it in mine if it.direction == side) for side in DIRECTIONS})
        if mine
        else ""
    )


def both(versions: Versions) -> str:
    """Versions of requests and of responses as a text that `sides` reads: `0-2/1-2`, or `0-2` if they agree."""
    request, response = (spans(versions[direction]) for direction in DIRECTIONS)
    return request if request == response else f"{request}/{response}"


def payload_rows(evidence: Mapping[str, Payloads]) -> dict[str, Row]:
    """Payload -> {kind: versions}, in the order of their names."""
    rows = {}
    for name in sorted(found.name for found in payloads()):
        versions = {kind: spans(v for other, v in evidence[kind] if other == name) for kind in sorted(evidence)}
        rows[name] = {kind: text for kind, text in versions.items() if text}
    return rows
