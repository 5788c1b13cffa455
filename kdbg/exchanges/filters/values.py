"""What exchanges have that filters compare with what was asked for, and how some of those values are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...errors import InputError
from .filter import CheckContext
from .names import Pattern, glob, is_wild, matcher, plain, split
from .names import pattern as pattern_of

if TYPE_CHECKING:
    from ..messages.exchange import Exchange


def api_of(exchange: Exchange, asked: CheckContext) -> Iterable[str]:
    return (exchange.api.name,) if exchange.api is not None else ()


def client_id_of(exchange: Exchange, asked: CheckContext) -> Iterable[str]:
    return (exchange.client_id,) if exchange.client_id is not None else ()


def hosts_of(exchange: Exchange, asked: CheckContext) -> Iterator[str]:
    """Yield the addresses of both ends, each alone and with its port."""
    from ..messages.peers import endpoint

    for end in (exchange.peers.client, exchange.peers.broker):
        yield end[0]
        yield endpoint(end)


def topics_of(exchange: Exchange, asked: CheckContext) -> Iterator[str]:
    """Yield the topics that an exchange names: by name, and by id where it names that."""
    for rows, _, _ in exchange.outlines():
        for topic, *_ in rows:
            yield from names_of(topic, asked)


def names_of(topic: Any, asked: CheckContext) -> Iterable[str]:
    """Return the names that a topic goes by."""
    if not isinstance(topic, UUID):
        return (topic,) if topic is not None else ()
    name = asked.topics.get(topic)
    return (str(topic),) if name is None else (name, str(topic))


def partitions_of(exchange: Exchange, asked: CheckContext) -> Iterator[int]:
    """Yield the partitions that an exchange names: those of topics that are wanted, where topics are chosen too."""
    topics = asked.given.get("topic")
    wanted = matcher([pattern_of(topic) for topic in topics]) if topics else None
    for rows, _, _ in exchange.outlines():
        for topic, partition, *_ in rows:
            if partition is not None and (wanted is None or wanted(tuple(names_of(topic, asked)))):
                yield partition


def groups_of(exchange: Exchange, asked: CheckContext) -> Iterator[str]:
    for _, groups, _ in exchange.outlines():
        yield from groups


def errors_of(exchange: Exchange, asked: CheckContext) -> Iterator[str]:
    """Yield the names of the error codes that are not 0."""
    from ...protocol.grammars.errors import error_name

    for _, _, errors in exchange.outlines():
        yield from map(error_name, errors)


def connection_of(exchange: Exchange, asked: CheckContext) -> Iterable[int]:
    return (exchange.peers.number,)


def correlation_id_of(exchange: Exchange, asked: CheckContext) -> Iterable[int]:
    return (exchange.correlation_id,)


def number_of(exchange: Exchange, asked: CheckContext) -> Iterable[int]:
    return (exchange.number,)


def packets_of(exchange: Exchange, asked: CheckContext) -> Iterator[int]:
    """Yield those of the packets asked for that lie from the first to the last packet of a message."""
    for half in (exchange.request, exchange.response):
        if half is not None:
            yield from (one for one in asked.given["packet"] if half.first_packet <= one <= half.last_packet)


def is_named(topic: str) -> bool:
    """Return whether a topic is called by its name, and not by its id."""
    return len(topic) != len(str(UUID(int=0))) or topic.count("-") != 4


def is_address(host: str) -> bool:
    """Return whether it is an address without a port."""
    return host.count(":") != 1 and not host.startswith("[")


def api_pattern(value: str) -> Pattern:
    """Return the pattern for APIs of a name, an alias, a key or a glob; raise `UnknownApi` where there is none."""
    from ...protocol import grammars
    from ...protocol.grammars.registry import plain as plain_api

    text, others = split(value)
    if not is_wild(text):
        return Pattern(value, grammars.api(text).name, None, others)
    fits = glob(text.lower().replace("-", "").replace("_", ""))
    names = frozenset(name for name in grammars.api_names().values() if fits(plain_api(name)) or fits(name.lower()))
    if not names:
        raise InputError(f"unknown API {text!r}; see kdbg apis")
    return Pattern(value, None, names.__contains__, others)


def error_pattern(value: str) -> Pattern:
    """Return the pattern for error codes of a number, a name or a glob; raise `InputError` where there is none."""
    from ...protocol.grammars.errors import ERRORS, error_name, find

    text, others = split(value)
    if text.removeprefix("-").isdecimal():
        return Pattern(value, error_name(int(text)), None, others)
    if is_wild(text):
        fits = glob(text.upper().replace("-", "_"))
        if any(fits(error.name) for error in ERRORS.values()):
            return Pattern(value, None, fits, others)
    named = [error for error in find(text) if _same(text, (error.name, *error.former_names))]
    if not named:
        raise InputError(f"unknown error {text!r}{_near_errors(text)}")
    return Pattern(value, named[0].name, None, others)


def host_pattern(value: str) -> Pattern:
    """Return the pattern for addresses; IPv6 may stand in brackets, as it does in front of a port."""
    found = pattern_of(value.lower())
    bare = found.exact[1:-1] if isinstance(found.exact, str) and found.exact[:1] + found.exact[-1:] == "[]" else None
    return found._replace(written=value) if bare is None else Pattern(value, bare, None, found.others)


def _same(text: str, names: Iterable[str]) -> bool:
    return _key(text) in map(_key, names)


def _key(name: str) -> str:
    return plain(name).replace("-", "").replace("_", "").replace(" ", "").lower()


def _near_errors(text: str) -> str:
    from difflib import get_close_matches

    from ...protocol.grammars.errors import ERRORS

    near = get_close_matches(text.upper().replace("-", "_"), [error.name for error in ERRORS.values()], n=2)
    return f"; did you mean {' or '.join(near)}?" if near else "; `kdbg errors` lists them"
