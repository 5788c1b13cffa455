"""What exchanges have that filters compare with what was asked for, and how some of those values are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, time
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict, get_type_hints
from uuid import UUID

from ...errors import InputError
from .filter import CheckContext, Filter, PathLike, Pattern, Reads, ValueForm, glob, is_wild, matcher, plain, split
from .filter import pattern as pattern_of

if TYPE_CHECKING:
    from ..messages.exchange import Exchange
    from .filter import Check
    from .where.expression import Expression


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


def errors_of(exchange: Exchange, asked: CheckContext) -> Iterator[str]:
    """Yield the names of the error codes that are not 0."""
    from ...protocol.grammars.errors import error_name

    for _, _, errors in exchange.outlines():
        yield from map(error_name, errors)


def packets_of(exchange: Exchange, asked: CheckContext) -> Iterator[int]:
    """Yield those of the packets asked for that lie from the first to the last packet of a message."""
    for half in (exchange.request, exchange.response):
        if half is not None:
            yield from (one for one in asked.given["packet"] if half.first_packet <= one <= half.last_packet)


def api_pattern(value: str) -> Pattern:
    """Return the pattern for APIs of a name, an alias, a key or a glob; raise `UnknownApi` where there is none."""
    from ...protocol import grammars
    from ...protocol.grammars import plain as plain_api

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

    def key(name: str) -> str:
        return plain(name).replace("-", "").replace("_", "").replace(" ", "").lower()

    for error in find(text):
        if key(text) in map(key, (error.name, *error.former_names)):
            return Pattern(value, error.name, None, others)
    from difflib import get_close_matches

    near = get_close_matches(text.upper().replace("-", "_"), [error.name for error in ERRORS.values()], n=2)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `kdbg errors` lists them"
    raise InputError(f"unknown error {text!r}{hint}")


def host_pattern(value: str) -> Pattern:
    """Return the pattern for addresses; IPv6 may stand in brackets, as it does in front of a port."""
    found = pattern_of(value.lower())
    bare = found.exact[1:-1] if isinstance(found.exact, str) and found.exact[:1] + found.exact[-1:] == "[]" else None
    return found._replace(written=value) if bare is None else Pattern(value, bare, None, found.others)


Texts: TypeAlias = str | Iterable[str]
Numbers: TypeAlias = int | Iterable[int]
Ranges: TypeAlias = int | str | tuple[int, int] | Iterable[int | str | tuple[int, int]]
Paths: TypeAlias = "str | PathLike | Iterable[str | PathLike]"
Moment: TypeAlias = float | datetime | time
MOMENTS = "12:30:01.5 of the capture's first day, 2026-11-21T12:30:01.5, or seconds since 1970"
INT32 = range(-(1 << 31), 1 << 31)


def by_errors(wanted: bool | str, asked: CheckContext) -> Check:
    """Match exchanges with error codes or findings; normal steps of a protocol and mere notes for "all" alone."""
    from ..messages.rejection import went_wrong

    def has_any(exchange: Exchange) -> bool:
        return any(codes for *_, codes in exchange.outlines()) or bool(exchange.all_findings(shallow=True))

    return has_any if wanted == "all" else lambda exchange: went_wrong(exchange, shallow=True)


def slower_than(milliseconds: float, asked: CheckContext) -> Check:
    nanoseconds = round(milliseconds * 1e6)
    return lambda exchange: exchange.latency is not None and exchange.latency > nanoseconds


def since(seconds: float, asked: CheckContext) -> Check:
    first = round(seconds * 1e6) * 1000  # to the microsecond: more a float of our days does not hold
    return lambda exchange: exchange.time >= first


def until(seconds: float, asked: CheckContext) -> Check:
    last = round(seconds * 1e6) * 1000
    return lambda exchange: exchange.time <= last


def parsed(text: str) -> Expression:
    """Return an expression; raise `InputError`, with the reason, for one that is wrong or costs too much."""
    from .where.expression import expression

    return expression(text)


class Plain(TypedDict, total=False):
    """The filters by their names, each with the type of its value; `Options` adds the expression."""

    api: Annotated[Texts, Filter(
        ValueForm.TEXTS, "Only this API (name, alias or key); 'offset*' matches a pattern, '!fetch' excludes. "
        "Repeatable, like the filters below.", Reads.HEADERS, pattern=api_pattern,
        of=lambda exchange, asked: (exchange.api.name,) if exchange.api is not None else (),
    )]  # fmt: skip
    client_id: Annotated[Texts, Filter(
        ValueForm.TEXTS, "Only requests with this client id.", Reads.HEADERS,
        of=lambda exchange, asked: (exchange.client_id,) if exchange.client_id is not None else (),
    )]  # fmt: skip
    host: Annotated[Texts, Filter(
        ValueForm.TEXTS, "Only connections with this address, or address:port, at either end.", Reads.HEADERS,
        of=hosts_of, pattern=host_pattern,
        offers=lambda host: host.count(":") != 1 and not host.startswith("["),  # addresses without a port
    )]  # fmt: skip
    topic: Annotated[Texts, Filter(
        ValueForm.TEXTS, "Only exchanges that name this topic, or its id; 'ord*', '!orders'.", Reads.BODIES,
        of=topics_of, pieces=True,
        offers=lambda topic: len(topic) != len(str(UUID(int=0))) or topic.count("-") != 4,  # names, not ids
    )]  # fmt: skip
    partition: Annotated[Numbers, Filter(
        ValueForm.NUMBERS, "Only exchanges that name this partition (of --topic, if given).", Reads.BODIES,
        of=partitions_of, metavar="N",
    )]  # fmt: skip
    group: Annotated[Texts, Filter(
        ValueForm.TEXTS, "Only exchanges that name this consumer group.", Reads.BODIES,
        of=lambda exchange, asked: (group for _, groups, _ in exchange.outlines() for group in groups),
    )]  # fmt: skip
    error: Annotated[Texts, Filter(
        ValueForm.TEXTS, "Only exchanges with this error, by name or code.", Reads.BODIES,
        of=errors_of, pattern=error_pattern, metavar="CODE|NAME",
    )]  # fmt: skip
    errors: Annotated[bool | Literal["all"], Filter(
        ValueForm.FLAG, "Only exchanges with an error code or a finding. --errors=all includes expected "
        "protocol errors and notes.", Reads.BODIES, by_errors, pieces=True, words=("all",),
    )]  # fmt: skip
    slower_than: Annotated[float, Filter(
        ValueForm.MILLISECONDS, "Only exchanges with a higher latency: 100 (ms), 250us, 1.5s.", Reads.HEADERS,
        slower_than, metavar="MS",
    )]  # fmt: skip
    since: Annotated[Moment, Filter(
        ValueForm.MOMENT, f"Only exchanges from this time (UTC): {MOMENTS}.", Reads.HEADERS, since, pieces=True,
        metavar="TIME",
    )]  # fmt: skip
    until: Annotated[Moment, Filter(
        ValueForm.MOMENT, "Only exchanges up to this time (UTC).", Reads.HEADERS, until, pieces=True, metavar="TIME",
    )]  # fmt: skip
    correlation_id: Annotated[Numbers, Filter(
        ValueForm.NUMBERS, "Only requests with this correlation id, and their responses.", Reads.HEADERS,
        of=lambda exchange, asked: (exchange.correlation_id,), metavar="N", within=INT32,
    )]  # fmt: skip
    port: Annotated[Numbers, Filter(
        ValueForm.NUMBERS, "Only connections with this port.", Reads.NOTHING, metavar="PORT", within=range(1, 65536),
    )]  # fmt: skip
    connection: Annotated[Numbers, Filter(
        ValueForm.NUMBERS, "Only connection number N (c1 in summaries).", Reads.HEADERS,
        of=lambda exchange, asked: (exchange.peers.number,), archives=False, metavar="N",
    )]  # fmt: skip
    exchange: Annotated[Ranges, Filter(
        ValueForm.RANGES, "Only exchange number N, or N to M; FILE#N means the same.", Reads.HEADERS,
        of=lambda exchange, asked: (exchange.number,), archives=False, metavar="N[-M]",
    )]  # fmt: skip
    packet: Annotated[Numbers, Filter(
        ValueForm.NUMBERS, "Only exchanges with data in packet N of the capture.", Reads.HEADERS,
        of=packets_of, archives=False, metavar="N",
    )]  # fmt: skip
    tls_keys: Annotated[Paths, Filter(
        ValueForm.FILES, "Decrypt TLS with this key log file (SSLKEYLOGFILE is also used). See kdbg guide tls.",
        Reads.NOTHING, pieces=True, metavar="FILE",
    )]  # fmt: skip
    pid: Annotated[Numbers, Filter(
        ValueForm.NUMBERS, "Decrypt TLS with the keys in the memory of this process. See kdbg guide tls.",
        Reads.NOTHING, archives=False, pieces=True, metavar="PID", within=range(1, 1 << 22),
    )]  # fmt: skip
    limit: Annotated[int, Filter(
        ValueForm.COUNT, "Stop after N exchanges.", Reads.NOTHING, archives=False, pieces=True, metavar="N",
    )]  # fmt: skip


class Options(Plain, total=False):
    """All filters by their names. `kdbg.read` takes functions for `where` as well, and names that by itself."""

    where: Annotated[str, Filter(
        ValueForm.EXPRESSION,
        "Only exchanges matching this expression, such as 'latency_ms > 100'. See kdbg guide where.", Reads.BODIES,
        lambda text, asked: parsed(text).check(asked.topics), expression=parsed, metavar="EXPR",
    )]  # fmt: skip


FILTERS: dict[str, Filter] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(Options, include_extras=True).items()
}
"""The filters by their names; one that is added at run time is added here."""
