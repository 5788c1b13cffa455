"""Every exception kdbg raises on purpose.

All are `KdbgError`. Those of files are `CaptureError`, `WriteError` and `DefinitionError`, of the protocol
`GrammarError`, `WireError` and `BuildError`, of live sessions `ClientError`, of Spark `SparkError`, and of what a user
gives `InputError`. The values stand on the exception; the message is built from them.
"""

from __future__ import annotations

from .protocol.findings import Kind
from .protocol.findings.faults import Fault, FaultKind, TooFewBytes


class KdbgError(Exception):
    """The root of the family: whatever kdbg refuses, it refuses with one of these."""


class CaptureError(KdbgError):
    """Packets cannot be read: `source` is the file's name as the user gave it."""

    def __init__(self, source: str, problem: str, remedy: str = "") -> None:
        super().__init__(source, problem, remedy)
        self.source: str = source
        self.problem: str = problem
        self.remedy: str = remedy

    def __str__(self) -> str:
        return f"{self.source}: {self.problem}" + (f"; {self.remedy}" if self.remedy else "")


class UnknownCapture(CaptureError, ValueError):
    """The file opened, but its first bytes are no capture's."""


class CaptureRefused(CaptureError, OSError):
    """The operating system would not open it."""


class WriteError(KdbgError, OSError):
    """The operating system does not let kdbg write the file `target`; nothing of that name is new or changed."""

    def __init__(self, target: str, problem: str) -> None:
        super().__init__(target, problem)
        self.target: str = target
        self.problem: str = problem

    def __str__(self) -> str:
        return f"{self.target}: cannot be written: {self.problem}"


class GrammarError(KdbgError, LookupError):
    """Asked for a grammar that kdbg does not have."""


class UnknownName(GrammarError):
    """Nothing has that `name` (or key): `near` holds names that look alike."""

    what, see = "name", "kdbg grammar"

    def __init__(self, name: object, near: tuple[str, ...] = ()) -> None:
        super().__init__(name, near)
        self.name: object = name
        self.near: tuple[str, ...] = near

    def __str__(self) -> str:
        hint = f"did you mean {' or '.join(self.near)}?" if self.near else f"see {self.see}"
        return f"unknown {self.what} {self.name!r}; {hint}"


class UnknownApi(UnknownName):
    """No API of that name or key."""

    what, see = "API", "kdbg apis"

    @property
    def api(self) -> object:
        """The name or key that was asked for."""
        return self.name


class UnknownPayload(UnknownName):
    """No payload of that name."""

    what, see = "payload", "kdbg grammar payloads"


class UnknownVersion(GrammarError):
    """The API is known, this version of it is not."""

    def __init__(self, api: str, version: int, lowest: int, highest: int) -> None:
        super().__init__(api, version, lowest, highest)
        self.api: str = api
        self.version: int = version
        self.lowest: int = lowest
        self.highest: int = highest

    def __str__(self) -> str:
        return f"{self.api} has no version {self.version}; supported: {self.lowest} to {self.highest}"


class DefinitionError(KdbgError, ValueError):
    """A definition `file` is wrong on `line`: `field` is the path of the field by Kafka's names, "" outside of any."""

    def __init__(self, file: str, line: int, field: str, problem: str) -> None:
        super().__init__(file, line, field, problem)
        self.file: str = file
        self.line: int = line
        self.field: str = field
        self.problem: str = problem

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.field}{': ' * bool(self.field)}{self.problem}"


class WireError(KdbgError, ValueError):
    """A message breaks its grammar at byte `start` (counted from the first byte given), in field `path`.

    `fault` are the facts of what is wrong there, `type` is the field's, "" where it has none; `kind` is that of the
    finding it makes.
    """

    kind: Kind = Kind.INVALID_VALUE

    def __init__(self, path: str, start: int, fault: Fault, type: str = "", kind: Kind | None = None) -> None:
        super().__init__(path, start, fault, type, kind)
        self.path: str = path
        self.start: int = start
        self.fault: Fault = fault
        self.type: str = type
        if kind is not None:
            self.kind = kind

    @property
    def problem(self) -> str:
        """What is wrong, in words, without the place."""
        from .protocol.findings.text import sentence  # which what is clean does without

        return sentence(self.fault)

    def __str__(self) -> str:
        from .protocol.findings.text import stopped

        return stopped(self.path, self.start, self.fault)


class Truncated(WireError):
    """A field of `type` wants `wanted` bytes at `start`, `left` are there."""

    kind = Kind.TRUNCATED

    def __init__(self, path: str, start: int, type: str, wanted: int, left: int) -> None:
        super().__init__(path, start, TooFewBytes(type, wanted, left), type)
        self.args = (path, start, type, wanted, left)  # what it is made again of in another process
        self.wanted: int = wanted
        self.left: int = left


class BadLength(WireError):
    """A length or count that no message can have."""

    kind = Kind.INVALID_LENGTH


class BadValue(WireError):
    """A value outside its type: a varint of eleven bytes, a null where none may be, text that is not UTF-8."""


class Leftover(WireError):
    """The message was complete `length` bytes before its end."""

    kind = Kind.TRAILING_BYTES

    def __init__(self, start: int, length: int) -> None:
        super().__init__("", start, FaultKind.LEFTOVER.of(length))
        self.args = (start, length)
        self.length = length


class BuildError(KdbgError, ValueError):
    """A value given for `path` cannot be written: `problem` says why."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path: str = path
        self.problem: str = problem

    def inside(self, path: str) -> BuildError:
        """Return the same for a value that is itself a part of the value at `path`."""
        dot = "." if path and self.path and not self.path.startswith("[") else ""
        return BuildError(f"{path}{dot}{self.path}", self.problem)

    def __str__(self) -> str:
        return f"{self.path or 'body'}: {self.problem}"


class ClientError(KdbgError):
    """A session with the broker at `address` failed: `problem` says how, `remedy` what to try."""

    def __init__(self, address: str, problem: str, remedy: str = "") -> None:
        super().__init__(address, problem, remedy)
        self.address: str = address
        self.problem: str = problem
        self.remedy: str = remedy

    def __str__(self) -> str:
        return f"{self.address}: {self.problem}" + (f"; {self.remedy}" if self.remedy else "")


class CannotConnect(ClientError, ConnectionError):
    """No session could be opened."""


class Closed(ClientError, ConnectionError):
    """The broker closed the connection while something was expected of it."""


class TimedOut(ClientError, TimeoutError):
    """Nothing came within the time allowed."""


class WrongAnswer(ClientError):
    """What came is no answer: another correlation id, an impossible length, another protocol."""


class NoTopicId(ClientError):
    """A request names topics by id, and the brokers tell no id for this name."""


class NotServed(ClientError):
    """The listener at `address` does not offer the API, nor does any other that is known."""


class NotAuthenticated(ClientError):
    """The broker did not accept who the client says it is."""


class SparkError(KdbgError):
    """Spark is not installed, does not start, or gave a job up: `problem` says what, `remedy` what to try."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem, remedy)
        self.problem: str = problem
        self.remedy: str = remedy

    def __str__(self) -> str:
        return f"spark: {self.problem}" + (f"; {self.remedy}" if self.remedy else "")


class InputError(KdbgError, ValueError):
    """What the user typed or piped in cannot be understood."""
