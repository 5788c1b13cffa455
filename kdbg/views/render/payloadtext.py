"""Payloads as `kdbg grammar` tells of them: the list, one in all its versions, the grammar of one version."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from ...errors import UnknownVersion
from ...protocol.findings.quirks import QUIRKS
from ...protocol.grammars.payloads import about, aliases, payloads
from ...protocol.wire.language.payload import Payload
from .columns import aligned, wrap
from .grammar_pages import Sheet, message_sheet
from .grammardiff import VersionStep, changes_text, page, span, step
from .style import Look


def payload_sheet(found: Payload, version: int) -> Sheet:
    """Return the grammar of one version with what stands in front of it, and its older forms as notes.

    Raises `UnknownVersion` for a version that the payload does not have.
    """
    if version not in found.versions:
        raise UnknownVersion(found.name, version, found.versions[0], found.versions[-1])
    sheet = message_sheet(found.name, version, found.framed(version))
    notes = [f"Also seen: {form.note}{_by(form.quirk)}." for form in found.reading(version).former]
    return sheet._replace(notes=(*sheet.notes, *notes))


def _by(quirk: str) -> str:
    """Return who is known for a quirk, as the end of a sentence; "" where it is none."""
    names = [one.name for one in QUIRKS[quirk].senders] if quirk else []
    return f", by {', '.join(names[:-1])} or {names[-1]}" if names else ""


def steps(found: Payload) -> list[VersionStep]:
    """Return what each version but the first changed against the one before it."""
    return [step(version, found.at(version - 1), found.at(version)) for version in found.versions[1:]]


def payload_overview(found: Payload, look: Look) -> str:
    """Return the page of a payload: what its family is for, its versions, and what each of them changed."""
    rows = [(f"v{found.versions[0]}", "first version")]
    rows += [(f"v{one.version}", f"= v{one.version - 1}" if one.same else changes_text(one)) for one in steps(found)]
    facts = [("name", found.name), ("versions", _versions(found))]
    if aliases(found):
        facts.append(("aliases", ", ".join(aliases(found))))
    return page(about(found), facts, rows, look)


def _versions(found: Payload) -> str:
    return span(found.versions) + (f", flexible from {found.flexible}" if found.flexible in found.versions else "")


def payload_object(found: Payload) -> dict[str, Any]:
    """Return a payload as a JSON object: name, versions, aliases and what it is for."""
    return {
        "payload": found.name, "min_version": found.versions[0], "max_version": found.versions[-1],
        "flexible_from": found.flexible if found.flexible in found.versions else None,
        "aliases": aliases(found), "about": about(found),
    }  # fmt: skip


def overview_object(found: Payload) -> dict[str, Any]:
    """Return the page of a payload as a JSON object, changes included."""
    changes = [{"version": it.version, "same_layout": it.same, "changes": it.changes} for it in steps(found)]
    return payload_object(found) | {"changes": changes}


def payload_listing(look: Look) -> Iterator[str]:
    """Yield a text for each family of payloads: what the family is for, and a line for each payload."""
    families = groupby(payloads(), lambda found: about(found).partition("\n\n")[0])
    for i, (text, family) in enumerate(families):
        rows = [(found.name, _versions(found), ", ".join(aliases(found))) for found in family]
        lines = [look.paint("heading", line) for line in wrap(text, look.width)]
        yield "\n".join([*[""] * (i > 0), *lines, *aligned(rows, look, ("name", "", "dim"), indent=2)]) + "\n"
