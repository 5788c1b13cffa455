"""TLS contexts, and TLS errors in plain words."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec

from ...atomic import AtomicFile, private
from ...errors import CannotConnect, Closed, InputError
from ...extras import install
from .settings import Address, Tls, show

NOT_TLS = ("WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "RECORD_LAYER", "UNEXPECTED_MESSAGE", "PACKET_LENGTH_TOO_LONG")
"""What OpenSSL calls bytes that are no TLS."""
NO_TLS_HERE = "omit --tls, or use the port of a TLS listener"
NO_CERTIFICATE = "or use --cert and --cert-key if the broker requires a client certificate"
UNTRUSTED = "use --ca with its CA certificate, --server-name with its host name, or --insecure to skip the check"
ABOUT_OURS = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "UNKNOWN_CA", "CERTIFICATE_UNKNOWN", "CERTIFICATE_EXPIRED",
              "UNSUPPORTED_CERTIFICATE", "ACCESS_DENIED", "HANDSHAKE_FAILURE")  # fmt: skip
"""Alerts by which a broker refuses the client's certificate, or the lack of one."""


def context(tls: Tls) -> ssl.SSLContext:
    """Return the TLS context for these settings; `InputError` for files that cannot be used."""
    try:
        found = ssl.create_default_context(cafile=tls.ca or None)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"{tls.ca}: no CA certificates ({_reason(error)})") from None
    found.check_hostname = tls.verify and tls.check_name
    if not tls.verify:
        found.verify_mode = ssl.CERT_NONE
    if tls.certificate:
        _load(found, tls)
    if tls.keys_out:
        _log_keys(found, tls.keys_out)
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
    if find_spec("cryptography") is None:
        raise InputError(f"--listen-ca needs the package cryptography; {install('tls')}")
    from ...streams.tls.certificate import made

    found = made(hosts)
    with AtomicFile(path) as authority:
        authority.write(found.authority)
    with tempfile.NamedTemporaryFile() as file:  # nobody else may read it; contexts load files alone
        file.write(found.certificate)
        file.flush()
        return server_context(file.name, None)


def _log_keys(found: ssl.SSLContext, path: str) -> None:
    """Have the secrets of sessions appended to a file, which nobody else may read; `InputError` where that fails."""
    try:
        os.close(private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        found.keylog_filename = path
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {_reason(error)}") from None


def _load(found: ssl.SSLContext, tls: Tls) -> None:
    """Load the client's own certificate and key; `InputError` where that fails.

    An empty password keeps OpenSSL from asking for one on the terminal.
    """
    try:
        found.load_cert_chain(tls.certificate, tls.key or None, tls.password or "")
    except (OSError, ssl.SSLError, ValueError) as error:
        hint = "; if the key is encrypted, set KDBG_KEY_PASSWORD to its password"
        reason = _reason(error) + ("" if isinstance(error, FileNotFoundError) else hint)
        text = f"{tls.certificate}: no usable client certificate and key ({reason})"
        raise InputError(text) from None


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


def broken(address: Address, error: ssl.SSLError) -> Closed:
    """Make the error for TLS that fails on an open connection; in TLS 1.3 clients are refused only then."""
    reason = _reason(error)
    return Closed(show(address), f"TLS failed: {reason}", _about_ours(reason))


def _about_ours(reason: str) -> str:
    if any(name in reason for name in ABOUT_OURS):
        return "check the client certificate (--cert, --cert-key)"
    return ""


def _reason(error: BaseException) -> str:
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error)
