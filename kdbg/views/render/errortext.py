"""Error codes as a person reads them: one whole, or several in a list."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ...protocol.grammars.errors import CHANGES, ERRORS, Change, Error
from .columns import aligned, wrap
from .style import Look

OLDEST = "0.8.2.2"
"""The first release of which the table knows: a code that it has may be older."""


def one(error: Error, look: Look) -> str:
    """Return the page of one error code: meaning, whether to retry, former names, and what changed in which release."""
    lines = [f"{look.paint('heading', f'{error.code} {error.name}')}"]
    lines += [f"  {line}" for line in wrap(error.text, look.width - 2)]
    rows = [("retriable", "yes" if error.retriable else "no")]
    if error.former_names:
        rows.append(("formerly", ", ".join(error.former_names)))
    if error.since:
        rows.append(("since", error.since + (" or earlier" if error.since == OLDEST else "")))
    rows += [(f"before {change.release}", before(change)) for change in CHANGES.get(error.code, ())]
    return "\n".join([*lines, *aligned(rows, look, ("name",), indent=2)]) + "\n"


def before(change: Change) -> str:
    """Return what a code was before a release: its name, whether to retry, its meaning, as far as they differed."""
    words = [f"called {change.name}"] if change.name else []
    if change.retriable is not None:
        words.append("retriable" if change.retriable else "not retriable")
    return ", ".join(filter(None, [*words, change.meaning]))


def several(errors: Iterable[Error], look: Look) -> str:
    """Return a line for each error, with its text below: `grep` finds code and name together."""
    lines = []
    for error in errors:
        retry = look.paint("note", "  retriable") if error.retriable else ""
        lines.append(f"{look.paint('name', f'{error.code:4}  {error.name}')}{retry}")
        lines += [f"      {line}" for line in wrap(error.text, look.width - 6)]
    return "\n".join(lines) + "\n"


def error_object(error: Error) -> dict[str, Any]:
    """Return everything known of an error as a JSON object."""
    return {
        "code": error.code, "name": error.name, "retriable": error.retriable, "text": error.text,
        "former_names": list(error.former_names), "since": error.since or None,
        "changes": [
            {"before": it.release, "name": it.name or None, "retriable": it.retriable, "meaning": it.meaning or None}
            for it in CHANGES.get(error.code, ())
        ],
    }  # fmt: skip


def near(query: str) -> list[str]:
    """Return up to three names of errors that resemble the query, or whose beginning does."""
    import difflib

    names: dict[str, str] = {}
    for error in ERRORS.values():
        for name in (error.name, *error.former_names):
            words = re.findall(r"[A-Z]+(?=_|$)|[A-Z][a-z]+", name)
            for end in range(min(2, len(words)), len(words) + 1):  # the whole name, and its beginnings of two words on
                names.setdefault("".join(words[:end]).lower(), error.name)
    word = "".join(letter for letter in query.lower() if letter.isalnum())
    close = difflib.get_close_matches(word, names, n=6, cutoff=0.75)
    return list(dict.fromkeys(names[found] for found in close))[:3]
