"""A request that a broker could not read, by its log: what its version has that an older one has not."""

from __future__ import annotations

import textwrap

from ..pasted.refused import Refusal
from ..wire import Api
from ..wire.readings.fields import walk
from .look import Look


def refused_text(found: Refusal, api: Api, look: Look) -> str:
    """Return what is known of a request that could not be read, and how to find the fault."""
    version = found.version
    head = f"{api.name} request v{version} that the broker could not read"
    early = ", and end too early" if found.ended else ""
    said = [
        f"Its bytes are laid out otherwise than v{version} is{early}: whoever wrote it uses the layout of another "
        "version, or leaves a field out."
    ]
    if found.structures:
        said.append(f"The broker stopped inside {found.structures[0]}; what is missing stands there or before it.")
    older = _older(api, version)
    if older is not None:
        before, fields = older
        said.append(f"v{version} has {' and '.join(fields)}, which v{before} has not: a client that leaves "
                    f"{'it' if len(fields) == 1 else 'them'} out writes v{before} and says v{version}.")  # fmt: skip
        said.append(f"`kdbg grammar {api.name} --diff {before} {version}` shows the difference; give the request's "
                    "bytes to `kdbg explain` to see where it breaks.")  # fmt: skip
    lines = textwrap.wrap(" ".join(said), max(look.width, 40), break_long_words=False, break_on_hyphens=False)
    return "\n".join([look.paint("heading", head), *lines]) + "\n"


def _older(api: Api, version: int) -> tuple[int, list[str]] | None:
    """Return the nearest older version with fewer fields, and the fields that it has not."""
    here = [path for path, *_ in walk(api.at("request", version))]
    for before in range(version - 1, api.versions[0] - 1, -1):
        there = {path for path, *_ in walk(api.at("request", before))}
        if missing := [path for path in here if path not in there]:
            return before, missing
    return None
