"""What versions changed: of an API or a payload at a glance, two of them line by line, two definitions by rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import UnknownVersion
from ...protocol.findings.amounts import count
from ...protocol.findings.quirks import QUIRKS
from ...protocol.grammars import about, aliases
from ...protocol.grammars.payloads import about as payload_about
from ...protocol.grammars.payloads import aliases as payload_aliases
from ...protocol.grammars.payloads import payloads
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS, Direction
from ...protocol.wire.language.payload import Payload
from ...protocol.wire.nodes import WireStruct
from ...protocol.wire.readings.layout import Change, compare, layout
from .columns import aligned, wrap
from .grammar import Sheet, message_sheet
from .style import Look
from .values import escape

if TYPE_CHECKING:
    from ...protocol.definitions.compatible import DefinitionDiff, Difference

FLEXIBLE = "flexible (KIP-482)"
OPTIONAL = "optional fields (draft of KIP-482)"
FORMS = "strings, bytes and arrays compact, tagged fields after each structure (KIP-482)"
TAGS = ("tagged_fields", "optional_fields")
"""What the sections of tagged fields are called in a layout."""
SIGNS = {"+": "good", "-": "bad", "~": "note"}


class VersionStep(NamedTuple):
    """What one version of a message changed against the one before; `same`: not a byte of the body."""

    version: int
    same: bool
    changes: list[str]


def steps(versions: range, at: Callable[[int], WireStruct]) -> list[VersionStep]:
    """Return what each version but the first changed against the one before it; `at` gives the layout of one."""
    found = []
    for version in versions[1:]:
        old, new = at(version - 1), at(version)
        changes = [FLEXIBLE] if _flexible(new) and not _flexible(old) else []
        changes += [OPTIONAL] if new.front and not old.front else []
        found.append(VersionStep(version, list(layout(old)) == list(layout(new)), changes + brief(old, new)))
    return found


def brief(old: WireStruct, new: WireStruct) -> list[str]:
    """Return the changes of substance, one phrase each.

    Left out are the compact types of flexible versions, and the fields inside a structure that is itself new or
    dropped.
    """
    shown: list[Change] = []
    phrases = []
    for change in compare(old, new):
        inside = any(change.sign == it.sign and re.match(re.escape(it.path) + r"[.\[]", change.path) for it in shown)
        before, after = change.former.removeprefix("compact_"), change.type.removeprefix("compact_")
        if inside or change.type in TAGS or before == after:
            continue
        shown.append(change)
        how = ""
        if after == f"nullable_{before}":
            how = " may be null"
        elif before == f"nullable_{after}":
            how = " never null"
        elif change.sign == "~":
            how = f" {change.former.upper()} → {change.type.upper()}"
        phrases.append(f"{change.sign} {readable(change.path)}{how}")
    return phrases


def readable(path: str) -> str:
    """Return a path with tagged and optional fields named as in the BNF."""
    named = re.sub(r"[~^](\d+):(\w+)", r"\2<tag: \1>", path)
    return named.replace("~", "_tagged_fields").replace("^", "_optional_fields")


def overview(thing: Api | Payload, directions: Sequence[Direction], look: Look) -> str:
    """Return the page of an API or a payload: what it is for, its versions, and what each of them changed.

    A version of an API has a row for each direction; one if nothing changed, or it is the first.
    """
    text = payload_about(thing) if isinstance(thing, Payload) else about(thing)
    first, *paragraphs = (escape(" ".join(part.split())) for part in re.split(r"\n\s*\n", text))
    lines = [look.paint("heading", line) for line in wrap(first, look.width)]
    for paragraph in paragraphs:
        lines += ["", *wrap(paragraph, look.width)]
    rows = [(f"v{thing.versions[0]}", "", "first version")]
    changed = _steps_by_direction(thing, directions)
    for found in zip(*(one for _, one in changed), strict=True):
        version, unchanged = f"v{found[0].version}", f"= v{found[0].version - 1}"
        if all(step.same for step in found):
            rows.append((version, "", unchanged))
            continue
        # no-break spaces, so that no change is split by wrapping
        texts = [", ".join(change.replace(" ", "\xa0") for change in step.changes) or unchanged for step in found]
        rows += zip([version, ""], (direction for direction, _ in changed), texts, strict=False)
    shown = [(version, text) for version, _, text in rows] if isinstance(thing, Payload) else rows
    lines += ["", *aligned(facts(thing), look, ("name",)), "", *aligned(shown, look, ("name", "dim"))]
    return "\n".join(lines) + "\n"


def _steps_by_direction(thing: Api | Payload, directions: Sequence[Direction]) -> list[tuple[str, list[VersionStep]]]:
    """Return what versions changed in each direction; a payload has one, which is called ""."""
    if isinstance(thing, Payload):
        return [("", steps(thing.versions, thing.at))]
    return [(direction, steps(thing.versions, partial(thing.at, direction))) for direction in directions]


def facts(thing: Api | Payload) -> list[tuple[str, str]]:
    """Return (name, text) of what holds for all versions: a payload's name, versions, aliases, an API's headers."""
    if isinstance(thing, Payload):
        rows, names, headers = [("name", thing.name), ("versions", _versions(thing))], payload_aliases(thing), []
    else:
        none = "" if thing.flexible in thing.versions else ", none flexible"
        optional = f", optional fields (draft of KIP-482) from {thing.optional[0]}" if thing.optional else ""
        rows, names = [("versions", f"{_versions(thing)}{none}{optional}")], list(aliases(thing))
        headers = [(f"{direction} header", _headers(thing, direction)) for direction in DIRECTIONS]
    return [*rows, *([("aliases", ", ".join(names))] if names else []), *headers]


def _versions(thing: Api | Payload) -> str:
    return span(thing.versions) + (f", flexible from {thing.flexible}" if thing.flexible in thing.versions else "")


def span(versions: range) -> str:
    """Return versions as a range: `0 to 4`."""
    first, last = versions[0], versions[-1]
    return f"{first}" if first == last else f"{first} to {last}"


def _headers(api: Api, direction: Direction) -> str:
    """Return the header versions of one direction: `v1; v2 from version 9`."""
    words: list[str] = []
    for version in api.versions:
        number = api.header_version(direction, version)
        if not words or number != api.header_version(direction, version - 1):
            words.append(f"v{number} from version {version}" if words else f"v{number}")
    return "; ".join(words)


def overview_object(thing: Api | Payload, directions: Sequence[Direction]) -> dict[str, Any]:
    """Return the page of an API or a payload as a JSON object."""
    changes = [
        {"version": step.version} | ({"direction": direction} if direction else {})
        | {"same_layout": step.same, "changes": step.changes}
        for direction, changed in _steps_by_direction(thing, directions)
        for step in changed
    ]  # fmt: skip
    text = payload_about(thing) if isinstance(thing, Payload) else about(thing)
    return summary_object(thing) | {"about": text, "changes": changes}


def summary_object(thing: Api | Payload) -> dict[str, Any]:
    """Return an API with its definition files, if it was given any, or a payload and its purpose, as a JSON object."""
    head: dict[str, Any]
    more: dict[str, Any]
    if isinstance(thing, Payload):
        head, names, more = {"payload": thing.name}, payload_aliases(thing), {"about": payload_about(thing)}
    else:
        head, names = {"api_key": thing.key, "api": thing.name}, list(aliases(thing))
        more = {"defined_by": list(thing.given)} if thing.given else {}
    return head | {
        "min_version": thing.versions[0], "max_version": thing.versions[-1],
        "flexible_from": thing.flexible if thing.flexible in thing.versions else None, "aliases": names,
    } | more  # fmt: skip


def diff_object(old: Sheet, new: Sheet) -> dict[str, Any]:
    """Return every field that differs between two versions of one message, and how, as a JSON object."""
    return {
        "old": old.title, "new": new.title, "direction": new.direction or None,
        "header_version": [old.header_version, new.header_version],
        "changes": [
            {"sign": it.sign, "path": readable(it.path), "type": it.type.upper(), "former": it.former.upper() or None}
            for it in compare(old.struct, new.struct)
        ],
    }  # fmt: skip


def diff_text(old: Sheet, new: Sheet, look: Look) -> str:
    """Return the differences of two versions as lines: + for what is new, - for what is gone, ~ for what changed.

    The heading is `Fetch Request (Version: 1 → 2)`, or both titles if they are of different messages.
    """
    changes = [change for change in compare(old.struct, new.struct) if change.type not in TAGS]
    rows = []
    if old.header_version != new.header_version:
        rows.append(("~ header", f"v{old.header_version} → v{new.header_version}"))
    flexible, optional = _flexible(new.struct) - _flexible(old.struct), new.struct.front - old.struct.front
    if flexible:
        text = FORMS if new.header_version is not None else "tagged fields at the end (KIP-482)"
        rows.append((f"{'+' if flexible > 0 else '-'} flexible", text))
    if optional:
        text = "optional fields before each structure (draft of KIP-482)"
        rows.append((f"{'+' if optional > 0 else '-'} optional", text))
    for change in merged(changes):
        words = change.type.upper().replace(" OF ", " of ")
        text = f"{change.former.upper()} → {words}" if change.former else words
        rows.append((f"{change.sign} {readable(change.path)}", text))
    lines = aligned(rows, replace(look, colors=""), indent=2) if rows else ["  no difference"]
    one, other = old.title.rpartition(" "), new.title.rpartition(" ")
    title = f"{old.title} → {new.title}"
    if one[0] == other[0]:
        title = f"{one[0]} {one[2].removesuffix(')')} → {other[2]}"
    shown, style = [look.paint("heading", title)], "dim"
    for line in lines:
        style = SIGNS.get(line[2], style)
        shown.append(look.paint(style, line))
    return "\n".join(shown) + "\n"


def _flexible(struct: WireStruct) -> bool:
    return struct.tags is not None and not struct.front


def merged(changes: list[Change]) -> list[Change]:
    """Return the changes with a new or dropped array of a primitive type as one change instead of two."""
    shown: list[Change] = []
    for change in changes:
        last = shown[-1] if shown else None
        if last and change.sign != "~" and (change.sign, change.path) == (last.sign, f"{last.path}[]"):
            shown[-1] = last._replace(type=f"{last.type} of {change.type}")
        else:
            shown.append(change)
    return shown


def payload_sheet(found: Payload, version: int) -> Sheet:
    """Return the grammar of one version with what stands in front of it, and its older forms as notes.

    Raises `UnknownVersion` for a version that the payload does not have.
    """
    if version not in found.versions:
        raise UnknownVersion(found.name, version, found.versions[0], found.versions[-1])
    sheet = message_sheet(found.name, version, found.framed(version))
    notes = []
    for form in found.reading(version).former:
        names = [one.name for one in QUIRKS[form.quirk].senders] if form.quirk else []
        by = f", by {', '.join(names[:-1])} or {names[-1]}" if names else ""
        notes.append(f"Also seen: {form.note}{by}.")
    return sheet._replace(notes=(*sheet.notes, *notes))


def payload_listing(look: Look) -> Iterator[str]:
    """Yield a text for each family of payloads: what the family is for, and a line for each payload."""
    families = groupby(payloads(), lambda found: payload_about(found).partition("\n\n")[0])
    for i, (text, family) in enumerate(families):
        rows = [(found.name, _versions(found), ", ".join(payload_aliases(found))) for found in family]
        lines = [look.paint("heading", line) for line in wrap(text, look.width)]
        yield "\n".join([*[""] * (i > 0), *lines, *aligned(rows, look, ("name", "", "dim"), indent=2)]) + "\n"


def history_text(found: Sequence[DefinitionDiff], look: Look) -> str:
    """Return the comparisons one after the other; where there are several, each is headed by its two files."""
    if len(found) == 1:
        return comparison_text(found[0], look)
    return "\n".join(comparison_text(it, look, f" {escape(it.old.file)} → {escape(it.new.file)}:") for it in found)


def comparison_text(found: DefinitionDiff, look: Look, files: str = "") -> str:
    """Return the verdict, the broken rules with file, line and field, and the compatible changes."""
    broken, changes = found.broken, found.changes
    names = list(dict.fromkeys(difference.rule for difference in broken))
    rules = f"{count(len(names), 'rule')} ({', '.join(names)})"
    verdict = f"not compatible: {rules} broken" if broken else "compatible"
    style = "bad" if broken else "good"
    lines = [f"{look.paint('heading', found.new.name)}{files} {look.paint(style, verdict)}"]
    if broken:
        lines += aligned(map(_difference_row, broken), look, ("dim", "bad"), indent=2, widest=24)
        lines += [""] * bool(changes)
    if changes:
        lines += wrap("Changes that are compatible:" if broken else "Changed:", look.width)
        lines += aligned(map(_difference_row, changes), look, ("dim", "dim"), indent=2, widest=24)
    return "\n".join(lines) + "\n"


def _difference_row(it: Difference) -> tuple[str, str]:
    from ...protocol.definitions.compatible import RULES  # which only those have who compare definitions

    said = f"{it.path}: {it.text}" if it.path else it.text
    return escape(f"{it.file}:{it.line}"), said + (f" ({RULES[it.rule]})" if it.rule else "")


def comparison_object(found: DefinitionDiff) -> dict[str, Any]:
    """Return the verdict, the broken rules and the compatible changes as a JSON object."""
    from ...protocol.definitions.compatible import RULES

    return {
        "message": found.new.name, "old": found.old.file, "new": found.new.file, "compatible": not found.broken,
        "broken": [{"rule": it.rule, "says": RULES[it.rule]} | _difference_object(it) for it in found.broken],
        "changes": [_difference_object(it) for it in found.changes],
    }  # fmt: skip


def _difference_object(it: Difference) -> dict[str, Any]:
    return {"field": it.path or None, "text": it.text, "file": it.file, "line": it.line}
