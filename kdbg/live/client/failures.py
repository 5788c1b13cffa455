"""What can go wrong on an open connection, in plain words: each function makes one ClientError."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import CannotConnect, ClientError, Closed, NotServed, TimedOut, WrongAnswer
from ...exchanges.engine.foreign import is_tls, looks_like
from ...exchanges.engine.search import REFUSED
from ...protocol.findings.amounts import count
from ...protocol.grammars import name_of
from ...protocol.wire import Api
from . import tls
from .frames import Incoming
from .settings import Address, show

WHY_HANG_UP = "use --tls or --sasl-mechanism if the listener requires it; otherwise the request is probably malformed"
OFTEN, LISTED = (60, 55, 32, 19, 20), 5
"""What people ask controllers for: DescribeCluster, DescribeQuorum, DescribeConfigs, CreateTopics, DeleteTopics."""
NO_ANSWER = "the response does not match the request; the connection was closed"


def too_slow(address: Address, limit: float, unsent: int, incoming: Incoming) -> TimedOut:
    """Make the error for an answer that is not complete after `limit` seconds, or a request that was not all sent."""
    where = show(address)
    if incoming.received:
        size = incoming.size
        got = incoming.received
        part = count(got, "byte") if size is None else f"{got:,} of {count(size + 4, 'byte')}"
        text = f"incomplete response after {limit:g} s: received {part}"
        return TimedOut(where, text, "try a longer --timeout")
    if unsent:
        text = f"the broker stopped reading: {count(unsent, 'byte')} not sent within {limit:g} s"
        return TimedOut(where, text, "check that this is a Kafka broker, and its log")
    return TimedOut(
        where,
        f"no response within {limit:g} s",
        "try a longer --timeout; the broker accepted the request",
    )


def silent_about_versions(error: TimedOut) -> TimedOut:
    """Make the error for no answer to ApiVersions, which is asked before anything else."""
    remedy = "use --version N to skip ApiVersions, which brokers before 0.10 may ignore"
    return TimedOut(error.address, f"ApiVersions: {error.problem}", remedy)


def hung_up_on_version(error: Closed, version: int) -> Closed:
    """Make the error for a broker that told no versions and hung up on this one too."""
    remedy = f"{error.remedy}; " if error.remedy else ""
    return Closed(error.address, error.problem, f"{remedy}use --version N to send another version than {version}")


def not_served(address: Address, api: Api, told: Mapping[int, object]) -> NotServed:
    """Make the error for a controller's listener that does not offer an API; it lists some that are offered."""
    first = [key for key in OFTEN if key in told]
    names = [name_of(key) or f"API {key}" for key in [*first, *sorted(told.keys() - set(first))]]
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    listed = f"{', '.join(names[:LISTED])}{more} (kdbg send api-versions)"
    problem = f"this is a controller listener, which does not support {api.name}; it supports {listed}"
    return NotServed(show(address), problem, ("use a broker's listener, or --direct --version N to send it anyway"))


def none_answers(tried: Iterable[Address], last: ClientError) -> CannotConnect:
    """Make the error for bootstrap brokers of which none answers; `last` is the error of the last one tried."""
    named = ", ".join(map(show, tried))
    return CannotConnect(named, f"no broker is reachable (last error: {last.problem})", last.remedy)


def advertised(error: CannotConnect | TimedOut) -> CannotConnect | TimedOut:
    """Make the error for a broker that cannot be reached at an address that other brokers advertise."""
    remedy = "use --direct; the address is in advertised.listeners of the broker and must be reachable from here"
    return type(error)(error.address, error.problem, remedy)


def not_named(address: Address) -> CannotConnect:
    """Make the error for a host that brokers name, where the user wants those alone that he named."""
    return CannotConnect(
        show(address), "advertised by a broker, but not named by --broker", "add it to --broker, or omit --only-named"
    )


def not_trusted(address: Address) -> CannotConnect:
    """Make the error for a host that may not get the credentials, because the user named no host of its domain."""
    problem = "advertised by a broker, but not named by --broker, so kdbg sends it no credentials"
    return CannotConnect(show(address), problem, "add it to --broker, or use --trust-advertised")


def less_than_allowed(error: TimedOut, limit: float, body: Mapping[str, Any]) -> TimedOut:
    """Return the error with advice if the request's `timeout_ms` is not below `limit` (seconds), else as it is."""
    allowed = body.get("timeout_ms")
    if not isinstance(allowed, int) or allowed < limit * 1000:
        return error
    longer = f"use --timeout {allowed / 1000 + 5:g}"
    return TimedOut(error.address, error.problem, f"{longer}; timeout_ms of the request allows {allowed:,} ms")


def all_the_same(address: Address, api: Api, version: int, told: Mapping[int, tuple[int, int]]) -> str:
    """Say that a listener does not offer the API, or the version of it, that is sent."""
    if api.key not in told:
        return f"broker {show(address)} does not support {api.name}; sending v{version} anyway"
    lowest, highest = told[api.key]
    return f"broker {show(address)} supports {api.name} v{lowest} to v{highest}; sending v{version} anyway"


def hung_up(address: Address, received: int, waits: int) -> Closed:
    """Make the error for a broker that closed `received` bytes into an answer, or without one.

    `waits` is the size of the largest request that waits for an answer, in bytes; 0 for none.
    """
    where = show(address)
    if received:
        return Closed(
            where, f"the broker closed the connection in the middle of a response, after {count(received, 'byte')}"
        )
    if waits:
        return Closed(where, "the broker closed the connection without a response", _why(waits))
    return Closed(where, "the broker closed the connection")


def _why(waits: int) -> str:
    """Say why a broker may hang up on a request of so many bytes."""
    if waits <= REFUSED:
        return WHY_HANG_UP
    return f"the request has {count(waits, 'byte')}; brokers accept {REFUSED:,} by default (socket.request.max.bytes)"


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
    return Closed(show(address), f"the connection failed: {getattr(error, 'strerror', None) or error}")


def bad_length(address: Address, head: bytes, most: int) -> WrongAnswer:
    """Make the error for bytes that begin with no length an answer can have; TLS, HTTP and the like are named."""
    what, where = looks_like(head), show(address)
    if is_tls(head):
        return WrongAnswer(where, f"the response is {what}", "use --tls")
    if what:
        return WrongAnswer(where, f"the response is {what}", "check that this is a Kafka broker")
    size = int.from_bytes(head[:4], "big", signed=True)
    if size < 4:
        text = f"the response has an invalid size of {count(size, 'byte')} (0x{head[:4].hex()})"
        return WrongAnswer(where, text, "check that this is a Kafka broker")
    text = f"the response has a size of {count(size, 'byte')} (0x{head[:4].hex()}), more than the limit of {most:,}"
    return WrongAnswer(where, text, "raise --max-response")


def wrong_number(address: Address, number: int, due: list[int]) -> WrongAnswer:
    """Make the error for an answer with another correlation id than the first of those `due`."""
    if not due:
        return WrongAnswer(
            show(address), f"unexpected response with correlation id {number}: no request is pending", NO_ANSWER
        )
    text = f"response with correlation id {number}, expected {due[0]}"
    if number in due:
        return WrongAnswer(show(address), text, "brokers must respond in the order of the requests")
    return WrongAnswer(show(address), text, NO_ANSWER)
