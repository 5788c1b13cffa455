"""From an address to an open transport: TCP, then TLS where it is wanted, and in plain words why there is none."""

from __future__ import annotations

import asyncio
import os
import re

from ..errors import CannotConnect, ClientError, TimedOut
from . import tls
from .settings import Address, Settings, show


async def reach(address: Address, settings: Settings, protocol: asyncio.Protocol) -> asyncio.Transport:
    """A transport for `protocol` to this address; `CannotConnect` or `TimedOut` where that fails."""
    loop = asyncio.get_running_loop()
    secure = tls.context(settings.tls) if settings.tls is not None else None
    plain: asyncio.Transport | None = None
    try:
        async with asyncio.timeout(settings.timeout):
            plain, _ = await loop.create_connection(lambda: protocol, *address)
            if secure is None or settings.tls is None:
                return plain
            name = settings.tls.server_name or address[0]
            return await loop.start_tls(plain, protocol, secure, server_hostname=name)  # type: ignore[return-value]
    except TimeoutError:
        raise _too_slow(address, settings, connected=plain is not None) from None
    except (OSError, ValueError, OverflowError) as error:
        raise tls.refused(address, error) if plain is not None else _unreachable(address, error) from None


def _too_slow(address: Address, settings: Settings, *, connected: bool) -> TimedOut:
    limit = f"within {settings.timeout:g} s"
    if connected:
        text = f"connected, but no answer to the TLS handshake {limit}"
        return TimedOut(show(address), text, "leave --tls out if this is no TLS listener's port")
    text = f"no connection {limit}"
    return TimedOut(show(address), text, "see whether host and port are right and no firewall drops packets")


def _unreachable(address: Address, error: Exception) -> ClientError:
    where = show(address)
    if isinstance(error, OSError) and error.errno is not None and error.errno < 0:  # socket.gaierror's
        return CannotConnect(where, f"no address is known for this host ({error.strerror})", "see whether it is right")
    if not isinstance(error, OSError):  # a label too long, a port too high: brokers may advertise anything
        return CannotConnect(where, "this is no host and port that can be connected to")
    return CannotConnect(where, reason(error), "see whether the broker runs and listens there")


def reason(error: OSError) -> str:
    """What went wrong, without the addresses that asyncio adds; each reason once where it tried several."""
    numbers = [error.errno] if error.errno else map(int, re.findall(r"\[Errno (\d+)\]", str(error)))
    texts = dict.fromkeys(os.strerror(number).lower() for number in numbers)
    return ", ".join(texts) or str(error) or "it failed without a reason"
