"""kdbg's exceptions: one family, with values on them, and messages that say what to do."""

from __future__ import annotations

import inspect
import pickle
import re

from kdbg import errors
from kdbg.errors import (
    BadLength,
    BadValue,
    BuildError,
    CaptureError,
    CaptureRefused,
    ClientError,
    DefinitionError,
    GrammarError,
    InputError,
    KdbgError,
    Leftover,
    SparkError,
    Truncated,
    UnknownApi,
    UnknownCapture,
    UnknownName,
    UnknownPayload,
    UnknownVersion,
    WireError,
    WriteError,
)
from kdbg.protocol.findings import Kind
from kdbg.protocol.findings.faults import FaultKind, NegativeLength

from .cases import for_each

SAMPLES: list[tuple[KdbgError, str, type[Exception]]] = [
    (CaptureError("a.zst", "is compressed", "pip install x"), "a.zst: is compressed; pip install x", KdbgError),
    (UnknownCapture("a.png", "is no capture"), "a.png: is no capture", ValueError),
    (CaptureRefused("a", "no such file"), "a: no such file", OSError),
    (WriteError("a.pcap", "No space left on device"), "a.pcap: cannot be written: No space left on device", OSError),
    (GrammarError("none"), "none", LookupError),
    (UnknownApi("fetsh", ("Fetch", "Vote")), "unknown API 'fetsh'; did you mean Fetch or Vote?", GrammarError),
    (UnknownApi(4711), "unknown API 4711; see kdbg apis", GrammarError),
    (UnknownPayload("Foo", ("Bar",)), "unknown payload 'Foo'; did you mean Bar?", GrammarError),
    (UnknownName("Foo", ("Bar",)), "unknown name 'Foo'; did you mean Bar?", GrammarError),
    (UnknownPayload("Foo"), "unknown payload 'Foo'; see kdbg grammar payloads", GrammarError),
    (UnknownVersion("Fetch", 99, 0, 18), "Fetch has no version 99; supported: 0 to 18", GrammarError),
    (DefinitionError("A.json", 7, "Foos.Bar", "no type"), "A.json:7: Foos.Bar: no type", ValueError),
    (DefinitionError("A.json", 1, "", "is empty"), "A.json:1: is empty", ValueError),
    (SparkError("no Java", "install a JRE"), "spark: no Java; install a JRE", KdbgError),
    (WireError("t[0].s", 18, FaultKind.NOT_UTF8.of("TEXT")),
     "t[0].s: TEXT is not valid UTF-8 (byte 18 of the data, 0x0012)", ValueError),
    (
        Truncated("crc", 8, "INT32", 4, 1),
        "crc: INT32 needs 4 bytes, only 1 left (byte 8 of the data, 0x0008)",
        WireError,
    ),
    (Truncated("", 0, "INT8", 1, 0), "message: INT8 needs 1 byte, only 0 left (byte 0 of the data, 0x0000)", WireError),
    (BadLength("x", 1, NegativeLength("ARRAY", -7)),
     "x: ARRAY has the invalid length -7 (byte 1 of the data, 0x0001)", WireError),
    (BadValue("x", 1, FaultKind.NO_BOOLEAN.of(2)),
     "x: BOOLEAN must be 0 or 1, found 2 (byte 1 of the data, 0x0001)", WireError),
    (Leftover(9, 1),
     "message: 1 trailing byte after the last field (byte 9 of the data, 0x0009)", WireError),
    (BuildError("topics[0]", "no field 'nam'"), "topics[0]: no field 'nam'", ValueError),
    (BuildError("", "no structure"), "body: no structure", ValueError),
    (InputError("these are no bytes"), "these are no bytes", ValueError),
]  # fmt: skip


@for_each(("error", "text", "family"), SAMPLES, ids=lambda value: type(value).__name__)
def test_an_error_says_what_is_wrong_and_belongs_to_its_family(
    error: KdbgError, text: str, family: type[Exception]
) -> None:
    assert str(error) == text
    assert isinstance(error, KdbgError)
    assert isinstance(error, family)


@for_each("error", [error for error, _, _ in SAMPLES], ids=lambda error: type(error).__name__)
def test_an_error_crosses_processes(error: KdbgError) -> None:
    """Spark's workers send theirs home."""
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_the_module_names_what_stands_right_below_the_root_and_each_error_says_what_it_is() -> None:
    """Those of live sessions are looked at with the client."""
    classes = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, KdbgError)]
    assert [kind for kind in classes if "__doc__" not in vars(kind) or not kind.__doc__] == []
    named = set(re.findall(r"`(\w+)`", f"{errors.__doc__}")) - {"KdbgError"}
    assert named == {kind.__name__ for kind in classes if KdbgError in kind.__bases__}
    assert {kind for kind in classes if not issubclass(kind, ClientError)} == {
        type(error) for error, _, _ in SAMPLES
    } | {KdbgError}


def test_the_bytes_errors_are_of_a_kind_that_findings_have() -> None:
    assert {kind.kind for kind in (WireError, Truncated, BadLength, BadValue, Leftover)} <= set(Kind)
