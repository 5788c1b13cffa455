"""TLS contexts, and TLS errors in plain words."""

from __future__ import annotations

import ssl

from ..errors import CannotConnect, InputError
from .settings import Address, Tls, show


def context(tls: Tls) -> ssl.SSLContext:
    """The context for these settings; `InputError` for files that cannot be used."""
    try:
        found = ssl.create_default_context(cafile=tls.ca or None)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"{tls.ca}: no certificates to trust in it ({_reason(error)})") from None
    if not tls.verify:
        found.check_hostname = False
        found.verify_mode = ssl.CERT_NONE
    if tls.certificate:
        try:
            found.load_cert_chain(tls.certificate, tls.key or None, tls.password)
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"{tls.certificate}: no usable client certificate and key ({_reason(error)})") from None
    return found


def refused(address: Address, error: ssl.SSLError) -> CannotConnect:
    """What a failed TLS handshake means."""
    where, reason = show(address), _reason(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        what = error.verify_message or reason
        return CannotConnect(where, f"its certificate is not trusted: {what}", "give its authority with --ca, "
                             "its name with --server-name, or --insecure to trust anybody")  # fmt: skip
    if "WRONG_VERSION_NUMBER" in reason or "UNKNOWN_PROTOCOL" in reason or "RECORD_LAYER" in reason:
        return CannotConnect(
            where, "what answers does not speak TLS", "leave --tls out, or use the port of a TLS listener"
        )
    return CannotConnect(
        where, f"TLS failed: {reason}", "see whether the broker wants a client certificate (--cert, --key)"
    )


def _reason(error: BaseException) -> str:
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error)
