"""Every filter, declared once: command line, library, Spark and refusals are derived from this table.

To add one, add a line to `Options` (its type is what a program may give) with its `Filter`, and what finds in an
exchange what it compares (values.py) or the function that makes its check. What reads messages is imported when a check
is made or asked, so that `kdbg decode --help` stays instant.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, time
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypedDict, get_type_hints

from . import values
from .filter import Check, CheckContext, Filter, PathLike, Reads, ValueForm

if TYPE_CHECKING:
    from ..messages.exchange import Exchange

Texts: TypeAlias = str | Iterable[str]
Numbers: TypeAlias = int | Iterable[int]
Ranges: TypeAlias = int | str | tuple[int, int] | Iterable[int | str | tuple[int, int]]
Paths: TypeAlias = "str | PathLike | Iterable[str | PathLike]"
Moment: TypeAlias = float | datetime | time
MOMENTS = "12:30:01.5 of the capture's first day, 2026-11-21T12:30:01.5, or seconds since 1970"
INT32 = range(-(1 << 31), 1 << 31)


def by_errors(wanted: bool | str, asked: CheckContext) -> Check:
    """Match exchanges with error codes or findings; normal steps of a protocol and mere notes for "all" alone."""
    from ..messages.steps import went_wrong

    def has_any(exchange: Exchange) -> bool:
        return any(codes for *_, codes in exchange.outlines()) or bool(exchange.all_findings(shallow=True))

    return has_any if wanted == "all" else lambda exchange: went_wrong(exchange, shallow=True)


def slower_than(milliseconds: float, asked: CheckContext) -> Check:
    nanoseconds = round(milliseconds * 1e6)
    return lambda exchange: exchange.latency is not None and exchange.latency > nanoseconds


def since(seconds: float, asked: CheckContext) -> Check:
    first = nanoseconds_of(seconds)
    return lambda exchange: exchange.time >= first


def until(seconds: float, asked: CheckContext) -> Check:
    last = nanoseconds_of(seconds)
    return lambda exchange: exchange.time <= last


def where(text: str, asked: CheckContext) -> Check:
    """Raise `InputError`, with the reason, for an expression that is wrong or costs too much."""
    from .where.expression import expression

    return expression(text).check(asked.topics)


def where_reads(text: str) -> Reads:
    from .where.expression import expression

    return Reads.BODIES if expression(text).bodies else Reads.HEADERS


def where_numbered(text: str) -> list[str]:
    from .where.expression import expression

    return expression(text).without_archives


def where_timed(text: str) -> bool:
    from .where.expression import expression

    return expression(text).timed


def nanoseconds_of(seconds: float) -> int:
    """Return nanoseconds since the epoch, to the microsecond: more a float of our days does not hold."""
    return round(seconds * 1e6) * 1000


class Plain(TypedDict, total=False):
    """The filters by their names, each with the type of its value; `Options` adds the expression."""

    api: Annotated[
        Texts,
        Filter(
            ValueForm.TEXTS, ("Only this API (name, alias or key); 'offset*' matches a pattern, '!fetch' excludes. "
                         "Repeatable, "
                        "like the filters below."), Reads.HEADERS, of=values.api_of, pattern=values.api_pattern,
        ),
    ]  # fmt: skip
    client_id: Annotated[
        Texts, Filter(ValueForm.TEXTS, "Only requests with this client id.", Reads.HEADERS, of=values.client_id_of)
    ]
    host: Annotated[
        Texts,
        Filter(
            ValueForm.TEXTS, "Only connections with this address, or address:port, at either end.", Reads.HEADERS,
            of=values.hosts_of, pattern=values.host_pattern, offers=values.is_address,
        ),
    ]  # fmt: skip
    topic: Annotated[
        Texts,
        Filter(
            ValueForm.TEXTS, "Only exchanges that name this topic, or its id; 'ord*', '!orders'.", Reads.BODIES,
            of=values.topics_of, offers=values.is_named, pieces=True,
        ),
    ]  # fmt: skip
    partition: Annotated[
        Numbers,
        Filter(
            ValueForm.NUMBERS, "Only exchanges that name this partition (of --topic, if given).", Reads.BODIES,
            of=values.partitions_of, metavar="N",
        ),
    ]  # fmt: skip
    group: Annotated[
        Texts,
        Filter(ValueForm.TEXTS, "Only exchanges that name this consumer group.", Reads.BODIES, of=values.groups_of),
    ]
    error: Annotated[
        Texts,
        Filter(
            ValueForm.TEXTS, "Only exchanges with this error, by name or code.", Reads.BODIES,
            of=values.errors_of, pattern=values.error_pattern, metavar="CODE|NAME",
        ),
    ]  # fmt: skip
    errors: Annotated[
        bool | Literal["all"],
        Filter(
            ValueForm.FLAG, ("Only exchanges with an error code or a finding. --errors=all includes expected "
                        "protocol errors and notes."),
            Reads.BODIES, by_errors, pieces=True, words=("all",),
        ),
    ]  # fmt: skip
    slower_than: Annotated[
        float,
        Filter(
            ValueForm.MILLISECONDS, "Only exchanges with a higher latency: 100 (ms), 250us, 1.5s.", Reads.HEADERS,
            slower_than, metavar="MS",
        ),
    ]  # fmt: skip
    since: Annotated[
        Moment,
        Filter(
            ValueForm.MOMENT,
            f"Only exchanges from this time (UTC): {MOMENTS}.",
            Reads.HEADERS,
            since,
            pieces=True,
            metavar="TIME",
        ),
    ]
    until: Annotated[
        Moment,
        Filter(
            ValueForm.MOMENT, "Only exchanges up to this time (UTC).", Reads.HEADERS, until, pieces=True, metavar="TIME"
        ),
    ]
    correlation_id: Annotated[
        Numbers,
        Filter(
            ValueForm.NUMBERS, "Only requests with this correlation id, and their responses.", Reads.HEADERS,
            of=values.correlation_id_of, metavar="N", within=INT32,
        ),
    ]  # fmt: skip
    port: Annotated[
        Numbers,
        Filter(
            ValueForm.NUMBERS, "Only connections with this port.", Reads.NOTHING, metavar="PORT", within=range(1, 65536)
        ),
    ]
    connection: Annotated[
        Numbers,
        Filter(
            ValueForm.NUMBERS, "Only connection number N (c1 in summaries).", Reads.HEADERS, of=values.connection_of,
            archives=False, metavar="N",
        ),
    ]  # fmt: skip
    exchange: Annotated[
        Ranges,
        Filter(
            ValueForm.RANGES, "Only exchange number N, or N to M; FILE#N means the same.", Reads.HEADERS,
            of=values.number_of, archives=False, metavar="N[-M]",
        ),
    ]  # fmt: skip
    packet: Annotated[
        Numbers,
        Filter(
            ValueForm.NUMBERS, "Only exchanges with data in packet N of the capture.", Reads.HEADERS,
            of=values.packets_of, archives=False, metavar="N",
        ),
    ]  # fmt: skip
    tls_keys: Annotated[
        Paths,
        Filter(
            ValueForm.FILES, ("Decrypt TLS with this key log file (SSLKEYLOGFILE is also used). See kdbg guide "
                         "tls."), Reads.NOTHING, pieces=True, metavar="FILE",
        ),
    ]  # fmt: skip
    limit: Annotated[
        int,
        Filter(ValueForm.COUNT, "Stop after N exchanges.", Reads.NOTHING, archives=False, pieces=True, metavar="N"),
    ]


class Options(Plain, total=False):
    """All filters by their names. `kdbg.read` takes functions for `where` as well, and names that by itself."""

    where: Annotated[
        str,
        Filter(
            ValueForm.EXPRESSION, ("Only exchanges matching this expression, such as 'latency_ms > 100'. See kdbg "
                              "guide where."),
            Reads.BODIES, where, reads_of=where_reads, numbered=where_numbered, timed=where_timed,
            metavar="EXPR",
        ),
    ]  # fmt: skip


FILTERS: dict[str, Filter] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(Options, include_extras=True).items()
}
"""The filters by their names; whoever adds one at run time adds it here."""
