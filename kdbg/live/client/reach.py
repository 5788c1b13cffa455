"""From an address to an open transport: a name looked up, TCP, then TLS where it is wanted.

What can go wrong on the way, and on an open connection, in plain words: each of those functions makes one ClientError.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from ...atomic import AtomicFile, private
from ...errors import CannotConnect, ClientError, Closed, InputError, TimedOut, WrongAnswer
from ...exchanges.engine.foreign import is_tls, looks_like
from ...exchanges.engine.search import REFUSED
from ...extras import require
from ...protocol.findings.amounts import count
from .frames import Incoming
from .settings import Address, Settings, Tls, show

MakeSocket = Callable[[int], socket.socket]
WHY_HANG_UP = "use --tls or --sasl-mechanism if the listener requires it; otherwise the request is probably malformed"
NO_ANSWER = "the response does not match the request; the connection was closed"
NO_ADDRESS = "not a valid host and port"
NOT_TLS = ("WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "RECORD_LAYER", "UNEXPECTED_MESSAGE", "PACKET_LENGTH_TOO_LONG")
"""What OpenSSL calls bytes that are no TLS."""
NO_TLS_HERE = "omit --tls, or use the port of a TLS listener"
NO_CERTIFICATE = "or use --cert and --cert-key if the broker requires a client certificate"
UNTRUSTED = "use --ca with its CA certificate, --server-name with its host name, or --insecure to skip the check"
ABOUT_OURS = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "UNKNOWN_CA", "CERTIFICATE_UNKNOWN", "CERTIFICATE_EXPIRED",
              "UNSUPPORTED_CERTIFICATE", "ACCESS_DENIED", "HANDSHAKE_FAILURE")  # fmt: skip
"""Alerts by which a broker refuses the client's certificate, or the lack of one."""


async def reach(
    address: Address, settings: Settings, protocol: asyncio.Protocol, make: MakeSocket = socket.socket
) -> asyncio.Transport:
    """Connect `protocol` to this address and return the transport; `CannotConnect` or `TimedOut` where that fails.

    `make` makes a socket of a family for each attempt; the last one is the transport's.
    """
    secure = context(settings.tls) if settings.tls is not None else None
    plain: asyncio.Transport | None = None
    try:
        async with asyncio.timeout(settings.timeout):
            plain = await _connect(address, protocol, make)
            if secure is None or settings.tls is None:
                return plain
            name = settings.tls.server_name or address[0]
            loop = asyncio.get_running_loop()
            wrapped = await loop.start_tls(plain, protocol, secure, server_hostname=name)
            if wrapped is None:  # it was lost in the very moment
                raise ConnectionResetError
            return wrapped
    except TimeoutError:
        limit = f"within {settings.timeout:g} s"
        if plain is None:
            remedy = "check the host, the port and the firewalls"
            raise TimedOut(show(address), f"no connection {limit}", remedy) from None
        text = f"connected, but the TLS handshake got no response {limit}"
        raise TimedOut(show(address), text, "omit --tls if this is not a TLS listener") from None
    except (OSError, ValueError) as error:
        if plain is None:
            raise
        raise refused(address, error) from None


async def _connect(address: Address, protocol: asyncio.Protocol, make: MakeSocket) -> asyncio.Transport:
    """Connect over TCP to the first of the host's addresses that answers; `CannotConnect` where none does."""
    loop = asyncio.get_running_loop()
    reasons: dict[str, None] = {}
    for found in await look_up(address):
        try:
            sock = make(socket.AF_INET6 if ":" in found[0] else socket.AF_INET)
            try:
                sock.setblocking(False)
                await loop.sock_connect(sock, found)
                return (await loop.create_connection(lambda: protocol, sock=sock))[0]
            except BaseException:
                sock.close()
                raise
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            reasons[os.strerror(error.errno).lower() if error.errno else str(error)] = None
    raise CannotConnect(show(address), ", ".join(reasons), "check that the broker is running and listening there")


async def look_up(address: Address) -> list[Address]:
    """Return the host's numeric addresses, each once; `CannotConnect` where there are none.

    A daemon thread asks for them: name servers can keep silent for minutes, and it does not hold up the exit.
    """
    if not (address[0] and 0 < address[1] < 65536):  # brokers may advertise anything
        raise CannotConnect(show(address), NO_ADDRESS)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Address] | Exception] = loop.create_future()

    def tell(found: list[Address] | Exception) -> None:
        if not answer.done():
            answer.set_result(found)

    def look() -> None:
        found: list[Address] | Exception
        try:
            found = []
            for *_, (host, port, *more) in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
                scope = more[1] if len(more) > 1 else 0  # of a link-local IPv6 host, as in `fe80::1%2`
                found.append((f"{host}%{scope}" if scope else str(host), int(port)))
        except Exception as error:
            found = error
        with suppress(RuntimeError):  # the loop is closed: too late
            loop.call_soon_threadsafe(tell, found)

    threading.Thread(target=look, daemon=True).start()
    found = await answer
    if isinstance(found, OSError):
        text = f"cannot resolve the host name ({(found.strerror or str(found)).lower()})"
        raise CannotConnect(show(address), text, "check the host name")
    if isinstance(found, Exception):
        raise CannotConnect(show(address), NO_ADDRESS)  # a label that is too long, say
    return list(dict.fromkeys(found))


def context(tls: Tls) -> ssl.SSLContext:
    """Return the TLS context for these settings; `InputError` for files that cannot be used.

    The secrets of sessions are appended to a file, if they are to be, which nobody else may read. An empty password
    keeps OpenSSL from asking for one on the terminal.
    """
    try:
        found = ssl.create_default_context(cafile=tls.ca or None)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"{tls.ca}: no CA certificates ({_reason(error)})") from None
    found.check_hostname = tls.verify and tls.check_name
    if not tls.verify:
        found.verify_mode = ssl.CERT_NONE
    if tls.certificate:
        try:
            found.load_cert_chain(tls.certificate, tls.key or None, tls.password or "")
        except (OSError, ssl.SSLError, ValueError) as error:
            hint = "; if the key is encrypted, set KDBG_KEY_PASSWORD to its password"
            reason = _reason(error) + ("" if isinstance(error, FileNotFoundError) else hint)
            raise InputError(f"{tls.certificate}: no usable client certificate and key ({reason})") from None
    if tls.keys_out:
        try:
            os.close(private(tls.keys_out, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
            found.keylog_filename = tls.keys_out
        except OSError as error:
            raise InputError(f"{tls.keys_out}: cannot be written: {_reason(error)}") from None
    return found


def server_context(certificate: str, key: str | None) -> ssl.SSLContext:
    """Return the TLS context of a listener with this certificate; `InputError` for files that cannot be used."""
    found = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        found.load_cert_chain(certificate, key, "")
    except (OSError, ssl.SSLError, ValueError) as error:
        raise InputError(f"{certificate}: no usable certificate and key ({_reason(error)})") from None
    return found


def made_context(hosts: Sequence[str], path: str) -> ssl.SSLContext:
    """Return the TLS context of a listener with a certificate for these hosts that is made now; its authority, for
    clients to trust, is written to a file. `InputError` without `cryptography`, `WriteError` for that file."""
    require("--listen-ca", "tls", "cryptography")
    from ...streams.tls.certificate import made

    found = made(hosts)
    with AtomicFile(path) as authority:
        authority.write(found.authority)
    with tempfile.NamedTemporaryFile() as file:  # nobody else may read it; contexts load files alone
        file.write(found.certificate)
        file.flush()
        return server_context(file.name, None)


def refused(address: Address, error: Exception) -> CannotConnect:
    """Make the error for a failed TLS handshake: what it means, and what to try."""
    where, reason = show(address), _reason(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        what = (error.verify_message or reason).rstrip(".")
        return CannotConnect(where, f"its certificate is not trusted: {what}", UNTRUSTED)
    if isinstance(error, (ConnectionError, ssl.SSLEOFError)):
        return CannotConnect(
            where, "the server closed the connection during the TLS handshake", f"{NO_TLS_HERE}; {NO_CERTIFICATE}"
        )
    if any(name in reason for name in NOT_TLS):
        return CannotConnect(where, "the server does not use TLS", NO_TLS_HERE)
    return CannotConnect(where, f"TLS failed: {reason}", _about_ours(reason))


def _about_ours(reason: str) -> str:
    if any(name in reason for name in ABOUT_OURS):
        return "check the client certificate (--cert, --cert-key)"
    return ""


def _reason(error: BaseException) -> str:
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error)


def too_slow(address: Address, limit: float, unsent: int, incoming: Incoming) -> TimedOut:
    """Make the error for an answer that is not complete after `limit` seconds, or a request that was not all sent."""
    where = show(address)
    if incoming.received:
        size, got = incoming.size, incoming.received
        part = count(got, "byte") if size is None else f"{got:,} of {count(size + 4, 'byte')}"
        text = f"incomplete response after {limit:g} s: received {part}"
        return TimedOut(where, text, "try a longer --timeout")
    if unsent:
        text = f"the broker stopped reading: {count(unsent, 'byte')} not sent within {limit:g} s"
        return TimedOut(where, text, "check that this is a Kafka broker, and its log")
    remedy = "try a longer --timeout; the broker accepted the request"
    return TimedOut(where, f"no response within {limit:g} s", remedy)


def lost(address: Address, error: Exception | None, received: int, waits: int) -> ClientError:
    """Make the error for a connection that is gone; `error` is asyncio's, None where the broker just closed.

    `received` are the bytes of an answer that came before, `waits` those of the largest request that waits for an
    answer; 0 for none.
    """
    where, why = show(address), ""
    if waits > REFUSED:
        sizes = f"the request has {count(waits, 'byte')}; brokers accept {REFUSED:,} by default"
        why = f"{sizes} (socket.request.max.bytes)"
    elif waits:
        why = WHY_HANG_UP
    if isinstance(error, ssl.SSLError):  # in TLS 1.3 clients are refused only now
        return Closed(where, f"TLS failed: {_reason(error)}", _about_ours(_reason(error)))
    if isinstance(error, ConnectionError):
        return Closed(where, "the broker reset the connection", why)
    if error is not None:
        return Closed(where, f"the connection failed: {getattr(error, 'strerror', None) or error}")
    if received:
        text = f"the broker closed the connection in the middle of a response, after {count(received, 'byte')}"
        return Closed(where, text)
    return Closed(where, f"the broker closed the connection{' without a response' if waits else ''}", why)


def bad_length(address: Address, head: bytes, most: int) -> WrongAnswer:
    """Make the error for bytes that begin with no length an answer can have; TLS, HTTP and the like are named."""
    what, where = looks_like(head), show(address)
    if what:
        remedy = "use --tls" if is_tls(head) else "check that this is a Kafka broker"
        return WrongAnswer(where, f"the response is {what}", remedy)
    size = int.from_bytes(head[:4], "big", signed=True)
    if size < 4:
        text = f"the response has an invalid size of {count(size, 'byte')} (0x{head[:4].hex()})"
        return WrongAnswer(where, text, "check that this is a Kafka broker")
    text = f"the response has a size of {count(size, 'byte')} (0x{head[:4].hex()}), more than the limit of {most:,}"
    return WrongAnswer(where, text, "raise --max-response")


def wrong_number(address: Address, number: int, due: list[int]) -> WrongAnswer:
    """Make the error for an answer with another correlation id than the first of those `due`."""
    if not due:
        text = f"unexpected response with correlation id {number}: no request is pending"
        return WrongAnswer(show(address), text, NO_ANSWER)
    text = f"response with correlation id {number}, expected {due[0]}"
    if number in due:
        return WrongAnswer(show(address), text, "brokers must respond in the order of the requests")
    return WrongAnswer(show(address), text, NO_ANSWER)
