"""TLS secrets: files in the format of NSS key logs, and blocks of pcapng, in; the secrets of a connection out.

Clients write a line for each secret, with the random that they began the connection with. A log is read on when it has
grown: a client may write while its traffic is captured.
See https://www.ietf.org/archive/id/draft-ietf-tls-keylogfile-05.html.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kdbg.capture.packet import Endpoint
from kdbg.errors import CaptureError, CaptureRefused

ENVIRONMENT = "SSLKEYLOGFILE"
"""The variable by which browsers, curl and Python are told where to log secrets."""
LABELS = (
    "CLIENT_RANDOM", "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0",
    "SERVER_TRAFFIC_SECRET_0",
)  # fmt: skip
"""Secrets that are of use; CLIENT_RANDOM is the master secret up to TLS 1.2."""
LINE = re.compile(rb"(?im)^(%s) ([0-9a-f]{64}) ([0-9a-f]{96}|[0-9a-f]{64})[ \t\r]*$" % "|".join(LABELS).encode())
SESSION = re.compile(rb"(?im)^RSA Session-ID:((?:[0-9a-f]{2}){1,32}) Master-Key:([0-9a-f]{96})[ \t\r]*$")
"""A line as agents in Java write it for TLS 1.2."""
MASTER = "MASTER_SECRET"
"""The label of the secret in it."""
BOUND = re.compile(
    rb"(?m)^KDBG_RECORD_KEY (\S+) (\d{1,5}) (\S+) (\d{1,5}) ([A-Z0-9_]{1,64}) (\d{1,19}) ((?:[0-9a-f]{2}){16,64})\s*?$"
)
"""A line of kdbg's own, for a connection whose handshake was not captured: see `bound_line`."""
LONGEST = 512
"""Bytes of a line that is looked at, and more."""
MOST = 1 << 20
"""Secrets that are remembered; the oldest are forgotten first."""
CHUNK = 1 << 20


class BoundKey(NamedTuple):
    """What opens the records of one direction of a connection, from a record in its middle on.

    `suite` is the name of a cipher suite of TLS 1.3, whose traffic secret `secret` is; or of TLS 1.2's AES_128_GCM or
    AES_256_GCM, with key and salt. `number` is that of a record at which a capture began.
    """

    suite: str
    number: int
    secret: bytes


def key_line(label: str, random: bytes, secret: bytes) -> str:
    """Return the line of a key log for a secret of the connection that a client began with a random."""
    return f"{label} {random.hex()} {secret.hex()}"


def bound_line(sender: Endpoint, receiver: Endpoint, key: tuple[str, int, bytes]) -> str:
    """Return the line of a key log for what opens the records of a sender; other programs pass over it."""
    (host, port), (other, other_port), (suite, number, secret) = sender, receiver, key
    return f"KDBG_RECORD_KEY {host} {port} {other} {other_port} {suite} {number} {secret.hex()}"


class Secrets:
    """Secrets by clients' randoms, and by the ids of sessions, out of the bytes of key logs."""

    def __init__(self) -> None:
        self._found: dict[bytes, dict[str, bytes]] = {}
        self._bound: dict[tuple[Endpoint, Endpoint], list[BoundKey]] = {}
        self._rest = b""
        self.count = 0

    def take(self, data: bytes) -> None:
        """Read the next bytes of a key log; a line that is not complete yet waits for its rest."""
        lines, _, self._rest = (self._rest + data).rpartition(b"\n")
        self._read(lines)
        if len(self._rest) > LONGEST:
            self._rest = self._rest[-LONGEST:]

    def flush(self) -> None:
        """Read a last line that has no end, and keep it for what may follow."""
        self._read(self._rest)

    def find(self, key: bytes) -> Mapping[str, bytes] | None:
        """Return the secrets of the connection that a client began with this random, or of the session of this id.

        They stand by their labels: `MASTER` is that of a session's.
        """
        return self._found.get(key)

    def bound(self, sender: Endpoint, receiver: Endpoint) -> Sequence[BoundKey]:
        """Return what may open the records that one end of a connection sends, the newest first."""
        return self._bound.get((sender, receiver), ())[::-1]

    def _read(self, lines: bytes) -> None:
        for host, port, other, other_port, suite, number, secret in BOUND.findall(lines):
            ends = (host.decode("ascii", "replace"), int(port)), (other.decode("ascii", "replace"), int(other_port))
            key = BoundKey(suite.decode(), int(number), bytes.fromhex(secret.decode()))
            if key not in (known := self._bound.setdefault(ends, [])):
                known.append(key)
                self.count += 1
        while len(self._bound) > MOST:
            self.count -= len(self._bound.pop(next(iter(self._bound))))
        secrets = LINE.findall(lines) + [(MASTER.encode(), key, secret) for key, secret in SESSION.findall(lines)]
        for label, key, secret in secrets:  # key and secret in hexadecimal digits
            of, name = self._found.setdefault(bytes.fromhex(key.decode()), {}), label.decode().upper()
            self.count += name not in of
            of[name] = bytes.fromhex(secret.decode())
            while len(self._found) > MOST:
                self.count -= len(self._found.pop(next(iter(self._found))))


class KeyFile(Secrets):
    """A key log in a file, which may grow."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self._size = 0

    def find(self, key: bytes) -> Mapping[str, bytes] | None:
        """Return the secrets of a connection; what is new in the file is read where they are not known yet."""
        found = super().find(key)
        if found is None or len(found) == 1:
            with suppress(OSError):
                self.read()
        return super().find(key)

    def bound(self, sender: Endpoint, receiver: Endpoint) -> Sequence[BoundKey]:
        """Return what may open the records of a sender; what is new in the file is read where nothing is known yet."""
        if not super().bound(sender, receiver):
            with suppress(OSError):
                self.read()
        return super().bound(sender, receiver)

    def read(self) -> None:
        """Read what is new in the file; raise `OSError` where that cannot be read."""
        size = Path(self.path).stat().st_size
        if size == self._size:
            return
        if size < self._size:  # it began anew
            self._size = 0
        with Path(self.path).open("rb") as file:
            file.seek(self._size)
            while data := file.read(CHUNK):
                self._size += len(data)
                self.take(data)
        self.flush()


key_file = lru_cache(maxsize=16)(KeyFile)
"""Returns the key log of a path, read once for all captures."""


class KeyLog:
    """All secrets that are known for a capture: those that stand in it, and those of key logs. False without any."""

    def __init__(self) -> None:
        self._own: Secrets = Secrets()
        self._files: list[KeyFile] = []

    def take(self, data: bytes) -> None:
        """Read a key log that stands in the capture."""
        self._own.take(data + b"\n")

    def use(self, paths: Iterable[str] = (), *, live: bool = False) -> KeyLog:
        """Use these key logs as well, and the one that the environment names, if that can be read; return itself.

        Raise `CaptureRefused` for one that cannot be read, `CaptureError` for one without a secret (a `live` one may
        be empty yet), `InputError` where what decrypts is not installed.
        """
        for path in paths:
            from kdbg.extras import require

            require("--tls-keys", "tls", "cryptography")
            self._files.append(_opened(path, live=live))
        if found := os.environ.get(ENVIRONMENT):
            with suppress(CaptureError):  # it is meant for clients, and kdbg was not asked to read it
                self._files.append(_opened(found, live=live))
        return self

    def find(self, key: bytes) -> Mapping[str, bytes] | None:
        """Return the secrets of the connection that a client began with this random, or of the session of this id."""
        found = self._own.find(key)
        for file in self._files:
            found = file.find(key) if found is None else found
        return found

    def bound(self, sender: Endpoint, receiver: Endpoint) -> Sequence[BoundKey]:
        """Return what may open the records that one end of a connection sends."""
        return [key for file in (self._own, *self._files) for key in file.bound(sender, receiver)]

    def awaits(self, _: object) -> bool:
        """Return False: a key log is read, secrets are not searched for."""
        return False

    def __bool__(self) -> bool:
        return bool(self._files) or bool(self._own.count)


def _opened(path: str, *, live: bool) -> KeyFile:
    """Return a key log that was read; raise as `KeyLog.use`."""
    found = key_file(path)
    try:
        found.read()
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise CaptureRefused(path, f"cannot read the TLS keys: {problem}") from None
    if not found.count and not (live and not Path(path).stat().st_size):
        raise CaptureError(
            path, "contains no TLS secrets", "expected lines such as CLIENT_RANDOM … (see kdbg tls-keys)"
        )
    return found
