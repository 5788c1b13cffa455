"""API keys and names to grammars, one file per API, read when first asked for; registry.py lists them.

`api("Metadata")`, `api(3)`, `api("topic-metadata")` are the same; case, dashes and underscores do not count. Inside of
`serving(apis)` it serves those as well, instead of its own of the same key: APIs that were defined elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import ParamSpec, TypeVar, cast

from ...errors import UnknownApi
from ..wire.language.api import Api
from ..wire.nodes import leaves
from .registry import ENTRIES, KEYS, plain

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
__all__ = [
    "ENTRIES", "about", "aliases", "api", "apis", "by_key", "find", "kept", "name_of", "near", "own", "plain",
    "serving",
]  # fmt: skip

_served: dict[int, Api] = {}
"""By their keys, the APIs of the contexts that `serving` has open; the one place that changes in this room."""
_answers: list[Callable[[], None]] = []
"""What forgets the answers that hang on which APIs there are."""


@contextmanager
def serving(given: Iterable[Api]) -> Iterator[None]:
    """Serve these APIs in the whole process until the context ends; one with a key of kdbg's own replaces it."""
    before = dict(_served)
    _serve(before | {api.key: api for api in given})
    try:
        yield
    finally:
        _serve(before)


def _serve(served: dict[int, Api]) -> None:
    _served.clear()
    _served.update(served)
    for forget in _answers:
        forget()


def kept(function: Callable[Asked, Answer]) -> Callable[Asked, Answer]:
    """Cache a function's results (4096 of them) until the APIs that are served change."""
    keeping = lru_cache(maxsize=4096)(function)
    _answers.append(keeping.cache_clear)
    return cast(Callable[Asked, Answer], keeping)


def api(name: str | int) -> Api:
    """Return the API of a key or a name; raise `UnknownApi`, with the nearest names, where there is none."""
    if isinstance(name, str):
        number = name.strip()
        key = int(number) if number.removeprefix("-").isdecimal() else _keys().get(plain(name), -1)
    else:
        key = name
    found = find(key)
    if found is None:
        raise UnknownApi(name, near(name) if isinstance(name, str) else ())
    return found


def find(key: int) -> Api | None:
    """Return the API of a key, None where neither kdbg nor a served API has it."""
    return by_key(key) if key in _served or key in ENTRIES else None


def by_key(key: int) -> Api:
    """Return the API of a key that must be known, a served one before kdbg's own; raise `KeyError` for any other."""
    return _served.get(key) or own(key)


def name_of(key: int) -> str | None:
    """Return the name of the API of a key without reading its grammar; None for an unknown key."""
    known = _served.get(key) or ENTRIES.get(key)
    return known.name if known else None


@cache
def own(key: int) -> Api:
    """Return kdbg's own API of a key, whatever is served; raise `KeyError` where kdbg has none."""
    return ENTRIES[key].api()


@kept
def _keys() -> dict[str, int]:
    """Return plain name -> API key for every name that an API goes by; a served API takes no name of kdbg's own."""
    return {plain(found.name): key for key, found in _served.items()} | dict(KEYS)


def aliases(found: Api) -> tuple[str, ...]:
    """Return the other names that an API goes by; none for an API that is not in the registry."""
    return ENTRIES[found.key].aliases if found.key in ENTRIES else ()


def near(name: str) -> tuple[str, ...]:
    """Return the names of at most three APIs that look like `name`, the most alike first."""
    import difflib

    keys = _keys()
    found = difflib.get_close_matches(plain(name), keys, n=3, cutoff=0.6)
    return tuple(dict.fromkeys(by_key(keys[word]).name for word in found))


def apis() -> Iterator[Api]:
    """Return every API, kdbg's own and those served, in the order of their keys."""
    return map(by_key, sorted({*ENTRIES, *_served}))


def about(found: Api) -> str:
    """Return the text that an API's grammar file begins with: what it is for and which KIPs shaped it.

    For an API that is not kdbg's own, return its name, its key and the files that define it.
    """
    given = ", ".join(found.given)
    if found.key not in ENTRIES:
        return f"{found.name} (key {found.key}): defined by {given}."
    text = (ENTRIES[found.key].load().__doc__ or "").strip()
    return f"{text}\n\nPartly defined by {given}." if given else text


def _error_names() -> dict[int, str]:
    """Return error code -> name."""
    from .errors import ERRORS

    return {code: error.name for code, error in ERRORS.items()}


@kept
def api_names() -> dict[int, str]:
    """Return API key -> name, of kdbg's own APIs and those served."""
    own = {key: entry.name for key, entry in ENTRIES.items()}
    return own | {key: found.name for key, found in _served.items()}


leaves.KINDS["error"] = _error_names
leaves.KINDS["api"] = api_names
