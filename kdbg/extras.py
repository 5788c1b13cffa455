"""What of kdbg is optional: the name of an extra goes in, the command that installs it comes out."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import InputError

DISTRIBUTION = "kdbg-kafka"
"""The name to install by. The index's `kdbg` is another project; the import and the command are `kdbg` all the same."""


def install(extra: str) -> str:
    """Return the command that adds an extra, from the index and from a checkout."""
    return f"pip install '{DISTRIBUTION}[{extra}]' (in a checkout: pip install '.[{extra}]')"


def require(who: str, extra: str, *modules: str) -> None:
    """Raise `InputError` with the command that installs an extra where one of its modules is missing."""
    if missing := [name for name in modules if find_spec(name) is None]:
        raise InputError(f"{who} needs {', '.join(missing)}; {install(extra)}")
