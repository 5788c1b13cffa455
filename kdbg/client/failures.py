"""What can go wrong on an open connection, in plain words: each function makes one ClientError."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from typing import Any

from ..engine.foreign import is_tls, looks_like
from ..engine.search import REFUSED
from ..errors import CannotConnect, ClientError, Closed, NotServed, TimedOut, WrongAnswer
from ..grammars import name_of
from ..wire import Api
from . import tls
from .incoming import Incoming
from .settings import Address, show

WHY_HANG_UP = "a broker closes the connection if it cannot parse a request, or if the listener requires TLS or SASL"
OFTEN, LISTED = (60, 55, 32, 19, 20), 5
"""What people ask controllers for: DescribeCluster, DescribeQuorum, DescribeConfigs, CreateTopics, DeleteTopics."""
NO_ANSWER = "the response does not match the request; the connection was closed"


def too_slow(address: Address, limit: float, unsent: int, incoming: Incoming) -> TimedOut:
    """Make the error for an answer that is not complete after `limit` seconds, or a request that was not all sent."""
    where = show(address)
    if incoming.received:
        size = incoming.size
        whole = f"{size + 4:,}" if size is not None else "an answer's"
        text = f"incomplete response after {limit:g} s: received {incoming.received:,} of {whole} bytes"
        return TimedOut(where, text, "try a longer --timeout")
    if unsent:
        text = f"the broker stopped reading: {unsent:,} bytes could not be sent within {limit:g} s"
        return TimedOut(where, text, "see whether this is a Kafka broker, and what it logs")
    return TimedOut(
        where,
        f"no response within {limit:g} s",
        "the broker accepted the request but sent nothing; try a longer --timeout",
    )


def silent_about_versions(error: TimedOut) -> TimedOut:
    """Make the error for no answer to ApiVersions, which is asked before anything else."""
    remedy = "brokers before 0.10 may ignore that: --version 0, or another --version N, goes on without"
    return TimedOut(error.address, f"asked for its versions (ApiVersions): {error.problem}", remedy)


def hung_up_on_version(error: Closed, version: int) -> Closed:
    """Make the error for a broker that told no versions and hung up on this one too."""
    remedy = f"{error.remedy}; " if error.remedy else ""
    return Closed(error.address, error.problem, f"{remedy}--version N sends another version than {version}")


def not_served(address: Address, api: Api, told: Mapping[int, object]) -> NotServed:
    """Make the error for a controller's listener that does not offer an API; it lists some that are offered."""
    first = [key for key in OFTEN if key in told]
    names = [name_of(key) or f"API {key}" for key in [*first, *sorted(told.keys() - set(first))]]
    listed = f"{', '.join(names[:LISTED])} and {len(names) - LISTED} more (kdbg send api-versions)"
    problem = f"this is a controller listener, which does not support {api.name}; it supports {listed}"
    return NotServed(show(address), problem, "name a broker's listener, or send it all the same: --direct --version N")


def none_answers(tried: Iterable[Address], last: ClientError) -> CannotConnect:
    """Make the error for bootstrap brokers of which none answers; `last` is the error of the last one tried."""
    named = ", ".join(map(show, tried))
    return CannotConnect(named, f"no broker is reachable (last error: {last.problem})", last.remedy)


def advertised(error: CannotConnect | TimedOut) -> CannotConnect | TimedOut:
    """Make the error for a broker that cannot be reached at an address that other brokers advertise."""
    remedy = "this address comes from advertised.listeners and must be reachable from here; --direct avoids it"
    return type(error)(error.address, error.problem, remedy)


def not_named(address: Address) -> CannotConnect:
    """Make the error for a host that brokers name, where the user wants those alone that he named."""
    return CannotConnect(show(address), "named by a broker alone", "name it by --broker too, or leave out --only-named")


def not_trusted(address: Address) -> CannotConnect:
    """Make the error for a host that may not get the credentials, because the user named no host of its domain."""
    problem = "only other brokers name this host, so it gets no credentials"
    return CannotConnect(show(address), problem, "name it by --broker, or trust all by --trust-advertised")


def less_than_allowed(error: TimedOut, limit: float, body: Mapping[str, Any]) -> TimedOut:
    """Return the error with advice if the request's `timeout_ms` is not below `limit` (seconds), else as it is."""
    allowed = body.get("timeout_ms")
    if not isinstance(allowed, int) or allowed < limit * 1000:
        return error
    longer = f"wait longer with --timeout {allowed / 1000 + 5:g}"
    return TimedOut(error.address, error.problem, f"the request lets it take {allowed:,} ms (timeout_ms): {longer}")


def all_the_same(address: Address, api: Api, version: int, told: Mapping[int, tuple[int, int]]) -> str:
    """Say that a listener does not offer the API, or the version of it, that is sent."""
    if api.key not in told:
        return f"{show(address)} does not offer {api.name}; version {version} is sent all the same"
    lowest, highest = told[api.key]
    return f"{show(address)} supports {api.name} v{lowest} to v{highest}; sending v{version} anyway"


def hung_up(address: Address, received: int, waits: int) -> Closed:
    """Make the error for a broker that closed `received` bytes into an answer, or without one.

    `waits` is the size of the largest request that waits for an answer, in bytes; 0 for none.
    """
    where = show(address)
    if received:
        return Closed(where, f"the broker closed the connection in the middle of a response, after {received:,} bytes")
    if waits:
        return Closed(where, "the broker closed the connection without a response", _why(waits))
    return Closed(where, "the broker hung up")


def _why(waits: int) -> str:
    """Say why a broker may hang up on a request of so many bytes."""
    if waits <= REFUSED:
        return WHY_HANG_UP
    return f"the request has {waits:,} bytes, brokers take {REFUSED:,} if socket.request.max.bytes says nothing else"


def lost(address: Address, error: Exception | None, received: int, waits: int) -> ClientError:
    """Make the error for a connection that is gone; `error` is asyncio's, None where the broker just closed.

    `waits` is as in `hung_up`.
    """
    if error is None:
        return hung_up(address, received, waits)
    if isinstance(error, ssl.SSLError):
        return tls.broken(address, error)
    if isinstance(error, ConnectionError):
        return Closed(show(address), "the broker reset the connection", _why(waits) if waits else "")
    return Closed(show(address), f"the connection broke: {getattr(error, 'strerror', None) or error}")


def bad_length(address: Address, head: bytes, most: int) -> WrongAnswer:
    """Make the error for bytes that begin with no length an answer can have; TLS, HTTP and the like are named."""
    what, where = looks_like(head), show(address)
    if is_tls(head):
        return WrongAnswer(where, f"the answer is {what}", "the port requires TLS: use --tls")
    if what:
        return WrongAnswer(where, f"the answer is {what}", "this is no Kafka broker")
    size = int.from_bytes(head[:4], "big", signed=True)
    if size < 4:
        text = f"the response has the impossible size {size:,} (0x{head[:4].hex()})"
        return WrongAnswer(where, text, "see whether this is a Kafka broker")
    text = f"the answer says it is {size:,} bytes long (0x{head[:4].hex()}), at most {most:,} are taken"
    return WrongAnswer(where, text, "--max-response allows more")


def wrong_number(address: Address, number: int, due: list[int]) -> WrongAnswer:
    """Make the error for an answer with another correlation id than the first of those `due`."""
    if not due:
        return WrongAnswer(
            show(address), f"unexpected response with correlation id {number}: no request is pending", NO_ANSWER
        )
    text = f"response with correlation id {number}, expected {due[0]}"
    if number in due:
        return WrongAnswer(show(address), text, "it came before its turn: brokers answer in the order of the requests")
    return WrongAnswer(show(address), text, NO_ANSWER)
